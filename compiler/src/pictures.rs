//! Pictures between buckets. In: imported graphs of all buckets, `[picture]` of the manifest. Out: the same, in which the vision
//! bucket leaves its rows in a state and the decoder's buckets take them in the places of ids past the vocabulary. Promise: rows stay on
//! the device; a bucket that does not fit is an error that says why.

use crate::bucket::BucketGraph;
use crate::error::{Error, Result};
use crate::graph::{DType, Def, Graph, Op, PICTURES, State, Tensor, Ty, ValueId, verify};
use crate::manifest::Picture;
use crate::passes::roles;

/// Rows of one picture, and what one row holds.
#[derive(Clone, Copy)]
struct Rows {
    count: usize,
    channels: usize,
}

/// Joins the buckets. `edges` are the values that go from graph to graph inside each.
pub fn join(picture: &Picture, buckets: &mut [BucketGraph], edges: &[Vec<ValueId>]) -> Result<()> {
    let slots = picture.most as usize;
    let place = |e: Error| e.at("key 'picture.bucket'");
    let tower = buckets.iter_mut().find(|b| b.name == picture.bucket);
    let tower = tower.ok_or_else(|| place(wrong(format!("there is no bucket '{}'", picture.bucket))))?;
    if tower.decoder {
        return Err(place(wrong(format!("'{}' is a decoder's, and no tower", tower.name))));
    }
    let rows = deposit(&mut tower.graph, slots).map_err(place)?;
    verify(&tower.graph)?;
    if !buckets.iter().any(|b| b.decoder) {
        return Err(place(wrong("no bucket is a decoder's, so nobody takes the rows".into())));
    }
    for (b, edges) in buckets.iter_mut().zip(edges).filter(|(b, _)| b.decoder) {
        splice(&mut b.graph, edges, slots, rows).map_err(|e| e.at(format!("bucket {}", b.name)))?;
        verify(&b.graph)?;
    }
    Ok(())
}

fn wrong(what: String) -> Error {
    Error::new("pictures", what)
}

fn state_type(slots: usize, rows: Rows) -> Ty {
    Ty::new(DType::F32, &[1, 1, slots * rows.count, rows.channels])
}

/// The tower writes its rows into the state, at a row that the step gives.
fn deposit(graph: &mut Graph, slots: usize) -> Result<Rows> {
    let typed = |v: ValueId| format!("{} {}", graph.value(v).name, graph.ty(v));
    let list = |all: Vec<ValueId>| all.into_iter().map(typed).collect::<Vec<_>>().join(", ");
    let pixels = |v: &ValueId| graph.ty(*v).dtype.is_float() && matches!(graph.shape(*v), [1, 3, _, _]);
    if graph.inputs.len() != 1 || !graph.inputs.iter().all(pixels) {
        let what = format!("one float input [1, 3, height, width] is wanted, there is {}", list(graph.inputs.clone()));
        return Err(wrong(what));
    }
    let outputs: Vec<ValueId> = graph.outputs.iter().map(|o| o.value).collect();
    let (out, rows) = match outputs[..] {
        [out] if graph.ty(out).dtype.is_float() => match *graph.shape(out) {
            [1, count, channels] | [count, channels] => (out, Rows { count, channels }),
            _ => return Err(wrong(format!("rows [1, n, k] of a picture are wanted, there is {}", typed(out)))),
        },
        _ => return Err(wrong(format!("one float output is wanted, there is {}", list(outputs)))),
    };
    let count = i32::try_from(rows.count).map_err(|_| wrong(format!("{} rows a picture", rows.count)))?;
    let state = graph.add_value(PICTURES, state_type(slots, rows), Def::Input);
    let pos = graph.add_input(roles::POS, Ty::new(DType::I32, &[]));
    let count = graph.add_const("picture.rows", Tensor::from_bytes(DType::I32, vec![], count.to_le_bytes().to_vec()));
    let shape = vec![1, 1, rows.count, rows.channels];
    let flat = graph.push(Op::Reshape { shape }, &[Some(out)], "picture.flat")?[0];
    let inputs = [Some(state), Some(flat), Some(pos), Some(count)];
    let written = graph.push(Op::KvWrite, &inputs, "pictures.write")?[0];
    graph.states.push(State { input: state, output: written });
    Ok(rows)
}

