//! Decoding. In: the bytes of a JPEG, PNG or WebP file. Out: its pixels as red, green and blue of 8 bits, upright, over white. Promise:
//! no memory is taken for pixels before their number is known to be bearable; bad bytes are an error, whatever the decoder does.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use image::codecs::{jpeg::JpegDecoder, png::PngDecoder, webp::WebPDecoder};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, Limits, RgbImage};

use super::{READ, SMALLER, exif};
use crate::error::{Error, Result};

/// Pixels and edge of the largest picture. With 16 bits a channel its decoding takes less than 1 GiB.
pub const MOST_PIXELS: u64 = 1 << 26;
pub const LONGEST_EDGE: u32 = 1 << 15;

/// What a decoder may allocate: 8 bytes a pixel, and some for itself.
const DECODER_BYTES: u64 = (MOST_PIXELS * 8) + (32 << 20);

/// A picture in memory, three bytes a pixel, row by row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rgb {
    pub width: u32,
    pub height: u32,
    pub data: Vec<u8>,
}

/// The first picture of a file.
pub fn decode(bytes: &[u8]) -> Result<Rgb> {
    let format = match image::guess_format(bytes) {
        Ok(known @ (ImageFormat::Jpeg | ImageFormat::Png | ImageFormat::WebP)) => known,
        Ok(other) => {
            let name = format!("{other:?}").to_uppercase();
            return Err(Error::input(format!("is a {name} file")).hint(READ));
        }
        Err(_) => return Err(Error::input("is no picture").hint(READ)),
    };
    if !is_whole(bytes, format) {
        return Err(Error::input("ends before its picture does").hint("copy or download it again"));
    }
    // Decoders are third parties' code on strangers' bytes: what they stumble over is the file's fault and not the end of a chat.
    catch_unwind(AssertUnwindSafe(|| decoded(bytes, format)))
        .unwrap_or_else(|_| Err(Error::input(format!("is no {format:?} file that can be decoded")).hint(DAMAGED)))
}

const DAMAGED: &str = "it may be damaged; save it anew as PNG";

fn decoded(bytes: &[u8], format: ImageFormat) -> Result<Rgb> {
    let wrong = |e: ImageError| Error::input(e.to_string().replace('\n', " ")).hint(DAMAGED);
    // The PNG decoder makes room for a line before it tells how long lines are.
    png_size(bytes).filter(|_| format == ImageFormat::Png).map_or(Ok(()), |[width, height]| check(width, height))?;
    let mut decoder = open(bytes, format).map_err(wrong)?;
    let (width, height) = decoder.dimensions();
    check(width, height)?;
    let tags = match format {
        ImageFormat::Png => exif::of_png(bytes).map(<[u8]>::to_vec),
        // Bad tags are no reason not to look at a picture.
        _ => decoder.exif_metadata().unwrap_or_default(),
    };
    let picture = DynamicImage::from_decoder(decoder).map_err(wrong)?;
    let rgb = Rgb { width, height, data: over_white(picture) };
    match tags.and_then(|t| exif::orientation(&t)).and_then(Orientation::from_exif) {
        None | Some(Orientation::NoTransforms) => Ok(rgb),
        Some(orientation) => turned(rgb, orientation),
    }
}

fn open(bytes: &[u8], format: ImageFormat) -> Result<Box<dyn ImageDecoder + '_>, ImageError> {
    let reader = Cursor::new(bytes);
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(DECODER_BYTES);
    Ok(match format {
        ImageFormat::Jpeg => Box::new(JpegDecoder::new(reader)?),
        ImageFormat::Png => Box::new(PngDecoder::with_limits(reader, limits)?),
        _ => Box::new(WebPDecoder::new(reader)?),
    })
}

/// Width and height by the header of a PNG file.
fn png_size(bytes: &[u8]) -> Option<[u32; 2]> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    Some([number(16)?, number(20)?])
}

/// Refuses what would take too much memory.
fn check(width: u32, height: u32) -> Result<()> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 {
        return Err(Error::input(format!("has {width}x{height} pixels")));
    }
    if pixels > MOST_PIXELS || width.max(height) > LONGEST_EDGE {
        let most = format!("{} million and {LONGEST_EDGE} an edge are the most", MOST_PIXELS / 1_000_000);
        return Err(Error::input(format!("has {width}x{height} pixels; {most}")).hint(SMALLER));
    }
    Ok(())
}

/// Three bytes a pixel from any kind of samples. Of 16 bits the upper eight are taken.
fn over_white(picture: DynamicImage) -> Vec<u8> {
    let upper = |samples: Vec<u16>| samples.into_iter().map(|s| (s >> 8) as u8).collect::<Vec<u8>>();
    match picture {
        DynamicImage::ImageRgb8(p) => p.into_raw(),
        DynamicImage::ImageRgb16(p) => upper(p.into_raw()),
        DynamicImage::ImageLuma8(p) => grey(&p.into_raw()),
        DynamicImage::ImageLuma16(p) => grey(&upper(p.into_raw())),
        DynamicImage::ImageLumaA8(p) => grey_over_white(&p.into_raw()),
        DynamicImage::ImageLumaA16(p) => grey_over_white(&upper(p.into_raw())),
        DynamicImage::ImageRgba8(p) => colour_over_white(&p.into_raw()),
        DynamicImage::ImageRgba16(p) => colour_over_white(&upper(p.into_raw())),
        other => other.into_rgb8().into_raw(),
    }
}

