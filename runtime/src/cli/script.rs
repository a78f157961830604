//! A scripted session for tests. In: answers, token by token. Out: a `Generator` that gives them. Promise: it records every
//! prompt it was given.

use crate::error::{Error, Result};
use crate::generator::Generator;
use crate::step::Done;

pub struct Script {
    answers: std::vec::IntoIter<(Vec<u32>, Done)>,
    now: (std::vec::IntoIter<u32>, Done),
    limit: usize,
    pub per_submission: usize,
    pub context: usize,
    pub prompts: Vec<Vec<u32>>,
    /// Slots in which pictures were shown, and the first value of each.
    pub shown: Vec<(u32, f32)>,
    pub submissions: usize,
}

impl Script {
    pub fn new(answers: Vec<(Vec<u32>, Done)>) -> Script {
        Script {
            answers: answers.into_iter(),
            now: (Vec::new().into_iter(), Done::Stop),
            limit: 0,
            per_submission: 3,
            context: 1024,
            prompts: Vec::new(),
            shown: Vec::new(),
            submissions: 0,
        }
    }
}

impl Generator for Script {
    fn begin(&mut self, ids: &[u32], limit: u32) -> Result<()> {
        if ids.len() >= self.context {
            return Err(Error::input(format!("{} tokens, the context has {}", ids.len(), self.context)).at("prompt"));
        }
        let (tokens, done) = self.answers.next().ok_or_else(|| Error::other("the script has no more answers"))?;
        self.now = (tokens.into_iter(), done);
        self.limit = limit as usize;
        self.prompts.push(ids.to_vec());
        Ok(())
    }

    fn show(&mut self, slot: u32, pixels: &[f32]) -> Result<()> {
        self.shown.push((slot, pixels[0]));
        Ok(())
    }

    fn advance(&mut self, tokens: &mut Vec<u32>) -> Result<Option<Done>> {
        self.submissions += 1;
        for _ in 0..self.per_submission {
            if self.limit == 0 {
                return Ok(Some(Done::Limit));
            }
            match self.now.0.next() {
                Some(id) => tokens.push(id),
                None => return Ok(Some(self.now.1)),
            }
            self.limit -= 1;
        }
        Ok((self.now.0.len() == 0).then_some(self.now.1))
    }
}
