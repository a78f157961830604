//! Which strategy finds the codes. In: settings, a tokenizer and a text where there are such, the graphs. Out: a strategy. Promise: the best
//! that is possible unless the settings name one; then that one or an error.

use super::{Calibrated, Method, Nearest, Settings, Strategy};
use crate::bucket::BucketGraph;
use crate::error::{Error, Result};

/// The text that models are calibrated on unless the manifest names another. Perplexities are measured on a different one.
const TEXT: &str = include_str!("calibration.txt");

/// The strategy for these graphs. What keeps the best one from being used stands in the name of the one that is.
pub fn strategy(
    settings: &Settings,
    tokenizer: Option<&[u8]>,
    text: Option<&str>,
    buckets: &[BucketGraph],
) -> Result<Box<dyn Strategy>> {
    if settings.method == Some(Method::Nearest) {
        return Ok(Box::new(Nearest::default()));
    }
    match calibrated(settings, tokenizer, text, buckets) {
        Ok(strategy) => Ok(Box::new(strategy)),
        Err(e) if settings.method.is_some() || text.is_some() => {
            Err(e.hint("method = \"nearest\" under [quantise] needs no text"))
        }
        Err(e) => Ok(Box::new(Nearest { because: Some(e.what) })),
    }
}

fn calibrated(
    settings: &Settings,
    tokenizer: Option<&[u8]>,
    text: Option<&str>,
    buckets: &[BucketGraph],
) -> Result<Calibrated> {
    let tokenizer = tokenizer.ok_or_else(|| Error::new("calibration", "the model has no tokenizer"))?;
    let ids = onnxcast_runtime::text::ids(tokenizer, text.unwrap_or(TEXT));
    let mut tokens = ids.map_err(|e| Error::new("calibration", e.to_string()))?;
    tokens.truncate(settings.tokens);
    if tokens.is_empty() {
        return Err(Error::new("calibration", "the text is empty"));
    }
    Calibrated::new(tokens, settings.method.unwrap_or(Method::Gptq), settings.guard, buckets)
}
