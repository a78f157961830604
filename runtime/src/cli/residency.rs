//! `residency`: whether weights in host memory are read as they were packed. In: arms and a prompt. Out: a table or JSON that ends with
//! the verdict. Promise: exit code 10 for stale data, 9 where only tokens differ.

use super::args::{self, Prompt};
use super::commands::Call;
use super::open;
use super::out::{Out, remark_to_person};
use super::source::{self, Source};
use crate::audit::{self, Plan};
use crate::bench;
use crate::error::{Error, Result};
use crate::residency::Offload;
use crate::session::{self, Session};

/// Tokens of the prompt where none is given.
const PROMPT: u32 = 8;

impl Call<'_> {
    pub fn residency(&self, options: &args::Residency, out: &mut Out) -> Result<()> {
        let decoder = self.setting.decoder()?;
        if self.flags.gpu_budget.is_some() {
            return Err(Error::usage("residency sets budgets itself")
                .at("--gpu-budget")
                .hint("say how much with --arms"));
        }
        let prompt = self.audited_prompt(options)?;
        let rows = prompt.len() as u64 + u64::from(options.tokens);
        if rows >= u64::from(decoder.context) {
            let what = format!(
                "{} tokens and {} of an answer do not fit the context of {}",
                prompt.len(),
                options.tokens,
                decoder.context
            );
            return Err(Error::usage(what).at("residency").hint("give a smaller -n or a shorter prompt"));
        }
        let plan = Plan {
            arms: if options.arms.is_empty() { audit::usual() } else { options.arms.clone() },
            ways: match self.flags.offload {
                Offload::Auto => vec![Offload::Read, Offload::Stream],
                way => vec![way],
            },
            prompt,
            tokens: options.tokens,
            repeat: options.repeat,
            host_copies: options.host_copies,
            fault: options.fault.clone(),
        };
        let opener = open::Opener::new(self.model, &self.setting.program.name, self.flags)?;
        let steps = self.flags.steps.unwrap_or(session::Options::default().steps);
        let mut open = |engine| {
            let engine = opener.engine(self.setting.program.clone(), engine)?;
            Session::new(engine, &[], session::Options { steps, ..Default::default() })
        };
        let mut told = |what: &str| remark_to_person(&format!("{what} …"));
        let report = audit::run(self.setting.program, &opener.weights, &plan, &mut open, &mut told)?;
        let device = opener.device.info();
        if options.json {
            let mut json = report.json();
            json["model"] = self.setting.program.name.as_ref().into();
            json["device"] = device.name.as_str().into();
            json["driver"] = device.driver.as_str().into();
            json["system"] = std::env::consts::OS.into();
            json["prompt_ids"] = plan.prompt.into();
            out.json(&json)?;
        } else {
            let head = format!(
                "{} on {} ({}, {})",
                self.setting.program.name,
                device.name,
                device.driver,
                std::env::consts::OS
            );
            let answers = format!("{} tokens, {} timed answers an arm", plan.tokens, plan.repeat);
            out.text(&format!("{head}: {answers}\n{}", report.text()))?;
        }
        report.result()
    }

    fn audited_prompt(&self, options: &args::Residency) -> Result<Vec<u32>> {
        let decoder = self.setting.decoder()?;
        if let Some(ids) = &options.prompt_ids {
            return Ok(ids.0.clone());
        }
        let Some(text) = &options.prompt else {
            return Ok(bench::ids(PROMPT.min(decoder.context / 2).max(1), decoder.vocab, 0));
        };
        source::ids(Source::Text(text.clone()), self.setting.codec, self.setting.text, &Prompt::default(), None)
    }
}
