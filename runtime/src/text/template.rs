//! Chat templates. In: the Jinja source that a tokenizer config carries and a conversation. Out: the prompt's text. Promise: the
//! helpers that templates in the field call are here, contents have the form that the template reads, and a refusal of the template
//! reaches the user in its own words.

use std::time::{SystemTime, UNIX_EPOCH};

use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, ErrorKind, context};
use serde_json::json;

use crate::error::{Error, Result};

/// One turn, as templates see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub role: &'static str,
    pub content: String,
    /// Pictures that stand before the content.
    pub pictures: usize,
}

impl Message {
    pub fn system(content: impl Into<String>) -> Message {
        Message { role: "system", content: content.into(), pictures: 0 }
    }

    pub fn user(content: impl Into<String>) -> Message {
        Message { role: "user", content: content.into(), pictures: 0 }
    }

    pub fn assistant(content: impl Into<String>) -> Message {
        Message { role: "assistant", content: content.into(), pictures: 0 }
    }
}

const NAME: &str = "chat";

/// A text that no template has by itself.
const PROBE: &str = "onnxcast-probe";

pub struct Template {
    env: Environment<'static>,
    /// Whether a content may be a text; else it is a list of parts, texts too.
    plain: bool,
}

impl Template {
    /// Errors when the source does not parse, with its line.
    pub fn new(source: &str) -> Result<Template> {
        let mut env = Environment::new();
        // The settings of transformers, which templates are written for.
        env.set_trim_blocks(true);
        env.set_lstrip_blocks(true);
        env.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        env.add_function("raise_exception", |message: String| -> Result<String, minijinja::Error> {
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, message))
        });
        env.add_function("strftime_now", |format: String| strftime(&format, seconds_now()));
        env.add_filter("tojson", tojson);
        env.add_template_owned(NAME, without_generation_tags(source)).map_err(|e| wrong(&e))?;
        let mut template = Template { env, plain: true };
        let shows = |template: &Template| {
            template.render(&[Message::user(PROBE)], "", "").is_ok_and(|text| text.contains(PROBE))
        };
        // A template that shows a text neither way is left to fail in its own words.
        template.plain = shows(&template) || !shows(&Template { plain: false, env: template.env.clone() });
        Ok(template)
    }

    /// The conversation as text, ready for the model's answer. Pictures are parts of their own, which the template shows by its mark.
    pub fn render(&self, messages: &[Message], bos_token: &str, eos_token: &str) -> Result<String> {
        let template = self.env.get_template(NAME).map_err(|e| wrong(&e))?;
        let messages: Vec<_> = messages.iter().map(|m| self.message(m)).collect();
        let values = context! { messages, bos_token, eos_token, add_generation_prompt => true };
        template.render(values).map_err(|e| wrong(&e))
    }

    /// Whether the template writes `mark` for a picture.
    pub fn shows_pictures(&self, mark: &str) -> bool {
        let probe = Message { pictures: 1, ..Message::user(PROBE) };
        let text = self.render(&[probe], "", "");
        text.is_ok_and(|text| text.matches(mark).count() == 1 && text.matches(PROBE).count() == 1)
    }

    /// A turn in the form that the template reads.
    fn message(&self, message: &Message) -> serde_json::Value {
        let Message { role, content, pictures } = message;
        if *pictures == 0 && self.plain {
            return json!({ "role": role, "content": content });
        }
        let pictures = (0..*pictures).map(|_| json!({ "type": "image" }));
        let parts: Vec<_> = pictures.chain([json!({ "type": "text", "text": content })]).collect();
        json!({ "role": role, "content": parts })
    }
}

fn wrong(error: &minijinja::Error) -> Error {
    let line = error.line().map(|n| format!(" (line {n})")).unwrap_or_default();
    let what = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    Error::input(format!("{what}{line}")).at("chat template")
}

