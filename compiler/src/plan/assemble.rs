//! Graphs to Program. In: one fused graph per bucket, the lock, a kernel chooser. Out: the Program, the recipe of its pool and
//! the new lock. Promise: a function of its inputs; the hazard checker has passed it.

use super::Select;
use super::hazard::{self, Extents};
use super::memory;
use super::places;
use super::roll::{self, Flat};
use super::schedule::{self, Row, Schedule, Slot};
use super::weights::{Packed, Pool};
use crate::bucket::{BucketGraph, scope};
use crate::error::{Error, Result};
use crate::graph::{Graph, Node, Op, PICTURES};
use crate::lock::Lock;
use crate::storage::Storage;
use onnxcast_runtime::program::{
    Arg, Bucket, Decoder, Dispatch, Kernel, PLAN_DIGITS, Pictures, Program, State, Variant,
};

pub struct Request<'a> {
    pub name: &'a str,
    pub storage: Storage,
    /// Rows of the KV cache, when some of the graphs are a decoder whose cache we manage.
    pub context: Option<usize>,
    pub buckets: &'a [BucketGraph],
    pub lock: &'a Lock,
    pub select: &'a dyn Select,
}

#[derive(Debug)]
pub struct Plan {
    pub program: Program,
    pub extents: Extents,
    /// One entry per tensor of the program.
    pub pool: Vec<Packed>,
    pub lock: Lock,
}

/// Plans all buckets over one pool and one set of caches.
pub fn assemble(request: &Request) -> Result<Plan> {
    let mut pool = Pool::new(request.lock);
    let mut states: Vec<State> = vec![];
    let mut kernels = Kernels::default();
    let mut buckets = vec![];
    let mut extents = vec![];
    for b in request.buckets {
        let (bucket, bytes) = bucket(request, b, &mut pool, &mut states, &mut kernels)
            .map_err(|e| if request.buckets.len() > 1 { e.at(format!("bucket {}", b.name)) } else { e })?;
        buckets.push(bucket);
        extents.push(bytes);
    }
    let mut program = Program {
        name: request.name.to_string().into(),
        plan_hash: "".into(),
        kernels: kernels.list.into(),
        variants: kernels.variants.into(),
        tensors: pool.tensors.iter().map(Packed::describe).collect(),
        decoder: decoder(request, &states)?,
        states: states.into(),
        buckets: buckets.into(),
    };
    program.plan_hash = plan_hash(&program, &pool.tensors).into();
    hazard::check(&program, &extents)?;
    Ok(Plan { program, extents, pool: pool.tensors, lock: pool.lock })
}

/// One bucket: places, rows, barriers, offsets, blocks.
fn bucket(
    request: &Request,
    b: &BucketGraph,
    pool: &mut Pool,
    states: &mut Vec<State>,
    kernels: &mut Kernels,
) -> Result<(Bucket, Vec<Vec<u64>>)> {
    let mut graph = b.graph.clone();
    let decoder = b.decoder;
    if !decoder {
        places::own_outputs(&mut graph)?;
    }
    let places = places::assign(&graph, decoder, request.storage.kv, states)?;
    let scope = scope(request.buckets, b);
    let mut cx = schedule::Context {
        graph: &graph,
        places: &places,
        states,
        storage: request.storage,
        select: request.select,
        scope: &scope,
        pool,
    };
    let schedule = schedule::rows(&mut cx, decoder)?;
    let barriers = schedule::barriers(&schedule.rows);
    let arena = memory::arena(&schedule.rows, &barriers, &schedule.buffers)?;
    let flat = flatten(&schedule, &barriers, &arena.offsets, kernels)?;
    let bytes = schedule.rows.iter().map(|r| r.args.iter().map(|a| a.bytes).collect()).collect();
    let bucket = Bucket {
        name: b.name.clone().into(),
        rows: b.rows as u32,
        arena_bytes: arena.bytes,
        inputs: places.inputs.into(),
        outputs: places.outputs.into(),
        blocks: roll::roll(&flat).into(),
    };
    Ok((bucket, bytes))
}

