//! The independent hazard checker. In: a finished Program and the bytes each argument may touch. Out: nothing, or the first two
//! dispatches that race. Promise: knows nothing of how the plan was made; what it passes needs no further barrier.

use crate::error::{Error, Result};
use onnxcast_runtime::program::{Arg, Bucket, Dispatch, Part, Program};

/// For each bucket, for each dispatch in the order in which it runs, the bytes that each argument may touch.
pub type Extents = Vec<Vec<Vec<u64>>>;

/// A range of some memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    space: Space,
    start: u64,
    end: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Space {
    Arena,
    Pool(u32),
    State(u32),
    Input(u32),
    Output(u32),
    Shared(Arg),
}

impl Span {
    fn meets(&self, other: &Span) -> bool {
        self.space == other.space && self.start < other.end && other.start < self.end
    }
}

struct Touch {
    span: Span,
    writes: bool,
    note: String,
}

/// Checks every bucket: bounds, self-overlap, and a barrier between any two dispatches that must not run at once.
pub fn check(program: &Program, extents: &Extents) -> Result<()> {
    if extents.len() != program.buckets.len() {
        return Err(Error::new("hazard", "extents and buckets differ in number"));
    }
    for (bucket, extents) in program.buckets.iter().zip(extents) {
        check_bucket(program, bucket, extents).map_err(|e| e.at(format!("bucket {}", bucket.name)))?;
    }
    Ok(())
}

fn check_bucket(program: &Program, bucket: &Bucket, extents: &[Vec<u64>]) -> Result<()> {
    if bucket.blocks.windows(2).any(|pair| pair[0].phase > pair[1].phase) {
        return Err(Error::new("hazard", "blocks of body, head and samplers must stand in this order"));
    }
    // A run that ends with the body is the beginning of either.
    [Part::Whole, Part::Drawn].into_iter().try_for_each(|part| check_run(program, bucket, extents, part))
}

/// Checks the dispatches of one part in their order.
fn check_run(program: &Program, bucket: &Bucket, extents: &[Vec<u64>], part: Part) -> Result<()> {
    let mut open: Vec<Touch> = vec![];
    let mut written: Vec<Span> = vec![];
    let mut count = 0;
    for block in bucket.blocks.iter() {
        if !part.has(block.phase) {
            count += block.table.len() * block.dispatches.len();
            continue;
        }
        for columns in block.table.iter() {
            for d in block.dispatches.iter() {
                let bytes = extents.get(count).ok_or_else(|| Error::new("hazard", "more dispatches than extents"))?;
                let touches = touches(program, bucket, d, columns, bytes)?;
                if d.barrier {
                    open.clear();
                } else if count == 0 {
                    return Err(Error::new(
                        "hazard",
                        "the first dispatch has no barrier: it races with the run before",
                    ));
                }
                apart(&touches, &open)?;
                initialised(&touches, &written)?;
                written.extend(touches.iter().filter(|t| t.writes && t.span.space == Space::Arena).map(|t| t.span));
                open.extend(touches);
                count += 1;
            }
        }
    }
    if count != extents.len() {
        return Err(Error::new("hazard", format!("{count} dispatches, {} extents", extents.len())));
    }
    Ok(())
}

/// What a dispatch touches, with bounds checked.
fn touches(program: &Program, bucket: &Bucket, d: &Dispatch, columns: &[Arg], bytes: &[u64]) -> Result<Vec<Touch>> {
    let bad = |what: String| Error::new("hazard", what).at(d.note.to_string());
    let kernel = program.kernels.get(d.kernel as usize).ok_or_else(|| bad(format!("no kernel {}", d.kernel)))?;
    if d.args.len() != kernel.args as usize || bytes.len() != d.args.len() {
        return Err(bad(format!("{} arguments for {} of {}", d.args.len(), kernel.args, kernel.name)));
    }
    let mut out: Vec<Touch> = vec![];
    for (i, (&arg, &bytes)) in d.args.iter().zip(bytes).enumerate() {
        let arg = match arg {
            Arg::Column(c) => *columns.get(c as usize).ok_or_else(|| bad(format!("no column {c}")))?,
            other => other,
        };
        let span = span(program, bucket, arg, bytes).map_err(|e| e.at(format!("{}, argument {i}", d.note)))?;
        let touch = Touch { span, writes: kernel.writes >> i & 1 == 1, note: d.note.to_string() };
        if let Some(other) = out.iter().find(|o| o.span.meets(&span) && (o.writes || touch.writes) && o.span != span) {
            return Err(bad(format!("two of its arguments overlap: {:?} and {:?}", other.span, span)));
        }
        out.push(touch);
    }
    Ok(out)
}

