//! Runs a graph on the first Vulkan device and on the interpreter. In: graph and inputs. Out: both results, compared. Promise:
//! weights and caches go through the same packing as in a model; guards around every buffer are checked after every run, and every
//! kernel goes through spirv-val.

use crate::kv;
use half::f16;
use onnxcast::graph::eval::{self, Array, Values};
use onnxcast::graph::{DType, Def, Graph, PICTURES};
use onnxcast::plan::{self, BucketGraph, Kv, Lock, Request, Select, Shaders, Storage};
use onnxcast::shaders;
use onnxcast_runtime::array::{self, Data};
use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::program::{Kernel, Program, Text};
use onnxcast_runtime::recorder::Code;
use onnxcast_runtime::spirv::shared_bytes;
use onnxcast_runtime::step::Step;
use onnxcast_runtime::weights::WeightSource;
use std::collections::HashMap;
use std::sync::OnceLock;

/// What makes a kernel's code.
pub type Coder = fn(&Kernel) -> Code;

pub type Arrays = HashMap<String, Array>;

pub fn device() -> &'static Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(|| Device::open(&DeviceOptions::default()).expect("kernel tests need a Vulkan device"))
}

/// A program of one bucket made from the graph as it stands, ready to run, with guards.
pub fn engine(graph: &Graph, storage: impl Into<Storage>) -> Engine {
    engine_in(graph, storage, false)
}

/// The same, with kernels of one row in the form of devices that are no CPU where `general`.
pub fn engine_in(graph: &Graph, storage: impl Into<Storage>, general: bool) -> Engine {
    engine_with(graph, storage, general, |_| {})
}

/// The same with a program that was changed.
pub fn engine_with(graph: &Graph, storage: impl Into<Storage>, general: bool, change: impl Fn(&mut Program)) -> Engine {
    let changes = |program: &mut Program| {
        for kernel in program.kernels.to_mut().iter_mut().filter(|k| general && has_two_forms(k)) {
            kernel.defines.to_mut().push(("CPU_FORM".into(), "0".into()));
        }
        change(program);
    };
    engine_of(graph, storage, &Shaders, changes, crate::spirv::code)
}

/// The same with kernels of somebody's choice, in a form of somebody's choice.
pub fn engine_of(
    graph: &Graph,
    storage: impl Into<Storage>,
    select: &dyn Select,
    change: impl Fn(&mut Program),
    code: Coder,
) -> Engine {
    let bucket = BucketGraph { name: "run".into(), file: "one".into(), rows: 1, decoder: false, graph: graph.clone() };
    let (lock, buckets, storage) = (Lock::default(), [bucket], storage.into());
    let request = Request { name: "one", storage, context: None, buckets: &buckets, lock: &lock, select };
    let mut plan = plan::assemble(&request).unwrap_or_else(|e| panic!("{e}"));
    change(&mut plan.program);
    let code: Vec<Code> = plan.program.kernels.iter().map(code).collect();
    let weights = plan.pool.iter().map(packed).collect();
    let options = Options { guard_bytes: 256, ..Options::default() };
    Engine::new(device(), plan.program, &code, &WeightSource::Bytes(weights), options, &mut |_, _| {})
        .unwrap_or_else(|e| panic!("{e}"))
}

pub fn has_two_forms(kernel: &Kernel) -> bool {
    kernel.source == "split_attention.comp" || kernel.defines.iter().any(|(n, v)| n == "THREAD_ROWS" && v == "0")
}

/// The bytes of a tensor of the pool.
pub fn packed(tensor: &plan::weights::Packed) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sink = |piece: &[u8]| {
        bytes.extend_from_slice(piece);
        Ok(())
    };
    plan::weights::pack(tensor, &mut sink).unwrap_or_else(|e| panic!("{e}"));
    bytes
}

