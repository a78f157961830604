//! Arrays of a raw run. In: numpy `.npz` files whose keys are port names. Out: the bytes that ports hold, and back. Promise: names,
//! shapes and element types are checked against the ports, all mistakes in one error, before anything runs.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::path::Path;

use half::f16;
use npyz::npz::{NpzArchive, NpzWriter};
use npyz::{DType, NpyFile, Order, WriterBuilder};

use crate::error::{Error, Result};
use crate::program::{Elem, Port};

/// The bytes of each port, in port order.
pub fn read(path: &Path, ports: &[Port]) -> Result<Vec<Vec<u8>>> {
    let mut archive = NpzArchive::open(path).map_err(|e| Error::input(e.to_string()).at(path.display().to_string()))?;
    read_archive(&mut archive, ports).map_err(|e| e.at(path.display().to_string()))
}

fn read_archive<R: Read + Seek>(archive: &mut NpzArchive<R>, ports: &[Port]) -> Result<Vec<Vec<u8>>> {
    let mut names: BTreeSet<String> = archive.array_names().map(str::to_owned).collect();
    let (mut arrays, mut wrong) = (Vec::new(), Vec::new());
    for port in ports {
        let found = match archive.by_name(&port.name) {
            Ok(Some(array)) => read_port(array, port),
            Ok(None) => Err(format!("missing, wanted {}", describe(port))),
            Err(error) => Err(error.to_string()),
        };
        names.remove(port.name.as_ref());
        match found {
            Ok(bytes) => arrays.push(bytes),
            Err(why) => wrong.push(format!("{}: {why}", port.name)),
        }
    }
    wrong.extend(names.into_iter().map(|name| format!("{name}: the graph has no such input")));
    if wrong.is_empty() { Ok(arrays) } else { Err(Error::input(wrong.join("\n  "))) }
}

fn describe(port: &Port) -> String {
    format!("{} {:?}", port.numpy, port.shape)
}

/// Elements of an array as the host holds them before the device's type is made.
enum Numbers {
    Float(Vec<f32>),
    Integer(Vec<i64>),
    Bool(Vec<bool>),
}

fn read_port<R: Read>(array: NpyFile<R>, port: &Port) -> Result<Vec<u8>, String> {
    let shape: Vec<u64> = port.shape.iter().map(|&n| u64::from(n)).collect();
    if array.shape() != shape {
        return Err(format!("has shape {:?}, wanted {}", array.shape(), describe(port)));
    }
    let order = array.order();
    let numbers = numbers(array)?;
    let numbers = match order {
        Order::C => numbers,
        Order::Fortran => numbers.by_rows(&port.shape),
    };
    numbers.bytes(port)
}

fn numbers<R: Read>(array: NpyFile<R>) -> Result<Numbers, String> {
    fn list<T: npyz::Deserialize, U, R: Read>(array: NpyFile<R>, with: impl Fn(T) -> U) -> Result<Vec<U>, String> {
        Ok(array.into_vec::<T>().map_err(|e| e.to_string())?.into_iter().map(with).collect())
    }
    let dtype = match array.dtype() {
        DType::Plain(plain) => plain.to_string(),
        other => return Err(format!("has element type {}, which no input takes", other.descr())),
    };
    Ok(match dtype.get(1..).unwrap_or_default() {
        "f2" => Numbers::Float(list(array, f16::to_f32)?),
        "f4" => Numbers::Float(list(array, |x: f32| x)?),
        "f8" => Numbers::Float(list(array, |x: f64| x as f32)?),
        "i1" => Numbers::Integer(list(array, |x: i8| i64::from(x))?),
        "i2" => Numbers::Integer(list(array, |x: i16| i64::from(x))?),
        "i4" => Numbers::Integer(list(array, |x: i32| i64::from(x))?),
        "i8" => Numbers::Integer(list(array, |x: i64| x)?),
        "u1" => Numbers::Integer(list(array, |x: u8| i64::from(x))?),
        "u2" => Numbers::Integer(list(array, |x: u16| i64::from(x))?),
        "u4" => Numbers::Integer(list(array, |x: u32| i64::from(x))?),
        "u8" => Numbers::Integer(list(array, |x: u64| i64::try_from(x).unwrap_or(i64::MAX))?),
        "b1" => Numbers::Bool(list(array, |x: bool| x)?),
        _ => return Err(format!("has element type {dtype}, which no input takes")),
    })
}

