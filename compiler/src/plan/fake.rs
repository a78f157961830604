//! Kernels for plan tests. In: any node. Out: one call that reads its inputs and writes its outputs. Promise: nothing runs it.

use super::{Call, Layout, Operand, Packing, Part, Precision, Select, Storage};
use crate::error::Result;
use crate::graph::{Graph, Node, Op};
use onnxcast_runtime::program::{Kernel, Phase};

pub struct Fake;

impl Select for Fake {
    fn node(&self, graph: &Graph, node: &Node, storage: Storage) -> Result<Vec<Call>> {
        let mut args = vec![];
        let caches: &[usize] = match node.op {
            Op::Qkv { .. } => &[4, 5],
            Op::KvWrite => &[0],
            _ => &[],
        };
        for (i, input) in node.inputs.iter().enumerate() {
            let Some(v) = *input else { continue };
            let scalar = graph.shape(v).is_empty() && graph.constant(v).is_none();
            if scalar || caches.contains(&i) {
                continue;
            }
            let layout = if storage.precision == Precision::Fp32 { Layout::F32 } else { Layout::F16 };
            args.push(match graph.constant(v) {
                Some(t) if t.shape.len() == 2 && matches!(node.op, Op::Linear { .. } | Op::Qkv { .. }) => {
                    let transpose = !matches!(node.op, Op::Linear { nk: true, .. } | Op::Qkv { nk: true, .. });
                    Operand::Weight(Packing { parts: vec![Part { value: v, transpose }], layout })
                }
                _ => Operand::Value(v),
            });
        }
        let first = args.len();
        args.extend(node.outputs.iter().map(|&o| Operand::Value(o)));
        args.push(Operand::Step);
        let written = (1 << node.outputs.len()) - 1;
        let name = format!("{:?}", node.op).chars().take_while(|c| c.is_alphanumeric()).collect::<String>();
        let dims =
            node.input(1).map_or(&[][..], |w| graph.shape(w)).iter().map(|d| format!("_{d}")).collect::<String>();
        let name = format!("{}_{}{dims}", name.to_lowercase(), args.len());
        Ok(vec![call(name, args, written << first, node.name.clone())])
    }

    fn sample(&self, vocab: usize, sampler: Phase) -> Result<Vec<Call>> {
        let scratch = Operand::Scratch(0, 1024);
        let first = vec![Operand::Logits, scratch.clone()];
        let second = vec![scratch, Operand::Step, Operand::Tokens, Operand::Ring];
        Ok(vec![
            call(format!("best_{vocab}"), first, 0b10, "best".into()),
            call(format!("{sampler:?}").to_lowercase(), second, 0b1110, "sample".into()),
        ])
    }
}

fn call(name: String, args: Vec<Operand>, writes: u32, note: String) -> Call {
    let kernel = Kernel {
        name: name.into(),
        source: "fake.comp".into(),
        defines: vec![("N".into(), "1".into())].into(),
        args: args.len() as u32,
        writes,
        matrix: vec![].into(),
    };
    Call { kernel, grid: [1; 3], variants: Vec::new(), args, note }
}
