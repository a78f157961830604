use super::*;
use crate::graph::{Graph, Op, Output, Ty, eval, parse, print, verify};
use std::collections::HashMap;

/// A lookup, two layers' worth of products, and a head that is the table transposed.
fn tied(k: usize) -> Graph {
    let text = format!(
        "graph tied
input %tokens: i64[1,2]
const %table: f32[40,{k}] = random(1, 0.5)
const %gate: f32[96,{k}] = random(2, 0.3)
const %up: f32[96,{k}] = random(3, 0.3)
const %down: f32[96,{k}] = random(4, 0.3)
%x = Gather(%table, %tokens) axis=0
%h = GatedLinear(%x, %gate, %up) act=Silu nk
%y = Linear(%h, %down)
"
    );
    let mut graph = parse(&text).unwrap();
    let find = |name: &str| graph.values.iter().position(|v| v.name == name).unwrap();
    let (y, table) =
        (crate::graph::ValueId(find("y") as u32), graph.constant(crate::graph::ValueId(find("table") as u32)));
    let rows: Vec<f32> = bytemuck::pod_collect_to_vec(table.unwrap().bytes().unwrap());
    let flipped: Vec<f32> = (0..k * 40).map(|i| rows[i % 40 * k + i / 40]).collect();
    let head = graph.add_const("head", Tensor::f32(&[k, 40], &flipped));
    let op = Op::Linear { norm: None, bias: false, act: None, residual: false, nk: false };
    let logits = graph.push(op, &[Some(y), Some(head)], "logits").unwrap()[0];
    graph.outputs.push(Output { name: "logits".into(), value: logits });
    graph
}

fn bucket(graph: Graph) -> BucketGraph {
    BucketGraph { name: "run".into(), file: "one".into(), rows: 2, decoder: false, graph }
}

fn quantised(graph: Graph, settings: &Settings) -> (Graph, Report) {
    let mut buckets = [bucket(graph)];
    let report = run(&mut buckets, &Lock::default(), settings, &mut Nearest::default()).unwrap();
    let [bucket] = buckets;
    verify(&bucket.graph).unwrap();
    (bucket.graph, report)
}

fn layouts(graph: &Graph) -> Vec<String> {
    let layout = |v: &crate::graph::Value| match &v.def {
        Def::Const(t) => Some(format!("{} {}", v.name, t.quant().map_or("kept".into(), Quant::name))),
        _ => None,
    };
    graph.values.iter().filter_map(layout).collect()
}

#[test]
fn a_tied_table_is_one_group_with_the_table_s_bits() {
    let (graph, report) = quantised(tied(64), &Settings::default());
    assert_eq!(
        layouts(&graph),
        ["table q8_g64_mid", "gate q4_g64_min", "up q4_g64_min", "down q4_g32_min", "head q8_g64_mid"]
    );
    let names: Vec<&str> = report.rows.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["table", "gate+up", "down"]);
    let of = |name: &str| {
        graph.values.iter().find_map(|v| {
            if v.name == name {
                match &v.def {
                    Def::Const(t) => Some(t),
                    _ => None,
                }
            } else {
                None
            }
        })
    };
    let (table, head) = (of("table").unwrap(), of("head").unwrap());
    assert!(Arc::ptr_eq(table.encoded().unwrap(), head.encoded().unwrap()), "encoded once");
}

#[test]
fn the_interpreter_computes_with_the_codes() {
    let plain = tied(64);
    let (graph, _) = quantised(plain.clone(), &Settings { table_bits: 4, ..Settings::default() });
    let run = |g: &Graph| {
        let inputs = HashMap::from([("tokens".to_string(), eval::Array::i64(&[1, 2], &[3, 17]))]);
        eval::run(g, &inputs).unwrap()["logits"].to_f32()
    };
    let (exact, got) = (run(&plain), run(&graph));
    let far: f32 = exact.iter().zip(&got).map(|(a, b)| (a - b).powi(2)).sum();
    let size: f32 = exact.iter().map(|a| a * a).sum();
    assert!(far > 0.0 && far < 0.1 * size, "{far} of {size}");
}

