//! Several graphs as one. In: imported graphs in the order in which they run, and which output goes into which input. Out: one graph.
//! Promise: an edge joins equal shapes, and floats of different width by a cast; what is open, ambiguous or unconnected is an error that
//! lists what there is.

use crate::error::{Error, Result};
use crate::graph::{Data, Def, Graph, Node, Op, Output, Ty, ValueId};
use std::collections::BTreeMap;

/// A graph under the manifest's name for it.
pub struct Part {
    pub name: String,
    pub graph: Graph,
}

/// Which outputs the composed graph keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// Those that no later graph takes.
    Open,
    /// Those of the last graph.
    Last,
}

/// An output of a graph that is merged already.
struct Given {
    /// Index of its graph.
    part: usize,
    name: String,
    value: ValueId,
    taken: bool,
}

/// The whole, and what goes from one graph to another in it.
pub struct Composed {
    pub graph: Graph,
    pub edges: Vec<ValueId>,
}

/// Joins graphs: an output of an earlier one goes into the inputs of the same name of later ones, or into those that `edges`
/// (input, output) names. Inputs of one name and type that no output feeds are one input.
pub fn compose(parts: Vec<Part>, edges: &BTreeMap<String, String>, keep: Keep) -> Result<Composed> {
    if parts.len() == 1 {
        let graph = parts.into_iter().next().map(|p| p.graph).unwrap_or_default();
        return Ok(Composed { graph, edges: vec![] });
    }
    known(&parts, edges)?;
    let name = |p: &Part| if p.graph.name.is_empty() { p.name.clone() } else { p.graph.name.clone() };
    let mut out = Graph { name: parts.iter().map(name).collect::<Vec<_>>().join("+"), ..Graph::default() };
    let mut given: Vec<Given> = vec![];
    let names: Vec<String> = parts.iter().map(|p| p.name.clone()).collect();
    let last = parts.len() - 1;
    for (index, part) in parts.into_iter().enumerate() {
        merge(&mut out, &mut given, (index, part), &names, edges)?;
    }
    connected(&out, &given, &names)?;
    let joined = given.iter().filter(|g| g.taken).map(|g| g.value).collect();
    given.retain(|g| if keep == Keep::Open { g.part == last || !g.taken } else { g.part == last });
    for g in &given {
        if out.outputs.iter().any(|o| o.name == g.name) {
            let what = format!("two of the graphs give an output '{}', and neither goes into another graph", g.name);
            return Err(failed(what));
        }
        out.outputs.push(Output { name: g.name.clone(), value: g.value });
    }
    Ok(Composed { graph: out, edges: joined })
}

fn failed(what: String) -> Error {
    Error::new("compose", what)
}

/// Refuses edges that name no input of a later graph, or no output of an earlier one.
fn known(parts: &[Part], edges: &BTreeMap<String, String>) -> Result<()> {
    let inputs = |p: &Part| -> Vec<String> { p.graph.inputs.iter().map(|v| p.graph.value(*v).name.clone()).collect() };
    for (input, output) in edges {
        let Some(at) = parts.iter().skip(1).position(|p| inputs(p).contains(input)).map(|i| i + 1) else {
            let all: Vec<String> = parts.iter().skip(1).flat_map(inputs).collect();
            let what = format!("edges: no later graph has an input '{input}'; they have {}", all.join(", "));
            return Err(failed(what));
        };
        let gives = |p: &Part| p.graph.outputs.iter().any(|o| o.name == *output);
        if parts[..at].iter().any(gives) {
            continue;
        }
        let (taker, all) = (&parts[at].name, outputs(&parts[..at]));
        let what = match parts[at..].iter().find(|p| gives(p)) {
            Some(p) => {
                format!("edges: a cycle: '{input}' of '{taker}' cannot come from '{}', which runs no earlier", p.name)
            }
            None => format!("edges: no graph before '{taker}' gives '{output}'; they give {all}"),
        };
        return Err(failed(what));
    }
    Ok(())
}

fn outputs(parts: &[Part]) -> String {
    let names = parts.iter().flat_map(|p| p.graph.outputs.iter().map(|o| o.name.as_str()));
    names.collect::<Vec<_>>().join(", ")
}