fn span(program: &Program, bucket: &Bucket, arg: Arg, bytes: u64) -> Result<Span> {
    let within = |space: Space, start: u64, size: Option<u64>| match size {
        Some(size) if start.checked_add(bytes).is_some_and(|end| end <= size) => {
            Ok(Span { space, start, end: start + bytes })
        }
        Some(size) => Err(Error::new("hazard", format!("{bytes} bytes at {start} of {space:?} run past its {size}"))),
        None => Err(Error::new("hazard", format!("there is no {space:?}"))),
    };
    match arg {
        Arg::Arena(at) => within(Space::Arena, at, Some(bucket.arena_bytes)),
        Arg::Weight(i) => within(Space::Pool(i), 0, program.tensors.get(i as usize).map(|t| t.bytes)),
        Arg::State(i) => within(Space::State(i), 0, program.states.get(i as usize).map(|s| s.bytes)),
        Arg::Input(i) => within(Space::Input(i), 0, bucket.inputs.get(i as usize).map(|p| p.bytes())),
        Arg::Output(i) => within(Space::Output(i), 0, bucket.outputs.get(i as usize).map(|p| p.bytes())),
        Arg::Step | Arg::Tokens | Arg::Logits | Arg::Ring | Arg::History => {
            Ok(Span { space: Space::Shared(arg), start: 0, end: u64::MAX })
        }
        Arg::Column(_) => Err(Error::new("hazard", "a column holds a column")),
    }
}

/// No touch may meet one since the last barrier unless both only read.
fn apart(touches: &[Touch], open: &[Touch]) -> Result<()> {
    for t in touches {
        if let Some(o) = open.iter().find(|o| (o.writes || t.writes) && o.span.meets(&t.span)) {
            let kind = match (o.writes, t.writes) {
                (true, true) => "write after write",
                (true, false) => "read after write",
                _ => "write after read",
            };
            let what = format!("{kind} in {:?} without a barrier: '{}', then '{}'", t.span.space, o.note, t.note);
            return Err(Error::new("hazard", what));
        }
    }
    Ok(())
}

