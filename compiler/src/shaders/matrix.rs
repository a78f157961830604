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
    // Bits, id, and whether it was added here.
    let mut floats: Vec<(u32, u32, bool)> = Vec::new();
    while let Some(&first) = rest.first() {
        let (length, op) = ((first >> 16) as usize, first & 0xffff);
        let Some((instruction, after)) = rest.split_at_checked(length.max(1)) else {
            return bad(format!("SPIR-V ends inside an instruction {op}"));
        };
        rest = after;
        match (op, instruction) {
            (OP_TYPE_FLOAT, &[_, id, bits, ..]) => {
                if floats.iter().any(|f| f.0 == bits && f.2) {
                    return bad(format!("the float type of {bits} bits stands after a matrix type of it"));
                }
                floats.push((bits, id, false));
                out.extend(instruction);
            }
            (OP_TYPE_COOPERATIVE_MATRIX, &[first, id, bits, ref shape @ ..]) => {
                if floats.iter().all(|f| f.0 != bits) {
                    floats.push((bits, out[BOUND], true));
                    out.extend([3 << 16 | OP_TYPE_FLOAT, out[BOUND], bits]);
                    out[BOUND] += 1;
                }
                let component = floats.iter().find(|f| f.0 == bits).map_or(0, |f| f.1);
                out.extend([first, id, component]);
                out.extend(shape);
            }
            _ => out.extend(instruction),
        }
    }
    Ok(out)
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
    fn a_type_twice_and_a_cut_module_are_refused() {
        let late = module(&[&[4456, 11, 16, 1, 2, 2, 3], &[22, 9, 16]]);
        assert!(name_types(late).unwrap_err().to_string().contains("16 bits stands after"));
        let mut cut = module(&[&[22, 7, 32]]);
        cut.pop();
        assert!(name_types(cut).unwrap_err().to_string().contains("ends inside"));
        assert!(name_types(vec![1]).unwrap_err().to_string().contains("1 words"));
    }
}