/// Adds a graph: its inputs become what feeds them, or inputs of the whole.
fn merge(
    out: &mut Graph,
    given: &mut Vec<Given>,
    (index, part): (usize, Part),
    names: &[String],
    edges: &BTreeMap<String, String>,
) -> Result<()> {
    let Part { name, graph } = part;
    let mut map: Vec<ValueId> = vec![];
    for (i, value) in graph.values.into_iter().enumerate() {
        let id = match value.def {
            Def::Input if graph.inputs.contains(&ValueId(i as u32)) => {
                let wanted = edges.get(&value.name).unwrap_or(&value.name);
                match source(given, wanted, names)? {
                    Some(from) => edge(out, (&from.name, from.value), (&value.name, &value.ty), &name)?,
                    None => open(out, (&value.name, value.ty), &name)?,
                }
            }
            Def::Const(mut tensor) => {
                if let Data::Absent(origin) = &mut tensor.data {
                    *origin = format!("{name}/{origin}");
                }
                out.add_value(format!("{name}/{}", value.name), value.ty, Def::Const(tensor))
            }
            def => out.add_value(value.name, value.ty, def),
        };
        map.push(id);
    }
    let new = |v: ValueId| map[v.0 as usize];
    for node in graph.nodes {
        let inputs = node.inputs.into_iter().map(|v| v.map(new)).collect();
        let outputs = node.outputs.into_iter().map(new).collect();
        out.nodes.push(Node { inputs, outputs, ..node });
    }
    let ports = graph.outputs.into_iter();
    given.extend(ports.map(|o| Given { part: index, value: new(o.value), name: o.name, taken: false }));
    Ok(())
}

/// The output of this name, marked as taken.
fn source<'a>(given: &'a mut [Given], wanted: &str, names: &[String]) -> Result<Option<&'a Given>> {
    let found: Vec<usize> = (0..given.len()).filter(|i| given[*i].name == wanted).collect();
    match found[..] {
        [] => Ok(None),
        [one] => {
            given[one].taken = true;
            Ok(Some(&given[one]))
        }
        [first, second, ..] => {
            let [a, b] = [first, second].map(|i| names[given[i].part].as_str());
            Err(failed(format!("an edge is ambiguous: '{a}' and '{b}' both give '{wanted}'")))
        }
    }
}

fn edge(out: &mut Graph, (given, value): (&str, ValueId), (name, ty): (&str, &Ty), part: &str) -> Result<ValueId> {
    let have = out.ty(value);
    if have == ty {
        return Ok(value);
    }
    // Exports keep embeddings in one type and layers in another; the host between them would convert.
    if have.shape == ty.shape && have.dtype.is_float() && ty.dtype.is_float() {
        let label = format!("{part}/{name}");
        return Ok(out.push(Op::Cast { to: ty.dtype }, &[Some(value)], &label)?[0]);
    }
    let what = format!("'{given}' is {have}, and '{name}' of '{part}' takes {ty}");
    Err(failed(what).hint("give the graphs the same dimensions in the manifest, or export them with the same types"))
}

/// An input that nothing feeds: one that the graphs before have as well, or a new one.
fn open(out: &mut Graph, (name, ty): (&str, Ty), part: &str) -> Result<ValueId> {
    let same = out.inputs.iter().copied().find(|v| out.value(*v).name == name);
    match same {
        None => Ok(out.add_input(name, ty)),
        Some(v) if *out.ty(v) == ty => Ok(v),
        Some(v) => {
            let what =
                format!("the graphs share an input '{name}', which is {} before '{part}' and {ty} there", out.ty(v));
            Err(failed(what))
        }
    }
}

