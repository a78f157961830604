//! Resizing. In: a picture and a filter. Out: a picture of the size asked for. Promise: Pillow's result within 1 of 255, so columns
//! first: what the first of two passes cuts off at 0 and 255, the second does not see.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};

use super::Rgb;
use crate::error::{Error, Result};
use crate::model::Resample;

/// The whole picture, squeezed to `width` and `height`.
pub fn resize(rgb: &Rgb, width: u32, height: u32, filter: Resample) -> Result<Rgb> {
    let algorithm = match filter {
        Resample::Nearest => ResizeAlg::Nearest,
        Resample::Bilinear => ResizeAlg::Convolution(FilterType::Bilinear),
        Resample::Bicubic => ResizeAlg::Convolution(FilterType::CatmullRom),
        Resample::Lanczos => ResizeAlg::Convolution(FilterType::Lanczos3),
    };
    let across = pass(rgb, width, rgb.height, algorithm)?;
    pass(&across, width, height, algorithm)
}

/// One direction only, the other keeping its extent.
fn pass(rgb: &Rgb, width: u32, height: u32, algorithm: ResizeAlg) -> Result<Rgb> {
    let wrong = |e: &dyn std::fmt::Display| Error::other(e.to_string()).at("resize");
    // Of one pixel type: the form for all of them would be compiled into this crate, for minutes.
    let from = TypedImageRef::<U8x3>::from_buffer(rgb.width, rgb.height, &rgb.data).map_err(|e| wrong(&e))?;
    let mut to = TypedImage::<U8x3>::new(width, height);
    let options = ResizeOptions::new().resize_alg(algorithm).use_alpha(false);
    Resizer::new().resize_typed(&from, &mut to, &options).map_err(|e| wrong(&e))?;
    Ok(Rgb { width, height, data: to.pixels().iter().flat_map(|p| p.0).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_size_gives_the_same_pixels() {
        let rgb = Rgb { width: 2, height: 2, data: (0..12).map(|i| i * 20).collect() };
        for filter in [Resample::Nearest, Resample::Bilinear, Resample::Bicubic, Resample::Lanczos] {
            assert_eq!(resize(&rgb, 2, 2, filter).unwrap(), rgb);
        }
    }
}
