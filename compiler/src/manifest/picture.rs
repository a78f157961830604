//! `[picture]` of a manifest. In: its keys, and a preprocessor_config.json where they name one. Out: what becomes of a picture before
//! the vision bucket sees it. Promise: the manifest's keys win, and nothing that changes pixels is guessed.

use super::Manifest;
use crate::error::{Error, Result};
use crate::metadata::Preprocessor;
use onnxcast_runtime::model::Resample;
use serde::{Deserialize, Serialize};

/// How pictures get into prompts.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Picture {
    /// The bucket whose one input takes pixels, f32 [1, 3, height, width], and whose one output gives the rows of a picture.
    pub bucket: String,
    /// Pictures that fit at once.
    #[serde(default = "one")]
    pub most: u32,
    /// What stands for one row of a picture.
    pub token: Token,
    /// Text around the rows of a picture.
    #[serde(default)]
    pub before: String,
    #[serde(default)]
    pub after: String,
    /// A file that says what the keys below do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preprocessor: Option<String>,
    /// Height and width; those of the bucket's input unless given.
    pub size: Option<[u32; 2]>,
    pub resample: Option<Resample>,
    /// What pixel values 0 to 255 are multiplied with.
    pub rescale: Option<f32>,
    pub mean: Option<[f32; 3]>,
    pub std: Option<[f32; 3]>,
}

/// A token by its text or by its id.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Token {
    Id(u32),
    Text(String),
}

/// What is done to pixels, every value known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Law {
    pub height: u32,
    pub width: u32,
    pub resample: Resample,
    pub rescale: f32,
    pub mean: [f32; 3],
    pub std: [f32; 3],
}

fn one() -> u32 {
    1
}

/// Most pictures at once, and the longest edge of a tower's input.
const MOST: u32 = 256;
const EDGE: u32 = 8192;