/// Refuses a graph of which nothing goes into those after it.
fn connected(out: &Graph, given: &[Given], names: &[String]) -> Result<()> {
    for (index, name) in names.iter().enumerate().take(names.len() - 1) {
        let own = || given.iter().filter(|g| g.part == index);
        if own().any(|g| g.taken) {
            continue;
        }
        let typed = |name: &str, v: ValueId| format!("{name} {}", out.ty(v));
        let gives: Vec<String> = own().map(|g| typed(&g.name, g.value)).collect();
        let takes: Vec<String> = out.inputs.iter().map(|v| typed(&out.value(*v).name, *v)).collect();
        let what = format!(
            "nothing of '{name}' goes into the graphs after it: it gives {}; open inputs are {}",
            gives.join(", "),
            takes.join(", ")
        );
        return Err(failed(what).hint("name the edge in the bucket: edges = { INPUT = \"OUTPUT\" }"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{parse, print, verify};

    const EMBED: &str = "graph embed\ninput %ids: i64[1,4]\nconst %table: f32[9,2] = ...\n\
                         %rows = Gather(%table, %ids) axis=0\noutput %rows";
    const HEAD: &str = "graph head\ninput %x: f32[1,4,2]\ninput %mask: f32[1,4]\nconst %table: f32[2,9] = ...\n\
                        %y = MatMul(%x, %table)\noutput %y";

    fn part(name: &str, text: &str) -> Part {
        Part { name: name.into(), graph: parse(text).unwrap_or_else(|e| panic!("{e}")) }
    }

    fn edges(list: &[(&str, &str)]) -> BTreeMap<String, String> {
        list.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
    }

    fn chain(list: &[(&str, &str)], keep: Keep) -> Graph {
        let graph = compose(vec![part("embed", EMBED), part("head", HEAD)], &edges(list), keep).unwrap().graph;
        verify(&graph).unwrap();
        graph
    }

    #[test]
    fn an_edge_makes_two_graphs_one_and_constants_keep_their_graphs_name() {
        insta::assert_snapshot!(print(&chain(&[("x", "rows")], Keep::Open)), @r"
        graph embed+head
        input %ids: i64[1,4]
        input %mask: f32[1,4]
        const %0: f32[9,2] = ...  # embed/table
        const %1: f32[2,9] = ...  # head/table
        %rows: f32[1,4,2] = Gather(%0, %ids) axis=0
        %y: f32[1,4,9] = MatMul(%rows, %1)
        output %y
        ");
    }

    #[test]
    fn equal_names_need_no_edge_and_open_inputs_are_shared() {
        let named = HEAD.replace("%x", "%rows").replace("%mask: f32[1,4]", "%ids: i64[1,4]");
        let graph = compose(vec![part("embed", EMBED), part("head", &named)], &edges(&[]), Keep::Open).unwrap().graph;
        let names = |list: Vec<&str>| list.join(" ");
        assert_eq!(names(graph.inputs.iter().map(|v| graph.value(*v).name.as_str()).collect()), "ids");
        assert_eq!(names(graph.outputs.iter().map(|o| o.name.as_str()).collect()), "y");
    }

    #[test]
    fn floats_of_another_width_are_cast_on_the_way() {
        let wide = EMBED.replace("f32", "f16");
        let graph =
            compose(vec![part("embed", &wide), part("head", HEAD)], &edges(&[("x", "rows")]), Keep::Last).unwrap();
        verify(&graph.graph).unwrap();
        let cast = graph.graph.nodes.iter().find(|n| matches!(n.op, Op::Cast { .. })).unwrap();
        assert_eq!((cast.name.as_str(), cast.input(0)), ("head/x", graph.edges.first().copied()));
    }

    #[test]
    fn open_outputs_of_earlier_graphs_stay_where_they_are_wanted() {
        let two = format!("{EMBED}\n%more = Neg(%rows)\noutput %more");
        let outputs = |keep| {
            let made = compose(vec![part("a", &two), part("b", HEAD)], &edges(&[("x", "rows")]), keep).unwrap();
            assert_eq!(made.edges.len(), 1);
            made.graph.outputs.iter().map(|o| o.name.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!((outputs(Keep::Open), outputs(Keep::Last)), ("more y".into(), "y".into()));
    }

    #[test]
    fn what_does_not_join_says_what_there_is() {
        let parts = || vec![part("embed", EMBED), part("head", HEAD)];
        let narrow = EMBED.replace("[9,2]", "[9,3]");
        let twice = vec![part("one", EMBED), part("two", EMBED), part("head", HEAD)];
        for (parts, list, expect) in [
            (
                parts(),
                vec![],
                "nothing of 'embed' goes into the graphs after it: it gives rows f32[1,4,2]; open inputs are ids i64[1,4], x f32[1,4,2], mask f32[1,4]",
            ),
            (parts(), vec![("z", "rows")], "no later graph has an input 'z'; they have x, mask"),
            (parts(), vec![("x", "row")], "no graph before 'head' gives 'row'; they give rows"),
            (parts(), vec![("x", "y")], "a cycle: 'x' of 'head' cannot come from 'head', which runs no earlier"),
            (
                vec![part("embed", &narrow), part("head", HEAD)],
                vec![("x", "rows")],
                "'rows' is f32[1,4,3], and 'x' of 'head' takes f32[1,4,2]",
            ),
            (twice, vec![("x", "rows")], "ambiguous: 'one' and 'two' both give 'rows'"),
        ] {
            let e = refused(parts, &list);
            assert!(e.contains(expect), "{e}");
        }
    }

    fn refused(parts: Vec<Part>, list: &[(&str, &str)]) -> String {
        compose(parts, &edges(list), Keep::Open).map(|_| ()).unwrap_err().to_string()
    }
}
