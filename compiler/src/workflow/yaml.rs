//! YAML as a tree, and a way to take it apart. In: text. Out: nodes, and fields by name. Promise: duplicate keys, aliases that grow,
//! deep nesting and anything past the size limits are errors; every error names the key's path.

use crate::error::{Error, Result};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::fmt;

/// Deepest nesting; a workflow of loops in branches in loops stays far below.
const MOST_DEPTH: usize = 48;
/// Largest file, in bytes.
pub const MOST_BYTES: usize = 16 << 20;

/// A value of a YAML document.
#[derive(Clone, PartialEq, Debug)]
pub enum Node {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    /// In the order of the file.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// What kind of value this is, for messages.
    fn kind(&self) -> &'static str {
        match self {
            Node::Null => "nothing",
            Node::Bool(_) => "true or false",
            Node::Int(_) | Node::Float(_) => "a number",
            Node::Text(_) => "text",
            Node::List(_) => "a list",
            Node::Map(_) => "a table",
        }
    }
}

/// Parses one document.
pub fn parse(text: &str) -> Result<Node> {
    if text.len() > MOST_BYTES {
        return Err(bad("", format!("{} bytes; at most {MOST_BYTES} are read", text.len())));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: MOST_DEPTH, max_anchors: 1024, max_aliases: 4096 },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
        merge_keys: serde_saphyr::MergeKeyPolicy::Error,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|e| {
        let place = e.location().filter(|l| l.line() > 0).map(|l| format!("line {}, column {}", l.line(), l.column()));
        bad(&place.unwrap_or_default(), said(e.without_snippet()))
    })
}

