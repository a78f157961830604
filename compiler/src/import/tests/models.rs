//! What a model may look like: order, names, functions, opsets, constants.

use super::build::*;
use super::f32s;
use crate::graph::{DType, Op, Tensor, ValueId};
use crate::import::Options;
use onnx_ir::{AttributeType, ModelProto, TensorProto};

fn bind(pairs: &[(&str, usize)]) -> Options {
    Options { bind: pairs.iter().map(|(k, v)| (k.to_string(), *v)).collect(), ..Options::default() }
}

#[test]
fn nodes_may_stand_in_any_order() {
    let nodes = vec![node("Neg", &["b"], &["y"]), node("Abs", &["a"], &["b"]), node("Exp", &["x"], &["a"])];
    let g = import(graph(nodes, vec![value("x", FLOAT, &[1])], &["y"])).unwrap();
    let ops: Vec<String> = g.nodes.iter().map(|n| format!("{:?}", n.op)).collect();
    assert_eq!(ops, ["Unary(Exp)", "Unary(Abs)", "Unary(Neg)"]);
}

#[test]
fn names_that_differ_by_case_or_punctuation_are_different_values() {
    let nodes = vec![
        node("Neg", &["x"], &["a.b"]),
        node("Exp", &["x"], &["a_b"]),
        node("Add", &["a.b", "A_B"], &["s"]),
        node("Abs", &["x"], &["A_B"]),
        node("Add", &["s", "a_b"], &["y"]),
    ];
    let g = import(graph(nodes, vec![value("x", FLOAT, &[1])], &["y"])).unwrap();
    let out = outputs(&g, &[("x", &[2.0])]);
    assert_eq!(f32s(&out["y"]), [-2.0 + 2.0 + 2f32.exp()]);
}

#[test]
fn a_cycle_and_a_double_write_are_errors_with_names() {
    let nodes = vec![named(node("Add", &["x", "b"], &["a"]), "first"), named(node("Abs", &["a"], &["b"]), "second")];
    let said = import(graph(nodes, vec![value("x", FLOAT, &[1])], &["b"])).unwrap_err().to_string();
    assert!(said.contains("cycle") && said.contains("first") && said.contains("second"), "{said}");
    let nodes = vec![named(node("Abs", &["x"], &["y"]), "first"), named(node("Neg", &["x"], &["y"]), "second")];
    let said = import(graph(nodes, vec![value("x", FLOAT, &[1])], &["y"])).unwrap_err().to_string();
    assert!(said.contains("'y' by first and second"), "{said}");
}

#[test]
fn every_refused_node_stands_in_one_error_with_its_reason() {
    let nodes = vec![
        named(node("Det", &["x"], &["a"]), "one"),
        named(node("Abs", &["a"], &["b"]), "fine"),
        named(node("GridSample", &["b", "b"], &["c"]), "two"),
        named(with_int(node("Softmax", &["x"], &["d"]), "axis", 9), "three"),
        named(node("Sum", &["c", "d"], &["y"]), "last"),
    ];
    let said = import(graph(nodes, vec![value("x", FLOAT, &[2, 2])], &["y"])).unwrap_err().to_string();
    assert!(said.contains("3 of 5 nodes"), "{said}");
    for (node, reason) in [("one", "Det is not supported"), ("two", "GridSample is not"), ("three", "axis 9 is out")] {
        assert!(said.lines().any(|l| l.contains(&format!("'{node}'")) && l.contains(reason)), "{said}");
    }
    assert!(!said.contains("'fine'") && !said.contains("'last'"), "{said}");
}

#[test]
fn nodes_that_no_output_needs_are_not_looked_at() {
    let nodes = vec![node("Det", &["x"], &["unused"]), node("Abs", &["x"], &["y"])];
    let g = import(graph(nodes, vec![value("x", FLOAT, &[2, 2])], &["y"])).unwrap();
    assert_eq!(g.nodes.len(), 1);
}

