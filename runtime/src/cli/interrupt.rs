//! Ctrl-C. In: the signal. Out: a flag that the token loop reads between submissions. Promise: the first one ends an answer with
//! its text kept, a second or one outside an answer ends the program at once.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, Result};

/// The shell's convention for a program that a signal ended: 128 + SIGINT.
const EXIT_CODE: i32 = 130;

const IDLE: u8 = 0;
const ANSWERING: u8 = 1;
const ASKED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(IDLE);

/// Takes over the signal; once a process.
pub fn install() -> Result<()> {
    ctrlc::set_handler(|| {
        if STATE.compare_exchange(ANSWERING, ASKED, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            std::process::exit(EXIT_CODE);
        }
    })
    .map_err(|e| Error::other(e.to_string()).at("Ctrl-C handler"))
}

/// While one lives, Ctrl-C is a request and not an end.
pub struct Answering(());

pub fn answering() -> Answering {
    STATE.store(ANSWERING, Ordering::SeqCst);
    Answering(())
}

impl Answering {
    pub fn asked(&self) -> bool {
        STATE.load(Ordering::SeqCst) == ASKED
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        STATE.store(IDLE, Ordering::SeqCst);
    }
}
