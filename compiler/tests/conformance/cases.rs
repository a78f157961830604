//! Node cases on disk. In: a case's folder. Out: its model, inputs and expected outputs. Promise: what cannot be read is said.

use onnx_ir::{Message, ModelProto, TensorProto, ValueInfoProto};
use onnxcast::graph::eval::Array;
use onnxcast::graph::{DType, Tensor};
use std::path::{Path, PathBuf};

/// Case folders that hold a model, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|e| e.path().join("model.onnx").is_file())
        .filter_map(|e| e.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// One case.
pub struct Case {
    pub model: PathBuf,
    /// The operator it is about.
    pub operator: String,
    pub inputs: Vec<(String, Array)>,
    pub outputs: Vec<(String, Array)>,
    /// Every tensor is float32, float16, an integer or bool.
    pub common: bool,
}

/// Why a case is not a matter of tensors that we know: sequences, strings, 4-bit and 8-bit floats.
pub struct Foreign {
    pub operator: String,
    pub why: String,
}

/// Reads one case.
pub fn read(folder: &Path, name: &str) -> Result<Case, Foreign> {
    let path = folder.join(name);
    let operator = operator(folder, name).unwrap_or_else(|| "unknown".into());
    let foreign = |why: String| Foreign { operator: operator.clone(), why };
    let model_path = path.join("model.onnx");
    let model: ModelProto = parse(&model_path).map_err(&foreign)?;
    let set = path.join("test_data_set_0");
    let read = |kind: &str, values: &[ValueInfoProto]| {
        let given = values.iter().enumerate().map(|(i, v)| (i, v, set.join(format!("{kind}_{i}.pb"))));
        given
            .filter(|(_, _, file)| file.is_file())
            .map(|(_, v, file)| Ok((v.name.clone(), tensor(&file, v)?)))
            .collect::<Result<Vec<_>, String>>()
    };
    let inputs = read("input", &model.graph.input).map_err(&foreign)?;
    let outputs = read("output", &model.graph.output).map_err(&foreign)?;
    if outputs.is_empty() {
        return Err(foreign("the case has no expected output".into()));
    }
    let common = inputs.iter().chain(&outputs).all(|(_, a)| !matches!(a.dtype, DType::F64 | DType::BF16));
    Ok(Case { model: model_path, operator, inputs, outputs, common })
}

/// The operator of a case; an expanded case belongs to the operator whose function body it is.
fn operator(folder: &Path, name: &str) -> Option<String> {
    let base = name.split("_expanded").next().unwrap_or(name);
    let plain = folder.join(base).join("model.onnx");
    let model: ModelProto = parse(&plain).or_else(|_| parse(&folder.join(name).join("model.onnx"))).ok()?;
    model.graph.node.first().map(|n| n.op_type.clone())
}

fn parse<T: Message>(path: &Path) -> Result<T, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    T::parse_from_bytes(&bytes).map_err(|e| e.to_string())
}

fn tensor(file: &Path, info: &ValueInfoProto) -> Result<Array, String> {
    let ty = info.type_.as_ref().filter(|t| t.has_tensor_type());
    if ty.is_none() {
        return Err(format!("{} is no tensor", info.name));
    }
    let proto: TensorProto = parse(file)?;
    let dtype = element(proto.data_type).ok_or_else(|| format!("element type {}", type_name(proto.data_type)))?;
    let shape: Vec<usize> = proto.dims.iter().map(|&d| d as usize).collect();
    let bytes = match proto.raw_data.is_empty() {
        false => proto.raw_data.to_vec(),
        true => typed(&proto, dtype),
    };
    let count: usize = shape.iter().product();
    if bytes.len() != count * dtype.bytes() {
        return Err(format!("{}: {} bytes for {count} elements", file.display(), bytes.len()));
    }
    Array::from_tensor(&Tensor::from_bytes(dtype, shape, bytes)).map_err(|e| e.to_string())
}

/// Elements from the fields of their type; each entry is narrowed to the element's width.
fn typed(t: &TensorProto, dtype: DType) -> Vec<u8> {
    let width = dtype.bytes();
    let from_i32 = t.int32_data.iter().flat_map(|v| v.to_le_bytes().into_iter().take(width));
    let from_i64 = t.int64_data.iter().flat_map(|v| v.to_le_bytes());
    let from_u64 = t.uint64_data.iter().flat_map(|v| v.to_le_bytes().into_iter().take(width));
    let from_f32 = t.float_data.iter().flat_map(|v| v.to_le_bytes());
    let from_f64 = t.double_data.iter().flat_map(|v| v.to_le_bytes());
    match dtype {
        DType::F32 => from_f32.collect(),
        DType::F64 => from_f64.collect(),
        DType::I64 => from_i64.collect(),
        DType::U32 | DType::U64 => from_u64.collect(),
        _ => from_i32.collect(),
    }
}

fn element(code: i32) -> Option<DType> {
    Some(match code {
        1 => DType::F32,
        2 => DType::U8,
        3 => DType::I8,
        4 => DType::U16,
        5 => DType::I16,
        6 => DType::I32,
        7 => DType::I64,
        9 => DType::Bool,
        10 => DType::F16,
        11 => DType::F64,
        12 => DType::U32,
        13 => DType::U64,
        16 => DType::BF16,
        _ => return None,
    })
}

fn type_name(code: i32) -> &'static str {
    match code {
        8 => "string",
        14 | 15 => "complex",
        17..=20 => "float8",
        21 | 22 => "int4",
        23 => "float4",
        _ => "unknown",
    }
}
