//! The unit that every stage hands on. In: a graph at one set of shapes, or the text of several. Out: `BucketGraph`s, and that text.
//! Promise: `parse` undoes `print`, but for the data of constants; buckets agree on the names of what they share.

use crate::error::{Error, Result};
use crate::graph::{self, Graph};
use crate::lock::{Entry, Lock};

/// A graph at one set of shapes.
#[derive(Clone, Debug)]
pub struct BucketGraph {
    pub name: String,
    /// The manifest's name of the graph file; of several that were composed, their names with a '+' between.
    pub file: String,
    /// Tokens a run takes; 1 for a graph without tokens.
    pub rows: usize,
    /// A decoder whose cache we manage; else a graph that runs as it stands, with ports.
    pub decoder: bool,
    pub graph: Graph,
}

/// Where a constant's name holds.
pub struct Scope {
    /// Empty when the model has one graph, else the graph's name and a slash.
    pub graph: String,
    pub bucket: String,
}

impl Scope {
    /// Names of a constant in the lock: that of its bucket alone, and that which buckets share.
    pub fn names(&self, name: &str) -> [String; 2] {
        let shared = format!("{}{name}", self.graph);
        [format!("{}:{shared}", self.bucket), shared]
    }

    /// What the lock knows of a constant.
    pub fn find<'a>(&self, lock: &'a Lock, name: &str) -> Option<&'a Entry> {
        self.names(name).iter().find_map(|name| lock.get(name))
    }
}

/// Where the names of a bucket's constants hold.
pub fn scope(buckets: &[BucketGraph], of: &BucketGraph) -> Scope {
    let many_files = buckets.iter().any(|other| other.file != of.file);
    // Constants of composed graphs have their graph's name already.
    let graph = if many_files && !of.file.contains('+') { format!("{}/", of.file) } else { String::new() };
    Scope { graph, bucket: of.name.clone() }
}

/// What the first line of a bucket begins with, in the fused graphs' text.
const BUCKET: &str = "# bucket ";

/// How that line ends where the bucket is one of a decoder.
const DECODER: &str = "decoder";

/// The graphs in text form, bucket by bucket.
pub fn print(buckets: &[BucketGraph]) -> String {
    let one = |b: &BucketGraph| {
        let kind = if b.decoder { format!(", {DECODER}") } else { String::new() };
        format!("{BUCKET}{}, {} rows, graph {}{kind}\n{}\n", b.name, b.rows, b.file, graph::print(&b.graph))
    };
    buckets.iter().map(one).collect()
}

/// The line between graphs and lock in a pool.
const LOCK_MARK: &str = "# weights.lock\n";

/// What a pool holds besides its tensors: the graphs' text, and the lock that tells which constant lies where.
pub fn print_recipe(graphs: &str, lock: &Lock) -> String {
    format!("{graphs}{LOCK_MARK}{}", lock.print())
}

/// The graphs and the lock that a pool holds.
pub fn parse_recipe(text: &str) -> Result<(Vec<BucketGraph>, Lock)> {
    let Some((graphs, lock)) = text.split_once(LOCK_MARK) else {
        let what = "it does not tell which constant lies where";
        return Err(Error::new("pool", what).hint("compile the model again"));
    };
    Ok((parse(graphs)?, Lock::parse(lock)?))
}

/// The graphs of a pool's text, without data but for the smallest constants.
pub fn parse(text: &str) -> Result<Vec<BucketGraph>> {
    let mut out = vec![];
    for section in text.split(BUCKET).skip(1) {
        let (head, graph) = section.split_once('\n').unwrap_or((section, ""));
        let words: Vec<&str> = head.split(", ").collect();
        let rows = words.get(1).and_then(|w| w.strip_suffix(" rows")?.parse().ok());
        let file = words.get(2).and_then(|w| w.strip_prefix("graph "));
        let (Some(rows), Some(file)) = (rows, file) else {
            return Err(
                Error::new("pool", format!("its graph text has a bucket '{head}'")).hint("compile the model again")
            );
        };
        let graph = graph::parse(graph).map_err(|e| e.at(format!("bucket {}", words[0])))?;
        let decoder = words.get(3) == Some(&DECODER);
        out.push(BucketGraph { name: words[0].to_string(), file: file.to_string(), rows, decoder, graph });
    }
    // Graphs without a cache have no states of their own, so these are of a version that did not say which bucket decodes.
    if !out.iter().any(|b: &BucketGraph| b.decoder) && out.iter().any(|b| !b.graph.states.is_empty()) {
        return Err(
            Error::new("pool", "its graph text does not tell which bucket decodes").hint("compile the model again")
        );
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::examples;

    #[test]
    fn a_recipe_gives_back_the_graphs_and_the_lock() {
        let (graphs, lock) = (print(&[examples::decoder("decode", 1, 2, 16)]), Lock::default());
        let (buckets, read) = parse_recipe(&print_recipe(&graphs, &lock)).unwrap();
        assert_eq!((print(&buckets), read), (graphs.clone(), lock));
        assert!(parse_recipe(&graphs).unwrap_err().to_string().contains("which constant lies where"));
    }

    #[test]
    fn a_pool_that_does_not_tell_its_decoder_is_refused() {
        let text = print(&[examples::decoder("decode", 1, 2, 16)]);
        assert!(parse(&text).unwrap()[0].decoder);
        let e = parse(&text.replace(", decoder", "")).unwrap_err().to_string();
        assert!(e.contains("does not tell which bucket decodes"), "{e}");
    }
}