/// Gives buffers their offsets and kernels their index.
fn flatten(schedule: &Schedule, barriers: &[bool], offsets: &[u64], kernels: &mut Kernels) -> Result<Vec<Flat>> {
    let mut out = vec![];
    for (row, &barrier) in schedule.rows.iter().zip(barriers) {
        let args: Vec<Arg> = row
            .args
            .iter()
            .map(|a| match a.slot {
                Slot::Buffer(b) => Arg::Arena(offsets[b]),
                Slot::Fixed(arg) => arg,
            })
            .collect();
        let dispatch = Dispatch {
            kernel: kernels.add(row),
            grid: row.grid,
            args: args.into(),
            barrier,
            note: row.note.clone().into(),
        };
        out.push(Flat { dispatch, phase: row.phase });
    }
    Ok(out)
}

/// The kernels of a program so far.
#[derive(Default)]
struct Kernels {
    list: Vec<Kernel>,
    variants: Vec<Variant>,
}

impl Kernels {
    /// The kernel of a row, with its variants.
    fn add(&mut self, row: &Row) -> u32 {
        let of = self.index(&row.kernel);
        if !row.variants.is_empty() && self.variants.iter().all(|v| v.of != of) {
            for (kernel, grid) in &row.variants {
                let by = self.index(kernel);
                self.variants.push(Variant { of, by, grid: *grid });
            }
        }
        of
    }

    /// The program's kernel that is this one. A name that is taken by another gets a number: names tell shapes, and two
    /// kernels of one shape may still differ, in an epsilon for example.
    fn index(&mut self, kernel: &Kernel) -> u32 {
        let mut named = kernel.clone();
        for number in 2.. {
            match self.list.iter().position(|k| k.name == named.name) {
                Some(i) if self.list[i] == named => return i as u32,
                Some(_) => named.name = format!("{}_{number}", kernel.name).into(),
                None => break,
            }
        }
        self.list.push(named);
        self.list.len() as u32 - 1
    }
}

/// Roles of the decoder's buckets: the first with fewest rows decodes, the first with most takes the prompt.
fn decoder(request: &Request, states: &[State]) -> Result<Option<Decoder>> {
    let Some(context) = request.context else { return Ok(None) };
    let of_decoder = || request.buckets.iter().enumerate().filter(|(_, b)| b.decoder);
    let fewest = of_decoder().min_by_key(|(_, b)| b.rows);
    let most = of_decoder().min_by_key(|(_, b)| std::cmp::Reverse(b.rows));
    let (Some((decode, bucket)), Some((prefill, _))) = (fewest, most) else {
        return Err(Error::new("plan", "none of the buckets is a decoder with a cache"));
    };
    if bucket.rows != 1 {
        let what = format!("a decoder needs a bucket of one row, the smallest here has {}", bucket.rows);
        return Err(Error::new("plan", what).hint("add one to [[buckets]] in the manifest"));
    }
    let mut vocab = None;
    for (_, b) in of_decoder() {
        let shape = b.graph.outputs.first().map(|o| b.graph.shape(o.value)).unwrap_or(&[]);
        let last = shape.last().copied().unwrap_or(0);
        if shape.iter().product::<usize>() != last || *vocab.get_or_insert(last) != last {
            let what = format!("logits of shape {shape:?}: one row of one vocabulary is what sampling takes");
            return Err(Error::new("plan", what).at(format!("bucket {}", b.name)));
        }
    }
    Ok(Some(Decoder {
        context: context as u32,
        vocab: vocab.unwrap_or(0) as u32,
        decode: decode as u32,
        prefill: prefill as u32,
        pictures: pictures(request, states),
    }))
}

/// The bucket that leaves rows of pictures in a state, where there is one.
fn pictures(request: &Request, states: &[State]) -> Option<Pictures> {
    let state = states.iter().position(|s| s.name == PICTURES)?;
    let writes = |g: &Graph| {
        let write = |n: &Node| n.input(0).is_some_and(|v| n.op == Op::KvWrite && g.value(v).name == PICTURES);
        g.nodes.iter().find(|n| write(n)).and_then(|n| n.input(1)).map(|new| g.shape(new)[2] as u32)
    };
    let found = request.buckets.iter().enumerate().find_map(|(i, b)| Some((i as u32, writes(&b.graph)?)));
    let (bucket, rows) = found.filter(|(_, rows)| *rows > 0)?;
    Some(Pictures { bucket, state: state as u32, rows, slots: states[state].shape[2] / rows })
}