fn grey(samples: &[u8]) -> Vec<u8> {
    samples.iter().flat_map(|&v| [v; 3]).collect()
}

fn grey_over_white(samples: &[u8]) -> Vec<u8> {
    samples.as_chunks::<2>().0.iter().flat_map(|&[v, alpha]| [mixed(v, alpha); 3]).collect()
}

fn colour_over_white(samples: &[u8]) -> Vec<u8> {
    samples.as_chunks::<4>().0.iter().flat_map(|&[r, g, b, alpha]| [r, g, b].map(|v| mixed(v, alpha))).collect()
}

/// A value over white.
fn mixed(value: u8, alpha: u8) -> u8 {
    let (value, alpha) = (u32::from(value), u32::from(alpha));
    ((value * alpha + 255 * (255 - alpha) + 127) / 255) as u8
}

/// Upright.
fn turned(rgb: Rgb, orientation: Orientation) -> Result<Rgb> {
    let buffer = RgbImage::from_raw(rgb.width, rgb.height, rgb.data);
    let buffer = buffer.ok_or_else(|| Error::input("has fewer pixels than it says").hint(DAMAGED))?;
    let mut picture = DynamicImage::ImageRgb8(buffer);
    picture.apply_orientation(orientation);
    Ok(Rgb { width: picture.width(), height: picture.height(), data: picture.into_rgb8().into_raw() })
}

/// Whether a file that was cut short can be told by its form. (A decoder may fill what is missing with grey.)
fn is_whole(bytes: &[u8], format: ImageFormat) -> bool {
    match format {
        ImageFormat::Jpeg => scan(bytes).is_some_and(|data| data.windows(2).any(|pair| pair == [0xff, 0xd9])),
        ImageFormat::WebP => {
            let size = bytes.get(4..8).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
            bytes.len() as u64 >= u64::from(size) + 8
        }
        _ => true,
    }
}

/// A JPEG file from its first scan on; what stands before may hold another picture, with an end of its own.
fn scan(bytes: &[u8]) -> Option<&[u8]> {
    let mut at = 2;
    loop {
        match *bytes.get(at..at + 2)? {
            [0xff, 0xda] => return bytes.get(at..),
            [0xff, 0xff] => at += 1,
            [0xff, 0x01 | 0xd0..=0xd9] => at += 2,
            [0xff, _] => {
                let &[high, low] = bytes.get(at + 2..at + 4)? else { return None };
                at += 2 + usize::from(u16::from_be_bytes([high, low])).max(2);
            }
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PNG header that claims a size, and no data.
    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut chunk = b"IHDR".to_vec();
        chunk.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
        chunk.extend([8, 6, 0, 0, 0]);
        let mut crc = !0u32;
        for byte in &chunk {
            crc ^= u32::from(*byte);
            (0..8).for_each(|_| crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 });
        }
        let mut out = b"\x89PNG\r\n\x1a\n\0\0\0\x0d".to_vec();
        out.extend(chunk);
        out.extend((!crc).to_be_bytes());
        out.extend(b"\0\0\0\0IDAT\x35\xaf\x06\x1e");
        out
    }

    #[test]
    fn a_header_that_claims_too_much_is_refused_with_size_and_limit() {
        for (width, height) in [(40_000, 40_000), (1 << 26, 1), (1, 1 << 15 | 1), ((1 << 31) - 1, (1 << 31) - 1)] {
            let error = decode(&png(width, height)).unwrap_err().to_string();
            let says =
                format!("has {width}x{height} pixels; 67 million and 32768 an edge are the most; make it smaller");
            assert!(error.starts_with(&says), "{error}");
        }
        let error = decode(&png(8192, 8192)).unwrap_err().to_string();
        assert!(!error.contains("the most"), "{error}");
    }

    #[test]
    fn values_go_over_white_by_their_alpha() {
        assert_eq!([(0, 0), (0, 255), (100, 128), (255, 7)].map(|(v, a)| mixed(v, a)), [255, 0, 177, 255]);
    }

    #[test]
    fn an_end_in_a_thumbnail_is_not_the_pictures_end() {
        let mut jpeg = vec![0xff, 0xd8, 0xff, 0xe1, 0, 6, 0xff, 0xd9, 0, 0, 0xff, 0xda, 0, 2, 1, 2, 3];
        assert!(!is_whole(&jpeg, ImageFormat::Jpeg));
        jpeg.extend([0xff, 0xd9]);
        assert!(is_whole(&jpeg, ImageFormat::Jpeg));
    }
}
