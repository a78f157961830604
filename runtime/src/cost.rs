//! What a run costs. In: a program. Out: dispatches, barriers and bytes of weights and cache for a test of some length. Promise:
//! counted from the program alone, so the figures are the same on every device.

use std::collections::BTreeSet;

use crate::program::{Arg, Bucket, Dispatch, Elem, Kernel, Part, Program, State, Tensor};

/// Totals of one or several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub dispatches: u64,
    pub barriers: u64,
    /// Bytes of weights read, each tensor once a run.
    pub weight_bytes: u64,
    /// Bytes of KV cache read.
    pub cache_bytes: u64,
}

impl Cost {
    fn plus(self, other: Cost, times: u64) -> Cost {
        Cost {
            dispatches: self.dispatches + other.dispatches * times,
            barriers: self.barriers + other.barriers * times,
            weight_bytes: self.weight_bytes + other.weight_bytes * times,
            cache_bytes: self.cache_bytes + other.cache_bytes * times,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.weight_bytes + self.cache_bytes
    }
}

/// One run of a bucket. The cache is left out.
pub fn run(program: &Program, bucket: &Bucket, part: Part) -> Cost {
    let mut cost = Cost::default();
    let (mut whole, mut rows) = (BTreeSet::new(), 0);
    for block in bucket.blocks.iter().filter(|b| part.has(b.phase)) {
        let repetitions = block.table.len() as u64;
        cost.dispatches += repetitions * block.dispatches.len() as u64;
        cost.barriers += repetitions * block.dispatches.iter().filter(|d| d.barrier).count() as u64;
        for dispatch in block.dispatches.iter() {
            let gathers = program.kernels.get(dispatch.kernel as usize).is_some_and(Kernel::looks_up);
            for row in block.table.iter() {
                for tensor in dispatch.args.iter().filter_map(|&arg| weight(arg, row)) {
                    if gathers {
                        rows += looked_up_bytes(program, tensor, bucket.rows);
                    } else {
                        whole.insert(tensor);
                    }
                }
            }
        }
    }
    let bytes = whole.iter().filter_map(|&i| program.tensors.get(i as usize)).map(|t| t.bytes).sum::<u64>();
    cost.weight_bytes = bytes + rows;
    cost
}

/// A dispatch of a bucket behind `depth` rows of cache: what it reads of weights, and of cache what it reads or writes.
pub fn dispatch(program: &Program, bucket: &Bucket, (of, row): (&Dispatch, &[Arg]), depth: u32) -> Cost {
    let mut cost = Cost { dispatches: 1, barriers: of.barrier.into(), ..Cost::default() };
    let Some(kernel) = program.kernels.get(of.kernel as usize) else { return cost };
    let context = program.decoder.as_ref().map_or(1, |d| d.context.max(1));
    for (i, arg) in of.args.iter().enumerate() {
        match meant(*arg, row) {
            Some(Arg::Weight(tensor)) if kernel.looks_up() => {
                cost.weight_bytes += looked_up_bytes(program, tensor, bucket.rows);
            }
            Some(Arg::Weight(tensor)) => {
                cost.weight_bytes += program.tensors.get(tensor as usize).map_or(0, |t| t.bytes);
            }
            Some(Arg::State(state)) => {
                let Some(state) = program.states.get(state as usize) else { continue };
                if !is_cache(program, state) {
                    continue;
                }
                let writes = kernel.writes >> i & 1 == 1;
                let rows = if writes { bucket.rows } else { depth.saturating_add(bucket.rows).min(context) };
                cost.cache_bytes += state.bytes / u64::from(context) * u64::from(rows);
            }
            _ => {}
        }
    }
    cost
}

/// What an argument stands for in a repetition of its block.
fn meant(arg: Arg, row: &[Arg]) -> Option<Arg> {
    if let Arg::Column(c) = arg { row.get(c as usize).copied() } else { Some(arg) }
}

fn weight(arg: Arg, row: &[Arg]) -> Option<u32> {
    match meant(arg, row) {
        Some(Arg::Weight(i)) => Some(i),
        _ => None,
    }
}

/// Bytes of a table that a run of so many rows reads, one row of the table each: never more than there are.
pub(crate) fn looked_up_bytes(program: &Program, table: u32, rows: u32) -> u64 {
    let Some(table) = program.tensors.get(table as usize) else { return 0 };
    let row = table.bytes / u64::from(table.shape.first().copied().unwrap_or(1).max(1));
    (row * u64::from(rows)).min(table.bytes)
}

/// A layout of the pool, how many values are stored in it, and their bytes; in pool order.
pub fn layouts(program: &Program) -> Vec<(&str, u64, u64)> {
    let mut out: Vec<(&str, u64, u64)> = Vec::new();
    for tensor in program.tensors.iter() {
        let values = tensor.shape.iter().map(|&d| u64::from(d)).product::<u64>();
        match out.iter_mut().find(|(layout, ..)| *layout == tensor.layout) {
            Some((_, count, bytes)) => (*count, *bytes) = (*count + values, *bytes + tensor.bytes),
            None => out.push((&tensor.layout, values, tensor.bytes)),
        }
    }
    out
}

/// The largest table that tokens are looked up in.
pub fn table(program: &Program) -> Option<&Tensor> {
    let lookup = |k: u32| program.kernels.get(k as usize).is_some_and(Kernel::looks_up);
    let blocks = program.buckets.iter().flat_map(|b| b.blocks.iter());
    let dispatches = blocks.flat_map(|b| b.table.iter().flat_map(|row| b.dispatches.iter().map(move |d| (row, d))));
    let tensors =
        dispatches.filter(|(_, d)| lookup(d.kernel)).flat_map(|(row, d)| d.args.iter().map(move |a| weight(*a, row)));
    tensors.flatten().filter_map(|i| program.tensors.get(i as usize)).max_by_key(|t| t.bytes)
}

/// Kernels that multiply many rows on matrix units, by what they take x as there: one half (`fp16`), or two, which keep what f32 has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activations {
    pub fp16: usize,
    pub fp32: usize,
}