#[test]
fn columns_that_no_group_divides_stay_in_fp16_and_the_report_says_why() {
    let (graph, report) = quantised(tied(40), &Settings::default());
    assert_eq!(layouts(&graph), ["table kept", "gate kept", "up kept", "down q4_g32_min", "head kept"]);
    let text = report.text();
    assert!(text.contains("rows_f16") && text.contains("gate+up  (40 columns are no multiple of 32)"), "{text}");
}

#[test]
fn without_weights_the_lock_says_how_each_is_stored() {
    let settings = Settings::default();
    let mut with = [bucket(tied(64))];
    let report = run(&mut with, &Lock::default(), &settings, &mut Nearest::default()).unwrap();
    let plan = |buckets: &[BucketGraph], lock: &Lock| {
        let precision = crate::plan::Precision::Int4;
        let select = &crate::plan::Shaders;
        let request =
            crate::plan::Request { name: "t", storage: precision.into(), context: None, buckets, lock, select };
        crate::plan::assemble(&request).unwrap()
    };
    let mut first = plan(&with, &Lock::default());
    report.note(&mut first.lock);
    let mut graph = tied(64);
    for value in &mut graph.values {
        if let Def::Const(t) = &mut value.def {
            t.data = crate::graph::Data::Absent(value.name.clone());
        }
    }
    let mut without = [bucket(graph)];
    let again = run(&mut without, &first.lock, &settings, &mut Nearest::default()).unwrap();
    let mut second = plan(&without, &first.lock);
    again.note(&mut second.lock);
    assert_eq!(print(&with[0].graph), print(&without[0].graph));
    assert_eq!((second.program, second.lock), (first.program.clone(), first.lock));
    let tables = first.program.tensors.iter().filter(|t| t.layout == "q8_g64_mid").count();
    assert_eq!(tables, 1, "lookup and head share one tensor: {:?}", first.program.tensors);
    assert!(!without[0].graph.values.iter().any(|v| v.ty == Ty::new(DType::F16, &[])));
}

#[test]
fn what_the_lock_knows_from_the_same_source_is_not_quantised_again() {
    let settings = Settings::default();
    let mut with = [bucket(tied(64))];
    let report = run(&mut with, &Lock::default(), &settings, &mut Nearest::default()).unwrap();
    let precision = crate::plan::Precision::Int4;
    let (empty, select) = (Lock::default(), &crate::plan::Shaders);
    let request = crate::plan::Request {
        name: "t",
        storage: precision.into(),
        context: None,
        buckets: &with,
        lock: &empty,
        select,
    };
    let mut lock = crate::plan::assemble(&request).unwrap().lock;
    report.note(&mut lock);
    let absent = |lock: &Lock, settings: &Settings, graph: Graph| {
        let mut buckets = [bucket(graph)];
        let known = forget(&mut buckets, lock, &settings.named("nearest")).unwrap();
        let constants = buckets[0].graph.values.iter().filter_map(|v| match &v.def {
            Def::Const(t) => Some(t.is_absent()),
            _ => None,
        });
        let constants: Vec<bool> = constants.collect();
        assert!(constants.iter().all(|absent| *absent == known), "all or none");
        known
    };
    assert!(absent(&lock, &settings, tied(64)));
    assert!(!absent(&lock, &Settings { group: 32, ..settings.clone() }, tied(64)), "other settings");
    let mut other = tied(64);
    let down = other.values.iter_mut().find(|v| v.name == "down").unwrap();
    down.def = Def::Const(Tensor::f32(&[96, 96], &[0.25; 96 * 96]));
    assert!(!absent(&lock, &settings, other), "other weights");
    assert!(!absent(&Lock::default(), &settings, tied(64)), "no lock");
}