#[test]
fn softmax_flattens_up_to_opset_12_and_no_later() {
    let build = |opset| {
        let nodes = vec![with_int(node("Softmax", &["x"], &["y"]), "axis", 1)];
        let model = model(opset, graph(nodes, vec![value("x", FLOAT, &[1, 2, 2])], &["y"]));
        let g = import_model(&model, &Options::default()).unwrap();
        let out = outputs(&g, &[("x", &[0.0, 0.0, 0.0, 0.0])]);
        f32s(&out["y"]).to_vec()
    };
    assert_eq!(build(12), [0.25; 4]);
    assert_eq!(build(13), [0.5; 4]);
}

#[test]
fn the_default_axis_of_softmax_moved_with_opset_13() {
    let axis = |opset| {
        let g = graph(vec![node("Softmax", &["x"], &["y"])], vec![value("x", FLOAT, &[3, 1, 5])], &["y"]);
        let g = import_model(&model(opset, g), &Options::default()).unwrap();
        g.nodes
            .iter()
            .find_map(|n| if let Op::Softmax { axis } = n.op { Some((axis, g.shape(n.out()).to_vec())) } else { None })
    };
    assert_eq!(axis(12), Some((1, vec![3, 5])));
    assert_eq!(axis(13), Some((2, vec![3, 1, 5])));
}

#[test]
fn axes_are_read_from_the_attribute_or_the_input() {
    let old = vec![with_ints(node("ReduceSum", &["x"], &["y"]), "axes", &[-1])];
    let old = model(12, graph(old, vec![value("x", FLOAT, &[2, 3])], &["y"]));
    let mut new = graph(vec![node("ReduceSum", &["x", "axes"], &["y"])], vec![value("x", FLOAT, &[2, 3])], &["y"]);
    new.initializer = vec![longs("axes", &[1], &[-1])];
    for model in [old, model(13, new)] {
        let g = import_model(&model, &Options::default()).unwrap();
        assert_eq!(f32s(&outputs(&g, &[("x", &[1., 2., 3., 4., 5., 6.])])["y"]), [6.0, 15.0]);
    }
}

#[test]
fn opsets_out_of_range_are_refused_with_the_range() {
    for version in [10, 25] {
        let g = graph(vec![node("Abs", &["x"], &["y"])], vec![value("x", FLOAT, &[1])], &["y"]);
        let said = import_model(&model(version, g), &Options::default()).unwrap_err().to_string();
        assert!(said.contains(&format!("opset {version}")) && said.contains("11 to 24"), "{said}");
    }
}

/// y = Leaky(Leaky(x)), where Leaky is a function of the model with an attribute `slope`, by default 0.5.
fn with_function() -> ModelProto {
    let call = |x: &str, y: &str| {
        let mut n = node("Leaky", &[x], &[y]);
        n.domain = "local".into();
        n
    };
    let nodes = vec![with_float(call("x", "m"), "slope", 0.1), call("m", "y")];
    let mut m = model(17, graph(nodes, vec![value("x", FLOAT, &[2])], &["y"]));
    m.opset_import.push(Default::default());
    m.opset_import[1].domain = "local".into();
    m.opset_import[1].version = 1;
    m.functions.push(Default::default());
    let f = &mut m.functions[0];
    (f.name, f.domain) = ("Leaky".into(), "local".into());
    (f.input, f.output) = (vec!["x".into()], vec!["y".into()]);
    // Inside, `x` and `t` are the function's own, whatever the graph around it calls so.
    let mut inner = node("LeakyRelu", &["t"], &["y"]);
    let mut reference = attribute("alpha", AttributeType::FLOAT);
    reference.ref_attr_name = "slope".into();
    inner.attribute.push(reference);
    f.node = vec![node("Identity", &["x"], &["t"]), inner];
    let mut default = attribute("slope", AttributeType::FLOAT);
    default.f = 0.5;
    f.attribute_proto.push(default);
    f.opset_import.push(Default::default());
    f.opset_import[0].version = 16;
    m
}

