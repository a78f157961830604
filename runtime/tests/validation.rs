//! Everything the runtime does, under the Khronos validation layer: not a message.

mod common;

use common::decoder::decoder;
use common::layered;
use common::skipped::skipped;
use onnxcast_runtime::array::Array;
use onnxcast_runtime::device::{Device, Options as DeviceOptions};
use onnxcast_runtime::engine::{Engine, Options};
use onnxcast_runtime::error::Kind;
use onnxcast_runtime::generator::Generator;
use onnxcast_runtime::generator::Scorer;
use onnxcast_runtime::recorder::{Part, RecordOptions};
use onnxcast_runtime::session::{Options as SessionOptions, Session};
use onnxcast_runtime::weights::WeightSource;

#[test]
fn raw_runs_profiles_and_answers_give_no_message() {
    let device = match Device::open(&DeviceOptions { validation: true, ..Default::default() }) {
        Err(e) if e.kind == Kind::NoDevice && e.to_string().contains("VK_LAYER") => {
            return skipped("raw_runs_profiles_and_answers_give_no_message", e);
        }
        other => other.unwrap(),
    };
    let (program, code, weights) = layered(300);
    let record = RecordOptions { timestamps: device.limits().tick_ns > 0.0, full_barriers: true, stop_after: None };
    let options = Options { record, guard_bytes: 256, staging: true, segment_bytes: 8192, ..Default::default() };
    let mut engine =
        Engine::new(&device, program, &code, &WeightSource::Bytes(weights), options, &mut |_, _| {}).unwrap();
    let x = Array::f32(&[300], &[1.0; 300]);
    engine.run_raw(0, &[("x", &x)]).unwrap();
    engine.check_guards().unwrap();
    if record.timestamps {
        engine.timings(0, Part::Whole).unwrap();
    }
    drop(engine);

    let (program, code) = decoder(50, 8);
    let engine =
        Engine::new(&device, program, &code, &WeightSource::none(), Options::default(), &mut |_, _| {}).unwrap();
    let mut session = Session::new(engine, &[], SessionOptions::default()).unwrap();
    session.begin(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 20).unwrap();
    let mut tokens = Vec::new();
    while session.advance(&mut tokens).unwrap().is_none() {}
    assert_eq!(tokens.len(), 20);
    session.prompt_logits(&[1, 2]).unwrap();
    session.next_logits(3).unwrap();
    drop(session);
    assert_eq!(device.validation_messages(), Vec::<String>::new());
}
