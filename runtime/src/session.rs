//! The token loop. In: token ids, pixels. Out: sampled tokens, a submission's worth at a time, or logits. Promise: between prompt and
//! answer nothing but token ids crosses the bus, and rows of pictures and of the cache that are right already are not computed again.

use crate::engine::{Counters, Engine, Run};
use crate::error::{Error, Kind, Result};
use crate::generator::Generator;
use crate::generator::Scorer;
use crate::profile::Timing;
use crate::program::{Decoder, Phase, Pictures, Port};
use crate::recorder::Part;
use crate::sampling::Sampling;
use crate::step::{Done, MAX_STOPS, RING, RING_ENDS, Step};
use crate::submit::Ticket;
use std::collections::VecDeque;
use std::ops::Range;

/// How the loop submits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Decode steps a submission; tokens come in groups of this size.
    pub steps: u32,
    /// Submissions under way at once, so that the device does not wait for the host.
    pub ahead: usize,
    /// Chunks of a prompt a submission, more where they are of few rows; a watchdog ends submissions that take seconds.
    pub chunks: usize,
    /// How answers are drawn; none is greedy.
    pub sampling: Option<Sampling>,
}

impl Default for Options {
    fn default() -> Options {
        Options { steps: 8, ahead: 2, chunks: 8, sampling: None }
    }
}

/// Rows of a prompt that a submission takes at least: a chunk of one row is little work.
const LEAST_ROWS: usize = 32;

/// One conversation with a decoder.
pub struct Session {
    engine: Engine,
    decoder: Decoder,
    stops: Vec<u32>,
    options: Options,
    /// Tokens of the prompt that is answered.
    prompt: u32,
    /// The id of every valid row of the cache.
    cached: Vec<u32>,
    /// Which slots hold a picture.
    shown: Vec<bool>,
    answer: Option<Answer>,
}

/// An answer under way.
struct Answer {
    limit: u32,
    /// Tokens read from the ring; the last of them has no row yet.
    produced: u32,
    last: u32,
    /// What the submissions under way will have produced, if no stop token comes.
    planned: u32,
    under_way: VecDeque<(Ticket, u32)>,
    /// A token was read that `advance` has not handed out.
    waiting: Option<u32>,
    done: Option<Done>,
}

impl Session {
    /// A session on an engine whose program is a decoder; `stops` end an answer.
    pub fn new(engine: Engine, stops: &[u32], options: Options) -> Result<Session> {
        let no_decoder = || Error::new(Kind::Usage, format!("'{}' generates no tokens", engine.program().name));
        let decoder = engine.program().decoder.clone().ok_or_else(no_decoder)?;
        if stops.len() > MAX_STOPS {
            return Err(Error::new(Kind::Usage, format!("{} stop tokens, at most {MAX_STOPS} fit", stops.len())));
        }
        if let Some(sampling) = &options.sampling {
            sampling.check()?;
            let blocks = engine.bucket(decoder.decode)?.blocks.iter();
            if !sampling.is_greedy() && !blocks.into_iter().any(|b| b.phase == Phase::Drawn) {
                let what = "this program draws by a graph of its own, which takes no settings";
                return Err(Error::usage(what).hint("leave out --temp and its like"));
            }
        }
        let ahead = options.ahead.clamp(1, 16);
        let steps = options.steps.clamp(1, RING / 2 / ahead as u32);
        let options = Options { steps, ahead, chunks: options.chunks.max(1), ..options };
        let shown = vec![false; decoder.pictures.map_or(0, |p| p.slots as usize)];
        Ok(Session {
            engine,
            decoder,
            stops: stops.to_vec(),
            prompt: 0,
            options,
            cached: Vec::new(),
            shown,
            answer: None,
        })
    }

    pub fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    pub fn into_engine(self) -> Engine {
        self.engine
    }

    pub fn device_name(&self) -> &str {
        &self.engine.device().info().name
    }