/// Key and complaint.
type Wrong = (&'static str, String);

impl Picture {
    /// Errors name the key.
    pub fn check(&self, manifest: &Manifest) -> Result<(), Wrong> {
        if !manifest.buckets.iter().any(|b| b.name == self.bucket) {
            let known: Vec<&str> = manifest.buckets.iter().map(|b| b.name.as_str()).collect();
            return Err(("bucket", format!("'{}' is not among the buckets: {}", self.bucket, known.join(", "))));
        }
        if !(1..=MOST).contains(&self.most) {
            return Err(("most", format!("{} pictures; 1 to {MOST} are possible", self.most)));
        }
        match &self.token {
            Token::Text(text) if text.is_empty() => return Err(("token", "is empty".into())),
            Token::Text(text) if manifest.text.is_none() => {
                let what = format!("'{text}' needs a tokenizer, and there is no [text]; give the token's id");
                return Err(("token", what));
            }
            _ => {}
        }
        if let Some([height, width]) = self.size
            && ![height, width].iter().all(|edge| (1..=EDGE).contains(edge))
        {
            return Err(("size", format!("{height}x{width}; edges of 1 to {EDGE} are possible")));
        }
        if self.std.is_some_and(|std| std.contains(&0.0)) {
            return Err(("std", "divides, and is 0".into()));
        }
        let numbers = [("mean", self.mean), ("std", self.std), ("rescale", self.rescale.map(|r| [r; 3]))];
        match numbers.iter().find(|(_, n)| n.is_some_and(|n| n.iter().any(|x| !x.is_finite()))) {
            Some((key, _)) => Err((key, "is no finite number".into())),
            None => Ok(()),
        }
    }

    /// Takes from a preprocessor_config.json what the manifest leaves open. Errors say what the file asks for and what to do.
    pub fn fill(&mut self, file: &str, json: &[u8]) -> Result<()> {
        let said = Preprocessor::parse(file, json)?;
        let otherwise = |e: Error| e.hint("say under [picture] of model.toml what is to be done instead");
        self.size = self.size.map_or_else(|| said.size(), |s| Ok(Some(s))).map_err(otherwise)?;
        self.resample = self.resample.map_or_else(|| said.resample(), |r| Ok(Some(r))).map_err(otherwise)?;
        self.rescale = self.rescale.map_or_else(|| said.rescale(), |r| Ok(Some(r))).map_err(otherwise)?;
        self.mean = self.mean.map_or_else(|| said.mean(), |m| Ok(Some(m))).map_err(otherwise)?;
        self.std = self.std.map_or_else(|| said.std(), |s| Ok(Some(s))).map_err(otherwise)?;
        self.preprocessor = None;
        Ok(())
    }

    /// What is done to the pixels of a picture for an input of this shape.
    pub fn law(&self, input: &[u32]) -> Result<Law> {
        let fail = |key: &str, what: String| Error::new("manifest", what).at(format!("key 'picture.{key}'"));
        let &[1, 3, height, width] = input else {
            let what = format!("'{}' takes {input:?}; pixels are [1, 3, height, width]", self.bucket);
            return Err(fail("bucket", what));
        };
        if let Some([h, w]) = self.size
            && (h, w) != (height, width)
        {
            let what = format!("is {h}x{w}, and bucket '{}' takes {height}x{width}", self.bucket);
            return Err(fail("size", what)
                .hint("pictures are resized to what the bucket takes, or bind its dimensions otherwise"));
        }
        let open = |key| fail(key, "is given neither here nor by a preprocessor".into());
        Ok(Law {
            height,
            width,
            resample: self.resample.ok_or_else(|| open("resample"))?,
            rescale: self.rescale.unwrap_or(1.0 / 255.0),
            mean: self.mean.ok_or_else(|| open("mean"))?,
            std: self.std.ok_or_else(|| open("std"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
title = "Tiny"
source = "a seed"
licence = "Apache-2.0"
precision = "fp16"

[graphs]
vision = "vision.onnx"

[[buckets]]
name = "vision"
graph = "vision"

[picture]
bucket = "vision"
most = 2
token = 590
"#;

    fn picture(keys: &str) -> Result<Picture> {
        Manifest::parse(&format!("{MANIFEST}{keys}"), "tiny").map(|m| m.picture.unwrap())
    }

    fn filled(keys: &str, json: &str) -> Result<Picture> {
        let mut picture = picture(keys)?;
        picture.fill("p.json", json.as_bytes())?;
        Ok(picture)
    }

    const FILE: &str = r#"{"do_resize": true, "size": {"height": 4, "width": 6}, "resample": 1, "do_rescale": true,
        "rescale_factor": 0.5, "do_normalize": true, "image_mean": [0.5, 0.25, 0.125], "image_std": [0.5, 0.5, 1]}"#;

    #[test]
    fn a_preprocessors_file_says_all_and_the_manifests_keys_win() {
        let law = filled("", FILE).unwrap().law(&[1, 3, 4, 6]).unwrap();
        let want = Law {
            height: 4,
            width: 6,
            resample: Resample::Lanczos,
            rescale: 0.5,
            mean: [0.5, 0.25, 0.125],
            std: [0.5, 0.5, 1.0],
        };
        assert_eq!(law, want);
        let keys = "resample = \"bicubic\"\nrescale = 2\nmean = [1, 2, 3]\nsize = [5, 7]";
        let law = filled(keys, FILE).unwrap().law(&[1, 3, 5, 7]).unwrap();
        let want =
            Law { height: 5, width: 7, resample: Resample::Bicubic, rescale: 2.0, mean: [1.0, 2.0, 3.0], ..want };
        assert_eq!(law, want);
    }

    #[test]
    fn sizes_and_channels_are_spelt_in_several_ways() {
        for (json, want) in [
            (r#"{"size": 9}"#, Some([9, 9])),
            (r#"{"size": {"longest_edge": 8}}"#, Some([8, 8])),
            (r#"{"size": {"longest_edge": 1536}, "max_image_size": {"longest_edge": 384}}"#, Some([384, 384])),
            ("{}", None),
        ] {
            assert_eq!(filled("", json).unwrap().size, want, "{json}");
        }
        let p = filled("", r#"{"image_mean": 0.5, "do_rescale": false}"#).unwrap();
        assert_eq!((p.mean, p.std, p.rescale), (Some([0.5; 3]), None, Some(1.0)));
        let p = filled("", r#"{"do_normalize": false, "image_mean": [1, 1, 1]}"#).unwrap();
        assert_eq!((p.mean, p.std), (Some([0.0; 3]), Some([1.0; 3])));
    }

    #[test]
    fn what_the_file_asks_for_in_vain_is_said() {
        for (json, says) in [
            (r#"{"size": {"shortest_edge": 8}}"#, "size: is neither a number, {height, width} nor {longest_edge}; say"),
            (r#"{"size": "x"}"#, "size: expected a whole number from 1 to 4294967295, found a string; say under"),
            (r#"{"do_center_crop": true}"#, "do_center_crop: pictures are not cropped here: set size"),
            (r#"{"resample": 4}"#, "resample: is none of 0 (nearest)"),
            (r#"{"image_std": [1, 2]}"#, "image_std: is no list of three numbers"),
            (r#"{"image_mean": [1, 2, "x"]}"#, "image_mean[2]: expected a number, found a string"),
            (r#"{"rescale_factor": "x"}"#, "rescale_factor: expected a number, found a string"),
            (r#"{"do_rescale": 0}"#, "do_rescale: expected true or false, found 0"),
            ("{", "this is no JSON"),
        ] {
            let e = filled("", json).unwrap_err().to_string();
            assert!(e.starts_with("config: p.json: ") && e.contains(says), "{e}");
        }
        assert_eq!(filled("", r#"{"size": null, "resample": null}"#).unwrap().size, None);
        assert_eq!(filled("size = [8, 8]", r#"{"do_center_crop": true}"#).unwrap().size, Some([8, 8]));
    }

    #[test]
    fn errors_name_the_key() {
        for (from, to, says) in [
            ("bucket = \"vision\"", "bucket = \"x\"", "key 'picture.bucket': 'x' is not among the buckets: vision"),
            ("most = 2", "most = 0", "key 'picture.most': 0 pictures; 1 to 256"),
            ("token = 590", "token = \"<image>\"", "key 'picture.token': '<image>' needs a tokenizer"),
            ("token = 590", "", "missing field `token`"),
            ("most = 2", "size = [0, 4]", "key 'picture.size': 0x4; edges of 1 to 8192"),
            ("most = 2", "std = [1, 0, 1]", "key 'picture.std': divides, and is 0"),
            ("most = 2", "rescale = inf", "key 'picture.rescale': is no finite number"),
            ("most = 2", "resample = \"box\"", "unknown variant `box`"),
            ("most = 2", "colour = 1", "unknown field `colour`"),
        ] {
            assert!(MANIFEST.contains(from));
            let e = Manifest::parse(&MANIFEST.replace(from, to), "tiny").unwrap_err().to_string();
            assert!(e.contains(says), "{e}");
        }
    }

    #[test]
    fn pixels_are_held_to_the_buckets_input_and_nothing_is_guessed() {
        let law = |keys: &str, input: &[u32]| picture(keys).unwrap().law(input).unwrap_err().to_string();
        assert!(law("", &[1, 4]).contains("key 'picture.bucket': 'vision' takes [1, 4]; pixels are"));
        assert!(
            law("size = [8, 8]", &[1, 3, 8, 9]).contains("key 'picture.size': is 8x8, and bucket 'vision' takes 8x9")
        );
        assert!(law("", &[1, 3, 8, 9]).contains("key 'picture.resample': is given neither here nor by a preprocessor"));
        assert!(law("resample = \"nearest\"", &[1, 3, 8, 9]).contains("key 'picture.mean'"));
    }
}
