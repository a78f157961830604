//! Control flow. In: a function call, an If or a Loop. Out: the body, the taken branch, or the body once an iteration. Promise: a
//! course that depends on data is refused; a loop ends.

use super::{Scope, Slot, Walker, live};
use crate::graph::{DType, Op, ValueId};
use crate::import::attrs::Attrs;
use crate::import::functions::Function;
use crate::import::lower::{Refusal, invalid, unsupported};
use crate::import::order;
use onnx_ir::GraphProto;
use std::collections::HashMap;

/// Iterations that a loop may unroll to.
const MAX_TRIPS: i64 = 1 << 12;

impl<'a> Walker<'a> {
    /// A function call: its body in a scope that sees nothing else.
    pub(super) fn call(
        &mut self,
        function: &'a Function<'a>,
        inputs: Vec<Option<Slot>>,
        attrs: Attrs<'a>,
        name: &str,
    ) -> Result<Vec<Slot>, Refusal> {
        let mut given = attrs.given();
        for default in function.defaults {
            given.entry(&default.name).or_insert(default);
        }
        let mut slots: HashMap<&'a str, Slot> = HashMap::new();
        for (formal, slot) in function.inputs.iter().zip(inputs) {
            if let Some(slot) = slot {
                slots.insert(formal, slot);
            }
        }
        let scope = Scope { slots, given, opsets: &function.opsets, prefix: format!("{name}/"), sees_outer: false };
        let results: Vec<&'a str> = function.outputs.iter().map(String::as_str).collect();
        self.nested(scope, results.clone().into_iter(), |walker| {
            // An optional input that the call leaves out reads as absent.
            let known = |n: &str| function.inputs.iter().any(|i| i == n);
            let order = order::sort(function.nodes, &known)?;
            let (live, needed) = live(function.nodes, &order, &results);
            walker.body(function.nodes, &live, &needed)
        })
    }

    pub(super) fn branch(
        &mut self,
        inputs: &[Option<Slot>],
        attrs: &Attrs<'a>,
        name: &str,
    ) -> Result<Vec<Slot>, Refusal> {
        let Some(Some(Slot::Value(condition))) = inputs.first() else {
            return Err(invalid("the condition is missing"));
        };
        let taken = self.cx.ints(*condition, "condition")?;
        let which = if taken.first().is_some_and(|v| *v != 0) { "then_branch" } else { "else_branch" };
        let graph = attrs.graph(which)?.ok_or_else(|| invalid(format!("it has no {which}")))?;
        let scope = self.inner(format!("{name}/"))?;
        let results: Vec<&'a str> = graph.output.iter().map(|o| o.name.as_str()).collect();
        self.nested(scope, results.into_iter(), |walker| walker.run(graph))
    }

    /// A scope that sees the names around it.
    fn inner(&self, prefix: String) -> Result<Scope<'a>, Refusal> {
        let around = self.scopes.last().ok_or_else(|| invalid("no scope"))?;
        let (given, opsets) = (around.given.clone(), around.opsets);
        Ok(Scope { slots: HashMap::new(), given, opsets, prefix, sees_outer: true })
    }

    /// Loop: the body once for every iteration, as long as trip count and condition are known.
    pub(super) fn repeat(
        &mut self,
        inputs: &[Option<Slot>],
        attrs: &Attrs<'a>,
        name: &str,
    ) -> Result<Vec<Slot>, Refusal> {
        let body = attrs.graph("body")?.ok_or_else(|| invalid("it has no body"))?;
        let most = self.flag(inputs.first(), "trip count")?;
        let mut going = self.flag(inputs.get(1), "condition")?.is_none_or(|c| c != 0);
        let carried: Option<Vec<Slot>> = inputs.iter().skip(2).cloned().collect();
        let mut carried = carried.ok_or_else(|| invalid("a carried value is missing"))?;
        let n = carried.len();
        if body.input.len() != n + 2 || body.output.len() <= n {
            return Err(invalid(format!("its body does not carry {n} values")));
        }
        let mut scans: Vec<Vec<ValueId>> = vec![vec![]; body.output.len() - n - 1];
        let mut trip = 0;
        while going && most.is_none_or(|m| trip < m) {
            if trip == MAX_TRIPS {
                return Err(unsupported(format!("it runs more than {MAX_TRIPS} times")));
            }
            let results = self.iteration(body, trip, carried, name)?;
            let mut results = results.into_iter();
            match results.next() {
                Some(Slot::Unknown) | None => return Ok(vec![]),
                condition => going = self.flag(Some(&condition), "condition")?.is_none_or(|c| c != 0),
            }
            carried = results.by_ref().take(n).collect();
            for (scan, slot) in scans.iter_mut().zip(results) {
                match slot {
                    Slot::Value(id) => scan.push(id),
                    Slot::Unknown => return Ok(vec![]),
                    Slot::Sequence(_) => return Err(invalid("a scan output is a sequence")),
                }
            }
            trip += 1;
        }
        self.cx.at = name.to_string();
        for scan in scans {
            carried.push(Slot::Value(self.stack(&scan)?));
        }
        Ok(carried)
    }

    /// One run of a loop's body: the slots of its outputs.
    fn iteration(
        &mut self,
        body: &'a GraphProto,
        trip: i64,
        carried: Vec<Slot>,
        name: &str,
    ) -> Result<Vec<Slot>, Refusal> {
        let mut scope = self.inner(format!("{name}/{trip}/"))?;
        self.cx.at = format!("{name}/{trip}");
        let counter = Slot::Value(self.cx.scalar(DType::I64, trip as f64));
        let condition = Slot::Value(self.cx.scalar(DType::Bool, 1.0));
        let values = [counter, condition].into_iter().chain(carried);
        scope.slots = body.input.iter().map(|i| i.name.as_str()).zip(values).collect();
        self.nested(scope, body.output.iter().map(|o| o.name.as_str()), |walker| walker.run(body))
    }

    /// An integer or bool scalar that must be known; None where it is absent.
    fn flag(&self, slot: Option<&Option<Slot>>, what: &str) -> Result<Option<i64>, Refusal> {
        match slot {
            None | Some(None) => Ok(None),
            Some(Some(Slot::Value(id))) => match self.cx.ints(*id, what)?.first() {
                Some(v) => Ok(Some(*v)),
                None => Err(invalid(format!("its {what} is empty"))),
            },
            _ => Err(invalid(format!("its {what} is no tensor"))),
        }
    }

    /// Values of equal type along a new first axis.
    fn stack(&mut self, parts: &[ValueId]) -> Result<ValueId, Refusal> {
        let mut rows = vec![];
        for &part in parts {
            let mut shape = self.cx.shape(part);
            shape.insert(0, 1);
            rows.push(self.cx.op(Op::Reshape { shape }, &[part], "row")?);
        }
        match rows.is_empty() {
            true => Err(unsupported("it runs no time, and its scan output has no known shape")),
            false => self.cx.op(Op::Concat { axis: 0 }, &rows, "rows"),
        }
    }
}
