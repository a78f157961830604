//! Products of any two tensors, and windows. In: MatMul, Gemm, Conv, pools. Out: one call each. Promise: numpy's matmul rule, 1-D operands and batch broadcast included; f32 sums.

use super::call::{Builder, Cx, float, groups};
use super::reduce::order;
use super::walk::{Walk, broadcast, name, signed, unsigned};
use crate::error::Result;
use crate::graph::{Op, Window};
use crate::plan::{Call, Operand};

/// Rows and columns of y that a workgroup of batch_matmul.comp makes.
const EDGE: usize = 32;
const LOCAL: usize = 64;

pub(super) fn calls(cx: &Cx) -> Result<Vec<Call>> {
    match &cx.node.op {
        Op::MatMul => matmul(cx),
        Op::Gemm { .. } => gemm(cx),
        Op::Conv { window, group } => conv(cx, window, *group),
        Op::MaxPool { window, .. } => pool(cx, window, 0),
        Op::AveragePool { window, count_pad, .. } => pool(cx, window, if *count_pad { 2 } else { 1 }),
        _ => Err(cx.refuse("is no product")),
    }
}

/// A batch of matrix products: extents and the strides of rows and columns.
struct Product {
    m: usize,
    n: usize,
    k: usize,
    a: [usize; 2],
    b: [usize; 2],
    alpha: f32,
    beta: f32,
    batch: Walk,
}

impl Product {
    fn build(&self, cx: &Cx, label: String) -> Result<Vec<Call>> {
        let dtype = cx.dtype(0)?;
        let batches: usize = self.batch.dims.iter().product();
        let c = cx.node.input(2);
        let out = [self.m, self.n];
        let c_strides = c.map_or(vec![0, 0], |v| broadcast(cx.graph.shape(v), &out));
        if !dtype.is_float() && (self.alpha != 1.0 || (c.is_some() && self.beta != 1.0)) {
            return Err(cx.refuse(format!("alpha {} and beta {} of {dtype} have no kernel", self.alpha, self.beta)));
        }
        if !dtype.is_float() && super::elementwise::integer(dtype).0 < 32 {
            return Err(cx.refuse(format!("of {dtype} has no kernel")));
        }
        let mut b = Builder::new("batch_matmul.comp", label)
            .define("M", self.m)
            .define("N", self.n)
            .define("K", self.k)
            .define("BATCHES", batches)
            .define("A_ROW", self.a[0])
            .define("A_COLUMN", self.a[1])
            .define("B_ROW", self.b[0])
            .define("B_COLUMN", self.b[1])
            .flag("FLOAT", dtype.is_float())
            .define("ALPHA", float(self.alpha))
            .define("BETA", float(self.beta))
            .flag("C", c.is_some())
            .define("C_ROW", c_strides[0])
            .define("C_COLUMN", c_strides[1])
            .read(cx.read(0)?)
            .read(cx.read(1)?)
            .write(Operand::Value(cx.node.out()));
        if let Some(v) = c {
            b = b.read(cx.operand(v));
        }
        let tiles = self.m.div_ceil(EDGE) * self.n.div_ceil(EDGE) * batches;
        Ok(vec![self.batch.define(b, &["A_STRIDES", "B_STRIDES"]).build(cx, groups(tiles, 1))?])
    }
}

fn matmul(cx: &Cx) -> Result<Vec<Call>> {
    let (sa, sb, out) = (cx.shape(0)?, cx.shape(1)?, cx.out_shape());
    let k = sa[sa.len() - 1];
    let (m, batch_a) = if sa.len() > 1 { (sa[sa.len() - 2], &sa[..sa.len() - 2]) } else { (1, &sa[..0]) };
    let (n, batch_b) = if sb.len() > 1 { (sb[sb.len() - 1], &sb[..sb.len() - 2]) } else { (1, &sb[..0]) };
    let batch = &out[..batch_a.len().max(batch_b.len())];
    // Strides over batches, in elements: a batch of a holds m * k of them.
    let over = |shape: &[usize], size: usize| -> Vec<i64> {
        broadcast(shape, batch).iter().map(|s| s * size as i64).collect()
    };
    let walk = Walk::new(batch, &[over(batch_a, m * k), over(batch_b, k * n)]);
    let product = Product { m, n, k, a: [k, 1], b: [n, 1], alpha: 1.0, beta: 1.0, batch: walk };
    product.build(cx, format!("matmul_{}_{}_{}", cx.dtype(0)?, name(sa), name(sb)))
}