impl Numbers {
    /// From columns-first to rows-first.
    fn by_rows(self, shape: &[u32]) -> Numbers {
        fn turn<T: Copy>(values: &[T], shape: &[u32]) -> Vec<T> {
            let mut index = vec![0u32; shape.len()];
            let mut out = Vec::with_capacity(values.len());
            for _ in 0..values.len() {
                let offset = index.iter().zip(shape).rev().fold(0usize, |at, (&i, &n)| at * n as usize + i as usize);
                out.push(values[offset]);
                for axis in (0..shape.len()).rev() {
                    index[axis] += 1;
                    if index[axis] < shape[axis] {
                        break;
                    }
                    index[axis] = 0;
                }
            }
            out
        }
        match self {
            Numbers::Float(v) => Numbers::Float(turn(&v, shape)),
            Numbers::Integer(v) => Numbers::Integer(turn(&v, shape)),
            Numbers::Bool(v) => Numbers::Bool(turn(&v, shape)),
        }
    }

    fn bytes(self, port: &Port) -> Result<Vec<u8>, String> {
        match (self, port.elem) {
            (Numbers::Float(v), Elem::F32) => Ok(bytemuck::cast_slice(&v).to_vec()),
            (Numbers::Float(v), Elem::F16) => {
                let halves: Vec<f16> = v.into_iter().map(f16::from_f32).collect();
                let mut bytes = bytemuck::cast_slice(&halves).to_vec();
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                Ok(bytes)
            }
            (Numbers::Integer(v), Elem::I32) => {
                let narrow: Result<Vec<i32>, String> = v.into_iter().map(narrow).collect();
                Ok(bytemuck::cast_slice(&narrow?).to_vec())
            }
            (Numbers::Bool(v), Elem::U32) => {
                let words: Vec<u32> = v.into_iter().map(u32::from).collect();
                Ok(bytemuck::cast_slice(&words).to_vec())
            }
            (numbers, _) => Err(format!("holds {}, wanted {}", numbers.kind(), describe(port))),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Numbers::Float(_) => "floats",
            Numbers::Integer(_) => "integers",
            Numbers::Bool(_) => "booleans",
        }
    }
}

fn narrow(value: i64) -> Result<i32, String> {
    i32::try_from(value).map_err(|_| format!("holds {value}; the device's integers have 32 bits"))
}

/// Writes the bytes of each port under its name and in its numpy type; the file appears whole or not at all.
pub fn write(path: &Path, ports: &[Port], arrays: &[Vec<u8>]) -> Result<()> {
    let part = path.with_extension("npz.part");
    let failed = |e: std::io::Error| Error::input(e.to_string()).at(path.display().to_string());
    let result = File::create(&part).and_then(|file| {
        let mut writer = NpzWriter::new(BufWriter::new(file));
        for (port, bytes) in ports.iter().zip(arrays) {
            write_port(&mut writer, port, bytes)?;
        }
        writer.zip_writer().finish()?.flush()
    });
    let result = result.and_then(|()| std::fs::rename(&part, path)).map_err(failed);
    if result.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    result
}

fn write_port<W: Write + Seek>(writer: &mut NpzWriter<W>, port: &Port, bytes: &[u8]) -> std::io::Result<()> {
    let count = port.shape.iter().map(|&n| n as usize).product();
    match port.elem {
        Elem::F32 => {
            let values = elements::<f32>(bytes, count);
            match port.numpy.as_ref() {
                "float64" => put(writer, port, values.into_iter().map(f64::from)),
                "float16" => put(writer, port, values.into_iter().map(f16::from_f32)),
                _ => put(writer, port, values.into_iter()),
            }
        }
        Elem::F16 => {
            let values = elements::<f16>(bytes, count);
            match port.numpy.as_ref() {
                "float32" => put(writer, port, values.into_iter().map(f16::to_f32)),
                _ => put(writer, port, values.into_iter()),
            }
        }
        Elem::I32 => {
            let values = elements::<i32>(bytes, count).into_iter();
            match port.numpy.as_ref() {
                "int8" => put(writer, port, values.map(|x| x as i8)),
                "int16" => put(writer, port, values.map(|x| x as i16)),
                "int32" => put(writer, port, values),
                "uint8" => put(writer, port, values.map(|x| x as u8)),
                "uint16" => put(writer, port, values.map(|x| x as u16)),
                "uint32" => put(writer, port, values.map(|x| x as u32)),
                "uint64" => put(writer, port, values.map(|x| x as u64)),
                _ => put(writer, port, values.map(i64::from)),
            }
        }
        Elem::U32 => {
            let values = elements::<u32>(bytes, count).into_iter();
            put(writer, port, values.map(|x| x != 0))
        }
    }
}