#[test]
fn functions_are_expanded_with_their_attributes_and_defaults() {
    let g = import_model(&with_function(), &Options::default()).unwrap();
    assert_eq!(f32s(&outputs(&g, &[("x", &[3.0, -10.0])])["y"]), [3.0, -0.5]);
}

#[test]
fn a_function_that_calls_itself_is_refused() {
    let mut m = with_function();
    m.functions[0].node[1].op_type = "Leaky".into();
    m.functions[0].node[1].domain = "local".into();
    let said = import_model(&m, &Options::default()).unwrap_err().to_string();
    assert!(said.contains("nest deeper than"), "{said}");
}

#[test]
fn an_initializer_that_is_also_an_input_is_a_constant() {
    let mut g =
        graph(vec![node("Add", &["x", "w"], &["y"])], vec![value("x", FLOAT, &[2]), value("w", FLOAT, &[2])], &["y"]);
    g.initializer = vec![floats("w", &[2], &[1.0, 2.0])];
    let g = import(g).unwrap();
    assert_eq!(g.inputs.len(), 1);
    assert_eq!(f32s(&outputs(&g, &[("x", &[1.0, 1.0])])["y"]), [2.0, 3.0]);
}

#[test]
fn outputs_may_be_inputs_constants_and_each_other() {
    let nodes = vec![node("Identity", &["x"], &["same"]), node("Identity", &["w"], &["constant"])];
    let mut g = graph(nodes, vec![value("x", FLOAT, &[1])], &["x", "same", "constant", "w"]);
    g.initializer = vec![floats("w", &[1], &[7.0])];
    let g = import(g).unwrap();
    let names: Vec<&str> = g.outputs.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["x", "same", "constant", "w"]);
    let out = outputs(&g, &[("x", &[5.0])]);
    assert_eq!((f32s(&out["same"]), f32s(&out["constant"])), (&[5.0f32][..], &[7.0f32][..]));
}

#[test]
fn symbols_that_only_outputs_have_need_no_value() {
    let mut g = graph(vec![node("Add", &["x", "x"], &["y"])], vec![symbolic(value("x", FLOAT, &[1, 1]), 1, "n")], &[]);
    g.output.push(symbolic(value("y", FLOAT, &[1, 1]), 0, "Addy_dim_0"));
    let m = model(17, g);
    let imported = import_model(&m, &bind(&[("n", 3)])).unwrap();
    assert_eq!(imported.shape(imported.outputs[0].value), [1, 3]);
    let said = import_model(&m, &Options::default()).unwrap_err().to_string();
    assert!(said.contains("'n' has no value (in x)"), "{said}");
}

#[test]
fn fixed_inputs_are_constants_that_shapes_may_hang_on() {
    let nodes = vec![node("Reshape", &["x", "shape"], &["y"])];
    let m = model(17, graph(nodes, vec![value("x", FLOAT, &[6]), value("shape", INT, &[2])], &["y"]));
    let said = import_model(&m, &Options::default()).unwrap_err().to_string();
    assert!(said.contains("its shape ('shape') depends on data"), "{said}");
    let mut options = Options::default();
    options.fixed.insert("shape".into(), Tensor::i64(&[2], &[2, -1]));
    let g = import_model(&m, &options).unwrap();
    assert_eq!((g.shape(g.outputs[0].value), g.inputs.len()), (&[2usize, 3][..], 1));
    options.fixed.insert("shape".into(), Tensor::f32(&[2], &[2.0, 3.0]));
    assert!(import_model(&m, &options).unwrap_err().to_string().contains("its fixed value f32"));
    options.fixed.insert("shapes".into(), Tensor::i64(&[2], &[2, 3]));
    assert!(import_model(&m, &options).unwrap_err().to_string().contains("shapes"));
}

