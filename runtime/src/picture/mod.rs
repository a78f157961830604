//! Pictures. In: a file, and what a model makes of a picture. Out: the pixels that its tower takes, f32 [3, height, width]. Promise: a
//! file is known by what is in it, its size is checked before it is decoded, and whatever is wrong with it is one error.

mod decode;
mod exif;
mod npy;
mod resize;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use decode::{LONGEST_EDGE, MOST_PIXELS, Rgb, decode};
pub use resize::resize;

use crate::error::{Error, Result};
use crate::model::Picture;

/// Bytes of a file that are read at most.
const MOST_BYTES: u64 = 256 << 20;

/// What is read here, for advice.
const READ: &str = "JPEG, PNG, WebP and .npy are read";

/// The pixels of a picture file, or of a `.npy` file that holds them as they are.
pub fn load(path: &Path, picture: &Picture) -> Result<Vec<f32>> {
    read(path).and_then(|bytes| pixels(&bytes, picture)).map_err(|e| e.at(path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let wrong = |e: std::io::Error| Error::input(e.to_string());
    let mut bytes = Vec::new();
    File::open(path).and_then(|f| f.take(MOST_BYTES + 1).read_to_end(&mut bytes)).map_err(wrong)?;
    match bytes.len() as u64 {
        0 => Err(Error::input("is empty").hint(READ)),
        n if n > MOST_BYTES => Err(Error::input(format!("has more than {} MiB", MOST_BYTES >> 20)).hint(SMALLER)),
        _ => Ok(bytes),
    }
}

const SMALLER: &str = "make it smaller first; the model sees a small picture anyway";

/// As [`load`], from memory.
pub fn pixels(bytes: &[u8], picture: &Picture) -> Result<Vec<f32>> {
    if npy::is_npy(bytes) {
        return npy::pixels(bytes, picture);
    }
    let rgb = decode(bytes)?;
    Ok(normalised(&resize(&rgb, picture.width, picture.height, picture.resample)?, picture))
}

/// Channel by channel, as the tower wants the values.
fn normalised(rgb: &Rgb, picture: &Picture) -> Vec<f32> {
    let Picture { rescale, mean, std, .. } = picture;
    let channel = |c: usize| {
        let values = rgb.data.as_chunks::<3>().0.iter();
        values.map(move |pixel| (f32::from(pixel[c]) * rescale - mean[c]) / std[c])
    };
    (0..3).flat_map(channel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Resample, Token};

    fn law(height: u32, width: u32) -> Picture {
        let (rescale, mean, std) = (1.0 / 255.0, [0.5, 0.5, 0.0], [0.5, 0.25, 1.0]);
        let (resample, token, before, after) = (Resample::Lanczos, Token::Id(0), "", "");
        Picture { height, width, resample, rescale, mean, std, token, before, after }
    }

    #[test]
    fn channels_follow_each_other_each_with_its_mean_and_deviation() {
        let rgb = Rgb { width: 2, height: 1, data: vec![0, 255, 51, 255, 0, 102] };
        let wanted = [-1.0, 1.0, 2.0, -2.0, 0.2, 0.4];
        let ours = normalised(&rgb, &law(1, 2));
        assert!(ours.len() == 6 && ours.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{ours:?}");
    }

    #[test]
    fn what_is_no_picture_is_one_error_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let error = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let text = load(&path, &law(1, 2)).unwrap_err().to_string();
            text.strip_prefix(&format!("{}/", dir.path().display())).unwrap().to_owned()
        };
        assert_eq!(error("a.png", b""), "a.png: is empty; JPEG, PNG, WebP and .npy are read");
        assert_eq!(error("a.jpg", b"Dear Sir,\n"), "a.jpg: is no picture; JPEG, PNG, WebP and .npy are read");
        assert_eq!(error("b.png", b"GIF89a\x01\0\x01\0"), "b.png: is a GIF file; JPEG, PNG, WebP and .npy are read");
        let missing = load(&dir.path().join("none.png"), &law(1, 2)).unwrap_err().to_string();
        assert!(missing.contains("none.png: No such file"), "{missing}");
        assert!(load(dir.path(), &law(1, 2)).is_err(), "a folder");
    }
}