fn elements<T: bytemuck::AnyBitPattern>(bytes: &[u8], count: usize) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).take(count).map(bytemuck::pod_read_unaligned).collect()
}

fn put<T: npyz::AutoSerialize, W: Write + Seek>(
    writer: &mut NpzWriter<W>,
    port: &Port,
    values: impl Iterator<Item = T>,
) -> std::io::Result<()> {
    let shape: Vec<u64> = port.shape.iter().map(|&n| u64::from(n)).collect();
    let mut array = writer.array(&port.name, Default::default())?.default_dtype().shape(&shape).begin_nd()?;
    array.extend(values)?;
    array.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn port(name: &'static str, numpy: &'static str, elem: Elem, shape: &[u32]) -> Port {
        Port { name: name.into(), numpy: numpy.into(), elem, shape: shape.to_vec().into() }
    }

    fn packed(ports: &[Port], arrays: &[Vec<u8>]) -> NpzArchive<Cursor<Vec<u8>>> {
        let mut writer = NpzWriter::new(Cursor::new(Vec::new()));
        for (port, bytes) in ports.iter().zip(arrays) {
            write_port(&mut writer, port, bytes).unwrap();
        }
        let file = writer.zip_writer().finish().unwrap();
        NpzArchive::new(file).unwrap()
    }

    fn words<T: bytemuck::Pod>(values: &[T]) -> Vec<u8> {
        bytemuck::cast_slice(values).to_vec()
    }

    #[test]
    fn every_element_type_comes_back_as_it_went() {
        let ports = [
            port("past_key_values.0.key", "float32", Elem::F32, &[2, 1]),
            port("ids", "int64", Elem::I32, &[3]),
            port("small", "int8", Elem::I32, &[1]),
            port("mask", "bool", Elem::U32, &[2]),
            port("half", "float16", Elem::F16, &[2]),
            port("scalar", "float64", Elem::F32, &[]),
        ];
        let halves = [f16::from_f32(0.5), f16::from_f32(-2.0)];
        let arrays = vec![
            words(&[1.5f32, -2.0]),
            words(&[1i32, -2, 3]),
            words(&[-5i32]),
            words(&[1u32, 0]),
            words(&halves),
            words(&[7.0f32]),
        ];
        assert_eq!(read_archive(&mut packed(&ports, &arrays), &ports).unwrap(), arrays);
    }

    #[test]
    fn an_empty_array_is_an_array() {
        let ports = [port("past", "float32", Elem::F32, &[1, 0, 4])];
        assert_eq!(read_archive(&mut packed(&ports, &[vec![]]), &ports).unwrap(), [Vec::<u8>::new()]);
    }

    #[test]
    fn all_mistakes_are_listed_at_once() {
        let given = [
            port("shape", "float32", Elem::F32, &[2]),
            port("kind", "float32", Elem::F32, &[1]),
            port("extra", "bool", Elem::U32, &[1]),
        ];
        let arrays = [words(&[1f32, 2.0]), words(&[1f32]), words(&[1u32])];
        let wanted = [
            port("shape", "float32", Elem::F32, &[3]),
            port("kind", "int64", Elem::I32, &[1]),
            port("absent", "bool", Elem::U32, &[1]),
        ];
        let error = read_archive(&mut packed(&given, &arrays), &wanted).unwrap_err();
        assert_eq!(
            error.what,
            "shape: has shape [2], wanted float32 [3]\n  kind: holds floats, wanted int64 [1]\n  \
             absent: missing, wanted bool [1]\n  extra: the graph has no such input"
        );
    }

    #[test]
    fn an_integer_that_does_not_fit_is_refused() {
        let mut writer = NpzWriter::new(Cursor::new(Vec::new()));
        put(&mut writer, &port("ids", "int64", Elem::I32, &[1]), [1i64 << 40].into_iter()).unwrap();
        let file = writer.zip_writer().finish().unwrap();
        let ports = [port("ids", "int64", Elem::I32, &[1])];
        let error = read_archive(&mut NpzArchive::new(file).unwrap(), &ports).unwrap_err();
        assert!(error.what.contains("1099511627776"), "{error}");
    }

    #[test]
    fn columns_first_arrays_are_turned() {
        let columns_first = Numbers::Integer(vec![0, 3, 1, 4, 2, 5]);
        let Numbers::Integer(rows_first) = columns_first.by_rows(&[2, 3]) else { panic!("still integers") };
        assert_eq!(rows_first, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_file_that_is_no_archive_is_refused_with_its_name() {
        let error = read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")), &[]).unwrap_err();
        assert!(error.to_string().contains("Cargo.toml: "), "{error}");
    }
}
