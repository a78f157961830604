//! What workflow metadata makes of a manifest. In: a workflow, understood. Out: `[workflow]` and `[sampling]`. Promise: without flags the
//! program draws as the package does when nobody asks it for anything.

use crate::error::{Error, Result};
use crate::workflow::{Drawer, METADATA, Understood};
use std::fmt::Write;

/// A temperature at which a draw is the likeliest token.
const GREEDY: f32 = 1e-6;

/// `[workflow]`.
pub fn write(w: &Understood, lossy: bool, out: &mut String) {
    let _ = write!(out, "\n[workflow]\nmetadata = \"{METADATA}\"\n");
    if lossy {
        *out += "allow_lossy = true\n";
    }
    for key in &w.ignored {
        let _ = writeln!(out, "# left out: {key}");
    }
}

/// `[sampling]`.
pub fn write_sampling(w: &Understood, out: &mut String) -> Result<()> {
    if let Drawer::Own(_) = w.sampler {
        *out += "\n# The package draws by a graph of its own, with the settings that the workflow gives it.\n";
        return Ok(());
    }
    let s = &w.sampling;
    *out += "\n[sampling]\n";
    if s.top_k == 1 || s.temperature <= GREEDY {
        let _ = writeln!(
            out,
            "# The workflow's own settings (temperature {:?}, top_k {}) give the likeliest token.",
            s.temperature, s.top_k
        );
    } else {
        let _ = writeln!(out, "temperature = {:?}\ntop_k = {}", s.temperature, s.top_k.max(0));
    }
    let _ = writeln!(out, "top_p = {:?}\nmin_p = {:?}", s.top_p, s.min_p);
    let seed = i64::try_from(s.seed);
    let seed = seed.map_err(|_| {
        Error::new("workflow", "a negative seed is not kept in a manifest")
            .at(format!("{METADATA}: pipeline.workflow.inputs"))
    })?;
    let _ = writeln!(out, "seed = {seed}\ncounter = {}", s.counter.unwrap_or(0));
    Ok(())
}

/// The decoder's cache has no length that is a symbol.
pub fn no_cache(graph: &str) -> Error {
    let what = format!("{graph} has no cache [batch, heads, length, channels] whose length is a symbol");
    Error::new("workflow", what).at(format!("{METADATA}: pipeline.workflow.serving.state_service"))
}
