//! Numpy archives. In: `.npz` files. Out: arrays by name, and back. Promise: every numeric type and both element orders read; a file
//! is written whole or not at all.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use npyz::npz::{NpzArchive, NpzWriter};
use npyz::{AutoSerialize, DType, Deserialize, NpyFile, Order, WriterBuilder};

use crate::array::{Array, Data};
use crate::error::{Error, Result};

/// All arrays of a file, in its order.
pub fn read(path: &Path) -> Result<Vec<(String, Array)>> {
    let file = File::open(path).map_err(|e| failed(path, &e))?;
    read_from(BufReader::new(file)).map_err(|e| e.at(path.display()))
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::input(error.to_string()).at(path.display())
}

fn read_from<R: Read + Seek>(file: R) -> Result<Vec<(String, Array)>> {
    let wrong = |e: std::io::Error| Error::input(e.to_string());
    let mut archive = NpzArchive::new(file).map_err(|e| wrong(e).hint("is it a numpy .npz file?"))?;
    let names: Vec<String> = archive.array_names().map(str::to_owned).collect();
    let mut arrays = Vec::new();
    for name in names {
        let found = archive.by_name(&name).map_err(|e| wrong(e).at(&name))?;
        let array = found.map(array).transpose().map_err(|e| Error::input(e).at(&name))?;
        arrays.extend(array.map(|array| (name, array)));
    }
    Ok(arrays)
}

fn array<R: Read>(file: NpyFile<R>) -> Result<Array, String> {
    let sizes: Result<Vec<usize>, _> = file.shape().iter().map(|&n| usize::try_from(n)).collect();
    let shape = sizes.map_err(|_| format!("shape {:?} is too large", file.shape()))?;
    let by_columns = matches!(file.order(), Order::Fortran);
    let data = elements(file, if by_columns { Some(&shape) } else { None })?;
    Ok(Array { shape, data })
}

fn elements<R: Read>(file: NpyFile<R>, by_columns: Option<&[usize]>) -> Result<Data, String> {
    fn list<T: Deserialize + Copy, R: Read>(file: NpyFile<R>, by_columns: Option<&[usize]>) -> Result<Vec<T>, String> {
        let values = file.into_vec::<T>().map_err(|e| e.to_string())?;
        Ok(match by_columns {
            None => values,
            Some(shape) => by_rows(&values, shape),
        })
    }
    let dtype = match file.dtype() {
        DType::Plain(plain) => plain.to_string(),
        other => other.descr(),
    };
    Ok(match dtype.get(1..).unwrap_or_default() {
        "f2" => Data::F16(list(file, by_columns)?),
        "f4" => Data::F32(list(file, by_columns)?),
        "f8" => Data::F64(list(file, by_columns)?),
        "i1" => Data::I8(list(file, by_columns)?),
        "i2" => Data::I16(list(file, by_columns)?),
        "i4" => Data::I32(list(file, by_columns)?),
        "i8" => Data::I64(list(file, by_columns)?),
        "u1" => Data::U8(list(file, by_columns)?),
        "u2" => Data::U16(list(file, by_columns)?),
        "u4" => Data::U32(list(file, by_columns)?),
        "u8" => Data::U64(list(file, by_columns)?),
        "b1" => Data::Bool(list(file, by_columns)?),
        _ => return Err(format!("has element type {dtype}, which no graph takes")),
    })
}