/// Outputs by name, states by the name of their input.
pub fn run_on(engine: &mut Engine, graph: &Graph, storage: impl Into<Storage>, inputs: &Arrays) -> Arrays {
    let kv = storage.into().kv;
    let scalar = |name: &str| inputs.get(name).and_then(|a| a.to_ints().first().copied()).unwrap_or(0) as u32;
    let step = Step { pos: scalar("pos"), rows: scalar("rows"), ..bytemuck::Zeroable::zeroed() };
    engine.set_step(&step).expect("a step buffer");
    for (i, state) in graph.states.iter().enumerate() {
        let name = &graph.value(state.input).name;
        engine.write_state(i as u32, &state_bytes(&inputs[name], stored(name, kv))).unwrap_or_else(|e| panic!("{e}"));
    }
    let names: Vec<String> = engine.program().buckets[0].inputs.iter().map(|p| p.name.to_string()).collect();
    let ports: Vec<(String, array::Array)> =
        names.into_iter().map(|name| (name.clone(), to_raw(&inputs[&name]))).collect();
    let ports: Vec<(&str, &array::Array)> = ports.iter().map(|(name, array)| (name.as_str(), array)).collect();
    let out = engine.run_raw(0, &ports).unwrap_or_else(|e| panic!("{e}"));
    engine.check_guards().unwrap_or_else(|e| panic!("{e}"));
    let mut all: Arrays = out.into_iter().map(|(name, array)| (name, from_raw(array))).collect();
    for (i, state) in graph.states.iter().enumerate() {
        let value = graph.value(state.input);
        let bytes = engine.read_state(i as u32).unwrap_or_else(|e| panic!("{e}"));
        let floats: Vec<f32> = match stored(&value.name, kv) {
            Kv::Int8 => kv::values(&bytes, &value.ty.shape),
            Kv::Fp32 => bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
            Kv::Fp16 => bytes.as_chunks::<2>().0.iter().map(|b| f16::from_le_bytes(*b).to_f32()).collect(),
        };
        all.insert(value.name.clone(), Array::new(DType::F32, value.ty.shape.clone(), Values::F32(floats)));
    }
    all
}

/// How a state lies on the device.
fn stored(name: &str, kv: Kv) -> Kv {
    if name == PICTURES { Kv::Fp32 } else { kv }
}

fn state_bytes(array: &Array, kv: Kv) -> Vec<u8> {
    let floats = array.to_f32();
    match kv {
        Kv::Int8 => kv::bytes(&floats, &array.shape),
        Kv::Fp32 => floats.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Kv::Fp16 => floats.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect(),
    }
}

fn to_raw(array: &Array) -> array::Array {
    let ints = array.to_ints();
    let data = match array.dtype {
        DType::Bool => Data::Bool(ints.iter().map(|x| *x != 0).collect()),
        DType::F16 => Data::F16(array.to_f32().iter().map(|x| f16::from_f32(*x)).collect()),
        d if d.is_float() => Data::F32(array.to_f32()),
        _ => Data::I64(ints),
    };
    array::Array { shape: array.shape.clone(), data }
}

fn from_raw(array: array::Array) -> Array {
    let (dtype, data) = match array.data {
        Data::F16(v) => (DType::F16, Values::F32(v.iter().map(|x| x.to_f32()).collect())),
        Data::F32(v) => (DType::F32, Values::F32(v)),
        Data::F64(v) => (DType::F64, Values::F64(v)),
        Data::I8(v) => (DType::I8, Values::Int(v.into_iter().map(i64::from).collect())),
        Data::I16(v) => (DType::I16, Values::Int(v.into_iter().map(i64::from).collect())),
        Data::I32(v) => (DType::I32, Values::Int(v.into_iter().map(i64::from).collect())),
        Data::I64(v) => (DType::I64, Values::Int(v)),
        Data::U8(v) => (DType::U8, Values::Int(v.into_iter().map(i64::from).collect())),
        Data::U16(v) => (DType::U16, Values::Int(v.into_iter().map(i64::from).collect())),
        Data::U32(v) => (DType::U32, Values::Int(v.into_iter().map(i64::from).collect())),
        Data::U64(v) => (DType::U64, Values::Int(v.into_iter().map(|x| x as i64).collect())),
        Data::Bool(v) => (DType::Bool, Values::Bool(v)),
    };
    Array::new(dtype, array.shape, data)
}

/// Rounds every float constant of a graph to fp16, so that fp16 storage loses nothing.
pub fn halve_constants(graph: &mut Graph) {
    for value in &mut graph.values {
        if let Def::Const(t) = &mut value.def
            && t.dtype == DType::F32
        {
            let mut array = Array::from_tensor(t).expect("constants of tests have data");
            halve(&mut array);
            *t = array.to_tensor();
        }
    }
}

pub fn halve(array: &mut Array) {
    if let Values::F32(v) = &mut array.data {
        v.iter_mut().for_each(|x| *x = f16::from_f32(*x).to_f32());
    }
}

/// How far a result may be off: `absolute + relative * |expected|`.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub absolute: f64,
    pub relative: f64,
}

pub const TIGHT: Bound = Bound { absolute: 2e-5, relative: 2e-5 };

/// What is rounded to fp16 carries 11 bits.
pub const HALF: Bound = Bound { absolute: 1e-3, relative: 1e-3 };

/// A weight decoded in fp16 is rounded twice where a multiplication and an addition are not fused.
const CODES: Bound = Bound { absolute: 2e-3, relative: 2e-3 };

