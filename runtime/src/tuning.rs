//! Which variant of a kernel a device runs. In: a program's variants, choices of an earlier start. Out: what stands for each kernel, and
//! what is still to be measured. Promise: variants differ in speed alone, so any choice is right; nothing unknown is taken from a file.

use crate::kept::Choices;
use crate::program::{Program, Variant};
use std::collections::BTreeMap;

/// By kernel of the program, what runs in its place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tuning {
    instead: BTreeMap<u32, (u32, [u32; 3])>,
    /// Kernels with variants that nothing is known of.
    open: Vec<u32>,
}

impl Tuning {
    /// What a file's choices say; without a file every kernel is the program's own.
    pub fn new(program: &Program, choices: Option<&Choices>) -> Tuning {
        let mut tuning = Tuning::default();
        let Some(choices) = choices else { return tuning };
        let name = |i: u32| program.kernels[i as usize].name.as_ref();
        for of in kernels(program) {
            let found = choices.get(name(of)).map(String::as_str);
            match variants(program, of).find(|v| found == Some(name(v.by))) {
                Some(variant) => tuning.choose(variant),
                None if found == Some(name(of)) => {}
                None => tuning.open.push(of),
            }
        }
        tuning
    }

    pub fn choose(&mut self, variant: &Variant) {
        self.instead.insert(variant.of, (variant.by, variant.grid));
    }

    /// Kernel and grid that run for those of a dispatch.
    pub fn stands_for(&self, kernel: u32, grid: [u32; 3]) -> (u32, [u32; 3]) {
        self.instead.get(&kernel).copied().unwrap_or((kernel, grid))
    }

    /// Kernels to be measured.
    pub fn open(&self) -> &[u32] {
        &self.open
    }

    /// Whether a pipeline is wanted for a kernel: variants that lost, and kernels whose variant won, need none.
    pub fn needs(&self, program: &Program, kernel: u32) -> bool {
        let mut of = program.variants.iter().filter(|v| v.by == kernel).map(|v| v.of).peekable();
        match of.peek() {
            None => !self.instead.contains_key(&kernel),
            Some(_) => of.any(|of| self.open.contains(&of) || self.instead.get(&of).is_some_and(|i| i.0 == kernel)),
        }
    }
}

/// Kernels that have variants, each once.
fn kernels(program: &Program) -> Vec<u32> {
    let mut of: Vec<u32> = program.variants.iter().map(|v| v.of).collect();
    of.dedup();
    of
}

pub(crate) fn variants(program: &Program, of: u32) -> impl Iterator<Item = &Variant> {
    program.variants.iter().filter(move |v| v.of == of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Kernel;

    /// Kernels a, a2, a3 (variants of a), b, b2.
    fn program() -> Program {
        let kernel = |name: &'static str| Kernel {
            name: name.into(),
            source: "x.comp".into(),
            defines: vec![].into(),
            args: 1,
            writes: 1,
            matrix: vec![].into(),
        };
        let variant = |of, by| Variant { of, by, grid: [by, 1, 1] };
        Program {
            name: "p".into(),
            plan_hash: "".into(),
            kernels: ["a", "a2", "a3", "b", "b2", "c"].map(kernel).to_vec().into(),
            variants: vec![variant(0, 1), variant(0, 2), variant(3, 4)].into(),
            tensors: vec![].into(),
            states: vec![].into(),
            buckets: vec![].into(),
            decoder: None,
        }
    }

    fn of(choices: Option<&[(&str, &str)]>) -> (Tuning, Vec<u32>) {
        let choices = choices.map(|c| c.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect::<Choices>());
        let tuning = Tuning::new(&program(), choices.as_ref());
        let needed = (0..6).filter(|&i| tuning.needs(&program(), i)).collect();
        (tuning, needed)
    }

    #[test]
    fn without_a_file_every_kernel_is_the_programs_own() {
        let (tuning, needed) = of(None);
        assert_eq!((tuning.open(), needed), (&[][..], vec![0, 3, 5]));
        assert_eq!(tuning.stands_for(0, [9, 1, 1]), (0, [9, 1, 1]));
    }

    #[test]
    fn what_is_not_known_is_measured_with_all_its_variants() {
        let (tuning, needed) = of(Some(&[]));
        assert_eq!((tuning.open(), needed), (&[0, 3][..], vec![0, 1, 2, 3, 4, 5]));
    }

    #[test]
    fn a_choice_needs_no_other_pipeline() {
        let (tuning, needed) = of(Some(&[("a", "a3"), ("b", "b")]));
        assert_eq!((tuning.open(), needed), (&[][..], vec![2, 3, 5]));
        assert_eq!(tuning.stands_for(0, [9, 1, 1]), (2, [2, 1, 1]));
        assert_eq!(tuning.stands_for(3, [9, 1, 1]), (3, [9, 1, 1]));
    }

    #[test]
    fn names_that_are_no_variants_are_measured_anew() {
        let (tuning, _) = of(Some(&[("a", "b2"), ("b", "gone"), ("c", "a")]));
        assert_eq!(tuning.open(), [0, 3]);
        assert_eq!(tuning.stands_for(5, [1; 3]), (5, [1; 3]));
    }
}