fn gemm(cx: &Cx) -> Result<Vec<Call>> {
    let Op::Gemm { alpha, beta, trans_a, trans_b } = cx.node.op else { return Err(cx.refuse("is no Gemm")) };
    let (sa, out) = (cx.shape(0)?, cx.out_shape());
    let (m, n) = (out[0], out[1]);
    let k = if trans_a { sa[0] } else { sa[1] };
    let a = if trans_a { [1, m] } else { [k, 1] };
    let b = if trans_b { [1, k] } else { [n, 1] };
    let c = cx.node.input(2).map_or("none".to_string(), |v| name(cx.graph.shape(v)));
    let flags = format!("{}{}", if trans_a { "_ta" } else { "" }, if trans_b { "_tb" } else { "" });
    let label = format!("gemm_{}_m{m}_k{k}_n{n}{flags}_c{c}", cx.dtype(0)?);
    let batch = Walk::new(&[], &[vec![], vec![]]);
    Product { m, n, k, a, b, alpha, beta, batch }.build(cx, label)
}

/// Adds what lib/window.glsl wants.
fn define_window(b: Builder, window: &Window, x: &[usize], y: &[usize]) -> Builder {
    let ints = |v: &[usize]| signed(&v.iter().map(|&n| n as i64).collect::<Vec<_>>());
    b.define("RANK", x.len())
        .define("X_DIMS", ints(x))
        .define("DIMS", unsigned(y))
        .define("KERNEL", unsigned(&window.kernel))
        .define("STEPS", ints(&window.strides))
        .define("DILATIONS", ints(&window.dilations))
        .define("BEGINS", ints(&window.pads[..x.len()]))
        .define("PLANE_IN", x.iter().product::<usize>())
        .define("PLANE_OUT", y.iter().product::<usize>())
        .define("TAPS", window.kernel.iter().product::<usize>())
}

/// A window as part of a name.
fn window_name(w: &Window) -> String {
    format!("k{}_s{}_d{}_p{}", name(&w.kernel), name(&w.strides), name(&w.dilations), name(&w.pads))
}

fn conv(cx: &Cx, window: &Window, group: usize) -> Result<Vec<Call>> {
    let (x, out) = (cx.shape(0)?, cx.out_shape());
    let n: usize = out.iter().product();
    let bias = cx.node.input(2);
    let tail = if bias.is_some() { "_bias" } else { "" };
    let label = format!("conv_f32_{}_{}_g{group}_{}{tail}", name(x), name(out), window_name(window));
    let b = Builder::new("conv.comp", label)
        .define("N", n)
        .define("CHANNELS_IN", x[1])
        .define("CHANNELS_OUT", out[1])
        .define("GROUPS", group)
        .flag("BIAS", bias.is_some())
        .read(cx.read(0)?)
        .read(cx.read(1)?)
        .write(Operand::Value(cx.node.out()));
    let mut b = define_window(b, window, &x[2..], &out[2..]);
    if let Some(v) = bias {
        b = b.read(cx.operand(v));
    }
    Ok(vec![b.build(cx, groups(n, LOCAL))?])
}

fn pool(cx: &Cx, window: &Window, mode: u32) -> Result<Vec<Call>> {
    let (x, out) = (cx.shape(0)?, cx.out_shape());
    let dtype = cx.dtype(0)?;
    if mode > 0 && !dtype.is_float() {
        return Err(cx.refuse(format!("of {dtype} has no kernel")));
    }
    let n: usize = out.iter().product();
    let ends: Vec<i64> = window.pads[x.len() - 2..].iter().map(|&p| p as i64).collect();
    let family = ["max_pool", "average_pool", "average_pool_padded"][mode as usize];
    let b = Builder::new("pool.comp", format!("{family}_{dtype}_{}_{}_{}", name(x), name(out), window_name(window)))
        .define("N", n)
        .define("ENDS", signed(&ends))
        .define("MODE", mode)
        .define("KIND", order(dtype))
        .read(cx.read(0)?)
        .write(Operand::Value(cx.node.out()));
    Ok(vec![define_window(b, window, &x[2..], &out[2..]).build(cx, groups(n, LOCAL))?])
}
