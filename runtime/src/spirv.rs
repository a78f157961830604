//! What a kernel asks of a workgroup. In: SPIR-V words. Out: bytes of shared memory. Promise: damaged words give a number too, never a
//! panic; sizes that specialization constants decide are taken at their defaults.

use std::collections::HashMap;

const HEADER_WORDS: usize = 5;
const BYTES_OF_A_BOOL: u64 = 4;
const WORKGROUP: u32 = 4;

mod op {
    pub const TYPE_BOOL: u32 = 20;
    pub const TYPE_INT: u32 = 21;
    pub const TYPE_FLOAT: u32 = 22;
    pub const TYPE_VECTOR: u32 = 23;
    pub const TYPE_MATRIX: u32 = 24;
    pub const TYPE_ARRAY: u32 = 28;
    pub const TYPE_STRUCT: u32 = 30;
    pub const TYPE_POINTER: u32 = 32;
    pub const CONSTANT: u32 = 43;
    pub const SPEC_CONSTANT: u32 = 50;
    pub const VARIABLE: u32 = 59;
}

/// Bytes of all variables in shared memory. vulkano 0.35 looks for their size under the wrong id and finds none.
pub fn shared_bytes(words: &[u32]) -> u64 {
    let (mut sizes, mut numbers): (HashMap<u32, u64>, HashMap<u32, u64>) = Default::default();
    let mut total = 0u64;
    let mut rest = words.get(HEADER_WORDS..).unwrap_or(&[]);
    while let Some(&first) = rest.first() {
        let count = (first >> 16) as usize;
        let Some(instruction) = rest.get(..count).filter(|i| !i.is_empty()) else { break };
        let word = |i: usize| instruction.get(i).copied().unwrap_or(0);
        let size = |id: u32| sizes.get(&id).copied().unwrap_or(0);
        let made = match first & 0xffff {
            op::TYPE_BOOL => Some((word(1), BYTES_OF_A_BOOL)),
            op::TYPE_INT | op::TYPE_FLOAT => Some((word(1), u64::from(word(2) / 8))),
            op::TYPE_VECTOR | op::TYPE_MATRIX => Some((word(1), size(word(2)).saturating_mul(word(3).into()))),
            op::TYPE_ARRAY => {
                let length = numbers.get(&word(3)).copied().unwrap_or(0);
                Some((word(1), size(word(2)).saturating_mul(length)))
            }
            op::TYPE_STRUCT => Some((word(1), instruction.iter().skip(2).map(|&member| size(member)).sum())),
            op::TYPE_POINTER if word(2) == WORKGROUP => Some((word(1), size(word(3)))),
            op::CONSTANT | op::SPEC_CONSTANT => {
                numbers.insert(word(2), word(3).into());
                None
            }
            op::VARIABLE if word(3) == WORKGROUP => {
                total = total.saturating_add(size(word(1)));
                None
            }
            _ => None,
        };
        sizes.extend(made);
        rest = &rest[count..];
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(glsl: &str) -> Vec<u32> {
        let compiler = shaderc::Compiler::new().unwrap();
        let mut options = shaderc::CompileOptions::new().unwrap();
        options.set_target_env(shaderc::TargetEnv::Vulkan, shaderc::EnvVersion::Vulkan1_3 as u32);
        options.set_target_spirv(shaderc::SpirvVersion::V1_6);
        let result = compiler.compile_into_spirv(glsl, shaderc::ShaderKind::Compute, "k", "main", Some(&options));
        result.unwrap().as_binary().to_vec()
    }

    #[test]
    fn shared_variables_of_every_shape_are_counted() {
        let glsl = "#version 460
            layout(local_size_x = 1) in;
            layout(constant_id = 3) const uint N = 10;
            struct Pair { vec4 a; uint b; };
            shared float lone; shared vec2 line[6]; shared uint grid[2][5]; shared Pair pairs[3]; shared float tuned[N];
            void main() {
                lone = 1.0; line[0] = vec2(lone); grid[0][0] = 1; pairs[0].b = grid[1][1]; tuned[0] = line[0].x;
            }";
        assert_eq!(shared_bytes(&words(glsl)), 4 + 6 * 8 + 10 * 4 + 3 * 20 + 10 * 4);
    }

    #[test]
    fn damaged_words_are_no_panic() {
        let good = words("#version 460\nlayout(local_size_x = 1) in; shared uint s[4]; void main() { s[0] = 1; }");
        assert_eq!(shared_bytes(&good), 16);
        for cut in 0..good.len() {
            assert!(shared_bytes(&good[..cut]) <= 16);
        }
        assert_eq!(shared_bytes(&[0; 64]), 0);
    }
}
