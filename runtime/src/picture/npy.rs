//! Pixels as they are. In: a numpy file, f32 [3, height, width], with or without a batch of 1. Out: its values. Promise: another shape
//! or type, or a value that is no number, is an error that says what is wanted.

use std::io::Cursor;

use npyz::{NpyFile, Order};

use crate::error::{Error, Result};
use crate::model::Picture;

pub fn is_npy(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x93NUMPY")
}

pub fn pixels(bytes: &[u8], picture: &Picture) -> Result<Vec<f32>> {
    let wrong = || Error::input("has no numpy header that can be read").hint("save it with numpy.save");
    if !is_countable(bytes) {
        return Err(wrong());
    }
    let wanted = [3, u64::from(picture.height), u64::from(picture.width)];
    let file = NpyFile::new(Cursor::new(bytes)).map_err(|_| wrong())?;
    let shape = file.shape();
    if shape != wanted && !(shape.len() == 4 && shape[0] == 1 && shape[1..] == wanted) {
        let what = format!("holds {shape:?}, and the model takes {wanted:?}: channels, height, width");
        return Err(Error::input(what).hint("give pixels that are resized and normalised, or a picture file"));
    }
    if file.order() != Order::C {
        return Err(Error::input("is stored columns first").hint("save numpy.ascontiguousarray of it"));
    }
    let dtype = file.dtype().descr();
    let values: Vec<f32> = file.into_vec().map_err(|_| {
        Error::input(format!("cannot be read as float32; it is declared {dtype}"))
            .hint("save it with numpy.save, as float32")
    })?;
    match values.iter().position(|v| !v.is_finite()) {
        Some(i) => Err(Error::input(format!("value {i} is {}", values[i]))),
        None => Ok(values),
    }
}

/// Whether the header's shape has a number of elements that 64 bits hold: the reader multiplies without asking.
fn is_countable(bytes: &[u8]) -> bool {
    let header = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST_HEADER)]);
    let Some((_, rest)) = header.split_once("shape") else { return false };
    let inside = rest.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(inside, _)| inside);
    let mut sizes = inside.split(',').map(str::trim).filter(|size| !size.is_empty()).map(str::parse::<u64>);
    sizes.try_fold(1u64, |count, size| size.ok().and_then(|n| count.checked_mul(n.max(1)))).is_some()
}

/// Bytes of a file in which a header must say its shape; numpy's are of 128.
const MOST_HEADER: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Resample, Token};
    use npyz::WriterBuilder;

    const LAW: Picture = Picture {
        height: 1,
        width: 2,
        resample: Resample::Nearest,
        rescale: 1.0,
        mean: [0.0; 3],
        std: [1.0; 3],
        token: Token::Id(0),
        before: "",
        after: "",
    };

    fn file<T: npyz::AutoSerialize + Copy>(shape: &[u64], order: Order, values: &[T]) -> Vec<u8> {
        let mut out = Vec::new();
        let options = npyz::WriteOptions::new().default_dtype().shape(shape).order(order).writer(&mut out);
        let mut writer = options.begin_nd().unwrap();
        writer.extend(values.iter().copied()).unwrap();
        writer.finish().unwrap();
        out
    }

    const VALUES: [f32; 6] = [0.0, 1.0, -2.0, 3.5, 4.0, 5.0];

    #[test]
    fn pixels_pass_as_they_are_with_or_without_a_batch() {
        for shape in [&[3, 1, 2][..], &[1, 3, 1, 2]] {
            assert_eq!(pixels(&file(shape, Order::C, &VALUES), &LAW).unwrap(), VALUES);
        }
    }

    #[test]
    fn what_the_tower_does_not_take_is_said_with_both_shapes() {
        let error = |bytes: &[u8]| pixels(bytes, &LAW).unwrap_err().to_string();
        let shape = error(&file(&[1, 2, 3], Order::C, &VALUES));
        assert!(
            shape.starts_with("holds [1, 2, 3], and the model takes [3, 1, 2]: channels, height, width; "),
            "{shape}"
        );
        assert!(error(&file(&[3, 1, 2], Order::Fortran, &VALUES)).starts_with("is stored columns first; "));
        assert!(error(&file(&[3, 1, 2], Order::C, &[1u8; 6])).contains("as float32; it is declared '|u1'"));
        let nan = [0.0, f32::NAN, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(error(&file(&[3, 1, 2], Order::C, &nan)), "value 1 is NaN");
        let whole = file(&[3, 1, 2], Order::C, &VALUES);
        for sizes in ["18446744073709551615,48,48", "4294967296,4294967296,16", "x,1,2", "-1,3"] {
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({sizes}), }}\n");
            bytes.extend((header.len() as u16).to_le_bytes());
            bytes.extend(header.bytes());
            assert!(error(&bytes).starts_with("has no numpy header that can be read; "), "{sizes}");
        }
        for n in 6..whole.len() {
            assert!(pixels(&whole[..n], &LAW).is_err(), "{n} bytes");
        }
    }
}
