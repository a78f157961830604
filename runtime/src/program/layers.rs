//! Rows that repeat from layer to layer. In: a layer's rows and how many layers there are; `{l}` in a name is the layer, `{l+5}` five
//! more. Out: every layer's rows. Promise: names without such marks and rows of one layer come out as they are.

use super::{List, State, Tensor, Text};

/// Rows of one layer, and how often they are there.
pub struct Run<T: 'static> {
    pub layers: u32,
    pub rows: &'static [T],
}

/// What has a name.
pub trait Named: Clone + 'static {
    fn name(&self) -> &str;
    fn rename(&mut self, name: Text);
}

impl Named for Tensor {
    fn name(&self) -> &str {
        &self.name
    }

    fn rename(&mut self, name: Text) {
        self.name = name;
    }
}

impl Named for State {
    fn name(&self) -> &str {
        &self.name
    }

    fn rename(&mut self, name: Text) {
        self.name = name;
    }
}

/// All rows of all layers, layer by layer.
pub fn unrolled<T: Named>(runs: &[Run<T>]) -> List<T> {
    let mut out = Vec::new();
    for run in runs {
        for layer in 0..run.layers {
            out.extend(run.rows.iter().cloned().map(|mut row| {
                if run.layers > 1 {
                    row.rename(at(row.name(), layer).into());
                }
                row
            }));
        }
    }
    out.into()
}

/// A name with marks, in a layer.
pub fn at(pattern: &str, layer: u32) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once("{l") {
        let Some((more, behind)) = after.split_once('}') else { break };
        let more: u32 = more.strip_prefix('+').and_then(|n| n.parse().ok()).unwrap_or(0);
        out += before;
        out += &(layer + more).to_string();
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(name: &'static str) -> Tensor {
        Tensor { name: name.into(), layout: "rows_f16".into(), shape: vec![2].into(), bytes: 4 }
    }

    #[test]
    fn marks_count_and_other_names_stay() {
        let rows: &'static [Tensor] = Box::leak(Box::new([tensor("a.{l}.b+a.{l}.c"), tensor("c{l+10}")]));
        let alone: &'static [Tensor] = Box::leak(Box::new([tensor("{l}")]));
        let all = unrolled(&[Run { layers: 1, rows: alone }, Run { layers: 2, rows }]);
        let names: Vec<&str> = all.iter().map(|t| &*t.name).collect();
        assert_eq!(names, ["{l}", "a.0.b+a.0.c", "c10", "a.1.b+a.1.c", "c11"]);
    }
}
