//! Cases on the device. In: an imported graph and its inputs. Out: the outputs, or why there are none. Promise: the program runs in
//! process through the recorder that models use, with guards around every buffer.

use half::f16;
use onnxcast::graph::eval::{Array, Values};
use onnxcast::graph::{DType, Graph};
use onnxcast::plan::{self, BucketGraph, Lock, Precision, Request, Shaders};
use onnxcast::shaders;
use onnxcast_runtime::array::{self, Data};
use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::recorder::Code;
use onnxcast_runtime::weights::WeightSource;
use std::collections::HashMap;
use std::sync::OnceLock;

pub type Arrays = HashMap<String, Array>;

/// The first Vulkan device, if there is one.
pub fn device() -> Option<&'static Device> {
    static DEVICE: OnceLock<Option<Device>> = OnceLock::new();
    DEVICE.get_or_init(|| Device::open(&DeviceOptions::default()).ok()).as_ref()
}

/// Why there are no outputs.
pub enum Trouble {
    /// No kernel covers a node, or a value leaves the device's range.
    Refused(String),
    Failed(String),
}

/// Runs a graph as it stands, in fp32.
pub fn run(device: &'static Device, graph: &Graph, inputs: &Arrays) -> Result<Arrays, Trouble> {
    let mut engine = engine(device, graph)?;
    let mut ports = Vec::new();
    for &v in &graph.inputs {
        let name = &graph.value(v).name;
        let array = inputs.get(name).ok_or_else(|| Trouble::Failed(format!("input {name} is missing")))?;
        ports.push((name.as_str(), to_raw(array)));
    }
    let ports: Vec<(&str, &array::Array)> = ports.iter().map(|(name, array)| (*name, array)).collect();
    // What the host refuses to carry is refused by name: integers past the device's 32 bits.
    let out = engine.run_raw(0, &ports).map_err(|e| match e.to_string() {
        said if said.contains("range") || said.contains("32-bit") => Trouble::Refused(said),
        said => Trouble::Failed(said),
    })?;
    engine.check_guards().map_err(|e| Trouble::Failed(e.to_string()))?;
    Ok(out.into_iter().map(|(name, array)| (name, from_raw(array))).collect())
}

fn engine(device: &'static Device, graph: &Graph) -> Result<Engine, Trouble> {
    let failed = |e: String| Trouble::Failed(e);
    let buckets =
        [BucketGraph { name: "run".into(), file: "case".into(), rows: 1, decoder: false, graph: graph.clone() }];
    let lock = Lock::default();
    let request = Request {
        name: "case",
        storage: Precision::Fp32.into(),
        context: None,
        buckets: &buckets,
        lock: &lock,
        select: &Shaders,
    };
    let plan = plan::assemble(&request).map_err(|e| Trouble::Refused(e.what))?;
    let mut code = Vec::new();
    for kernel in plan.program.kernels.iter() {
        code.push(Code::Words(shaders::compile(kernel).map_err(|e| failed(e.to_string()))?.into()));
    }
    let mut weights = Vec::new();
    for tensor in &plan.pool {
        let mut bytes = Vec::new();
        let mut sink = |b: &[u8]| {
            bytes.extend_from_slice(b);
            Ok(())
        };
        plan::weights::pack(tensor, &mut sink).map_err(|e| failed(e.to_string()))?;
        weights.push(bytes);
    }
    let options = Options { guard_bytes: 256, ..Options::default() };
    Engine::new(device, plan.program, &code, &WeightSource::Bytes(weights), options, &mut |_, _| {})
        .map_err(|e| failed(e.to_string()))
}

fn to_raw(array: &Array) -> array::Array {
    let ints = || array.to_ints();
    let data = match array.dtype {
        DType::Bool => Data::Bool(ints().iter().map(|x| *x != 0).collect()),
        DType::F16 => Data::F16(array.to_f32().into_iter().map(f16::from_f32).collect()),
        DType::F64 => Data::F64(array.to_f64()),
        d if d.is_float() => Data::F32(array.to_f32()),
        DType::U64 => Data::U64(ints().into_iter().map(|x| x as u64).collect()),
        _ => Data::I64(ints()),
    };
    array::Array { shape: array.shape.clone(), data }
}

fn from_raw(array: array::Array) -> Array {
    fn ints<T: Into<i64>>(v: Vec<T>) -> Values {
        Values::Int(v.into_iter().map(Into::into).collect())
    }
    let (dtype, data) = match array.data {
        Data::F16(v) => (DType::F16, Values::F32(v.into_iter().map(f16::to_f32).collect())),
        Data::F32(v) => (DType::F32, Values::F32(v)),
        Data::F64(v) => (DType::F64, Values::F64(v)),
        Data::I8(v) => (DType::I8, ints(v)),
        Data::I16(v) => (DType::I16, ints(v)),
        Data::I32(v) => (DType::I32, ints(v)),
        Data::I64(v) => (DType::I64, Values::Int(v)),
        Data::U8(v) => (DType::U8, ints(v)),
        Data::U16(v) => (DType::U16, ints(v)),
        Data::U32(v) => (DType::U32, ints(v)),
        Data::U64(v) => (DType::U64, Values::Int(v.into_iter().map(|x| x as i64).collect())),
        Data::Bool(v) => (DType::Bool, Values::Bool(v)),
    };
    Array::new(dtype, array.shape, data)
}