/// What is wrong with a file that is no tree, in our words where it is one of the limits above.
fn said(e: &serde_saphyr::Error) -> String {
    use serde_saphyr::{Error as Yaml, budget::BudgetBreach};
    match e {
        Yaml::DuplicateMappingKey { key, .. } => match key {
            Some(key) => format!("key '{key}' stands twice; leave one of them"),
            None => "a key stands twice; leave one of them".into(),
        },
        Yaml::MergeKeyNotAllowed { .. } => "a merge key (<<) is not read here; write its keys out".into(),
        Yaml::UnknownAnchor { .. } => "an alias (*) names no anchor before it; write the value out".into(),
        Yaml::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            format!("nests deeper than {MOST_DEPTH} levels, more than any workflow needs")
        }
        Yaml::Budget { .. } => {
            "grows past what is read here (nodes, anchors, aliases); write less, or fewer aliases".into()
        }
        Yaml::AliasReplayLimitExceeded { .. } | Yaml::AliasExpansionLimitExceeded { .. } => {
            "its aliases grow past what is read here; write the values out".into()
        }
        Yaml::Eof { .. } => "ends too early: it is empty, or cut off".into(),
        Yaml::MultipleDocuments { .. } => "holds more than one document; leave the first".into(),
        other => {
            let text = other.render_with_formatter(&serde_saphyr::UserMessageFormatter);
            let line = text.lines().next().unwrap_or_default();
            // The place stands before the words already.
            let line = line.split(" at line ").next().unwrap_or_default();
            format!("is no YAML that can be read: {line}; correct it there")
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(Tree)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Int(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Node, E> {
        i64::try_from(value).map(Node::Int).map_err(|_| E::custom(format!("{value} does not fit 64 bits with a sign")))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut out = vec![];
        while let Some(node) = list.next_element()? {
            out.push(node);
        }
        Ok(Node::List(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut out: Vec<(String, Node)> = vec![];
        let mut known = std::collections::HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if !known.insert(key.clone()) {
                return Err(A::Error::custom(format!("key '{key}' stands twice")));
            }
            out.push((key, map.next_value()?));
        }
        Ok(Node::Map(out))
    }
}

fn bad(path: &str, what: impl Into<String>) -> Error {
    let error = Error::new("workflow", what);
    if path.is_empty() { error } else { error.at(path) }
}

/// Where in the document, as `a.b[2]."name.with.dots"`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Path(pub String);

impl Path {
    pub fn key(&self, key: &str) -> Path {
        let plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        let key = if plain { key.to_string() } else { format!("{key:?}") };
        Path(if self.0.is_empty() { key } else { format!("{}.{key}", self.0) })
    }

    pub fn item(&self, index: usize) -> Path {
        Path(format!("{}[{index}]", self.0))
    }

    /// An error at this place.
    pub fn bad(&self, what: impl Into<String>) -> Error {
        bad(&self.0, what)
    }
}

/// What reading a document knows besides it: whether unknown keys are left out, and which were.
#[derive(Default, Debug)]
pub struct Reading {
    pub lossy: bool,
    pub ignored: RefCell<Vec<String>>,
}

/// A node and where it stands.
#[derive(Clone)]
pub struct At<'a> {
    pub node: &'a Node,
    pub path: Path,
    pub reading: &'a Reading,
}

impl<'a> At<'a> {
    fn wants(&self, what: &str) -> Error {
        self.path.bad(format!("{what} is wanted here, and this is {}", self.node.kind()))
    }

    pub fn text(&self) -> Result<&'a str> {
        match self.node {
            Node::Text(text) => Ok(text),
            _ => Err(self.wants("text")),
        }
    }

    /// Text, or a number or version that YAML took for a number.
    pub fn word(&self) -> Result<String> {
        match self.node {
            Node::Text(text) => Ok(text.clone()),
            Node::Int(n) => Ok(n.to_string()),
            Node::Float(x) => Ok(format!("{x:?}")),
            _ => Err(self.wants("text")),
        }
    }

    pub fn bool(&self) -> Result<bool> {
        match self.node {
            Node::Bool(value) => Ok(*value),
            _ => Err(self.wants("true or false")),
        }
    }

    pub fn count(&self) -> Result<usize> {
        match self.node {
            Node::Int(n) => usize::try_from(*n).map_err(|_| self.path.bad(format!("{n} is negative"))),
            _ => Err(self.wants("a whole number")),
        }
    }

    pub fn list(&self) -> Result<Vec<At<'a>>> {
        let Node::List(list) = self.node else { return Err(self.wants("a list")) };
        let item = |(i, node)| At { node, path: self.path.item(i), reading: self.reading };
        Ok(list.iter().enumerate().map(item).collect())
    }

    /// Every entry of a table whose keys are names.
    pub fn entries(&self) -> Result<Vec<(&'a str, At<'a>)>> {
        let Node::Map(map) = self.node else { return Err(self.wants("a table")) };
        let entry = |(key, node): &'a (String, Node)| {
            (key.as_str(), At { node, path: self.path.key(key), reading: self.reading })
        };
        Ok(map.iter().map(entry).collect())
    }

    /// A table whose keys are known.
    pub fn fields(&self) -> Result<Fields<'a>> {
        Ok(Fields { path: self.path.clone(), reading: self.reading, left: self.entries()? })
    }

    /// One of several words.
    pub fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<T> {
        let word = self.text()?;
        words.iter().find(|(w, _)| *w == word).map(|(_, value)| *value).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(w, _)| *w).collect();
            self.path.bad(format!("'{word}' is none of {}", known.join(", ")))
        })
    }
}

/// The fields of a table that nobody has taken yet.
pub struct Fields<'a> {
    pub path: Path,
    reading: &'a Reading,
    left: Vec<(&'a str, At<'a>)>,
}