impl Bound {
    /// The wider of two.
    fn or(self, other: Bound) -> Bound {
        Bound { absolute: self.absolute.max(other.absolute), relative: self.relative.max(other.relative) }
    }
}

/// Fails with the worst element. `live` says which elements count.
pub fn compare(what: &str, got: &Array, want: &Array, bound: Bound, live: &dyn Fn(usize) -> bool) {
    assert_eq!(got.shape, want.shape, "{what}: shape");
    // numpy has no bf16: it travels as f32.
    let carried = if want.dtype == DType::BF16 { DType::F32 } else { want.dtype };
    assert_eq!(got.dtype, carried, "{what}: type");
    let (g, w) = (got.to_f64(), want.to_f64());
    let exact = matches!(want.data, Values::Int(_) | Values::Bool(_));
    let mut worst = (0.0, None);
    for i in (0..g.len()).filter(|&i| live(i)) {
        let same = g[i] == w[i] || (g[i].is_nan() && w[i].is_nan());
        let off = (g[i] - w[i]).abs() / (bound.absolute + bound.relative * w[i].abs());
        let off = if same {
            0.0
        } else if exact || off.is_nan() {
            f64::INFINITY
        } else {
            off
        };
        if off > worst.0 {
            worst = (off, Some(i));
        }
    }
    if let (off, Some(i)) = worst
        && off > 1.0
    {
        panic!(
            "{what}: element {i} of {:?} is {}, not {} ({off:.1} times the bound {bound:?})",
            want.shape, g[i], w[i]
        );
    }
}

/// Runs both and compares every output and state.
pub fn check(what: &str, graph: &Graph, storage: impl Into<Storage>, inputs: &Arrays, bound: Bound) {
    check_rows(what, graph, storage, inputs, bound, None);
}

/// As [`check`], where only the first `rows` of an output's `axis` count: the rest is padding.
pub fn check_rows(
    what: &str,
    graph: &Graph,
    storage: impl Into<Storage>,
    inputs: &Arrays,
    bound: Bound,
    live: Option<(usize, usize)>,
) {
    let storage = storage.into();
    let want = eval::run(graph, inputs).unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut engine = engine(graph, storage);
    let agrees = |engine: &mut Engine, form: &str, bound: Bound| {
        let got = run_on(engine, graph, storage, inputs);
        compare_all(&format!("{what}{form}"), graph, &want, &got, bound, live);
    };
    agrees(&mut engine, "", bound);
    if engine.program().kernels.iter().any(has_two_forms) {
        agrees(&mut engine_in(graph, storage, true), ", general form", bound);
    }
    if emulates(&engine.program().kernels) {
        let mut emulated = engine_of(graph, storage, &Shaders, |_| {}, crate::spirv::emulated);
        let decodes = engine.program().kernels.iter().any(decodes);
        agrees(&mut emulated, ", matrix form emulated", if decodes { bound.or(CODES) } else { bound });
    }
}

/// Whether the device, which has no matrix units, can run a form for them that some kernel has.
fn emulates(kernels: &[Kernel]) -> bool {
    let limits = device().limits();
    if limits.matrix || kernels.iter().all(|k| k.matrix.is_empty()) {
        return false;
    }
    let words = kernels.iter().map(|k| shaders::compile_emulated(k).unwrap_or_else(|e| panic!("{e}")));
    words.flatten().all(|w| shared_bytes(&w) <= limits.shared_bytes.into())
}

/// Matrix units take halves: what a chunk of a prompt multiplies is a decoded weight of 11 bits, or a decoded value of an int8 cache.
/// The keys and values of a cache are halves as they are.
fn decodes(kernel: &Kernel) -> bool {
    let codes = |(name, bits): &(Text, Text)| match name.as_ref() {
        "WEIGHT_BITS" => bits == "4" || bits == "8",
        "KV_BITS" => bits == "8",
        _ => false,
    };
    !kernel.matrix.is_empty() && (kernel.source == "attention.comp" || kernel.defines.iter().any(codes))
}

fn compare_all(what: &str, graph: &Graph, want: &Arrays, got: &Arrays, bound: Bound, live: Option<(usize, usize)>) {
    for (name, want) in want {
        let is_state = graph.states.iter().any(|s| graph.value(s.input).name == *name);
        let counts = |i: usize| match live {
            Some((axis, rows)) if !is_state => {
                let inner: usize = want.shape[axis + 1..].iter().product();
                i / inner % want.shape[axis] < rows
            }
            _ => true,
        };
        let got = got.get(name).unwrap_or_else(|| panic!("{what}: no output {name}"));
        compare(&format!("{what}, {name}"), got, want, bound, &counts);
    }
}
