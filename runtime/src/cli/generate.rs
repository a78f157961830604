//! One answer. In: prompt ids and where to stop. Out: tokens and text, shown as they come. Promise: ends within one submission
//! of being asked to, and always says why it ended.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::draw;
use crate::error::Result;
use crate::generator::Generator;
use crate::sampling::Sampling;
use crate::step::Done;
use crate::text::{Codec, StopFilter, Stream};

pub struct Request<'a> {
    pub ids: &'a [u32],
    /// Most tokens; none is until the context is full.
    pub limit: Option<u32>,
    pub stop: &'a [String],
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    StopToken(u32),
    StopText(String),
    Length,
    Context,
    Interrupted,
}

impl End {
    pub fn name(&self) -> &'static str {
        match self {
            End::StopToken(_) => "stop_token",
            End::StopText(_) => "stop_text",
            End::Length => "length",
            End::Context => "context",
            End::Interrupted => "interrupted",
        }
    }
}

pub struct Answered {
    pub prompt_tokens: usize,
    /// Sampled tokens, the stop token included, up to the one that completed a stop text.
    pub tokens: Vec<u32>,
    /// What was shown; empty without a tokenizer.
    pub text: String,
    pub end: End,
    /// Until the first token was there, and from then on.
    pub prefill: Duration,
    pub decode: Duration,
}

/// Shows tokens and the text they complete through `show` as they come.
pub fn generate(
    session: &mut dyn Generator,
    codec: Option<&Codec>,
    request: &Request,
    interrupted: &dyn Fn() -> bool,
    show: &mut dyn FnMut(&[u32], &str) -> Result<()>,
) -> Result<Answered> {
    let start = Instant::now();
    session.begin(request.ids, request.limit.unwrap_or(u32::MAX))?;
    let prefill = start.elapsed();
    let mut reader = Reader::new(codec, request.stop);
    let mut batch = Vec::new();
    let end = loop {
        batch.clear();
        let done = session.advance(&mut batch)?;
        let end = reader.read(&batch, done)?;
        show(&reader.tokens[reader.shown_tokens..], &reader.text[reader.shown_bytes..])?;
        reader.shown_tokens = reader.tokens.len();
        reader.shown_bytes = reader.text.len();
        match end {
            Some(end) => break end,
            None if interrupted() => break End::Interrupted,
            None => {}
        }
    };
    if !matches!(end, End::StopText(_)) {
        let rest = reader.filter.finish();
        show(&[], &rest)?;
        reader.text.push_str(&rest);
    }
    let decode = start.elapsed() - prefill;
    let Reader { tokens, text, .. } = reader;
    Ok(Answered { prompt_tokens: request.ids.len(), tokens, text, end, prefill, decode })
}

/// Tokens and text of the answer so far.
struct Reader<'a> {
    stream: Option<Stream<'a>>,
    filter: StopFilter<'a>,
    tokens: Vec<u32>,
    text: String,
    shown_tokens: usize,
    shown_bytes: usize,
}

impl<'a> Reader<'a> {
    fn new(codec: Option<&'a Codec>, stop: &'a [String]) -> Reader<'a> {
        let (stream, filter) = (codec.map(Stream::new), StopFilter::new(stop));
        Reader { stream, filter, tokens: Vec::new(), text: String::new(), shown_tokens: 0, shown_bytes: 0 }
    }

    /// Takes a submission's tokens; tokens after a stop text are dropped.
    fn read(&mut self, batch: &[u32], done: Option<Done>) -> Result<Option<End>> {
        for (i, &id) in batch.iter().enumerate() {
            self.tokens.push(id);
            if done == Some(Done::Stop) && i + 1 == batch.len() {
                return Ok(Some(End::StopToken(id)));
            }
            let Some(stream) = &mut self.stream else { continue };
            let passed = self.filter.push(&stream.push(id)?);
            self.text.push_str(&passed.text);
            if let Some(stop) = passed.stop {
                return Ok(Some(End::StopText(stop.to_owned())));
            }
        }
        Ok(match done {
            Some(Done::Limit) => Some(End::Length),
            Some(Done::Context) => Some(End::Context),
            // A stop without a token of its own has nothing to name; the last token is the stop.
            Some(Done::Stop) => Some(End::StopToken(self.tokens.last().copied().unwrap_or_default())),
            None => None,
        })
    }
}

fn per_second(tokens: usize, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { tokens as f64 / time.as_secs_f64() }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

impl Answered {
    /// Tokens a second after the first token.
    fn decode_rate(&self) -> f64 {
        per_second(self.tokens.len().saturating_sub(1), self.decode)
    }

    /// One line for a person.
    pub fn summary(&self, sampling: Option<&Sampling>) -> String {
        let why = match &self.end {
            End::StopToken(id) => format!("stop token {id}"),
            End::StopText(text) => format!("stop text {text:?}"),
            End::Length => "length reached (-n)".to_owned(),
            End::Context => "context full".to_owned(),
            End::Interrupted => "interrupted".to_owned(),
        };
        let (prompt, answer) = (self.prompt_tokens, self.tokens.len());
        let (first, rate, drawn) = (milliseconds(self.prefill), self.decode_rate(), draw::remark(sampling));
        format!(
            "[{why}; prompt {prompt} tokens, first token after {first:.1} ms; answer {answer} tokens, {rate:.1} a second{drawn}]"
        )
    }

    /// The answer for a program.
    pub fn json(&self, model: &str, prompt_ids: &[u32], sampling: Option<&Sampling>) -> Value {
        let mut stop = json!({"reason": self.end.name()});
        match &self.end {
            End::StopToken(id) => stop["token"] = json!(id),
            End::StopText(text) => stop["text"] = json!(text),
            End::Length | End::Context | End::Interrupted => {}
        }
        json!({
            "model": model,
            "prompt_ids": prompt_ids,
            "tokens": self.tokens,
            "text": self.text,
            "stop": stop,
            "sampling": draw::json(sampling),
            "timings": {
                "prompt_tokens": self.prompt_tokens,
                "prompt_ms": milliseconds(self.prefill),
                "tokens": self.tokens.len(),
                "decode_ms": milliseconds(self.decode),
                "tokens_per_second": (self.decode_rate() * 100.0).round() / 100.0,
            },
        })
    }
}

#[cfg(test)]
#[path = "generate_tests.rs"]
mod tests;