    /// Times of a prompt's last chunk and of `tokens` decode steps. Needs an engine with timestamps.
    pub fn profile(&mut self, prompt: &[u32], tokens: u32) -> Result<(Vec<Timing>, Vec<Vec<Timing>>)> {
        self.reset();
        self.check(prompt)?;
        let bucket = self.prefill(prompt, u32::MAX)?;
        let part = self.part();
        let prefill = self.engine.timings(bucket, part)?;
        let mut decode = Vec::new();
        for _ in 0..tokens.min(self.decoder.context - prompt.len() as u32) {
            self.engine.run(self.decoder.decode, part)?;
            decode.push(self.engine.timings(self.decoder.decode, part)?);
        }
        self.reset();
        Ok((prefill, decode))
    }

    /// Rows of the cache.
    pub fn context(&self) -> u32 {
        self.decoder.context
    }

    /// What the program makes of pictures; none for one that takes text alone.
    pub fn pictures(&self) -> Option<Pictures> {
        self.decoder.pictures
    }

    /// The ids that stand for the rows of the picture in a slot, in their order.
    pub fn picture_ids(&self, slot: u32) -> Result<Range<u32>> {
        let takes_none = || Error::new(Kind::Usage, "this model takes no pictures");
        let Pictures { rows, slots, .. } = self.decoder.pictures.ok_or_else(takes_none)?;
        if slot >= slots {
            let what = format!("picture {} of {slots} that fit at once", u64::from(slot) + 1);
            return Err(Error::new(Kind::Usage, what));
        }
        let first = self.decoder.vocab + slot * rows;
        Ok(first..first + rows)
    }

    /// Turns pixels, as the tower takes them, into the rows of a slot. What the cache holds from the first row of the picture that
    /// was there on is forgotten, and an answer under way ends.
    pub fn show(&mut self, slot: u32, pixels: &[f32]) -> Result<()> {
        let ids = self.picture_ids(slot)?;
        let Some(Pictures { bucket, rows, .. }) = self.decoder.pictures else { return Ok(()) };
        let tower = self.engine.bucket(bucket)?;
        let wanted = tower.inputs.iter().map(Port::bytes).sum::<u64>();
        if pixels.len() as u64 * 4 != wanted || tower.inputs.len() != 1 {
            let shape = tower.inputs.first().map(|p| p.shape.to_vec()).unwrap_or_default();
            let what = format!("{} values for pixels of shape {shape:?}", pixels.len());
            return Err(Error::new(Kind::Input, what));
        }
        self.answer = None;
        let kept = self.cached.iter().position(|id| ids.contains(id)).unwrap_or(self.cached.len());
        self.cached.truncate(kept);
        self.shown[slot as usize] = false;
        self.engine.write_input(bucket, bytemuck::cast_slice(pixels))?;
        let step = self.step(slot * rows, rows, 0);
        self.engine.start(&[Run { bucket, part: Part::Whole, feed: Some((step, vec![])) }])?.wait()?;
        self.shown[slot as usize] = true;
        Ok(())
    }

    /// Tokens whose rows are in the cache.
    pub fn cached(&self) -> &[u32] {
        &self.cached
    }

    /// Forgets the conversation.
    pub fn reset(&mut self) {
        self.answer = None;
        self.cached.clear();
    }

    /// What a run of body, head and sampler consists of.
    fn part(&self) -> Part {
        if self.drawn().is_some() { Part::Drawn } else { Part::Whole }
    }

    fn drawn(&self) -> Option<&Sampling> {
        self.options.sampling.as_ref().filter(|s| !s.is_greedy())
    }

    fn step(&self, pos: u32, rows: u32, limit: u32) -> Step {
        let mut step = Step {
            pos,
            rows,
            done: 0,
            produced: 0,
            limit,
            context: self.decoder.context,
            stop_count: self.stops.len() as u32,
            reserved: 0,
            stops: [0; MAX_STOPS],
            draw: self.drawn().copied().unwrap_or_default().draw(),
        };
        step.draw.counter = self.drawn().map_or(0, |s| s.offset(self.prompt));
        step.stops[..self.stops.len()].copy_from_slice(&self.stops);
        step
    }

