//! Pictures of a command line or a chat. In: files. Out: slots of the device, and their rows in prompts. Promise: a picture that is on
//! the device already is not looked at again, and none is dropped while a turn still shows it.

use std::path::Path;
use std::time::Instant;

use blake3::Hash;

use super::out::remark_to_person;
use crate::error::{Error, Result};
use crate::generator::Generator;
use crate::model::Picture;
use crate::picture;
use crate::program::{Decoder, Pictures};
use crate::text::{Codec, Marks};

/// A picture as the tower takes it, and the hash of that.
#[derive(Clone)]
pub struct Shot {
    name: String,
    pixels: Vec<f32>,
    hash: Hash,
}

/// What a program makes of pictures, and which of them its slots hold.
pub struct Album<'a> {
    law: &'a Picture,
    pub marks: Marks,
    vocab: u32,
    slots: Vec<Option<Hash>>,
}

/// For a picture that is given to a model without eyes.
pub fn no_pictures(place: &str) -> Error {
    Error::usage("this model takes no pictures").at(place)
}

impl<'a> Album<'a> {
    /// None for a model that takes text alone.
    pub fn new(law: Option<&'a Picture>, decoder: &Decoder, codec: Option<&Codec>) -> Result<Option<Album<'a>>> {
        let (Some(law), Some(Pictures { rows, slots, .. })) = (law, decoder.pictures) else { return Ok(None) };
        let marks = Marks::new(law, rows, codec)?;
        Ok(Some(Album { law, marks, vocab: decoder.vocab, slots: vec![None; slots as usize] }))
    }

    /// Reads a picture file.
    pub fn load(&self, path: &Path) -> Result<Shot> {
        let pixels = picture::load(path, self.law)?;
        let hash = blake3::hash(bytemuck::cast_slice(&pixels));
        Ok(Shot { name: path.display().to_string(), pixels, hash })
    }

    /// A slot for each picture of a prompt, in their order: where it is already, else one that none of them needs.
    pub fn seats(&self, shots: &[Shot]) -> Result<Vec<u32>> {
        let mut plan = self.slots.clone();
        let needed = |held: &Option<Hash>| held.is_some_and(|hash| shots.iter().any(|s| s.hash == hash));
        let mut seats = Vec::new();
        for shot in shots {
            let known = plan.iter().position(|held| *held == Some(shot.hash));
            let free = || plan.iter().position(Option::is_none).or(plan.iter().position(|held| !needed(held)));
            let seat = known.or_else(free).ok_or_else(|| self.too_many(shots))?;
            plan[seat] = Some(shot.hash);
            seats.push(seat as u32);
        }
        Ok(seats)
    }

    fn too_many(&self, shots: &[Shot]) -> Error {
        let mut hashes: Vec<_> = shots.iter().map(|s| *s.hash.as_bytes()).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Error::usage(format!("{} pictures are shown, and {} fit at once", hashes.len(), self.slots.len()))
    }

    /// Has the tower look at those that are not in their seats.
    pub fn show(&mut self, shots: &[Shot], seats: &[u32], session: &mut dyn Generator) -> Result<()> {
        for (shot, &seat) in shots.iter().zip(seats) {
            let slot = &mut self.slots[seat as usize];
            if *slot == Some(shot.hash) {
                continue;
            }
            *slot = None;
            let start = Instant::now();
            session.show(seat, &shot.pixels)?;
            *slot = Some(shot.hash);
            remark_to_person(&format!("[{}: looked at in {:.1} ms]", shot.name, start.elapsed().as_secs_f64() * 1e3));
        }
        Ok(())
    }

    /// Puts the pictures' rows in the place of their tokens.
    pub fn place(&self, ids: &[u32], seats: &[u32]) -> Result<Vec<u32>> {
        let mut placed = ids.to_vec();
        self.marks.place(&mut placed, seats, self.vocab)?;
        Ok(placed)
    }

    /// What `info` says of them.
    pub fn about(law: &Picture, pictures: &Pictures) -> String {
        let Picture { height, width, resample, .. } = law;
        let filter = format!("{resample:?}").to_lowercase();
        format!("{} at once, resized to {width} x {height} ({filter}), {} rows each", pictures.slots, pictures.rows)
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::script::Script;
    use super::*;
    use crate::model::Token;
    use crate::text::toy;

    /// Two pictures of two rows each, after a vocabulary of 300.
    pub const EYES: Decoder = Decoder {
        context: 64,
        vocab: 300,
        decode: 1,
        prefill: 0,
        pictures: Some(Pictures { bucket: 0, state: 0, rows: 2, slots: 2 }),
    };

    /// The path of a picture whose only pixel begins with `value`.
    pub fn dot(folder: &Path, value: u8) -> String {
        let path = folder.join(format!("{value}.png"));
        image::RgbImage::from_pixel(1, 1, image::Rgb([value, 0, 0])).save(&path).unwrap();
        path.display().to_string()
    }

    #[test]
    fn a_picture_keeps_its_slot_until_another_needs_it() {
        let folder = tempfile::tempdir().unwrap();
        let law = Picture { token: Token::Id(9), ..toy::LAW };
        let mut album = Album::new(Some(&law), &EYES, None).unwrap().unwrap();
        let [a, b, c] = [1, 2, 3].map(|n| album.load(Path::new(&dot(folder.path(), n))).unwrap());
        let mut session = Script::new(vec![]);
        let mut look = |shots: &[&Shot]| {
            let shots: Vec<Shot> = shots.iter().map(|s| (*s).clone()).collect();
            let seats = album.seats(&shots).map_err(|e| e.to_string())?;
            session.shown.clear();
            album.show(&shots, &seats, &mut session).unwrap();
            Ok((seats, session.shown.clone()))
        };
        assert_eq!(look(&[&a, &b, &a]), Ok((vec![0, 1, 0], vec![(0, 1.0), (1, 2.0)])), "one look a picture");
        assert_eq!(look(&[&b]), Ok((vec![1], vec![])));
        assert_eq!(look(&[&b, &c]), Ok((vec![1, 0], vec![(0, 3.0)])), "the slot that is not needed");
        assert_eq!(look(&[&a, &b, &c]), Err("3 pictures are shown, and 2 fit at once".to_owned()));
        assert_eq!(look(&[&c, &b]), Ok((vec![0, 1], vec![])), "a refusal drops nothing");
    }

    #[test]
    fn a_model_without_eyes_has_no_album() {
        assert!(Album::new(None, &EYES, None).unwrap().is_none());
        assert!(Album::new(Some(&toy::LAW), &Decoder { pictures: None, ..EYES }, None).unwrap().is_none());
    }
}
