//! `verify` against whole rows of logits. In: an .npz reference and a session. Out: one line a prompt length. Promise: prompts that
//! do not fit the context are told and fail.

use std::path::Path;

use serde_json::json;

use super::args;
use super::commands::{Call, mark};
use super::out::{Out, remark_to_person};
use crate::error::{Error, Kind, Result};
use crate::verify_rows::{Bounds, Rows, RowsReport, compare_rows};

const MARGIN: f32 = 0.05;

pub fn verify(call: &Call, path: &Path, options: &args::Verify, out: &mut Out) -> Result<()> {
    let rows = Rows::load(path)?;
    let context = call.setting.decoder()?.context as usize;
    if let Some(long) = rows.prompts.iter().find(|&&p| rows.fed(p) > context) {
        let what = format!("a prompt of {long} with {} steps does not fit the context of {context}", rows.steps);
        return Err(Error::input(what).at(path.display()));
    }
    let margin = options.bound.unwrap_or(MARGIN);
    let bounds = Bounds { cosine: options.cosine, margin, difference: options.bound };
    let mut session = call.session(false, false)?;
    for (slot, pixels) in rows.pictures.iter().enumerate() {
        session.show(slot as u32, pixels).map_err(|e| e.at(path.display()))?;
    }
    let mut reports = Vec::new();
    for &prompt in &rows.prompts {
        remark_to_person(&format!("prompt of {prompt} …"));
        let report = compare_rows(&mut session, &rows, prompt, bounds, &mut || ())?;
        if !options.json {
            out.text(&text(&report))?;
        }
        reports.push(report);
    }
    let passed = reports.iter().filter(|r| r.failures.is_empty()).count();
    if options.json {
        out.json(&json!({
            "model": call.setting.program.name, "precision": call.model.card.precision,
            "device": session.device_name(), "reference": path.display().to_string(), "vocabulary": rows.vocab(),
            "cosine_bound": bounds.cosine, "margin": margin, "prompts": reports, "passed": passed == reports.len(),
        }))?;
    } else {
        out.line(&format!("{passed} of {} within bounds of: {}", reports.len(), path.display()))?;
    }
    if passed < reports.len() {
        let what = format!("{} of {} prompts went over their bound", reports.len() - passed, reports.len());
        return Err(Error::new(Kind::Differs, what).at("verify"));
    }
    Ok(())
}

fn text(r: &RowsReport) -> String {
    let mut out = format!(
        "{} prompt of {}: {} steps, cosine at least {:.7} (step {}), max abs {:.5} (step {}), best token same in {} of {} sure \
         steps, {} of {} near ties\n",
        mark(r.failures.is_empty()),
        r.prompt_tokens,
        r.steps,
        r.min_cosine,
        r.min_cosine_step,
        r.max_abs,
        r.max_abs_step,
        r.sure_same,
        r.sure,
        r.close_same,
        r.close
    );
    r.failures.iter().take(5).for_each(|failure| out.push_str(&format!("     {failure}\n")));
    if r.failures.len() > 5 {
        out.push_str(&format!("     and {} more\n", r.failures.len() - 5));
    }
    out
}