pub fn activations(program: &Program) -> Activations {
    let halves = |k: &Kernel| {
        let tiled = k.matrix.iter().any(|(name, _)| name == "TILE_M");
        k.defines.iter().find(|(name, _)| tiled && name == "HALVES").map(|(_, n)| n == "1")
    };
    let found = || program.kernels.iter().filter_map(halves);
    Activations { fp16: found().filter(|one| *one).count(), fp32: found().filter(|one| !one).count() }
}

impl Activations {
    /// The manifest's word for it; none where no product has such a form.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Activations { fp16: 0, fp32: 0 } => None,
            Activations { fp16: 0, .. } => Some("fp32"),
            Activations { fp32: 0, .. } => Some("fp16"),
            _ => Some("mixed"),
        }
    }
}

/// Bytes of cache that one token takes in all layers.
pub fn cache_row_bytes(program: &Program) -> u64 {
    let context = program.decoder.as_ref().map_or(1, |d| d.context.max(1));
    caches(program).map(|s| s.bytes / u64::from(context)).sum()
}

/// What cache rows are stored as; none where there is no cache.
pub fn cache_type(program: &Program) -> &'static str {
    match caches(program).next().map(|s| s.dtype) {
        None => "none",
        Some(Elem::Q8) => "int8",
        Some(Elem::F16) => "fp16",
        Some(_) => "fp32",
    }
}

fn caches(program: &Program) -> impl Iterator<Item = &State> {
    program.states.iter().filter(|s| is_cache(program, s))
}

fn is_cache(program: &Program, state: &State) -> bool {
    let Some(decoder) = &program.decoder else { return false };
    let pictures = decoder.pictures.and_then(|p| program.states.get(p.state as usize));
    let rows = state.shape.len().checked_sub(2).and_then(|at| state.shape.get(at));
    pictures.is_none_or(|p| p.name != state.name) && rows == Some(&decoder.context.max(1))
}