#[test]
fn simplified_layer_normalization_of_ai_onnx_is_an_rms_norm() {
    let mut g = graph(
        vec![with_float(node("SimplifiedLayerNormalization", &["x", "w"], &["y"]), "epsilon", 0.0)],
        vec![value("x", FLOAT, &[1, 2])],
        &["y"],
    );
    g.initializer = vec![floats("w", &[2], &[2.0, 2.0])];
    let g = import(g).unwrap();
    assert_eq!(g.nodes[0].op, Op::RmsNorm { axis: 1, eps: 0.0 });
    let out = outputs(&g, &[("x", &[3.0, 4.0])]);
    let rms = 12.5f32.sqrt();
    assert!(super::apart(f32s(&out["y"]), &[6.0 / rms, 8.0 / rms]) < 1e-6);
}

#[test]
fn a_layer_norm_takes_a_scalar_scale_and_one_that_varies_over_leading_axes() {
    for (dims, scale) in [(&[][..], &[2.0f32][..]), (&[2, 1], &[2.0, 4.0])] {
        let nodes = vec![with_float(node("LayerNormalization", &["x", "w"], &["y"]), "epsilon", 0.0)];
        let mut g = graph(nodes, vec![value("x", FLOAT, &[2, 2])], &["y"]);
        g.initializer = vec![floats("w", dims, scale)];
        let g = import(g).unwrap();
        let out = outputs(&g, &[("x", &[1.0, 3.0, 5.0, 9.0])]);
        let last = scale[scale.len() - 1];
        assert!(super::apart(f32s(&out["y"]), &[-2.0, 2.0, -last, last]) < 1e-5, "{:?}", out["y"]);
    }
}

#[test]
fn a_constant_index_out_of_range_is_an_error() {
    let mut g = graph(vec![node("Gather", &["x", "i"], &["y"])], vec![value("x", FLOAT, &[3])], &["y"]);
    g.initializer = vec![longs("i", &[2], &[-3, 3])];
    let said = import(g).unwrap_err().to_string();
    assert!(said.contains("index 3 is out of range for an extent of 3"), "{said}");
}

#[test]
fn reshapes_and_transposes_in_a_row_become_one_or_none() {
    let nodes = vec![
        with_ints(node("Transpose", &["x"], &["a"]), "perm", &[1, 0, 2]),
        with_ints(node("Transpose", &["a"], &["b"]), "perm", &[1, 0, 2]),
        node("Unsqueeze", &["b", "zero"], &["c"]),
        node("Squeeze", &["c", "zero"], &["d"]),
        node("Neg", &["d"], &["y"]),
    ];
    let mut g = graph(nodes, vec![value("x", FLOAT, &[2, 3, 4])], &["y"]);
    g.initializer = vec![longs("zero", &[1], &[0])];
    let g = import(g).unwrap();
    assert_eq!((g.nodes.len(), g.nodes[0].input(0)), (1, Some(g.inputs[0])));
}

#[test]
fn big_constants_from_nothing_stay_a_scalar_and_an_expand() {
    let mut g = graph(
        vec![node("ConstantOfShape", &["shape"], &["c"]), node("Add", &["x", "c"], &["y"])],
        vec![value("x", FLOAT, &[1])],
        &["y"],
    );
    g.initializer = vec![longs("shape", &[2], &[4096, 4096])];
    let g = import(g).unwrap();
    assert_eq!(g.nodes[0].op, Op::Expand { shape: vec![4096, 4096] });
    let largest = g.values.iter().enumerate().filter_map(|(i, _)| g.constant(ValueId(i as u32))).map(Tensor::len).max();
    assert_eq!(largest, Some(1));
}

#[test]
fn sequences_are_resolved_when_importing() {
    let nodes = vec![
        with_int(node("SplitToSequence", &["x"], &["s"]), "axis", 0),
        node("SequenceAt", &["s", "i"], &["first"]),
        node("SequenceInsert", &["s", "first"], &["t"]),
        with_int(node("ConcatFromSequence", &["t"], &["y"]), "axis", 0),
    ];
    let mut g = graph(nodes, vec![value("x", FLOAT, &[3])], &["y"]);
    g.initializer = vec![longs("i", &[], &[-1])];
    let g = import(g).unwrap();
    assert_eq!(f32s(&outputs(&g, &[("x", &[1.0, 2.0, 3.0])])["y"]), [1.0, 2.0, 3.0, 3.0]);
}

