//! Keys of a JSON file. In: bytes and the file's name. Out: values by key, as the type that is wanted. Promise: an error is the file, the
//! path of the key, and what was expected there; null is the same as a missing key.

use crate::error::{Error, Result};
use serde_json::Value;

/// A parsed file.
pub struct Document {
    file: String,
    root: Value,
}

impl Document {
    /// Reads an object.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Document> {
        let bad = |what: String| Error::new("config", what).at(file.to_string());
        let root: Value = serde_json::from_slice(bytes).map_err(|e| bad(format!("this is no JSON: {e}")))?;
        match root {
            Value::Object(_) => Ok(Document { file: file.to_string(), root }),
            _ => Err(bad("expected an object with keys".into())),
        }
    }

    /// The whole of it.
    pub fn root(&self) -> At<'_> {
        At { file: &self.file, path: String::new(), value: &self.root }
    }
}

/// A value and where it stands.
#[derive(Clone)]
pub struct At<'a> {
    file: &'a str,
    path: String,
    value: &'a Value,
}

impl<'a> At<'a> {
    /// What is wrong with it.
    pub fn bad(&self, what: impl Into<String>) -> Error {
        let place = match self.path.as_str() {
            "" => self.file.to_string(),
            path => format!("{}: {path}", self.file),
        };
        Error::new("config", what).at(place)
    }

    fn below(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) }
    }

    /// A key of an object; None where it is missing or null.
    pub fn get(&self, key: &str) -> Option<At<'a>> {
        let value = self.value.get(key).filter(|v| !v.is_null())?;
        Some(At { file: self.file, path: self.below(key), value })
    }

    /// A key that must be there.
    pub fn need(&self, key: &str, wanted: &str) -> Result<At<'a>> {
        let missing = At { file: self.file, path: self.below(key), value: self.value };
        self.get(key).ok_or_else(|| missing.bad(format!("expected {wanted}, and the key is missing")))
    }

    /// An object; its keys can be asked for.
    pub fn object(&self, key: &str) -> Result<Option<At<'a>>> {
        let Some(at) = self.get(key) else { return Ok(None) };
        if at.value.is_object() {
            Ok(Some(at))
        } else {
            Err(at.bad(format!("expected an object, found {}", at.kind())))
        }
    }

    /// What it is, as an error says it.
    fn kind(&self) -> String {
        match self.value {
            Value::String(_) => "a string".into(),
            Value::Array(_) => "a list".into(),
            Value::Object(_) => "an object".into(),
            other => other.to_string(),
        }
    }

    fn expected<T>(&self, found: Option<T>, wanted: &str) -> Result<T> {
        found.ok_or_else(|| self.bad(format!("expected {wanted}, found {}", self.kind())))
    }

    pub fn text(&self) -> Result<&'a str> {
        self.expected(self.value.as_str(), "a string")
    }

    pub fn flag(&self) -> Result<bool> {
        self.expected(self.value.as_bool(), "true or false")
    }

    /// A whole number of `least` to `most`.
    pub fn whole(&self, least: u64, most: u64) -> Result<u64> {
        let fits = self.value.as_u64().filter(|n| (least..=most).contains(n));
        self.expected(fits, &format!("a whole number from {least} to {most}"))
    }

    /// A finite number of `least` to `most`.
    pub fn number(&self, least: f64, most: f64) -> Result<f32> {
        let fits = self.value.as_f64().filter(|x| (least..=most).contains(x));
        let wanted = if most < f64::from(f32::MAX) { format!("{least} to {most}") } else { format!("{least} or more") };
        Ok(self.expected(fits, &format!("a number, {wanted}"))? as f32)
    }

    /// Any number.
    pub fn float(&self) -> Result<f32> {
        Ok(self.expected(self.value.as_f64(), "a number")? as f32)
    }

    /// A token id.
    pub fn id(&self) -> Result<u32> {
        Ok(self.whole(0, u32::MAX.into())? as u32)
    }

    /// A token id or a list of them.
    pub fn ids(&self) -> Result<Vec<u32>> {
        match self.value {
            Value::Array(_) => self.items().iter().map(At::id).collect(),
            _ => self.id().map(|id| vec![id]).map_err(|_| self.wrong_ids()),
        }
    }

    fn wrong_ids(&self) -> Error {
        self.bad(format!("expected a token id or a list of them, found {}", self.kind()))
    }

    /// The items of a list; none of what is no list.
    pub fn items(&self) -> Vec<At<'a>> {
        let list = self.value.as_array().map_or(&[][..], Vec::as_slice);
        let item = |(i, value)| At { file: self.file, path: format!("{}[{i}]", self.path), value };
        list.iter().enumerate().map(item).collect()
    }

    /// Whether it is a list or object without anything in it.
    pub fn is_empty(&self) -> bool {
        self.value.as_array().is_some_and(Vec::is_empty) || self.value.as_object().is_some_and(|o| o.is_empty())
    }

    pub fn is_list(&self) -> bool {
        self.value.is_array()
    }

    pub fn is_object(&self) -> bool {
        self.value.is_object()
    }
}