/// Changes whenever the pool or what runs over it does; its first half when the plan does, its second when the content does.
fn plan_hash(program: &Program, pool: &[Packed]) -> String {
    let mut plan = blake3::Hasher::new();
    plan.update(format!("{program:?}").as_bytes());
    let mut content = blake3::Hasher::new();
    for tensor in pool {
        plan.update(tensor.layout.name().as_bytes());
        for hash in &tensor.hashes {
            content.update(hash.as_bytes());
        }
    }
    let half = |hasher: blake3::Hasher| hasher.finalize().to_hex()[..PLAN_DIGITS].to_string();
    half(plan) + &half(content)
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::super::{Precision, examples};
    use super::*;
    use crate::graph::Node;
    use crate::plan::{Call, Operand, Select};
    use onnxcast_runtime::program::{Block, Phase};

    fn plan(buckets: &[BucketGraph], context: Option<usize>, lock: &Lock) -> Result<Plan> {
        let precision = Precision::Fp16;
        assemble(&Request { name: "tiny", storage: precision.into(), context, buckets, lock, select: &Fake })
    }

    fn tiny() -> Plan {
        let buckets = [examples::decoder("prefill", 4, 3, 16), examples::decoder("decode", 1, 3, 16)];
        plan(&buckets, Some(16), &Lock::default()).unwrap()
    }

    fn shape(blocks: &[Block]) -> Vec<(Phase, usize, usize)> {
        blocks.iter().map(|b| (b.phase, b.table.len(), b.dispatches.len())).collect()
    }

    #[test]
    fn a_decoder_becomes_an_embedding_a_layer_and_a_head() {
        let program = tiny().program;
        for bucket in program.buckets.iter() {
            let expect = [
                (Phase::Body, 1, 1),
                (Phase::Body, 3, 5),
                (Phase::Head, 1, 2),
                (Phase::Greedy, 1, 2),
                (Phase::Drawn, 1, 2),
            ];
            assert_eq!(shape(&bucket.blocks), expect, "{}", bucket.name);
        }
        let d = program.decoder.unwrap();
        assert_eq!((d.context, d.vocab, d.prefill, d.decode), (16, 11, 0, 1));
    }

    #[test]
    fn buckets_share_pool_and_caches() {
        let Plan { program, pool, .. } = tiny();
        assert_eq!(program.states.len(), 6);
        assert_eq!(pool.len(), program.tensors.len());
        let names: Vec<&str> = program.tensors.iter().map(|t| t.name.as_ref()).collect();
        assert_eq!(names[0], "embed.weight");
        // The embedding is a plain f32 table here and an fp16 matrix in the head: two layouts, two tensors.
        assert_eq!(names.iter().filter(|n| **n == "embed.weight").count(), 2);
        assert_eq!(names.iter().filter(|n| **n == "layers.0.q.weight").count(), 1);
    }

    #[test]
    fn layers_use_the_same_arena_offsets() {
        let program = tiny().program;
        let columns = &program.buckets[1].blocks[1].table;
        assert!(columns.iter().flat_map(|row| row.iter()).all(|a| !matches!(a, Arg::Arena(_))), "{columns:?}");
    }

    #[test]
    fn a_lock_replaces_the_weights() {
        let with = tiny();
        let lock = Lock::parse(&with.lock.print()).unwrap();
        let mut buckets = [examples::decoder("prefill", 4, 3, 16), examples::decoder("decode", 1, 3, 16)];
        for value in buckets.iter_mut().flat_map(|b| b.graph.values.iter_mut()) {
            if let crate::graph::Def::Const(t) = &mut value.def {
                t.data = crate::graph::Data::Absent(value.name.clone());
            }
        }
        let without = plan(&buckets, Some(16), &lock).unwrap();
        assert_eq!(without.program, with.program);
        assert_eq!(without.lock, with.lock);
    }

    #[test]
    fn a_graph_as_it_stands_gets_ports_and_copies_of_disguised_inputs() {
        let program = plan(&[examples::plain()], None, &Lock::default()).unwrap().program;
        let bucket = &program.buckets[0];
        let names = |ports: &[onnxcast_runtime::program::Port]| -> Vec<String> {
            ports.iter().map(|p| format!("{} {:?}", p.name, p.shape)).collect()
        };
        assert_eq!(names(&bucket.inputs), ["x [2, 3]"]);
        assert_eq!(names(&bucket.outputs), ["flat [6]", "exp [6]", "same [6]"]);
        let rows: Vec<String> =
            bucket.blocks[0].dispatches.iter().map(|d| format!("{} {:?}", d.note, d.args)).collect();
        assert_eq!(
            rows,
            [
                "sum [Input(0), Weight(0), Output(0), Step]",
                "exp [Output(0), Output(1), Step]",
                "same (copy) [Input(0), Output(2), Step]"
            ]
        );
    }

    #[test]
    fn a_decoder_without_a_one_row_bucket_is_refused() {
        let e = plan(&[examples::decoder("prefill", 4, 1, 16)], Some(16), &Lock::default()).unwrap_err();
        assert!(e.to_string().contains("needs a bucket of one row"), "{e}");
    }

    #[test]
    fn taking_one_needed_barrier_away_is_objected_to() {
        let Plan { mut program, extents, .. } = tiny();
        let block = &mut program.buckets.to_mut()[1].blocks.to_mut()[1];
        block.dispatches.to_mut()[2].barrier = false;
        let e = hazard::check(&program, &extents).unwrap_err();
        assert!(e.what.contains("read after write"), "{e}");
    }

    #[test]
    fn kernels_of_one_name_that_differ_get_numbers() {
        let kernel = |eps: &'static str| Kernel {
            name: "norm".into(),
            source: "norm.comp".into(),
            defines: vec![("EPS".into(), eps.into())].into(),
            args: 1,
            writes: 1,
            matrix: vec![].into(),
        };
        let mut kernels = Kernels::default();
        let order: Vec<u32> = ["1e-5", "1e-6", "1e-5", "1e-6", "2e-6"].map(|e| kernels.index(&kernel(e))).into();
        assert_eq!(order, [0, 1, 0, 1, 2]);
        let names: Vec<&str> = kernels.list.iter().map(|k| k.name.as_ref()).collect();
        assert_eq!(names, ["norm", "norm_2", "norm_3"]);
    }
    /// A call a node, with rows that the first prepares for the third.
    struct Hands;

    impl Select for Hands {
        fn node(&self, graph: &Graph, node: &Node, storage: Storage) -> Result<Vec<Call>> {
            let mut calls = Fake.node(graph, node, storage)?;
            let at = graph.nodes.iter().position(|n| n.outputs == node.outputs).unwrap_or(0);
            for call in calls.iter_mut().filter(|_| at == 0 || at == 2) {
                call.kernel.writes |= u32::from(at == 0) << call.args.len();
                call.args.push(Operand::Prepared(graph.nodes[0].out(), 4096));
                call.kernel.args += 1;
                call.kernel.name = format!("k{at}").into();
            }
            Ok(calls)
        }

        fn sample(&self, vocab: usize, sampler: Phase) -> Result<Vec<Call>> {
            Fake.sample(vocab, sampler)
        }
    }

    #[test]
    fn prepared_rows_live_from_who_makes_them_to_who_takes_them() {
        let chain: String = (0..6).map(|i| format!("%v{}: f32[1024] = Exp(%v{i})\n", i + 1)).collect();
        let graph = crate::graph::parse(&format!("graph g\ninput %v0: f32[1024]\n{chain}output %v6\n")).unwrap();
        let bucket = BucketGraph { name: "run".into(), file: "one".into(), rows: 1, decoder: false, graph };
        let (lock, storage, buckets) = (Lock::default(), Precision::Fp16.into(), [bucket]);
        let request = Request { name: "one", storage, context: None, buckets: &buckets, lock: &lock, select: &Hands };
        let program = assemble(&request).unwrap().program;
        let rows: Vec<&Dispatch> = program.buckets[0].blocks.iter().flat_map(|b| b.dispatches.iter()).collect();
        let made = *rows[0].args.last().unwrap();
        assert!(matches!(made, Arg::Arena(_)) && rows[2].args.last() == Some(&made), "{made:?}");
        let writes = |row: &Dispatch| row.args[1];
        assert!(rows[..3].iter().all(|row| writes(row) != made), "nobody takes their place before");
        assert!(rows[3..].iter().any(|row| writes(row) == made), "and somebody does behind");
    }
}
