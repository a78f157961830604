//! Pictures against Pillow (tests/data/pictures/make.py), and against damage.

use std::path::{Path, PathBuf};

use onnxcast_runtime::array::Data;
use onnxcast_runtime::host;
use onnxcast_runtime::model::{Picture, Resample, Token};
use onnxcast_runtime::npz;
use onnxcast_runtime::picture::{Rgb, decode, load, pixels, resize};
use proptest::prelude::*;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/pictures").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

/// What Pillow makes of each picture, and of each resizing.
fn expected() -> Vec<(String, Rgb)> {
    let arrays = npz::read(&path("expected.npz")).unwrap();
    let rgb = |(name, array): (String, onnxcast_runtime::array::Array)| {
        let (Data::U8(data), &[height, width, 3]) = (array.data, &array.shape[..]) else { panic!("{name}") };
        (name, Rgb { width: width as u32, height: height as u32, data })
    };
    arrays.into_iter().map(rgb).collect()
}

/// Largest and mean difference of any value.
fn difference(ours: &Rgb, theirs: &Rgb) -> (u8, f64) {
    assert_eq!((ours.width, ours.height, ours.data.len()), (theirs.width, theirs.height, theirs.data.len()));
    let each = ours.data.iter().zip(&theirs.data).map(|(a, b)| a.abs_diff(*b));
    let mean = each.clone().map(f64::from).sum::<f64>() / ours.data.len() as f64;
    (each.max().unwrap(), mean)
}

#[test]
fn every_kind_of_picture_decodes_as_in_pillow() {
    let mut seen = 0;
    for (name, theirs) in expected().iter().filter(|(name, _)| name.contains('.')) {
        let (most, mean) = difference(&decode(&bytes(name)).unwrap_or_else(|e| panic!("{name}: {e}")), theirs);
        // Decoders of lossy formats may round otherwise, and fill in halved colours in their own way.
        let bound = match name.as_str() {
            "halved.jpg" => (6, 0.5),
            "lossy.webp" => (1, 0.1),
            _ if name.ends_with(".jpg") && name != "named-jpeg.jpg" => (3, 0.1),
            _ => (0, 0.0),
        };
        assert!(most <= bound.0 && mean <= bound.1, "{name}: differs by up to {most}, {mean:.3} in the mean");
        seen += 1;
    }
    assert_eq!(seen, 35);
}

/// As `harsh` of make.py.
fn harsh(width: u32, height: u32) -> Rgb {
    let value = |x: u32, y: u32, c: u32| {
        if (x + y) % 11 < 5 {
            (x / 5 + y / 3) % 2 * 255
        } else {
            ((x * x * 7 + y * 13 + x * y * 3 + c * 50) / (1 + c)) & 255
        }
    };
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let data = places.flat_map(|(x, y)| (0..3).map(move |c| value(x, y, c) as u8)).collect();
    Rgb { width, height, data }
}

#[test]
fn resizing_is_within_one_of_pillow_with_every_filter() {
    let mut seen = 0;
    for (name, theirs) in expected().iter().filter(|(name, _)| !name.contains('.')) {
        let words: Vec<&str> = name.split(' ').collect();
        let (width, height) = words[1].split_once('x').unwrap();
        let filter = match words[0] {
            "nearest" => Resample::Nearest,
            "lanczos" => Resample::Lanczos,
            "bilinear" => Resample::Bilinear,
            _ => Resample::Bicubic,
        };
        let source = harsh(width.parse().unwrap(), height.parse().unwrap());
        let (most, _) = difference(&resize(&source, theirs.width, theirs.height, filter).unwrap(), theirs);
        assert!(most <= if filter == Resample::Nearest { 0 } else { 1 }, "{name}: differs by {most}");
        seen += 1;
    }
    assert_eq!(seen, 36);
}

const LAW: Picture = Picture {
    height: 8,
    width: 12,
    resample: Resample::Lanczos,
    rescale: 1.0 / 255.0,
    mean: [0.5; 3],
    std: [0.5; 3],
    token: Token::Id(0),
    before: "",
    after: "",
};

#[test]
fn a_picture_at_the_towers_size_becomes_the_exporters_pixels() {
    let folder = path("../smolvlm-tiny");
    let law = Picture { height: 48, width: 48, ..LAW };
    let arrays = npz::read(&folder.join("reference.npz")).unwrap();
    let theirs = arrays.iter().find(|(name, _)| name == "pixel_values").unwrap();
    let Data::F32(theirs) = &theirs.1.data else { panic!("{:?}", theirs.1.data) };
    let ours = load(&folder.join("picture.png"), &law).unwrap();
    let most = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(ours.len() == theirs.len() && most < 1e-6, "{most}");
}

#[test]
fn a_picture_of_one_pixel_fills_the_tower() {
    for name in ["dot.png", "dot.webp"] {
        let ours = load(&path(name), &LAW).unwrap();
        let wanted = [200.0, 100.0, 50.0].map(|v: f32| v / 127.5 - 1.0);
        assert!(ours.chunks(96).zip(wanted).all(|(channel, v)| channel.iter().all(|x| (x - v).abs() < 1e-5)), "{name}");
    }
}

#[test]
fn a_gif_is_refused_by_its_name() {
    let error = load(&path("animated.gif"), &LAW).unwrap_err().to_string();
    assert!(error.ends_with("animated.gif: is a GIF file; JPEG, PNG, WebP and .npy are read"), "{error}");
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    for name in ["rgb.png", "rgb.jpg", "progressive.jpg", "lossy.webp", "lossless.webp"] {
        let whole = bytes(name);
        // All of a PNG's pixels may be there before its last bytes are.
        let enough = if name.ends_with("png") { whole.len() - 24 } else { whole.len() };
        for n in (0..enough).step_by(13) {
            let error = pixels(&whole[..n], &LAW).err().unwrap_or_else(|| panic!("{n} of {name} were enough"));
            assert!(error.hint.is_some(), "{name}, {n}: {error}");
        }
    }
}

/// Whole files, to be damaged.
const VICTIMS: [&str; 10] = [
    "rgb.png",
    "palette-clear.png",
    "rgba16.png",
    "animated.png",
    "rgb.jpg",
    "progressive.jpg",
    "ycck.jpg",
    "orientation-6.jpg",
    "lossy.webp",
    "animated.webp",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_give_pixels_or_an_error_and_take_little_memory(
        victim in 0..VICTIMS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut file = bytes(VICTIMS[victim]);
        for (at, value) in changes {
            let at = at.index(file.len());
            file[at] = value;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        if let Ok(found) = pixels(&file, &LAW) {
            prop_assert_eq!(found.len(), 3 * 8 * 12);
        }
        prop_assert!(host::memory().is_none_or(|m| m.peak_bytes < 1 << 30));
    }
}