impl<'a> Fields<'a> {
    /// A field, where it is there and not null.
    pub fn maybe(&mut self, key: &str) -> Option<At<'a>> {
        let at = self.left.iter().position(|(k, _)| *k == key)?;
        let (_, found) = self.left.swap_remove(at);
        (*found.node != Node::Null).then_some(found)
    }

    pub fn need(&mut self, key: &str) -> Result<At<'a>> {
        self.maybe(key).ok_or_else(|| self.path.key(key).bad("is missing"))
    }

    pub fn text(&mut self, key: &str) -> Result<String> {
        Ok(self.need(key)?.text()?.to_string())
    }

    pub fn flag(&mut self, key: &str, default: bool) -> Result<bool> {
        self.maybe(key).map_or(Ok(default), |at| at.bool())
    }

    /// A table of words by name; empty where it is absent.
    pub fn words(&mut self, key: &str) -> Result<Vec<(String, String)>> {
        let Some(at) = self.maybe(key) else { return Ok(vec![]) };
        at.entries()?.into_iter().map(|(name, at)| Ok((name.to_string(), at.text()?.to_string()))).collect()
    }

    /// Refuses what is left, or writes it down where unknown keys are allowed.
    pub fn done(self) -> Result<()> {
        let mut left: Vec<Path> = self.left.into_iter().map(|(_, at)| at.path).collect();
        left.sort_by(|a, b| a.0.cmp(&b.0));
        for path in left {
            if !self.reading.lossy {
                return Err(path.bad("is no key that is known here").hint("--allow-lossy leaves unknown keys out"));
            }
            self.reading.ignored.borrow_mut().push(path.0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_keeps_its_order_and_its_types() {
        let node = parse("b: '2'\na: [1, 1.5, true, ~, x]\nversion: 1.0").unwrap();
        let Node::Map(map) = &node else { panic!("{node:?}") };
        assert_eq!(map[0], ("b".into(), Node::Text("2".into())));
        let list = vec![Node::Int(1), Node::Float(1.5), Node::Bool(true), Node::Null, Node::Text("x".into())];
        assert_eq!(map[1], ("a".into(), Node::List(list)));
        let reading = Reading::default();
        let at = At { node: &node, path: Path::default(), reading: &reading };
        assert_eq!(at.fields().unwrap().need("version").unwrap().word().unwrap(), "1.0");
    }

    #[test]
    fn duplicates_bombs_and_depth_are_one_line_of_error() {
        let bomb: String = (0..30)
            .map(|i| format!("a{i}: &a{i} [{}]\n", "*a{},".replace("{}", &(i.max(1) - 1).to_string()).repeat(9)))
            .collect();
        let bomb = bomb.replacen("*a0,", "x,", 9);
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for text in ["a: 1\na: 2", "a: {b: 1, b: 2}", &bomb, &deep, "a: [", "a: &x [*x]", "{a: 1}: 2"] {
            let e = parse(text).unwrap_err().to_string();
            assert!(e.starts_with("workflow: ") && !e.contains('\n'), "{text:.40}: {e}");
        }
    }

    #[test]
    fn what_is_no_tree_is_told_with_its_line_in_plain_words() {
        let deep = format!("x: {}{}", "[".repeat(200), "]".repeat(200));
        for (text, place, says) in [
            ("b: 0\na: 1\na: 2", "line 3, column 1", "key 'a' stands twice; leave one of them"),
            ("a: 1\nb: *x", "line 2", "an alias (*) names no anchor before it"),
            (&deep, "line 1", "nests deeper than 48 levels"),
            ("a: 1\nb: {<<: {c: 1}}", "line 2", "a merge key (<<) is not read here"),
            ("a: 1\nb: [1, 2", "line 2", "is no YAML that can be read: "),
        ] {
            let e = parse(text).unwrap_err().to_string();
            assert!(e.starts_with(&format!("workflow: {place}")) && e.contains(says), "{text:.40}: {e}");
            for word in ["serde", "budget", "Budget", "breach", "Breach"] {
                assert!(!e.contains(word), "{text:.40}: {e}");
            }
        }
    }

    #[test]
    fn paths_quote_names_that_have_dots() {
        assert_eq!(Path("a".into()).key("b.c").item(2).key("d").0, "a.\"b.c\"[2].d");
    }
}