/// Columns-first elements in rows-first order.
fn by_rows<T: Copy>(values: &[T], shape: &[usize]) -> Vec<T> {
    let mut index = vec![0; shape.len()];
    let mut out = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        let offset = index.iter().zip(shape).rev().fold(0, |at, (i, n)| at * n + i);
        out.extend(values.get(offset));
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

/// Writes all arrays; the file appears whole or not at all.
pub fn write(path: &Path, arrays: &[(String, Array)]) -> Result<()> {
    let part = path.with_extension("npz.part");
    let written = File::create(&part).and_then(|file| {
        write_to(BufWriter::new(file), arrays)?.flush()?;
        std::fs::rename(&part, path)
    });
    written.map_err(|e| {
        let _ = std::fs::remove_file(&part);
        failed(path, &e)
    })
}

fn write_to<W: Write + Seek>(file: W, arrays: &[(String, Array)]) -> std::io::Result<W> {
    let mut writer = NpzWriter::new(file);
    for (name, array) in arrays {
        let shape: Vec<u64> = array.shape.iter().map(|&n| n as u64).collect();
        match &array.data {
            Data::F16(v) => put(&mut writer, name, &shape, v),
            Data::F32(v) => put(&mut writer, name, &shape, v),
            Data::F64(v) => put(&mut writer, name, &shape, v),
            Data::I8(v) => put(&mut writer, name, &shape, v),
            Data::I16(v) => put(&mut writer, name, &shape, v),
            Data::I32(v) => put(&mut writer, name, &shape, v),
            Data::I64(v) => put(&mut writer, name, &shape, v),
            Data::U8(v) => put(&mut writer, name, &shape, v),
            Data::U16(v) => put(&mut writer, name, &shape, v),
            Data::U32(v) => put(&mut writer, name, &shape, v),
            Data::U64(v) => put(&mut writer, name, &shape, v),
            Data::Bool(v) => put(&mut writer, name, &shape, v),
        }?;
    }
    Ok(writer.zip_writer().finish()?)
}

fn put<T: AutoSerialize + Copy, W: Write + Seek>(
    writer: &mut NpzWriter<W>,
    name: &str,
    shape: &[u64],
    values: &[T],
) -> std::io::Result<()> {
    let mut array = writer.array(name, Default::default())?.default_dtype().shape(shape).begin_nd()?;
    array.extend(values.iter().copied())?;
    array.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;
    use std::io::Cursor;

    #[test]
    fn every_element_type_comes_back_as_it_went() {
        let row = |data| Array { shape: vec![1, 2], data };
        let arrays = [
            Data::F16(vec![f16::from_f32(0.5), f16::MAX]),
            Data::F32(vec![1.5, -2.0]),
            Data::F64(vec![1e300, 0.0]),
            Data::I8(vec![-128, 1]),
            Data::I16(vec![-3, 1]),
            Data::I32(vec![i32::MIN, 1]),
            Data::I64(vec![i64::MIN, 1]),
            Data::U8(vec![255, 0]),
            Data::U16(vec![65535, 0]),
            Data::U32(vec![u32::MAX, 0]),
            Data::U64(vec![u64::MAX, 0]),
            Data::Bool(vec![true, false]),
        ];
        let arrays: Vec<(String, Array)> =
            arrays.into_iter().map(|data| (format!("past_key_values.0/{}", data.numpy()), row(data))).collect();
        let file = write_to(Cursor::new(Vec::new()), &arrays).unwrap();
        let mut back = read_from(file).unwrap();
        back.sort_by_key(|(name, _)| arrays.iter().position(|(n, _)| n == name));
        assert_eq!(back, arrays);
    }

    #[test]
    fn scalars_and_empty_arrays_are_arrays() {
        let scalar = ("s".to_owned(), Array { shape: vec![], data: Data::I64(vec![7]) });
        let empty = ("e".to_owned(), Array { shape: vec![1, 0, 4], data: Data::F32(vec![]) });
        let mut back = read_from(write_to(Cursor::new(Vec::new()), &[scalar.clone(), empty.clone()]).unwrap()).unwrap();
        back.sort_by(|a, b| b.0.cmp(&a.0));
        assert_eq!(back, [scalar, empty]);
    }

    #[test]
    fn columns_first_elements_are_turned() {
        assert_eq!(by_rows(&[0, 3, 1, 4, 2, 5], &[2, 3]), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_file_that_is_no_archive_is_refused_with_its_name() {
        let error = read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))).unwrap_err();
        assert!(error.to_string().contains("Cargo.toml: "), "{error}");
    }

    #[test]
    fn nothing_is_left_behind_where_a_file_cannot_be_written() {
        let folder = tempfile();
        let target = folder.join("taken");
        std::fs::create_dir_all(target.join("in the way")).unwrap();
        let error = write(&target, &[]).unwrap_err();
        assert!(error.to_string().contains("taken: "), "{error}");
        assert!(!folder.join("taken.npz.part").exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    fn tempfile() -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("onnxcast-npz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }
}