/// A decoder takes rows of the state where ids are past its vocabulary.
fn splice(graph: &mut Graph, edges: &[ValueId], slots: usize, rows: Rows) -> Result<()> {
    let Some((tokens, looked_up)) = roles::token_rows(graph) else {
        return Err(wrong("no input is token ids: no table is looked up by one".into()));
    };
    let shape = [&[1][..], &graph.shape(tokens)[1..], &[rows.channels]].concat();
    // Between graphs where there is an edge, so that what the first does to its rows is not done to those of pictures.
    let fits = |v: &&ValueId| graph.ty(**v).dtype.is_float() && *graph.shape(**v) == shape[..];
    let edge = edges.iter().find(fits).or(Some(&looked_up).filter(|v| edges.is_empty() && fits(v)));
    let Some(&edge) = edge else {
        let what =
            format!("rows of pictures have {} channels, and no row of a token has: {shape:?} is wanted", rows.channels);
        return Err(wrong(what).at(graph.value(looked_up).name.clone()));
    };
    let logits = graph.outputs.iter().map(|o| graph.shape(o.value)).find(|s| s.len() == 3);
    let vocab =
        *logits.and_then(|s| s.last()).ok_or_else(|| wrong("the graph gives no logits [1, s, vocab]".into()))?;
    let state = graph.add_value(PICTURES, state_type(slots, rows), Def::Input);
    graph.states.push(State { input: state, output: state });
    let at = graph.producers().get(&edge).map_or(0, |i| i + 1);
    let name = format!("{}.pictures", graph.value(edge).name);
    let inputs = [Some(edge), Some(tokens), Some(state)];
    let spliced = graph.insert(at, Op::Splice { vocab, lookup: false }, &inputs, &name)?[0];
    graph.replace_uses(edge, spliced);
    // Its own input was replaced too.
    graph.nodes[at].inputs[0] = Some(edge);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{parse, print};
    use crate::passes::{Log, ORDER, run};

    const TOWER: &str =
        "graph tower\ninput %pixels: f32[1,3,2,2]\n%rows = Reshape(%pixels) shape=[1,3,4]\noutput %rows";

    fn picture() -> Picture {
        toml::from_str("bucket = \"vision\"\nmost = 2\ntoken = 5").unwrap()
    }

    fn bucket(name: &str, text: &str, decoder: bool) -> BucketGraph {
        let graph = parse(text).unwrap_or_else(|e| panic!("{e}"));
        BucketGraph { name: name.into(), file: name.into(), rows: 1, decoder, graph }
    }

    fn joined(tower: &str, decoder: &str) -> Result<Vec<BucketGraph>> {
        let mut buckets = vec![bucket("vision", tower, false), bucket("decode", decoder, true)];
        join(&picture(), &mut buckets, &[vec![], vec![]])?;
        Ok(buckets)
    }

    #[test]
    fn a_tower_leaves_its_rows_where_the_step_says() {
        let mut graph = parse(TOWER).unwrap();
        deposit(&mut graph, 2).unwrap();
        insta::assert_snapshot!(print(&graph), @r"
        graph tower
        input %pixels: f32[1,3,2,2]
        input %pos: i32[]
        state %pictures: f32[1,1,6,4] -> %pictures.write
        const %picture.rows: i32[] = 3
        %rows: f32[1,3,4] = Reshape(%pixels) shape=[1,3,4]
        %picture.flat: f32[1,1,3,4] = Reshape(%rows) shape=[1,1,3,4]
        %pictures.write: f32[1,1,6,4] = KvWrite(%pictures, %picture.flat, %pos, %picture.rows)
        output %rows
        ");
    }

    #[test]
    fn a_decoders_lookup_takes_rows_of_pictures_in_one_operator() {
        let decoder = include_str!("passes/fixtures/decoder.txt");
        let table = parse(decoder).unwrap();
        let k = roles::token_rows(&table).map(|(_, rows)| table.shape(rows)[2]).unwrap();
        let tower = TOWER.replace("1,3,2,2", &format!("1,3,1,{k}")).replace("[1,3,4]", &format!("[1,3,{k}]"));
        let mut buckets = joined(&tower, decoder).unwrap();
        run(&mut buckets[1].graph, ORDER, &mut Log::default()).unwrap();
        let text = print(&buckets[1].graph);
        let first: Vec<&str> = text.lines().filter(|l| l.contains(" = Splice(") || l.contains(" = Gather(")).collect();
        assert!(matches!(first[..], [one] if one.contains("Splice") && one.contains("lookup")), "{text}");
    }

    #[test]
    fn buckets_that_do_not_fit_say_why() {
        let decoder = include_str!("passes/fixtures/decoder.txt");
        for (tower, expect) in [
            (
                TOWER.replace("1,3,2,2", "1,1,3,4"),
                "one float input [1, 3, height, width] is wanted, there is pixels f32[1,1,3,4]",
            ),
            (
                TOWER.replace("[1,3,4]", "[1,3,2,2]"),
                "rows [1, n, k] of a picture are wanted, there is rows f32[1,3,2,2]",
            ),
            (
                format!("{TOWER}\noutput %pixels"),
                "one float output is wanted, there is rows f32[1,3,4], pixels f32[1,3,2,2]",
            ),
            (TOWER.replace("[1,3,4]", "[1,1,12]"), "rows of pictures have 12 channels, and no row of a token has"),
        ] {
            let e = joined(&tower, decoder).map(|_| ()).unwrap_err().to_string();
            assert!(e.contains(expect), "{e}");
        }
    }
}
