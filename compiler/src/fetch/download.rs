//! One file over HTTP. In: an address. Out: the file. Promise: what a cut connection left is kept and asked for no second time, as
//! long as the server can say that it still is the same file; every wait has an end.

use super::Event;
use super::part::{Part, State};
use crate::error::Error;
use crate::manifest::Source;
use std::io::Read;
use std::path::Path;
use std::time::Duration;
use ureq::http::Response;
use ureq::http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderName, LAST_MODIFIED};
use ureq::{Agent, Body};

/// How long to wait, and how often to try.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    pub connect: Duration,
    /// Without a byte.
    pub silence: Duration,
    /// Tries in a row that bring nothing.
    pub tries: u32,
    /// Before the second try; twice as long before each further one.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        let s = Duration::from_secs;
        Patience { connect: s(15), silence: s(30), tries: 4, pause: s(1) }
    }
}

/// Why there is no file.
pub enum Trouble {
    /// Disk and the like.
    Here(Error),
    /// Network and server, in words.
    There(String),
}

impl From<Error> for Trouble {
    fn from(e: Error) -> Trouble {
        Trouble::Here(e)
    }
}

/// How one try ended without the whole file.
enum Stop {
    /// Another try may help.
    Passing(String),
    Final(Trouble),
}

impl From<Error> for Stop {
    fn from(e: Error) -> Stop {
        Stop::Final(Trouble::Here(e))
    }
}

pub struct Client {
    agent: Agent,
    patience: Patience,
}

impl Client {
    pub fn new(patience: &Patience) -> Client {
        let config = Agent::config_builder()
            .user_agent(concat!("onnxcast/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity") // a range of a compressed body would be a range of something else
            .http_status_as_error(false)
            .timeout_resolve(Some(patience.connect))
            .timeout_connect(Some(patience.connect))
            .timeout_recv_response(Some(patience.silence))
            .timeout_per_read(Some(patience.silence))
            .build();
        Client { agent: config.into(), patience: *patience }
    }

    /// Brings `source` to `target`.
    pub fn download(
        &self,
        name: &str,
        source: &Source,
        target: &Path,
        hear: &mut dyn FnMut(Event),
    ) -> Result<(), Trouble> {
        let mut part = Part::open(target)?;
        hear(Event::Begins { file: name, host: host(&source.url), here: resumable(source, &part) });
        let mut idle = 0;
        let mut any = false;
        loop {
            let before = part.len();
            let why = match self.attempt(source, &mut part, hear) {
                Ok(()) => return Ok(part.finish()?),
                Err(Stop::Final(trouble)) => return Err(trouble),
                Err(Stop::Passing(why)) => why,
            };
            let progress = part.len() > before;
            any |= progress;
            idle = if progress { 0 } else { idle + 1 };
            // A server that never answered is not going to: offline is told at once.
            if idle >= self.patience.tries || (!any && why.starts_with(UNREACHABLE)) {
                return Err(Trouble::There(why));
            }
            hear(Event::Again { why: &why });
            std::thread::sleep(self.patience.pause * (1 << idle.min(6)));
        }
    }

    /// One request, and its body to the end.
    fn attempt(&self, source: &Source, part: &mut Part, hear: &mut dyn FnMut(Event)) -> Result<(), Stop> {
        let from = resumable(source, part);
        if from > 0 && part.state().total == Some(from) {
            return Ok(());
        }
        let mut response = self.ask(source, part, from)?;
        match response.status().as_u16() {
            200 => part.restart(state(source, &response))?,
            206 if from > 0 => {
                let (first, total) =
                    range(&response).ok_or_else(|| Stop::Passing("a range without its place".into()))?;
                if first != from || part.state().total.is_some_and(|t| total.is_some_and(|n| n != t)) {
                    part.restart(State::default())?;
                    return Err(Stop::Passing("the file changed on the server".into()));
                }
            }
            416 if from > 0 => {
                part.restart(State::default())?;
                return Err(Stop::Passing("the server has no such range".into()));
            }
            code => {
                let what = format!("the server says {} for {}", response.status(), source.url);
                let passing = code == 408 || code == 429 || code >= 500;
                return Err(if passing { Stop::Passing(what) } else { Stop::Final(Trouble::There(what)) });
            }
        }
        receive(response.body_mut(), part, hear)
    }

    fn ask(&self, source: &Source, part: &Part, from: u64) -> Result<Response<Body>, Stop> {
        // An address that begins safe must not be led to an unsafe one.
        let safe = source.url.starts_with("https:");
        let mut request = self.agent.get(&source.url).config().https_only(safe).build();
        if from > 0 {
            request = request.header("Range", format!("bytes={from}-"));
            if let Some(validator) = &part.state().validator {
                request = request.header("If-Range", validator);
            }
        }
        request.call().map_err(|e| match e {
            ureq::Error::HostNotFound
            | ureq::Error::ConnectionFailed
            | ureq::Error::Io(_)
            | ureq::Error::Timeout(_)
            | ureq::Error::ConnectProxyFailed(_) => Stop::Passing(format!("{UNREACHABLE} {}: {e}", host(&source.url))),
            e => Stop::Final(Trouble::There(format!("{}: {e}", source.url))),
        })
    }
}

const UNREACHABLE: &str = "cannot reach";

fn receive(body: &mut Body, part: &mut Part, hear: &mut dyn FnMut(Event)) -> Result<(), Stop> {
    let total = part.state().total;
    let mut reader = body.with_config().limit(u64::MAX).reader();
    let mut buffer = vec![0; 1 << 18];
    loop {
        let read = reader.read(&mut buffer);
        let n = read.map_err(|e| Stop::Passing(format!("the connection ended after {} bytes: {e}", part.len())))?;
        if n == 0 {
            break;
        }
        part.write(&buffer[..n])?;
        hear(Event::Bytes { done: part.len(), total });
    }
    match total {
        Some(total) if total != part.len() => {
            Err(Stop::Passing(format!("the connection ended after {} of {total} bytes", part.len())))
        }
        _ => Ok(()),
    }
}

/// Bytes that need not be asked for again: those of a part whose version the server can tell, or whose hash will.
fn resumable(source: &Source, part: &Part) -> u64 {
    let state = part.state();
    let known = state.validator.is_some() || source.sha256.is_some();
    if state.url == source.url && known { part.len() } else { 0 }
}

fn state(source: &Source, response: &Response<Body>) -> State {
    let etag = header(response, ETAG).filter(|tag| !tag.starts_with("W/"));
    State {
        url: source.url.clone(),
        validator: etag.or_else(|| header(response, LAST_MODIFIED)).map(str::to_string),
        total: header(response, CONTENT_LENGTH).and_then(|n| n.parse().ok()),
    }
}

/// `bytes 100-199/200`: the first byte, and the whole length where it is told.
fn range(response: &Response<Body>) -> Option<(u64, Option<u64>)> {
    let (place, total) = header(response, CONTENT_RANGE)?.strip_prefix("bytes ")?.split_once('/')?;
    Some((place.split_once('-')?.0.parse().ok()?, total.parse().ok()))
}

fn header(response: &Response<Body>, name: HeaderName) -> Option<&str> {
    response.headers().get(name)?.to_str().ok()
}

/// The server's name in an address.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}