/// A prompt of `tokens` in an empty cache, its last chunk run as `part`; none where the program is no decoder.
pub fn prompt(program: &Program, tokens: u32, part: Part) -> Option<Cost> {
    let bucket = program.buckets.get(program.decoder.as_ref()?.prefill as usize)?;
    let rows = bucket.rows.max(1);
    let chunks = u64::from(tokens.div_ceil(rows).max(1));
    let cost = run(program, bucket, part).plus(run(program, bucket, Part::Body), chunks - 1);
    // A chunk reads the rows before its end.
    let read: u64 = (1..=chunks).map(|c| (c * u64::from(rows)).min(u64::from(tokens))).sum();
    Some(Cost { cache_bytes: read * cache_row_bytes(program), ..cost })
}

/// `tokens` decode steps of a part behind `depth` rows of cache; none where the program is no decoder.
pub fn answer(program: &Program, depth: u32, tokens: u32, part: Part) -> Option<Cost> {
    let bucket = program.buckets.get(program.decoder.as_ref()?.decode as usize)?;
    let cost = Cost::default().plus(run(program, bucket, part), u64::from(tokens));
    let read: u64 = (1..=u64::from(tokens)).map(|t| u64::from(depth) + t).sum();
    Some(Cost { cache_bytes: read * cache_row_bytes(program), ..cost })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::program::{Block, Decoder, Dispatch, Kernel, Phase};

    fn kernel(source: &'static str) -> Kernel {
        Kernel {
            name: source.into(),
            source: source.into(),
            defines: vec![].into(),
            args: 2,
            writes: 2,
            matrix: vec![].into(),
        }
    }

    fn call(kernel: u32, arg: Arg, barrier: bool) -> Dispatch {
        let args = vec![arg, Arg::Arena(0)].into();
        Dispatch { kernel, grid: [1, 1, 1], args, barrier, note: "layer {l}".into() }
    }

    fn tensor(name: &'static str, rows: u32, bytes: u64) -> Tensor {
        Tensor { name: name.into(), layout: "rows_f32".into(), shape: vec![rows, 4].into(), bytes }
    }

    /// Two layers of one dispatch each between an embedding and a head that share a table of 10 rows.
    pub(crate) fn toy() -> Program {
        let body = |table: Vec<Vec<Arg>>, d: Dispatch, phase| Block {
            phase,
            table: table.into_iter().map(Into::into).collect::<Vec<_>>().into(),
            dispatches: vec![d].into(),
        };
        let bucket = |name: &'static str, rows| Bucket {
            name: name.into(),
            rows,
            arena_bytes: 64,
            inputs: vec![].into(),
            outputs: vec![].into(),
            blocks: vec![
                body(vec![vec![]], call(0, Arg::Weight(0), false), Phase::Body),
                body(vec![vec![Arg::Weight(1)], vec![Arg::Weight(2)]], call(1, Arg::Column(0), true), Phase::Body),
                body(vec![vec![]], call(1, Arg::Weight(0), true), Phase::Head),
            ]
            .into(),
        };
        let cache = State { name: "k".into(), bytes: 800, shape: vec![1, 2, 100, 2].into(), dtype: Elem::F16 };
        Program {
            name: "toy".into(),
            plan_hash: "0".into(),
            kernels: vec![kernel("gather_rows.comp"), kernel("linear.comp")].into(),
            variants: vec![].into(),
            tensors: vec![tensor("table", 10, 1000), tensor("w0", 4, 64), tensor("w1", 4, 64)].into(),
            states: vec![cache].into(),
            buckets: vec![bucket("prefill", 8), bucket("decode", 1)].into(),
            decoder: Some(Decoder { context: 100, vocab: 10, decode: 1, prefill: 0, pictures: None }),
        }
    }

    #[test]
    fn a_decode_step_reads_every_weight_once_and_one_row_of_the_embedding() {
        let cost = run(&toy(), &toy().buckets[1], Part::Whole);
        assert_eq!(cost, Cost { dispatches: 4, barriers: 3, weight_bytes: 1000 + 64 + 64 + 100, cache_bytes: 0 });
    }

    #[test]
    fn a_dispatch_reads_its_weights_and_the_cache_before_it() {
        let program = toy();
        let bucket = &program.buckets[0];
        let of = |args: [Arg; 2]| Dispatch { args: args.to_vec().into(), ..call(1, args[0], true) };
        let [lookup, linear] = [0, 1].map(|b| &bucket.blocks[b]);
        let cost = dispatch(&program, bucket, (&lookup.dispatches[0], &lookup.table[0]), 0);
        assert_eq!((cost.weight_bytes, cost.cache_bytes), (8 * 100, 0));
        let cost = dispatch(&program, bucket, (&linear.dispatches[0], &linear.table[1]), 0);
        assert_eq!((cost.dispatches, cost.barriers, cost.weight_bytes), (1, 1, 64));
        // Rows of 8 bytes; a chunk of 8 behind 20, and behind more than fit.
        let read = |depth| dispatch(&program, bucket, (&of([Arg::State(0), Arg::Arena(0)]), &[]), depth).cache_bytes;
        assert_eq!((read(20), read(99)), (28 * 8, 100 * 8));
        let written = dispatch(&program, bucket, (&of([Arg::Arena(0), Arg::State(0)]), &[]), 20);
        assert_eq!(written.cache_bytes, 8 * 8);
    }

    #[test]
    fn a_table_of_fewer_rows_than_tokens_is_read_once_and_a_gather_of_any_axis_reads_all() {
        let mut program = toy();
        program.buckets.to_mut()[1].rows = 11;
        let bytes = |p: &Program| run(p, &p.buckets[1], Part::Body).weight_bytes;
        assert_eq!(bytes(&program), 1000 + 64 + 64);
        for source in ["gather.comp", "gather_elements.comp", "gather_nd.comp"] {
            program = toy();
            program.kernels.to_mut()[0].source = source.into();
            assert_eq!(bytes(&program), 1000 + 64 + 64, "{source}");
        }
    }

    #[test]
    fn a_prompt_runs_its_head_once_however_many_chunks_it_has() {
        let cost = prompt(&toy(), 17, Part::Whole).unwrap();
        assert_eq!((cost.dispatches, cost.barriers), (3 + 3 + 4, 2 + 2 + 3));
        assert_eq!(cost.cache_bytes, (8 + 16 + 17) * 8);
    }

    #[test]
    fn an_answer_reads_a_growing_cache() {
        let cost = answer(&toy(), 5, 2, Part::Whole).unwrap();
        assert_eq!((cost.dispatches, cost.cache_bytes), (8, (6 + 7) * 8));
    }

    #[test]
    fn an_int8_cache_row_counts_its_codes_and_its_scales() {
        let mut program = toy();
        program.states.to_mut()[0] = State {
            name: "k".into(),
            bytes: 2 * 100 * 8 + 2 * 100 * 4,
            shape: vec![1, 2, 100, 8].into(),
            dtype: Elem::Q8,
        };
        assert_eq!((cache_row_bytes(&program), cache_type(&program)), (2 * (8 + 4), "int8"));
    }

    #[test]
    fn what_products_of_a_prompt_take_is_told_by_their_matrix_forms() {
        let mut program = toy();
        assert_eq!(activations(&program).name(), None);
        let product = |halves: &'static str| Kernel {
            defines: vec![("HALVES".into(), halves.into())].into(),
            matrix: vec![("MATRIX".into(), "1".into()), ("TILE_M".into(), "64".into())].into(),
            ..kernel("linear.comp")
        };
        program.kernels.to_mut().push(product("2"));
        assert_eq!(activations(&program).name(), Some("fp32"));
        program.kernels.to_mut().push(product("1"));
        assert_eq!(activations(&program).name(), Some("mixed"));
        program.kernels.to_mut().remove(2);
        assert_eq!(activations(&program).name(), Some("fp16"));
        // Rows are prepared and parts of sums added up by kernels that multiply nothing.
        let other = Kernel { matrix: vec![("MATRIX".into(), "1".into())].into(), ..product("2") };
        program.kernels.to_mut().push(other);
        assert_eq!(activations(&program), Activations { fp16: 1, fp32: 0 });
    }

    #[test]
    fn a_graph_that_is_no_decoder_has_no_tokens_to_count() {
        let program = Program { decoder: None, ..toy() };
        assert_eq!(
            (prompt(&program, 1, Part::Whole), answer(&program, 0, 1, Part::Whole), cache_row_bytes(&program)),
            (None, None, 0)
        );
    }
}
