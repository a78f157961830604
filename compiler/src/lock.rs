//! weights.lock. In: hashes of the constants a plan packs. Out: the same hashes when the data is not at hand. Promise: what
//! depends on bytes (deduplication) is decided by the lock alone, so a plan needs no weights.

use crate::error::{Error, Result};
use crate::graph::{DType, Tensor};
use std::collections::BTreeMap;

/// Name of the lock in a model's folder.
pub const LOCK: &str = "weights.lock";

/// Content hash of a constant in the row order in which it is packed (`graph::digest`).
pub type Hash = String;

/// What the lock knows of one constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub hash: Hash,
    pub dtype: DType,
    pub shape: Vec<usize>,
    /// The layout that quantising decided on, `rows_f16` where it was kept so; none for what it does not touch.
    pub store: Option<String>,
    /// Hash of what was quantised: the constant's rows in fp16.
    pub source: Option<Hash>,
}

/// The file `weights.lock` of a model: constants by name. A transposed constant has `^T` after its name; a constant whose
/// content differs between buckets has the bucket's name and a colon before it.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Lock {
    entries: BTreeMap<String, Entry>,
    /// How constants were quantised; none where they were not.
    pub quantise: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    quantise: Option<String>,
    #[serde(default)]
    tensors: BTreeMap<String, Row>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    hash: Option<String>,
    /// The first tensor of equal content.
    alias: Option<String>,
    dtype: String,
    shape: Vec<usize>,
    store: Option<String>,
    source: Option<Hash>,
}

impl Lock {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Reads the text of a lock file.
    pub fn parse(text: &str) -> Result<Lock> {
        let bad = |what: String| Error::new("weights.lock", what).hint("delete the file to have it written anew");
        let file: File = toml::from_str(text).map_err(|e| bad(e.message().to_string()))?;
        if file.version != 1 {
            return Err(bad(format!("version {} is not known here", file.version)));
        }
        let mut entries = BTreeMap::new();
        for (name, row) in &file.tensors {
            let hash = match (&row.hash, &row.alias) {
                (Some(hash), None) => hash.clone(),
                (None, Some(alias)) => file
                    .tensors
                    .get(alias)
                    .and_then(|r| r.hash.clone())
                    .ok_or_else(|| bad(format!("alias '{alias}' has no hash")).at(name.clone()))?,
                _ => return Err(bad("needs either a hash or an alias".into()).at(name.clone())),
            };
            let dtype =
                DType::parse(&row.dtype).ok_or_else(|| bad(format!("no type '{}'", row.dtype)).at(name.clone()))?;
            let (shape, store, source) = (row.shape.clone(), row.store.clone(), row.source.clone());
            entries.insert(name.clone(), Entry { hash, dtype, shape, store, source });
        }
        Ok(Lock { entries, quantise: file.quantise })
    }

    /// The text of the lock file: a line a constant, sorted by name.
    pub fn print(&self) -> String {
        let mut first: BTreeMap<&str, &str> = BTreeMap::new();
        let mut out = String::from(
            "# Content of every constant in the weight pool. Written by onnxcast; keep it under version control.\nversion = 1\n",
        );
        if let Some(how) = &self.quantise {
            out += &format!("quantise = {}\n", quoted(how));
        }
        out += "\n[tensors]\n";
        for (name, e) in &self.entries {
            let what = match first.get(e.hash.as_str()) {
                Some(alias) => format!("alias = {}", quoted(alias)),
                None => format!("hash = \"{}\"", e.hash),
            };
            first.entry(&e.hash).or_insert(name);
            out += &format!("{} = {{ {what}, dtype = \"{}\", shape = {:?}", quoted(name), e.dtype, e.shape);
            for (key, value) in [("store", &e.store), ("source", &e.source)] {
                if let Some(value) = value {
                    out += &format!(", {key} = {}", quoted(value));
                }
            }
            out += " }\n";
        }
        out
    }

    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// What changed from `self` to `new`: names whose content differs, for the error that refuses other weights. What was
    /// quantised is the same while its source is: settings may change.
    pub fn differing(&self, new: &Lock) -> Vec<String> {
        let differs = |old: &Entry, new: &Entry| match (&old.source, &new.source) {
            (Some(a), Some(b)) => a != b,
            (None, None) => old.hash != new.hash,
            // One of the two was not quantised: they cannot be compared.
            _ => false,
        };
        let changed = |(name, e): &(&String, &Entry)| new.entries.get(*name).is_some_and(|n| differs(e, n));
        self.entries.iter().filter(changed).map(|(name, _)| name.clone()).collect()
    }

    /// Adds to an entry how it is stored and what it was made from.
    pub fn note(&mut self, name: &str, store: &str, source: Option<&str>) {
        if let Some(entry) = self.entries.get_mut(name) {
            (entry.store, entry.source) = (Some(store.to_string()), source.map(String::from));
        }
    }

    pub(crate) fn insert(&mut self, name: String, hash: Hash, tensor: &Tensor) {
        let entry = Entry { hash, dtype: tensor.dtype, shape: tensor.shape.clone(), store: None, source: None };
        self.entries.insert(name, entry);
    }
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            c if c.is_control() => out += &format!("\\u{:04X}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock() -> Lock {
        let mut lock = Lock::default();
        let t = Tensor::f32(&[2], &[1.0, 2.0]);
        lock.insert("b.weight".into(), "11".into(), &t);
        lock.insert("a\"\\\n".into(), "22".into(), &t);
        lock.insert("c.weight^T".into(), "11".into(), &t);
        lock
    }

    #[test]
    fn reads_what_it_prints() {
        assert_eq!(Lock::parse(&lock().print()).unwrap(), lock());
    }

    #[test]
    fn tells_how_a_constant_is_stored_and_what_it_was() {
        let mut lock = lock();
        lock.quantise = Some("4 bits".into());
        lock.note("b.weight", "q4_g32_mid", Some("77"));
        let text = lock.print();
        assert!(
            text.contains("quantise = \"4 bits\"") && text.contains("store = \"q4_g32_mid\", source = \"77\" }"),
            "{text}"
        );
        assert_eq!(Lock::parse(&text).unwrap(), lock);
        let mut other = lock.clone();
        other.entries.values_mut().filter(|e| e.source.is_some()).for_each(|e| e.hash = "99".into());
        assert_eq!(lock.differing(&other), Vec::<String>::new(), "other codes of the same weights");
        other.note("b.weight", "q4_g32_mid", Some("78"));
        assert_eq!(lock.differing(&other), ["b.weight"]);
    }

    #[test]
    fn names_an_alias_instead_of_the_hash() {
        assert!(lock().print().contains(r#""c.weight^T" = { alias = "b.weight", dtype = "f32", shape = [2] }"#));
    }

    #[test]
    fn refuses_unknown_keys_and_dangling_aliases() {
        for text in [
            "version = 2",
            "version = 1\nx = 1",
            "version = 1\n[tensors]\na = { alias = \"b\", dtype = \"f32\", shape = [] }",
        ] {
            assert_eq!(Lock::parse(text).unwrap_err().stage, "weights.lock", "{text}");
        }
    }
}