/// `{% generation %}` marks the answer for training only. As an `if true` it keeps its whitespace marks and does nothing.
fn without_generation_tags(source: &str) -> String {
    let mut out = source.to_owned();
    for (open, close) in [("{%", "%}"), ("{%-", "%}"), ("{%", "-%}"), ("{%-", "-%}")] {
        out = out.replace(&format!("{open} generation {close}"), &format!("{open} if true {close}"));
        out = out.replace(&format!("{open} endgeneration {close}"), &format!("{open} endif {close}"));
    }
    out
}

/// JSON as Python's `json.dumps(.., ensure_ascii=False)` writes it; minijinja's own filter escapes for HTML.
fn tojson(value: Value, options: Kwargs) -> Result<Value, minijinja::Error> {
    let indent: Option<usize> = options.get("indent")?;
    options.assert_all_used()?;
    let bad = |e: serde_json::Error| minijinja::Error::new(ErrorKind::BadSerialization, e.to_string());
    let json = serde_json::to_value(&value).map_err(bad)?;
    let mut text = String::new();
    write_json(&json, indent, 0, &mut text);
    Ok(Value::from_safe_string(text))
}

fn write_json(value: &serde_json::Value, indent: Option<usize>, depth: usize, out: &mut String) {
    use serde_json::Value as V;
    let (open, close, rows): (_, _, Vec<(Option<&String>, &V)>) = match value {
        V::Array(a) => ('[', ']', a.iter().map(|v| (None, v)).collect()),
        V::Object(o) => ('{', '}', o.iter().map(|(k, v)| (Some(k), v)).collect()),
        leaf => return out.push_str(&leaf.to_string()),
    };
    let new_line = |depth: usize, out: &mut String| {
        if let Some(width) = indent {
            out.push('\n');
            out.push_str(&" ".repeat(width * depth));
        }
    };
    out.push(open);
    for (i, (key, item)) in rows.iter().enumerate() {
        if i > 0 {
            out.push_str(if indent.is_some() { "," } else { ", " });
        }
        new_line(depth + 1, out);
        if let Some(key) = key {
            out.push_str(&V::String((*key).clone()).to_string());
            out.push_str(": ");
        }
        write_json(item, indent, depth + 1, out);
    }
    if !rows.is_empty() {
        new_line(depth, out);
    }
    out.push(close);
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// The directives that templates use, in UTC; others stay as written.
fn strftime(format: &str, seconds: u64) -> String {
    let (days, clock) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day, year_day) = civil(days);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    let (month_name, day_name) = (MONTHS[month as usize - 1], DAYS[(days % 7) as usize]);
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('Y') => out.push_str(&year.to_string()),
            Some('y') => out.push_str(&format!("{:02}", year % 100)),
            Some('m') => out.push_str(&format!("{month:02}")),
            Some('d') => out.push_str(&format!("{day:02}")),
            Some('j') => out.push_str(&format!("{year_day:03}")),
            Some('B') => out.push_str(month_name),
            Some('b') => out.push_str(&month_name[..3]),
            Some('A') => out.push_str(day_name),
            Some('a') => out.push_str(&day_name[..3]),
            Some('H') => out.push_str(&format!("{hour:02}")),
            Some('I') => out.push_str(&format!("{:02}", (hour + 11) % 12 + 1)),
            Some('p') => out.push_str(if hour < 12 { "AM" } else { "PM" }),
            Some('M') => out.push_str(&format!("{minute:02}")),
            Some('S') => out.push_str(&format!("{second:02}")),
            Some('F') => out.push_str(&format!("{year}-{month:02}-{day:02}")),
            Some('%') => out.push('%'),
            Some(other) => out.extend(['%', other]),
            None => out.push('%'),
        }
    }
    out
}

/// Year, month 1-12, day 1-31 and day of the year 1-366 of a day counted from 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64, u64) {
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let (mut year, mut rest) = (1970, days);
    while rest >= 365 + u64::from(leap(year)) {
        rest -= 365 + u64::from(leap(year));
        year += 1;
    }
    let year_day = rest + 1;
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    (year, month, rest + 1, year_day)
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
