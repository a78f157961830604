//! preprocessor_config.json: what becomes of a picture before a tower sees it. In: the file's bytes. Out: its keys, one by one, as they are
//! asked for. Promise: a key that nobody asks for may hold anything.

use super::fields::{At, Document};
use crate::error::Result;
use onnxcast_runtime::model::Resample;

/// The file, parsed.
pub struct Preprocessor(Document);

impl Preprocessor {
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Preprocessor> {
        Ok(Preprocessor(Document::parse(file, bytes)?))
    }

    /// Height and width of what the tower sees.
    pub fn size(&self) -> Result<Option<[u32; 2]>> {
        let root = self.0.root();
        if let Some(crop) = root.get("do_center_crop")
            && crop.flag()?
        {
            return Err(crop.bad("pictures are not cropped here: set size to squeeze them to the tower's input"));
        }
        // Where a picture may be cut into tiles, the tile is what the tower sees; we take one for the whole picture.
        root.get("max_image_size").or_else(|| root.get("size")).map(|at| edges(&at)).transpose()
    }

    /// By PIL's number.
    pub fn resample(&self) -> Result<Option<Resample>> {
        let Some(at) = self.0.root().get("resample") else { return Ok(None) };
        let known = [Resample::Nearest, Resample::Lanczos, Resample::Bilinear, Resample::Bicubic];
        match at.whole(0, u64::MAX).ok().and_then(|n| known.get(usize::try_from(n).ok()?).copied()) {
            None => Err(at.bad("is none of 0 (nearest), 1 (lanczos), 2 (bilinear), 3 (bicubic)")),
            found => Ok(found),
        }
    }

    /// What pixel values 0 to 255 are multiplied with.
    pub fn rescale(&self) -> Result<Option<f32>> {
        let root = self.0.root();
        if !flag(&root, "do_rescale")? {
            return Ok(Some(1.0));
        }
        root.get("rescale_factor").map(|at| at.float()).transpose()
    }

    pub fn mean(&self) -> Result<Option<[f32; 3]>> {
        self.normalised("image_mean", 0.0)
    }

    pub fn std(&self) -> Result<Option<[f32; 3]>> {
        self.normalised("image_std", 1.0)
    }

    fn normalised(&self, key: &str, otherwise: f32) -> Result<Option<[f32; 3]>> {
        let root = self.0.root();
        if !flag(&root, "do_normalize")? {
            return Ok(Some([otherwise; 3]));
        }
        root.get(key).map(|at| channels(&at)).transpose()
    }
}

/// What is done unless the file says no.
fn flag(root: &At, key: &str) -> Result<bool> {
    root.get(key).map_or(Ok(true), |at| at.flag())
}

/// Height and width: `{height, width}`, or a square by its edge.
fn edges(at: &At) -> Result<[u32; 2]> {
    let edge = |at: At| at.whole(1, u32::MAX.into()).map(|n| n as u32);
    match (at.get("longest_edge"), at.get("height"), at.get("width")) {
        (Some(n), ..) => edge(n).map(|n| [n; 2]),
        (None, Some(height), Some(width)) => Ok([edge(height)?, edge(width)?]),
        _ if at.is_object() => Err(at.bad("is neither a number, {height, width} nor {longest_edge}")),
        _ => edge(at.clone()).map(|n| [n; 2]),
    }
}

/// One number a channel, or one for all three.
fn channels(at: &At) -> Result<[f32; 3]> {
    if !at.is_list() {
        return at.float().map(|x| [x; 3]);
    }
    let numbers = at.items().iter().map(At::float).collect::<Result<Vec<f32>>>()?;
    numbers.try_into().map_err(|_| at.bad("is no list of three numbers"))
}