#[test]
fn types_that_we_do_not_compute_with_are_refused_by_name() {
    let said =
        import(graph(vec![node("Abs", &["x"], &["y"])], vec![value("x", 8, &[1])], &["y"])).unwrap_err().to_string();
    assert!(said.contains("'x'") && said.contains("string"), "{said}");
    let cast = with_int(node("Cast", &["x"], &["y"]), "to", 17);
    let said = import(graph(vec![cast], vec![value("x", FLOAT, &[1])], &["y"])).unwrap_err().to_string();
    assert!(said.contains("float8e4m3fn"), "{said}");
}

#[test]
fn an_attribute_of_the_wrong_type_is_an_error() {
    let bad = with_float(node("Softmax", &["x"], &["y"]), "axis", 1.0);
    let said = import(graph(vec![bad], vec![value("x", FLOAT, &[1, 2])], &["y"])).unwrap_err().to_string();
    assert!(said.contains("attribute 'axis' is FLOAT and must be INT"), "{said}");
}

#[test]
fn half_precision_types_survive() {
    let g = import(graph(vec![node("Neg", &["x"], &["y"])], vec![value("x", 10, &[2])], &["y"])).unwrap();
    assert_eq!(g.ty(g.outputs[0].value).dtype, DType::F16);
}

/// x [1, 64] times codes of 0x21 bytes and scales of one, in two formats.
fn packed(formats: &[(i64, i64)], scales: &[i64]) -> ModelProto {
    let mut codes = TensorProto::new();
    (codes.name, codes.data_type, codes.dims) = ("w".into(), 2, vec![4, 1, 32]);
    codes.raw_data = vec![0x21; 128].into();
    let nodes = formats.iter().enumerate().map(|(i, (bits, block))| {
        let y = format!("y{i}");
        let n = named(node("MatMulNBits", &["x", "w", "s"], &[&y]), &y);
        let mut n = [("N", 4), ("K", 64), ("bits", *bits), ("block_size", *block)]
            .into_iter()
            .fold(n, |n, (name, value)| with_int(n, name, value));
        n.domain = "com.microsoft".into();
        n
    });
    let names: Vec<String> = (0..formats.len()).map(|i| format!("y{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut g = graph(nodes.collect(), vec![value("x", FLOAT, &[1, 64])], &names);
    g.initializer = vec![codes, floats("s", scales, &[1.0; 4])];
    let mut m = model(17, g);
    m.opset_import.push(Default::default());
    (m.opset_import[1].domain, m.opset_import[1].version) = ("com.microsoft".into(), 1);
    m
}

#[test]
fn the_same_bytes_in_two_formats_are_two_matrices() {
    let graph = import_model(&packed(&[(4, 64), (2, 128)], &[4, 1]), &Options::default()).unwrap();
    let y = outputs(&graph, &[("x", &[1.0; 64])]);
    assert_eq!(y["y0"].to_f32(), [-416.0; 4], "codes 1 and 2 less 8, 32 times");
    assert_eq!(y["y1"].to_f32(), [-80.0; 4], "codes 1, 0, 2 and 0 less 2, 16 times");
}

#[test]
fn numbers_of_blocks_that_lie_otherwise_are_refused() {
    let refused = |m: &ModelProto| import_model(m, &Options::default()).unwrap_err().to_string();
    assert!(import_model(&packed(&[(4, 64)], &[4]), &Options::default()).is_ok(), "flat");
    let e = refused(&packed(&[(4, 64)], &[2, 2]));
    assert!(e.contains("[2, 2] should be [4, 1], or flat"), "{e}");
    let e = refused(&packed(&[(4, 1 << 40)], &[4, 1]));
    assert!(e.contains("a power of two from 16 to"), "{e}");
}
