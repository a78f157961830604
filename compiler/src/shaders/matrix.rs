//! Cooperative matrix types. In: SPIR-V of a GLSL compiler that knows no cooperative matrices. Out: the same module, its matrix types
//! complete. Promise: any other module stays as it is; a type that cannot be completed is an error.
//!
//! lib/matrix.glsl declares the types through GL_EXT_spirv_intrinsics, which in this compiler can pass numbers but no types. It
//! passes the bits of the component in the place of the component's type: 16 and 32 here become the ids of those float types.

use crate::error::{Error, Result};

/// Words before the first instruction.
const HEADER: usize = 5;
const OP_TYPE_FLOAT: u32 = 22;
const OP_TYPE_COOPERATIVE_MATRIX: u32 = 4456;

/// The word of the header that is one more than the largest id.
const BOUND: usize = 3;

/// Puts the ids of float types where matrix types have a number of bits; a type that is missing is added.
pub fn name_types(words: Vec<u32>) -> Result<Vec<u32>> {
    let bad = |what: String| Err(Error::new("shaders", what));
    let Some((header, mut rest)) = words.split_at_checked(HEADER) else {
        return bad(format!("SPIR-V of {} words", words.len()));
    };
    let mut out = header.to_vec();
    // Bits, id, and whether the type stands in what is out.
    let mut floats: Vec<(u32, u32, bool)> = Vec::new();
    let mut instructions = Vec::new();
    while let Some(&first) = rest.first() {
        let (length, op) = ((first >> 16) as usize, first & 0xffff);
        let Some((instruction, after)) = rest.split_at_checked(length.max(1)) else {
            return bad(format!("SPIR-V ends inside an instruction {op}"));
        };
        rest = after;
        instructions.push((op, instruction));
        if let (OP_TYPE_FLOAT, &[_, id, bits, ..]) = (op, instruction) {
            floats.push((bits, id, false));
        }
    }
    for (op, instruction) in instructions {
        match (op, instruction) {
            (OP_TYPE_FLOAT, &[_, _, bits, ..]) => name_float(bits, &mut floats, &mut out),
            (OP_TYPE_COOPERATIVE_MATRIX, &[first, id, bits, ref shape @ ..]) => {
                name_float(bits, &mut floats, &mut out);
                let component = floats.iter().find(|f| f.0 == bits).map_or(0, |f| f.1);
                out.extend([first, id, component]);
                out.extend(shape);
            }
            _ => out.extend(instruction),
        }
    }
    Ok(out)
}

/// Puts a float type out, once, under the id that the module has for it or a new one.
fn name_float(bits: u32, floats: &mut Vec<(u32, u32, bool)>, out: &mut Vec<u32>) {
    let known = floats.iter().position(|f| f.0 == bits).unwrap_or_else(|| {
        floats.push((bits, out[BOUND], false));
        out[BOUND] += 1;
        floats.len() - 1
    });
    let (_, id, named) = &mut floats[known];
    if !*named {
        *named = true;
        out.extend([3 << 16 | OP_TYPE_FLOAT, *id, bits]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(instructions: &[&[u32]]) -> Vec<u32> {
        let mut words = vec![0; HEADER];
        for i in instructions {
            words.push((i.len() as u32) << 16 | i[0]);
            words.extend(&i[1..]);
        }
        words
    }

    #[test]
    fn bits_become_the_ids_of_float_types() {
        let types = |half, float| {
            module(&[&[22, 7, 32], &[22, 9, 16], &[4456, 11, half, 1, 2, 2, 3], &[4456, 12, float, 1, 2, 2, 4]])
        };
        assert_eq!(name_types(types(16, 32)).unwrap(), types(9, 7));
    }

    #[test]
    fn a_float_type_that_is_missing_is_added_once_with_an_id_of_its_own() {
        let mut before = module(&[&[22, 7, 32], &[4456, 11, 16, 1, 2, 2, 3], &[4456, 12, 16, 1, 2, 2, 4]]);
        before[BOUND] = 20;
        let mut after =
            module(&[&[22, 7, 32], &[22, 20, 16], &[4456, 11, 20, 1, 2, 2, 3], &[4456, 12, 20, 1, 2, 2, 4]]);
        after[BOUND] = 21;
        assert_eq!(name_types(before).unwrap(), after);
    }

    #[test]
    fn a_float_type_moves_before_the_matrix_type_of_it() {
        let late = module(&[&[4456, 11, 16, 1, 2, 2, 3], &[22, 9, 16]]);
        assert_eq!(name_types(late).unwrap(), module(&[&[22, 9, 16], &[4456, 11, 9, 1, 2, 2, 3]]));
    }

    #[test]
    fn a_cut_module_is_refused() {
        let mut cut = module(&[&[22, 7, 32]]);
        cut.pop();
        assert!(name_types(cut).unwrap_err().to_string().contains("ends inside"));
        assert!(name_types(vec![1]).unwrap_err().to_string().contains("1 words"));
    }
}
