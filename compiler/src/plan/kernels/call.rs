//! Puts a `Call` together. In: operands, defines and a grid, in the order a shader's contract lists them. Out: the call.
//! Promise: the argument order is the push-constant order, and `writes` has a bit for each written argument.

use super::matrix::Form;
use crate::error::{Error, Result};
use crate::graph::quant::{Quant, Zero};
use crate::graph::{DType, Graph, Node, ValueId, step_word};
use crate::plan::{Call, Layout, Operand, Packing, Part, Precision, Storage};
use onnxcast_runtime::program::{Kernel, Text};
use onnxcast_runtime::step::MAX_ARGS;
use std::fmt::Display;

/// Most workgroups on one axis of a grid (the Vulkan minimum, and what lavapipe has).
pub(in crate::plan) const MAX_GROUPS: usize = 65_535;

/// What every `select` function knows.
#[derive(Clone, Copy)]
pub(super) struct Cx<'a> {
    pub graph: &'a Graph,
    pub node: &'a Node,
    pub storage: Storage,
    /// The form of products of many rows, where it is not the plan's own choice.
    pub form: Option<Form>,
}

impl<'a> Cx<'a> {
    /// Input `i`, or an error that says which is missing.
    pub fn input(&self, i: usize) -> Result<ValueId> {
        self.node.input(i).ok_or_else(|| self.refuse(format!("input {i} is missing")))
    }

    pub fn shape(&self, i: usize) -> Result<&'a [usize]> {
        Ok(self.graph.shape(self.input(i)?))
    }

    pub fn dtype(&self, i: usize) -> Result<DType> {
        Ok(self.graph.ty(self.input(i)?).dtype)
    }

    pub fn out_shape(&self) -> &'a [usize] {
        self.graph.shape(self.node.out())
    }

    pub fn out_dtype(&self) -> DType {
        self.graph.ty(self.node.out()).dtype
    }

    pub fn refuse(&self, why: impl Into<String>) -> Error {
        Error::new("kernels", format!("{}: {}", self.node.op.name(), why.into())).at(self.node.name.clone())
    }

    /// A value as kernels read it: constants from the pool as f32 or i32, the rest where the plan puts it.
    pub fn operand(&self, id: ValueId) -> Operand {
        let layout = if self.graph.ty(id).dtype.is_float() { Layout::F32 } else { Layout::I32 };
        match self.graph.constant(id) {
            Some(_) => packed(&[(id, false)], layout),
            None => Operand::Value(id),
        }
    }

    pub fn read(&self, i: usize) -> Result<Operand> {
        Ok(self.operand(self.input(i)?))
    }

    /// Constant weight rows, one after the other: quantised where all of them are so in one way, else in the precision's type.
    pub fn weights(&self, inputs: &[usize], transpose: bool) -> Result<Rows> {
        let quants: Vec<Option<Quant>> = inputs.iter().map(|&i| self.quant(i)).collect();
        let layout = match quants.first().copied().flatten() {
            Some(quant) if quants.iter().all(|q| *q == Some(quant)) => Layout::Quant(quant),
            _ if self.storage.precision == Precision::Fp32 => Layout::F32,
            _ => Layout::F16,
        };
        Ok(Rows { operand: self.constants(inputs, transpose, layout)?, layout })
    }

    fn quant(&self, i: usize) -> Option<Quant> {
        self.graph.constant(self.node.input(i)?)?.quant()
    }

    /// Constant vectors, one after the other, in f32.
    pub fn vectors(&self, inputs: &[usize]) -> Result<Operand> {
        self.constants(inputs, false, Layout::F32)
    }

    fn constants(&self, inputs: &[usize], transpose: bool, layout: Layout) -> Result<Operand> {
        let mut parts = Vec::new();
        for &i in inputs {
            let id = self.input(i)?;
            if self.graph.constant(id).is_none() {
                return Err(self.refuse(format!("input {i} must be a constant to lie in the weight pool")));
            }
            parts.push((id, transpose));
        }
        Ok(packed(&parts, layout))
    }

    /// Bits of a stored cache element.
    pub fn kv_bits(&self) -> u32 {
        self.storage.kv.bits()
    }

    /// What the name of a kernel says about the cache: `f16`, `q8`.
    pub fn kv_name(&self) -> String {
        let bits = self.kv_bits();
        if bits == 8 { "q8".into() } else { format!("f{bits}") }
    }

    /// A scalar i32 in memory: where it is and which word of that. `pos` and `rows` live in the Step buffer.
    pub fn word(&self, i: usize) -> Result<(Operand, u32)> {
        let id = self.input(i)?;
        Ok(match self.step_word(id) {
            Some(word) => (Operand::Step, word),
            None => (self.operand(id), 0),
        })
    }

    fn step_word(&self, id: ValueId) -> Option<u32> {
        if !self.graph.inputs.contains(&id) {
            return None;
        }
        step_word(self.graph.value(id))
    }

    /// True in a graph that generates: rows past `step.rows` are padding, and nothing runs once `step.done` is set.
    pub fn generates(&self) -> bool {
        self.graph.inputs.iter().any(|id| self.step_word(*id) == Some(1))
    }
}

/// Weight rows in the pool and how they lie there.
pub(super) struct Rows {
    pub operand: Operand,
    pub layout: Layout,
}

