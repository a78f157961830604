use super::{parse, print};
use crate::graph::grow::grown;
use crate::graph::*;
use proptest::prelude::*;

/// Text of the text.
fn again(text: &str) -> String {
    print(&parse(text).unwrap())
}

const SMALL: &str = "\
graph tiny
input %x: f32[2,4]
state %past: f32[1,1,8,4] -> %present
const %half: f32[] = 0.5
const %0: f32[4,4] = random(7)  # model.layers.0.weight
const %pos: i32[] = 3
const %rows: i32[] = 1
%1: f32[2,4] = MatMul(%x, %0)  # /layers.0/MatMul
%y = Mul(%1, %half)
%2 = Reshape(%y) shape=[1,1,2,4]  # /view
%present = KvWrite(%past, %2, %pos, %rows)
output %y  # logits
";

#[test]
fn a_graph_reads_as_it_is_written() {
    insta::assert_snapshot!(again(SMALL), @r"
    graph tiny
    input %x: f32[2,4]
    state %past: f32[1,1,8,4] -> %present
    const %model.layers.0.weight: f32[4,4] = ...
    const %half: f32[] = 0.5
    const %pos: i32[] = 3
    const %rows: i32[] = 1
    %0: f32[2,4] = MatMul(%x, %model.layers.0.weight)  # /layers.0/MatMul
    %y: f32[2,4] = Mul(%0, %half)
    %1: f32[1,1,2,4] = Reshape(%y) shape=[1,1,2,4]  # /view
    %present: f32[1,1,8,4] = KvWrite(%past, %1, %pos, %rows)
    output %y  # logits
    ");
    verify(&parse(SMALL).unwrap()).unwrap();
}

#[test]
fn the_text_is_a_fixed_point() {
    let once = again(SMALL);
    assert_eq!(again(&once), once);
}

#[test]
fn what_linear_layers_take_is_told_where_it_is_not_f32() {
    for (line, want) in
        [("", Activations::F32), ("activations bf16\n", Activations::Bf16), ("activations fp16\n", Activations::F16)]
    {
        let text = format!("graph g\n{line}");
        let graph = parse(&text).unwrap();
        assert_eq!((graph.activations, print(&graph)), (want, text));
    }
    let why = parse("graph g\nactivations int8\n").unwrap_err().to_string();
    assert!(why.contains("'int8' is no type of activations"), "{why}");
}

#[test]
fn a_quantised_constant_is_known_by_its_layout() {
    let text = "graph g\nconst %w: f32[64,2] = q4_g32_mid\nconst %v: f32[2,64] = q8_g64_min_s3\n";
    let graph = parse(text).unwrap();
    let layouts: Vec<String> =
        (0..2).filter_map(|i| graph.constant(ValueId(i))?.quant().map(quant::Quant::name)).collect();
    assert_eq!(layouts, ["q4_g32_mid", "q8_g64_min_s3"]);
    assert!(graph.constant(ValueId(0)).unwrap().bytes().unwrap_err().to_string().contains("'w'"));
    verify(&graph).unwrap();
    let codes =
        quant::Encoded::nearest(&[0.5; 64], 1, 64, quant::Quant::parse("q4_g64_min").unwrap(), &Default::default());
    let mut graph = Graph { name: "g".into(), ..Graph::default() };
    let w = graph.add_const("w", Tensor::quantised(std::sync::Arc::new(codes.unwrap()), true));
    assert_eq!(graph.constant(w).unwrap().bytes().unwrap().len(), 256);
    graph.outputs.push(Output { name: "w".into(), value: w });
    assert!(print(&graph).contains("const %w: f32[64,1] = q4_g64_min"), "{}", print(&graph));
    assert!(parse("const %w: f16[64,2] = q4_g32_mid").is_err());
}

#[test]
fn odd_names_survive() {
    let mut g = Graph { name: "a b # c".into(), ..Graph::default() };
    let x = g.add_input("in, \"put\"", Ty::new(DType::F32, &[2]));
    let twin = g.add_const("twin", Tensor::f32(&[], &[f32::NAN]));
    let other = g.add_const("twin", Tensor::f32(&[], &[f32::NEG_INFINITY]));
    let sum = g.push(Op::Binary(BinaryOp::Add), &[Some(x), Some(twin)], "").unwrap()[0];
    let out = g.push(Op::Binary(BinaryOp::Add), &[Some(sum), Some(other)], "n\n#1").unwrap()[0];
    g.values[out.0 as usize].name = "->".into();
    g.outputs.push(Output { name: "é".into(), value: out });
    let text = print(&g);
    let back = parse(&text).unwrap();
    assert_eq!(print(&back), text);
    let names = |g: &Graph| g.nodes.iter().map(|n| (n.name.clone(), g.value(n.out()).name.clone())).collect::<Vec<_>>();
    assert_eq!(names(&back), names(&g));
    assert_eq!((back.name.as_str(), back.outputs[0].name.as_str()), ("a b # c", "é"));
}

#[test]
fn random_constants_depend_on_their_seed_alone() {
    let bytes = |seed: &str| {
        let g = parse(&format!("const %a: f32[64] = random({seed})")).unwrap();
        g.constant(ValueId(0)).unwrap().bytes().unwrap().to_vec()
    };
    assert_eq!(bytes("1"), bytes("1"));
    assert_ne!(bytes("1"), bytes("2"));
    let values: Vec<f32> = bytes("1").chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    assert!(values.iter().all(|v| (-1.0..1.0).contains(v)));
    assert!(values.iter().any(|v| *v < -0.5) && values.iter().any(|v| *v > 0.5));
}

#[test]
fn fill_and_iota_describe_constants() {
    let g =
        parse("const %a: i64[3] = iota(5)\nconst %b: f16[2] = fill(0.5)\nconst %c: bool[2] = [true,false]").unwrap();
    let read = |i| eval::Array::from_tensor(g.constant(ValueId(i)).unwrap()).unwrap();
    assert_eq!(read(0).to_ints(), [5, 6, 7]);
    assert_eq!(read(1).to_f32(), [0.5, 0.5]);
    assert_eq!(read(2).to_ints(), [1, 0]);
}

#[test]
fn elided_data_is_absent_and_says_whose_it_is() {
    let g = parse("const %w: f32[2] = ...").unwrap();
    let said = g.constant(ValueId(0)).unwrap().bytes().unwrap_err().to_string();
    assert!(said.contains("'w'"), "{said}");
}

#[test]
fn mistakes_name_their_line() {
    let table = [
        ("\n%y = Relu(%x)", "line 2: %x is not defined"),
        ("input %x: f32[2]\ninput %x: f32[2]", "line 2: %x is defined twice"),
        ("input %x: f33[2]", "'f33' is no element type"),
        ("input %x: f32[2] nonsense", "'nonsense' is too much"),
        ("input %x: f32[2]\n%y = Frob(%x)", "Frob: is no operator"),
        ("input %x: f32[2]\n%y = Relu(%x) axis=1", "Relu: has no attribute axis"),
        ("input %x: f32[2]\n%y = Softmax(%x)", "Softmax: axis is missing"),
        ("input %x: f32[2]\n%y = Softmax(%x) axis=a", "axis=a is not understood"),
        ("input %x: f32[2]\n%y = Softmax(%x) axis=0 axis=0", "axis is given twice"),
        ("input %x: f32[2]\n%y: f32[3] = Relu(%x)", "%y is f32[2], not f32[3]"),
        ("input %x: f32[2]\n%y, %z = Relu(%x)", "makes 1 outputs, 2 are named"),
        ("const %x: f32[2] = [1]", "has 2 elements, 1 are given"),
        ("const %x: f32[99999999,99999999,99999999]= 1", "too large"),
        ("state %x: f32[2] -> %y", "state %x: %y is not defined"),
        ("input %x: f32[2]\n%y = Relu(%x", "ends early"),
        ("graph \"open", "is no string"),
        ("input %x: f32[2] # \"open", "does not end"),
    ];
    for (text, want) in table {
        let said = parse(text).unwrap_err().to_string();
        assert!(said.contains(want), "{text:?}: {said}");
    }
}

proptest! {
    #[test]
    fn any_graph_prints_the_same_after_parsing(seed: u64) {
        let g = grown(seed);
        verify_but_names(&g);
        let text = print(&g);
        let back = parse(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(print(&back), text);
        prop_assert_eq!(back.nodes.len(), g.nodes.len());
        for (a, b) in back.nodes.iter().zip(&g.nodes) {
            prop_assert_eq!((&a.op, &a.name), (&b.op, &b.name));
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(graph|input|const|output|state|%[a-c]|[:=,()\\[\\]#\"]|->|f32|i8|Relu|Slice|[0-9]|\\.\\.\\.|random| |\n){0,40}") {
        let _ = parse(&text);
    }
}

/// Input names may repeat in a grown graph; everything else must hold.
fn verify_but_names(g: &Graph) {
    let mut g = g.clone();
    for (i, v) in g.values.iter_mut().enumerate() {
        v.name = i.to_string();
    }
    verify(&g).unwrap();
}

/// Every operator that ONNX has, with attributes that are not the defaults.
fn imported() -> Vec<Op> {
    let window = Window { kernel: vec![2, 3], strides: vec![2, 1], dilations: vec![1, 1], pads: vec![0, 1, 1, 0] };
    let plain = Window { kernel: vec![2], strides: vec![1], dilations: vec![1], pads: vec![0, 0] };
    vec![
        Op::LeakyRelu { alpha: 0.01 },
        Op::Elu { alpha: 1.0 },
        Op::Celu { alpha: 1.0 },
        Op::Selu { alpha: 1.67, gamma: 1.05 },
        Op::Swish { alpha: 1.0 },
        Op::HardSigmoid { alpha: 0.2, beta: 0.5 },
        Op::ThresholdedRelu { alpha: f32::INFINITY },
        Op::Where,
        Op::Clip,
        Op::Cast { to: DType::BF16 },
        Op::MatMul,
        Op::Gemm { alpha: 1.0, beta: 0.5, trans_a: true, trans_b: false },
        Op::Conv { window: window.clone(), group: 2 },
        Op::MaxPool { window: plain.clone(), ceil: true },
        Op::AveragePool { window, ceil: false, count_pad: true },
        Op::Softmax { axis: 1 },
        Op::LogSoftmax { axis: 0 },
        Op::Reduce { kind: ReduceOp::LogSumExp, axes: vec![], keep: false },
        Op::ArgMax { axis: 1, keep: true, last: true },
        Op::ArgMin { axis: 1, keep: false, last: false },
        Op::TopK { k: 3, axis: 0, largest: true, sorted: false },
        Op::CumSum { axis: 0, exclusive: true, reverse: false },
        Op::Gather { axis: 2 },
        Op::GatherElements { axis: 2 },
        Op::GatherNd { batch: 1 },
        Op::ScatterElements { axis: 1, op: ScatterOp::Max },
        Op::ScatterNd { op: ScatterOp::Set },
        Op::Concat { axis: 3 },
        Op::Slice { begin: vec![0, 5], step: vec![1, -1], len: vec![2, 6] },
        Op::Split { axis: 1, sizes: vec![1, 2] },
        Op::Transpose { perm: vec![1, 0] },
        Op::Reshape { shape: vec![] },
        Op::Expand { shape: vec![2, 3] },
        Op::Tile { repeats: vec![2] },
        Op::Pad { mode: PadMode::Reflect, pads: vec![-1, 2] },
        Op::Trilu { upper: true, k: -1 },
        Op::OneHot { axis: 0, depth: 4 },
    ]
}

/// Norms, and what passes make.
fn made_by_passes() -> Vec<Op> {
    let heads = Heads { q: 9, kv: 3, dim: 64 };
    let (rms, layer) = (Some(Norm::Rms { eps: 1e-6 }), Some(Norm::Layer { eps: 1e-5 }));
    vec![
        Op::LayerNorm { axis: 1, eps: 1e-5 },
        Op::RmsNorm { axis: 2, eps: 1e-6 },
        Op::Linear { norm: rms, bias: true, act: Some(UnaryOp::Silu), residual: true, nk: true },
        Op::Linear { norm: None, bias: false, act: None, residual: false, nk: false },
        Op::GatedLinear { norm: layer, act: UnaryOp::GeluTanh, nk: true },
        Op::Rope { form: Rotary { rotary: 64, interleaved: true } },
        Op::Attention { heads, scale: 0.125, mask: Mask::Given, cap: 0.0 },
        Op::Attention { heads, scale: 0.125, mask: Mask::Full, cap: 50.0 },
        Op::RowAttention { heads, scale: 0.125, mask: Mask::Full, packed: true },
        Op::RowAttention { heads, scale: 0.125, mask: Mask::Given, packed: false },
        Op::KvWrite,
        Op::CachedAttention { heads, scale: 0.125, mask: Mask::Window(256), cap: 30.0 },
        Op::Qkv { heads, norm: rms, bias: true, rope: Some(Rotary { rotary: 32, interleaved: false }), nk: true },
        Op::Qkv { heads, norm: None, bias: false, rope: None, nk: false },
        Op::Splice { vocab: 600, lookup: true },
        Op::Splice { vocab: 7, lookup: false },
        Op::LastRow,
    ]
}

#[test]
fn every_operator_has_a_text_form() {
    let ops = imported().into_iter().chain(made_by_passes());
    let all = ops.chain(UnaryOp::ALL.iter().map(|&f| Op::Unary(f)));
    for op in all.chain(BinaryOp::ALL.iter().map(|&f| Op::Binary(f))) {
        let mut words = String::new();
        for (key, value) in super::attrs::pairs(&op).0 {
            words += &if value.is_empty() { format!(" {key}") } else { format!(" {key}={value}") };
        }
        assert_eq!(super::parse::operator(op.name(), &words).unwrap(), op, "{}{words}", op.name());
    }
}
