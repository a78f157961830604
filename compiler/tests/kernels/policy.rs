//! The drawing sampler in plain code, which the compiler holds sampler graphs to. In: logits, the context's tokens, settings. Out: the
//! token, and how near the draw was to another. Promise: held to what a policy graph gave in another runtime.

pub use onnxcast::workflow::draw::{Drawn, draw_at, threefry, unit};
use onnxcast_runtime::sampling::Sampling;
use std::path::Path;

/// The token that follows `context`: its place is the counter.
pub fn draw(logits: &[f32], context: &[u32], s: &Sampling) -> Drawn {
    draw_at(logits, context, s, context.len() as u64)
}

#[test]
fn the_generator_gives_the_published_numbers() {
    // Known answers of the Random123 library, threefry2x64 with 20 rounds.
    let pi = [[0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89], [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344]];
    assert_eq!(threefry([0; 2], [0; 2]), [0xc2b6_e3a8_c2c6_9865, 0x6f81_ed42_f350_084d]);
    assert_eq!(threefry([u64::MAX; 2], [u64::MAX; 2]), [0xe02c_b7c4_d95d_277a, 0xd066_33d0_893b_8b68]);
    assert_eq!(threefry(pi[0], pi[1]), [0x263c_7d30_bb0f_0af1, 0x56be_8361_d331_1526]);
}

#[test]
fn plain_code_draws_what_the_policy_graph_drew() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/sampler.json");
    let data: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut near = 0;
    let cases = data["cases"].as_array().unwrap();
    for (i, case) in cases.iter().enumerate() {
        let float = |name: &str| case[name].as_f64().unwrap() as f32;
        let logits: Vec<f32> =
            case["sixteenths"].as_array().unwrap().iter().map(|x| x.as_i64().unwrap() as f32 / 16.0).collect();
        let sampling = Sampling {
            temperature: float("temperature"),
            top_k: case["top_k"].as_i64().unwrap(),
            top_p: float("top_p"),
            min_p: float("min_p"),
            repeat_penalty: 1.0,
            seed: case["seed"].as_u64().unwrap(),
            counter: None,
        };
        let drawn = draw_at(&logits, &[], &sampling, case["counter"].as_u64().unwrap());
        if u64::from(drawn.token) != case["token"].as_u64().unwrap() {
            assert!(drawn.margin < 1e-5, "case {i}: {drawn:?}, not {}", case["token"]);
            near += 1;
        }
    }
    assert!(cases.len() == 200 && near < 3, "{near} near ties of {}", cases.len());
}