impl Rows {
    /// Columns in the 16 bytes that a thread loads at once; eight where an element has four bytes.
    pub fn chunk(&self) -> usize {
        match self.layout {
            Layout::Quant(quant) => 128 / quant.bits as usize,
            _ => 8,
        }
    }

    /// What the name of a kernel says about them: `f16`, `q4_g32_mid`.
    pub fn name(&self) -> String {
        match self.layout {
            Layout::Quant(quant) => quant.name(),
            Layout::F16 => "f16".into(),
            _ => "f32".into(),
        }
    }
}

pub(super) fn packed(parts: &[(ValueId, bool)], layout: Layout) -> Operand {
    let parts = parts.iter().map(|&(value, transpose)| Part { value, transpose }).collect();
    Operand::Weight(Packing { parts, layout })
}

/// A float as a GLSL literal that gives the same bits.
pub(super) fn float(x: f32) -> String {
    if x.is_finite() && x.is_sign_positive() {
        format!("{x:?}")
    } else if x.is_finite() {
        format!("({x:?})")
    } else {
        format!("uintBitsToFloat({:#x}u)", x.to_bits())
    }
}

/// Workgroups along x, and along y where x alone cannot hold them. Kernels number them `y * count_x + x` and check bounds.
pub(super) fn groups(threads: usize, local: usize) -> [u32; 3] {
    let n = threads.div_ceil(local).max(1);
    let y = n.div_ceil(MAX_GROUPS);
    [n.div_ceil(y) as u32, y as u32, 1]
}

/// A call in the making.
#[derive(Clone)]
pub(super) struct Builder {
    name: String,
    source: &'static str,
    defines: Vec<(Text, Text)>,
    args: Vec<Operand>,
    writes: u32,
    matrix: Vec<(Text, Text)>,
}

impl Builder {
    pub fn new(source: &'static str, name: impl Into<String>) -> Builder {
        Builder { name: name.into(), source, defines: Vec::new(), args: Vec::new(), writes: 0, matrix: Vec::new() }
    }

    pub fn define(mut self, name: &'static str, value: impl Display) -> Builder {
        self.defines.push((name.into(), value.to_string().into()));
        self
    }

    /// The same define with another value.
    pub fn redefine(mut self, name: &str, value: impl Display) -> Builder {
        let value: Text = value.to_string().into();
        self.defines.iter_mut().filter(|(known, _)| known == name).for_each(|(_, old)| *old = value.clone());
        self
    }

    pub fn flag(self, name: &'static str, value: bool) -> Builder {
        self.define(name, u32::from(value))
    }

    /// The name, where what it says is known late.
    pub fn named(mut self, name: String) -> Builder {
        self.name = name;
        self
    }

    /// The same under a longer name.
    pub fn suffixed(mut self, more: &str) -> Builder {
        self.name.push_str(more);
        self
    }

    /// Defines WEIGHT_BITS and, for quantised rows, GROUP, ZERO, SALIENT and how many rows there are in all.
    pub fn weights(self, rows: &Rows, count: usize) -> Builder {
        let quant = match rows.layout {
            Layout::Quant(quant) => quant,
            Layout::F16 => return self.define("WEIGHT_BITS", 16),
            _ => return self.define("WEIGHT_BITS", 32),
        };
        let zero = match quant.zero {
            Zero::Mid => 0,
            Zero::Point => 1,
            Zero::Min => 2,
            Zero::Float => 3,
        };
        let b = self
            .define("WEIGHT_BITS", quant.bits)
            .define("WEIGHT_ROWS", count)
            .define("GROUP", quant.group)
            .define("ZERO", zero)
            .define("SALIENT", quant.salient);
        if quant.wide { b.define("SCALE_BITS", 32) } else { b }
    }

    /// A define of the matrix form alone. With the first one the kernel has such a form.
    pub fn matrix(mut self, name: &'static str, value: impl Display) -> Builder {
        self.matrix.push((name.into(), value.to_string().into()));
        self
    }

    pub fn read(mut self, operand: Operand) -> Builder {
        self.args.push(operand);
        self
    }

    pub fn write(mut self, operand: Operand) -> Builder {
        self.writes |= 1 << self.args.len();
        self.args.push(operand);
        self
    }

    /// Adds the Step buffer where the graph generates, and the define LIVE that says whether it did.
    pub fn live(self, live: bool) -> Builder {
        let b = self.flag("LIVE", live);
        if live { b.read(Operand::Step) } else { b }
    }

    /// The call. Its note is the node's name and its output's shape.
    pub fn build(self, cx: &Cx, grid: [u32; 3]) -> Result<Call> {
        if grid.iter().any(|&n| n as usize > MAX_GROUPS) {
            return Err(cx.refuse(format!("a grid of {grid:?} workgroups exceeds {MAX_GROUPS} on an axis")));
        }
        let note = format!("{} {:?}", cx.node.name, cx.out_shape());
        self.finish(grid, note).map_err(|why| cx.refuse(why))
    }

    pub fn finish(self, grid: [u32; 3], note: String) -> Result<Call, String> {
        if self.args.len() > MAX_ARGS {
            return Err(format!("{} addresses do not fit the {MAX_ARGS} of a push-constant block", self.args.len()));
        }
        let kernel = Kernel {
            name: self.name.into(),
            source: self.source.into(),
            defines: self.defines.into(),
            args: self.args.len() as u32,
            writes: self.writes,
            matrix: self.matrix.into(),
        };
        Ok(Call { kernel, grid, variants: Vec::new(), args: self.args, note })
    }
}
