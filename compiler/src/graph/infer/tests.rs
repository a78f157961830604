//! What `infer` gives and refuses, in the text form.

use crate::graph::{Graph, parse, print};

/// The graph that `inputs` (types of %a, %b, ..) and one node make.
fn graph(inputs: &str, node: &str) -> crate::error::Result<Graph> {
    let mut text = String::new();
    for (name, ty) in ('a'..).zip(inputs.split_whitespace()) {
        text += &format!("input %{name}: {ty}\n");
    }
    parse(&format!("{text}{node}"))
}

/// The types of the node's outputs.
fn types(inputs: &str, node: &str) -> String {
    let g = graph(inputs, node).unwrap_or_else(|e| panic!("{node}: {e}"));
    let node = &g.nodes[0];
    node.outputs.iter().map(|&v| g.ty(v).to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_family_has_its_shapes() {
    let table = [
        ("f32[3,1] f32[2]", "%y = Add(%a, %b)", "f32[3,2]"),
        ("f32[] f32[0]", "%y = Mul(%a, %b)", "f32[0]"),
        ("i64[2] i64[1]", "%y = Less(%a, %b)", "bool[2]"),
        ("f16[2] i32[2]", "%y = Pow(%a, %b)", "f16[2]"),
        ("bool[2,1] f32[3] f32[]", "%y = Where(%a, %b, %c)", "f32[2,3]"),
        ("f32[2] f32[1]", "%y = Clip(%a, _, %b)", "f32[2]"),
        ("f32[4,1,2,3] f32[5,3,7]", "%y = MatMul(%a, %b)", "f32[4,5,2,7]"),
        ("f32[3] f32[3]", "%y = MatMul(%a, %b)", "f32[]"),
        ("f32[3] f32[5,3,7]", "%y = MatMul(%a, %b)", "f32[5,7]"),
        ("f32[3,2] f32[4,3] f32[4]", "%y = Gemm(%a, %b, %c) trans_a trans_b", "f32[2,4]"),
        (
            "f32[1,4,5,5] f32[6,2,3,3]",
            "%y = Conv(%a, %b) kernel=[3,3] strides=[2,2] pads=[1,1,1,1] group=2",
            "f32[1,6,3,3]",
        ),
        ("f32[1,1,4]", "%y = MaxPool(%a) kernel=[3] strides=[2] ceil", "f32[1,1,2]"),
        ("f32[1,1,4]", "%y = MaxPool(%a) kernel=[1] strides=[2] pads=[0,3] ceil", "f32[1,1,4]"),
        ("f32[2,3,4]", "%y = Reduce(%a) kind=Mean axes=[0,2] keep", "f32[1,3,1]"),
        ("f32[2,3,4]", "%y = Reduce(%a) kind=Max axes=[0,2]", "f32[3]"),
        ("f32[2,3]", "%y = ArgMax(%a) axis=1", "i64[2]"),
        ("f32[2,5]", "%v, %i = TopK(%a) k=3 axis=1 largest", "f32[2,3] i64[2,3]"),
        ("f32[9,4] i64[2,3]", "%y = Gather(%a, %b) axis=0", "f32[2,3,4]"),
        ("f32[9,4] i32[]", "%y = Gather(%a, %b) axis=1", "f32[9]"),
        ("f32[2,3,4] i64[2,5,1]", "%y = GatherNd(%a, %b) batch=1", "f32[2,5,4]"),
        ("f32[2,3] f32[2,0]", "%y = Concat(%a, %b) axis=1", "f32[2,3]"),
        ("f32[2,5]", "%p, %q = Split(%a) axis=1 sizes=[2,3]", "f32[2,2] f32[2,3]"),
        ("f32[2,3]", "%y = Pad(%a) pads=[1,-1,0,-2]", "f32[3,0]"),
        ("i64[2] f32[2]", "%y = OneHot(%a, %b) axis=0 depth=5", "f32[5,2]"),
        (
            "f32[1,3,8] f16[5,8] f32[8] f32[1,3,5]",
            "%y = Linear(%a, %b, %c, %d) norm=rms(1e-5) residual nk",
            "f32[1,3,5]",
        ),
        ("f32[1,9,3,64] f32[1,3,7,64]", "%y = Attention(%a, %b, %b) heads=9/3x64 scale=1 mask=causal", "f32[1,9,3,64]"),
    ];
    for (inputs, node, want) in table {
        assert_eq!(types(inputs, node), want, "{node}");
    }
}

#[test]
fn mistakes_are_refused_with_the_shapes_in_question() {
    let table = [
        ("f32[2] f16[2]", "%y = Add(%a, %b)", "Add: inputs 0 and 1 differ in type: f32 and f16"),
        ("f32[2] f32[3]", "%y = Add(%a, %b)", "shapes [2] and [3] do not broadcast"),
        ("f32[2]", "%y = Add(%a)", "takes 2 inputs, has 1"),
        ("f32[2]", "%y = Add(%a, _)", "input 1 is required"),
        ("bool[2]", "%y = Exp(%a)", "input 0 must be floating point, is bool"),
        ("f32[2]", "%y = BitNot(%a)", "input 0 must be an integer, is f32"),
        ("f32[2] f32[2]", "%y = Clip(%a, %b)", "bound 1 must be a scalar"),
        ("f32[2,3] f32[2,3]", "%y = MatMul(%a, %b)", "[2, 3] and [2, 3] do not multiply"),
        ("f32[] f32[2]", "%y = MatMul(%a, %b)", "do not multiply"),
        ("f32[2,3] f32[3,4] f32[3]", "%y = Gemm(%a, %b, %c)", "c of shape [3] does not broadcast to [2, 4]"),
        ("f32[1,3,5] f32[4,2,1]", "%y = Conv(%a, %b) kernel=[1]", "3 channels in 1 groups do not fit"),
        ("f32[1,1,2]", "%y = MaxPool(%a) kernel=[3]", "a window of 3 exceeds the padded extent 2"),
        ("f32[1,1,2]", "%y = MaxPool(%a) kernel=[1] strides=[0]", "does not describe 1 spatial axes"),
        ("f32[2]", "%y = Softmax(%a) axis=1", "axis 1 is past rank 1"),
        ("f32[2,3]", "%y = Reduce(%a) kind=Sum axes=[1,1]", "axis 1 is named twice"),
        ("f32[2,0]", "%y = ArgMax(%a) axis=1", "axis 1 is empty"),
        ("f32[2]", "%v, %i = TopK(%a) k=3 axis=0", "k 3 exceeds the extent 2"),
        ("f32[2] f32[2]", "%y = Gather(%a, %b) axis=0", "input 1 must be an integer"),
        ("f32[2,3] i64[1,3] f32[1,2]", "%y = ScatterElements(%a, %b, %c) axis=0", "differ in shape"),
        ("f32[4] i64[2,1] f32[3]", "%y = ScatterNd(%a, %b, %c)", "updates must be [2], are [3]"),
        ("f32[2,3] f32[3,3]", "%y = Concat(%a, %b) axis=1", "input 1 [3, 3] does not join [2, 3] on axis 1"),
        ("f32[5]", "%p, %q = Split(%a) axis=0 sizes=[2,2]", "sizes [2, 2] do not add up to 5"),
        ("f32[5]", "%y = Slice(%a) begin=[2] step=[2] len=[3]", "axis 0: 3 from 2 by 2 leave extent 5"),
        ("f32[2,3]", "%y = Expand(%a) shape=[3]", "[2, 3] does not broadcast to [3]"),
        ("f32[1]", "%y = Expand(%a) shape=[4294967296,4294967296]", "is too large"),
        ("f32[0]", "%y = Pad(%a) mode=Edge pads=[1,0]", "nothing to repeat"),
        ("f32[2]", "%y = Trilu(%a)", "input must be a matrix"),
        ("f32[2,8] f32[4]", "%y = LayerNorm(%a, %b) axis=1 eps=1e-5", "input 1 [4] does not broadcast to [2, 8]"),
        ("f32[1,8] f32[5,7]", "%y = Linear(%a, %b) nk", "weight 1 [5, 7] takes 7 columns, x has 8"),
        ("f32[1,8] f32[5,8] f32[4]", "%y = Linear(%a, %b, %c) bias nk", "input 2 must be [5], is [4]"),
        ("f32[1,8] f32[5,8]", "%y = Linear(%a, %b) act=IsNan nk", "is no activation"),
        ("f32[1,8] f32[5,8] f32[4,8]", "%y = GatedLinear(%a, %b, %c) act=Silu nk", "gate [5, 8] and up [4, 8] differ"),
        (
            "f32[1,3,2,8] f32[1,2,2,8]",
            "%y = Attention(%a, %b, %b) heads=3/2x8 scale=1 mask=full",
            "3 query heads do not share 2",
        ),
        (
            "f32[1,2,3,8] f32[1,2,2,8]",
            "%y = Attention(%a, %b, %b) heads=2/2x8 scale=1 mask=causal",
            "3 causal queries exceed 2 keys",
        ),
        (
            "f32[1,1,4,2] f32[1,1,1,2] i64[] i32[]",
            "%y = KvWrite(%a, %b, %c, %d)",
            "input 2 must be an i32 scalar, is i64[]",
        ),
        ("f32[1,1,4,2] f32[1,2,1,2] i32[] i32[]", "%y = KvWrite(%a, %b, %c, %d)", "do not go into a cache"),
        ("f32[1,1,2,8] f32[4,3] i32[]", "%y = Rope(%a, %b, %b, %c) rope=8", "must be [positions, 4]"),
        (
            "f32[1,1,2,8] f32[4,5] i32[]",
            "%y = Rope(%a, %b, %b, %c) rope=10",
            "10 rotary channels do not fit a head of 8",
        ),
        (
            "f32[1,1,2,8] f32[1,1,9,8] i32[]",
            "%y = CachedAttention(%a, %b, %b, %c) heads=1/1x8 scale=1 mask=full",
            "no mask for a cache",
        ),
    ];
    for (inputs, node, want) in table {
        match graph(inputs, node) {
            Ok(g) => panic!("{node} passed:\n{}", print(&g)),
            Err(e) => assert!(e.to_string().contains(want), "{node}: {e}"),
        }
    }
}