    /// Refuses what no run could take.
    fn check(&self, ids: &[u32]) -> Result<()> {
        let context = self.decoder.context;
        if ids.is_empty() {
            return Err(Error::new(Kind::Input, "the prompt has no tokens"));
        }
        if ids.len() >= context as usize {
            let what = format!(
                "the prompt has {} tokens, the context takes {context} with at least one of the answer",
                ids.len()
            );
            return Err(Error::new(Kind::Input, what).hint("shorten the prompt"));
        }
        ids.iter().enumerate().try_for_each(|(i, &id)| self.check_id(i, id))
    }

    /// Refuses an id that is neither a token nor a row of a picture that is there.
    fn check_id(&self, at: usize, id: u32) -> Result<()> {
        let vocab = self.decoder.vocab;
        if id < vocab {
            return Ok(());
        }
        let slot = self.decoder.pictures.map_or(0, |p| (id - vocab) / p.rows.max(1));
        let what = match self.shown.get(slot as usize) {
            Some(true) => return Ok(()),
            Some(false) => format!("token {at} is {id}, a row of picture {}, and no such picture was shown", slot + 1),
            None if self.shown.is_empty() => format!("token {at} is {id}, the vocabulary has {vocab}"),
            None => {
                let last = self.picture_ids(self.shown.len() as u32 - 1)?.end - 1;
                format!("token {at} is {id}, the vocabulary has {vocab}, and rows of pictures go to {last}")
            }
        };
        Err(Error::new(Kind::Input, what))
    }

    /// Fills the cache with `ids`, from the first row that differs on, and runs the head on the last. Returns the last bucket.
    /// Submissions follow each other without waiting, as many as may be under way.
    fn prefill(&mut self, ids: &[u32], limit: u32) -> Result<u32> {
        let kept = self.cached.iter().zip(ids).take_while(|(a, b)| a == b).count().min(ids.len() - 1);
        self.prompt = ids.len() as u32;
        // Until it has worked, only the kept rows are known to be right.
        self.cached.truncate(kept);
        let (prefill, decode) = (self.decoder.prefill, self.decoder.decode);
        let chunk = self.engine.bucket(prefill)?.rows as usize;
        let most = self.options.chunks.max(LEAST_ROWS / chunk);
        let mut under_way: VecDeque<Ticket> = VecDeque::new();
        let mut runs = Vec::new();
        let mut pos = kept;
        let mut bucket = prefill;
        while pos < ids.len() {
            let rows = chunk.min(ids.len() - pos);
            let last = pos + rows == ids.len();
            bucket = if rows == 1 { decode } else { prefill };
            let part = if last { self.part() } else { Part::Body };
            let feed = (self.step(pos as u32, rows as u32, limit), ids[pos..pos + rows].to_vec());
            runs.push(Run { bucket, part, feed: Some(feed) });
            pos += rows;
            if last || runs.len() == most {
                if under_way.len() == self.options.ahead {
                    under_way.pop_front().map_or(Ok(()), Ticket::wait)?;
                }
                under_way.push_back(self.engine.start(&runs)?);
                runs.clear();
            }
        }
        under_way.into_iter().try_for_each(Ticket::wait)?;
        self.cached.extend_from_slice(&ids[kept..]);
        Ok(bucket)
    }

    /// Submits decode steps until enough are under way or none is left to do.
    fn submit_ahead(&mut self) -> Result<()> {
        let (context, part) = (self.decoder.context, self.part());
        let Some(answer) = &mut self.answer else { return Ok(()) };
        while answer.done.is_none() && answer.under_way.len() < self.options.ahead {
            let rows = self.cached.len() as u32 + answer.planned - answer.produced;
            let steps = self.options.steps.min(answer.limit - answer.planned).min(context - rows);
            if steps == 0 {
                break;
            }
            let run = Run { bucket: self.decoder.decode, part, feed: None };
            let ticket = self.engine.start(&vec![run; steps as usize])?;
            answer.under_way.push_back((ticket, steps));
            answer.planned += steps;
        }
        Ok(())
    }

