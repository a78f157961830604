//! Progress. In: stages and bytes. Out: a bar on stderr when it is a terminal. Promise: stdout is untouched.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

pub struct Progress {
    bar: ProgressBar,
    model: String,
    terminal: bool,
}

impl Progress {
    pub fn new(model: &str) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let bar = if terminal { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        if terminal {
            bar.enable_steady_tick(std::time::Duration::from_millis(100));
        }
        Progress { bar, model: model.to_string(), terminal }
    }

    /// A stage begins.
    pub fn stage(&self, what: &str) {
        self.bar.set_message(format!("{}: {what}", self.model));
    }

    /// `done` of `total` bytes of the pool are packed.
    pub fn packed(&self, done: u64, total: u64) {
        self.bytes("pack weights", done, Some(total));
    }

    /// `done` bytes, of `total` where that is known.
    pub fn bytes(&self, what: &str, done: u64, total: Option<u64>) {
        if self.terminal && self.bar.length() != total {
            let template = match total {
                Some(_) => "{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec} {eta}",
                None => "{msg} {bytes} {bytes_per_sec}",
            };
            let style = ProgressStyle::with_template(template);
            self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            match total {
                Some(total) => self.bar.set_length(total),
                None => self.bar.unset_length(),
            }
            self.stage(what);
        }
        self.bar.set_position(done);
    }

    /// A remark that stays.
    pub fn say(&self, what: &str) {
        self.bar.suspend(|| eprintln!("{}: {what}", self.model));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
