//! Reference arrays. In: an npz file. Out: arrays by name. Promise: only what numpy wrote as f32 or i64.

use crate::graph::DType;
use crate::graph::eval::{Array, Values};
use npyz::npz::NpzArchive;
use std::collections::HashMap;
use std::path::Path;

pub fn read(path: &Path) -> HashMap<String, Array> {
    let mut archive = NpzArchive::open(path).unwrap();
    let names: Vec<String> = archive.array_names().map(str::to_string).collect();
    names.into_iter().map(|name| (name.clone(), array(&mut archive, &name))).collect()
}

fn array(archive: &mut NpzArchive<std::io::BufReader<std::fs::File>>, name: &str) -> Array {
    let npy = archive.by_name(name).unwrap().unwrap();
    let shape: Vec<usize> = npy.shape().iter().map(|d| *d as usize).collect();
    if npy.dtype().descr().contains("i8") {
        return Array::new(DType::I64, shape, Values::Int(npy.into_vec::<i64>().unwrap()));
    }
    Array::new(DType::F32, shape, Values::F32(npy.into_vec::<f32>().unwrap()))
}
