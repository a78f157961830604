//! Whole compiles of models/tiny, whose export computes in fp32.

use super::*;
use crate::graph::Activations;
use crate::job::Wish;
use crate::storage::Precision;
use onnxcast_runtime::cost;
use std::path::Path;

fn tiny(activations: Option<Activations>, precision: Precision) -> Compiled {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let wish = Wish { project, name: "tiny".into(), precision: Some(precision), activations, ..Wish::default() };
    compile(&Job::find(&wish).unwrap(), &mut |_| {}).unwrap()
}

#[test]
fn products_of_a_prompt_take_one_half_where_the_manifest_asks_for_fp16() {
    let [own, two, one] = [None, Some(Activations::F32), Some(Activations::F16)].map(|a| tiny(a, Precision::Fp16));
    let halves = |c: &Compiled| cost::activations(&c.plan.program);
    assert!(halves(&own).fp16 == 0 && halves(&own).fp32 > 0);
    assert_eq!(two.plan.program, own.plan.program, "what the export takes anyway");
    assert!(halves(&one).fp16 > 0 && halves(&one).fp32 == 0);
    assert_ne!(one.plan.program.plan_hash, own.plan.program.plan_hash, "neither is taken for the other");
    assert_eq!((&one.plan.lock, &one.plan.program.tensors), (&own.plan.lock, &own.plan.program.tensors));
    assert!(one.graphs.contains("\nactivations fp16\n") && !two.graphs.contains("\nactivations "));
}

#[test]
fn a_decode_step_and_a_program_in_fp32_do_not_depend_on_activations() {
    let kernels = |c: &Compiled, bucket: &str| {
        let program = &c.plan.program;
        let bucket = program.buckets.iter().find(|b| b.name == bucket).unwrap();
        let dispatches = bucket.blocks.iter().flat_map(|b| b.dispatches.iter());
        dispatches.map(|d| (program.kernels[d.kernel as usize].clone(), d.grid)).collect::<Vec<_>>()
    };
    let [own, one] = [None, Some(Activations::F16)].map(|a| tiny(a, Precision::Fp16));
    assert_eq!(kernels(&one, "decode"), kernels(&own, "decode"));
    assert_ne!(kernels(&one, "prefill"), kernels(&own, "prefill"));
    let [own, one] = [None, Some(Activations::F16)].map(|a| tiny(a, Precision::Fp32));
    assert_eq!(one.plan.program, own.plan.program, "matrix units take weights of halves or codes");
}