#[test]
fn without_a_calibration_the_weights_own_error_is_guarded() {
    let of = |guard: f64| quantised(tied(64), &Settings { guard, ..Settings::default() });
    let (graph, report) = of(0.02);
    assert_eq!(
        layouts(&graph),
        ["table q8_g64_mid", "gate q8_g64_min", "up q8_g64_min", "down q8_g32_min", "head q8_g64_mid"]
    );
    assert!(report.text().contains("gate+up  (4 bits leave an error of "), "{}", report.text());
    assert!(report.summary().unwrap().ends_with("in 3 matrices, 2 of them stored otherwise than asked for"));
    let (graph, report) = of(1e-6);
    assert!(layouts(&graph).iter().all(|l| l.ends_with("kept")));
    assert!(report.summary().unwrap().starts_with("16.000 bits") && report.text().contains("(8 bits leave"));
}

#[test]
fn every_bucket_gets_the_same_codes_once() {
    let mut buckets = [bucket(tied(64)), BucketGraph { name: "other".into(), ..bucket(tied(64)) }];
    let report = run(&mut buckets, &Lock::default(), &Settings::default(), &mut Nearest::default()).unwrap();
    assert_eq!(report.rows.len(), 3);
    assert_eq!(layouts(&buckets[0].graph), layouts(&buckets[1].graph));
}

#[test]
fn salient_columns_are_shared_by_joined_parts_counted_by_the_report_and_never_of_a_table() {
    let plain = quantised(tied(64), &Settings::default()).1;
    let (graph, report) = quantised(tied(64), &Settings { salient: 4, ..Settings::default() });
    assert_eq!(
        layouts(&graph),
        ["table q8_g64_mid", "gate q4_g64_min_s4", "up q4_g64_min_s4", "down q4_g32_min_s4", "head q8_g64_mid"]
    );
    let encoded = |name: &str| {
        let value = graph.values.iter().position(|v| v.name == name).unwrap();
        graph.constant(crate::graph::ValueId(value as u32)).unwrap().encoded().unwrap().clone()
    };
    let mut bytes = 0;
    let mut count = |b: &[u8]| {
        bytes += b.len();
        Ok(())
    };
    // Parts of unlike columns cannot lie together.
    crate::graph::quant::packed(&[&encoded("gate"), &encoded("up")], &mut count).unwrap();
    assert_eq!(report.rows[1].bytes(), bytes);
    assert_eq!(bytes - plain.rows[1].bytes(), 16 + 2 * 2 * 96 * 4, "column numbers and corrections");
    assert!(report.rows[1].error < plain.rows[1].error);
    assert!(report.text().contains("gate+up  (4 columns in fp16 had "), "{}", report.text());
    assert!(report.settings.as_ref().unwrap().contains("q4_g64_min_s4") && !report.text().contains("table  ("));
    assert_eq!(report.summary().unwrap().split_once(" bits").unwrap().1, " a weight in 3 matrices");
}

#[test]
fn without_inputs_the_columns_of_the_largest_error_are_salient() {
    let (n, k) = (16, 64);
    // Columns 9 and 50 hold what no four bits can: all others lie on the grid.
    let value =
        |r: usize, c: usize| ((r * 7 + c * 5) % 16) as f32 * 0.0625 + if c == 9 || c == 50 { 0.03 } else { 0.0 };
    let rows: Vec<f32> = (0..n * k).map(|i| value(i / k, i % k)).collect();
    let quant = Quant { salient: 2, ..Settings::default().linear() };
    let (encoded, salient) = salient::nearest(&rows, (n, k), quant, salient::Minds::default()).unwrap();
    assert_eq!((salient.columns.as_slice(), salient.by_input), (&[9, 50][..], false));
    assert!(relative(&encoded, &rows) < 1e-4, "{}", relative(&encoded, &rows));
}

#[test]
fn more_than_an_eighth_of_the_columns_cannot_be_salient() {
    let refused = |salient: u16| {
        let settings = Settings { salient, ..Settings::default() };
        run(&mut [bucket(tied(64))], &Lock::default(), &settings, &mut Nearest::default()).err().map(|e| e.to_string())
    };
    assert_eq!(refused(8), None);
    let e = refused(9).unwrap();
    assert!(e.contains("gate+up") && e.contains("salient is 9; 64 columns allow for 8 at most"), "{e}");
}