/// Arena bytes are written in a run before they are read in it.
fn initialised(touches: &[Touch], written: &[Span]) -> Result<()> {
    for t in touches.iter().filter(|t| !t.writes && t.span.space == Space::Arena && t.span.start < t.span.end) {
        let mut reach = t.span.start;
        while reach < t.span.end {
            let next = written.iter().rev().filter(|w| w.start <= reach && w.end > reach).map(|w| w.end).max();
            match next {
                Some(end) => reach = end,
                None => {
                    let what = format!("reads arena byte {reach}, which nothing in this run has written");
                    return Err(Error::new("hazard", what).at(t.note.clone()));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnxcast_runtime::program::{self, Block, Elem, Kernel, Phase, Port};

    /// Kernel `k` has `reads` arguments and then one that it writes.
    fn kernel(reads: u32) -> Kernel {
        let name = format!("k{reads}").into();
        Kernel {
            name,
            source: "k.comp".into(),
            defines: vec![].into(),
            args: reads + 1,
            writes: 1 << reads,
            matrix: vec![].into(),
        }
    }

    fn d(kernel: u32, args: &[Arg], barrier: bool) -> Dispatch {
        Dispatch { kernel, grid: [1; 3], args: args.to_vec().into(), barrier, note: format!("d{kernel}").into() }
    }

    /// input -> a -> b -> output, with a cache written by b's maker, repeated twice over the same arena.
    fn program() -> (Program, Extents) {
        use Arg::*;
        let port = |name: &'static str| Port {
            name: name.into(),
            numpy: "float32".into(),
            elem: Elem::F32,
            shape: vec![16].into(),
        };
        let body = vec![
            d(1, &[Input(0), Arena(0)], true),
            d(1, &[Arena(0), Arena(256)], true),
            d(1, &[Arena(0), State(0)], false),
            d(2, &[Arena(256), State(0), Arena(512)], true),
            d(1, &[Arena(512), Column(0)], true),
        ];
        let table = vec![vec![Arena(768)].into(), vec![Output(0)].into()];
        let bucket = Bucket {
            name: "b".into(),
            rows: 1,
            arena_bytes: 1024,
            inputs: vec![port("x")].into(),
            outputs: vec![port("y")].into(),
            blocks: vec![Block { phase: Phase::Body, table: table.into(), dispatches: body.into() }].into(),
        };
        let program = Program {
            name: "p".into(),
            plan_hash: "".into(),
            kernels: (0..3).map(kernel).collect(),
            variants: vec![].into(),
            tensors: vec![].into(),
            states: vec![program::State { name: "s".into(), bytes: 64, shape: vec![16].into(), dtype: Elem::F32 }]
                .into(),
            buckets: vec![bucket].into(),
            decoder: None,
        };
        let extents = vec![
            program.buckets[0].blocks[0]
                .table
                .iter()
                .flat_map(|_| program.buckets[0].blocks[0].dispatches.iter().map(|d| vec![64; d.args.len()]))
                .collect(),
        ];
        (program, extents)
    }

    fn edit(program: &mut Program, f: impl FnOnce(&mut Vec<Dispatch>)) {
        f(program.buckets.to_mut()[0].blocks.to_mut()[0].dispatches.to_mut());
    }

    #[test]
    fn passes_a_sound_program() {
        let (program, extents) = program();
        check(&program, &extents).unwrap();
    }

    #[test]
    fn objects_to_each_barrier_taken_away() {
        for i in [0, 1, 3, 4] {
            let (mut program, extents) = program();
            edit(&mut program, |d| d[i].barrier = false);
            let e = check(&program, &extents).unwrap_err();
            assert!(e.what.contains("barrier"), "{i}: {e}");
        }
    }

    #[test]
    fn objects_to_a_cache_read_while_it_is_written() {
        let (mut program, extents) = program();
        edit(&mut program, |d| d[3] = self::d(2, &[Arg::Input(0), Arg::State(0), Arg::Arena(512)], false));
        let e = check(&program, &extents).unwrap_err();
        assert!(e.what.contains("read after write in State(0)"), "{e}");
    }

    #[test]
    fn objects_to_arena_reuse_while_it_is_read() {
        let (mut program, extents) = program();
        edit(&mut program, |d| d[2] = self::d(1, &[Arg::Input(0), Arg::Arena(32)], false));
        let e = check(&program, &extents).unwrap_err();
        assert!(e.what.contains("write after read in Arena"), "{e}");
    }

    #[test]
    fn objects_to_arguments_out_of_bounds_or_on_top_of_each_other() {
        let (mut program, mut extents) = program();
        extents[0][0][1] = 2048;
        assert!(check(&program, &extents).unwrap_err().what.contains("run past"));
        extents[0][0][1] = 64;
        edit(&mut program, |d| d[1] = self::d(1, &[Arg::Arena(0), Arg::Arena(32)], true));
        assert!(check(&program, &extents).unwrap_err().what.contains("overlap"));
    }

    /// The program with its last dispatch as greedy sampler, and that dispatch once more as the other.
    fn sampled(drawn_barrier: bool) -> (Program, Extents) {
        let (mut program, mut extents) = program();
        let blocks = program.buckets.to_mut()[0].blocks.to_mut();
        let last = blocks[0].dispatches.to_mut().pop().expect("five dispatches");
        for (phase, barrier) in [(Phase::Greedy, true), (Phase::Drawn, drawn_barrier)] {
            let d = Dispatch { args: vec![Arg::Arena(512), Arg::Output(0)].into(), barrier, ..last.clone() };
            blocks.push(Block { phase, table: vec![vec![].into()].into(), dispatches: vec![d].into() });
        }
        extents[0] = vec![vec![64; 2]; 3].into_iter().chain([vec![64; 3]]).cycle().take(8).collect();
        extents[0].extend(vec![vec![64; 2]; 2]);
        (program, extents)
    }

    #[test]
    fn each_sampler_is_held_to_what_runs_before_it() {
        let (program, extents) = sampled(true);
        check(&program, &extents).unwrap();
        // The barrier of the greedy sampler, which a drawn run leaves out, does not count for it.
        let (program, extents) = sampled(false);
        let e = check(&program, &extents).unwrap_err();
        assert!(e.what.contains("read after write in Arena"), "{e}");
    }

    #[test]
    fn objects_to_blocks_out_of_order() {
        let (mut program, extents) = sampled(true);
        program.buckets.to_mut()[0].blocks.to_mut().swap(1, 2);
        assert!(check(&program, &extents).unwrap_err().what.contains("in this order"));
    }

    #[test]
    fn objects_to_reading_what_nothing_wrote() {
        let (mut program, extents) = program();
        edit(&mut program, |d| d[1] = self::d(1, &[Arg::Arena(512), Arg::Arena(256)], true));
        assert!(check(&program, &extents).unwrap_err().what.contains("nothing in this run has written"));
    }
}
