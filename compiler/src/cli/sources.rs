//! fetch. In: a model's name. Out: its sources in .cache/models. Promise: nothing is said where nothing was to be done.

use super::progress::Progress;
use crate::error::Result;
use crate::fetch::{self, Event, Patience, Place};
use crate::job::{self, Wish};
use crate::manifest::{self, Manifest};

pub fn fetch(wish: &Wish) -> Result<()> {
    manifest::is_name(&wish.name)?;
    let path = job::find_manifest(wish).ok_or_else(|| job::nobody(&wish.name))?;
    let manifest = Manifest::load(&path, &wish.name)?;
    let progress = Progress::new(&wish.name);
    fetch::fetch(&manifest, &Place::of(&wish.project, &manifest), &Patience::default(), &mut |event| match event {
        Event::Begins { file, host, here: 0 } => progress.say(&format!("fetching {file} from {host}")),
        Event::Begins { file, host, .. } => progress.say(&format!("fetching the rest of {file} from {host}")),
        Event::Bytes { done, total } => progress.bytes("fetch", done, total),
        Event::Again { why } => progress.say(&format!("{why}; trying again")),
        Event::Checking { file } => progress.stage(&format!("check {file}")),
        Event::Done { file, sha256, verified: true } => {
            progress.say(&format!("{file} is there, sha256 {sha256} as it should be"))
        }
        Event::Done { file, sha256, verified: false } => {
            progress.say(&format!("{file} is there, sha256 {sha256} (unverified: the manifest gives none)"));
        }
    })
}