    /// Waits for the oldest submission and reads its tokens; the same decisions as the sampling kernel's.
    fn collect(&mut self, tokens: &mut Vec<u32>) -> Result<()> {
        let Some(answer) = &mut self.answer else { return Ok(()) };
        let Some((ticket, steps)) = answer.under_way.pop_front() else { return Ok(()) };
        ticket.wait()?;
        for entry in self.engine.ring_range(answer.produced, steps)? {
            let token = entry & !RING_ENDS;
            self.cached.push(answer.last);
            answer.last = token;
            answer.produced += 1;
            tokens.push(token);
            answer.done = ended(&self.stops, entry, answer.produced, answer.limit, self.cached.len(), &self.decoder);
            if answer.done.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Lets what is under way run out, and holds the device's account of the answer against ours.
    fn settle(&mut self) -> Result<()> {
        let Some(answer) = &mut self.answer else { return Ok(()) };
        for (ticket, _) in answer.under_way.drain(..) {
            ticket.wait()?;
        }
        let (produced, done, rows) = (answer.produced, answer.done, self.cached.len() as u32);
        let [pos, _, ended, sampled] = self.engine.progress()?;
        if done.is_some_and(|d| (ended, sampled, pos) != (d as u32, produced, rows)) {
            let what = format!(
                "the sampler left {sampled} tokens, end {ended}, {pos} rows, the host read {produced}, {done:?}, {rows}"
            );
            return Err(Error::new(Kind::Program, what));
        }
        Ok(())
    }
}

/// Why an answer ends with the token of this entry of the ring, if it does.
fn ended(stops: &[u32], entry: u32, produced: u32, limit: u32, rows: usize, decoder: &Decoder) -> Option<Done> {
    if entry & RING_ENDS != 0 || stops.contains(&entry) {
        Some(Done::Stop)
    } else if produced >= limit {
        Some(Done::Limit)
    } else if rows >= decoder.context as usize {
        Some(Done::Context)
    } else {
        None
    }
}

impl Generator for Session {
    fn show(&mut self, slot: u32, pixels: &[f32]) -> Result<()> {
        Session::show(self, slot, pixels)
    }

    fn begin(&mut self, ids: &[u32], limit: u32) -> Result<()> {
        self.answer = None;
        self.check(ids)?;
        self.prefill(ids, limit.max(1))?;
        let entry = self.engine.ring(0)?;
        let first = entry & !RING_ENDS;
        self.answer = Some(Answer {
            limit,
            produced: 1,
            last: first,
            planned: 1,
            under_way: VecDeque::new(),
            waiting: (limit > 0).then_some(first),
            done: ended(&self.stops, entry, 1, limit, self.cached.len(), &self.decoder),
        });
        Ok(())
    }

    fn advance(&mut self, tokens: &mut Vec<u32>) -> Result<Option<Done>> {
        self.submit_ahead()?;
        let waiting = self.answer.as_mut().and_then(|a| a.waiting.take());
        match waiting {
            Some(first) => tokens.push(first),
            None => self.collect(tokens)?,
        }
        let done = self.answer.as_ref().map(|a| a.done);
        match done {
            None => Err(Error::new(Kind::Usage, "advance before begin")),
            // The head samples even when nothing is wanted.
            Some(Some(_)) if self.answer.as_ref().is_some_and(|a| a.limit == 0) => Ok(Some(Done::Limit)),
            Some(None) => Ok(None),
            Some(Some(done)) => self.settle().map(|()| Some(done)),
        }
    }

    fn forget(&mut self) {
        self.reset();
    }

    fn counters(&self) -> Counters {
        self.engine.counters()
    }
}

impl Scorer for Session {
    fn prompt_logits(&mut self, ids: &[u32]) -> Result<Vec<f32>> {
        self.reset();
        self.check(ids)?;
        self.prefill(ids, 1)?;
        self.engine.logits()
    }

    fn next_logits(&mut self, id: u32) -> Result<Vec<f32>> {
        self.answer = None;
        let rows = self.cached.len() as u32;
        if rows >= self.decoder.context {
            return Err(Error::new(Kind::Input, format!("all {} rows of the context are taken", self.decoder.context)));
        }
        self.check_id(rows as usize, id)?;
        let run = Run { bucket: self.decoder.decode, part: Part::Whole, feed: Some((self.step(rows, 1, 1), vec![id])) };
        self.engine.start(&[run])?.wait()?;
        self.cached.push(id);
        self.engine.logits()
    }
}
