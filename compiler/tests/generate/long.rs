//! Prompts almost as long as a context of 8,192, in chunks and in other pieces: the first and the last tokens one by one, chunks of another
//! length between. `ONNXCAST_EVERY_TOKEN=1` takes all of them one by one, which is minutes on a CPU device.

use super::*;
use half::f16;
use onnx_ir::{Message, ModelProto};

const CONTEXT: usize = 8192;
const CHUNK: usize = 256;

/// A decoder of com.microsoft operators whose rotary tables are as long as the context, in a folder of its own.
fn long_decoder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let from = project().join("tests/data/contrib/decoders/mid");
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, dir.path().join(path.file_name().unwrap())).unwrap();
    }
    let onnx = dir.path().join("model.onnx");
    let mut model = ModelProto::parse_from_bytes(&std::fs::read(&onnx).unwrap()).unwrap();
    for table in model.graph.as_mut().unwrap().initializer.iter_mut().filter(|t| t.name.ends_with("_cache")) {
        let half = table.dims[1] as usize;
        let turn: fn(f64) -> f64 = if table.name == "cos_cache" { f64::cos } else { f64::sin };
        let angle = |i: usize| (i / half) as f64 / 10000f64.powf((i % half) as f64 / half as f64);
        let values = (0..CONTEXT * half).flat_map(|i| f16::from_f64(turn(angle(i))).to_le_bytes());
        table.raw_data = values.collect::<Vec<u8>>().into();
        table.dims[0] = CONTEXT as i64;
        // Inline: a data file would have to be rewritten.
        let mut bytes = std::mem::take(table);
        bytes.external_data.clear();
        bytes.data_location = Default::default();
        *table = bytes;
    }
    std::fs::write(&onnx, model.write_to_bytes().unwrap()).unwrap();
    dir
}

/// Runs a piece of a prompt that stands at `pos`.
fn feed(engine: &mut Engine, bucket: u32, pos: usize, piece: &[u32], part: Part) {
    let step = Step {
        pos: pos as u32,
        rows: piece.len() as u32,
        limit: 2,
        context: CONTEXT as u32,
        draw: Sampling::default().draw(),
        ..bytemuck::Zeroable::zeroed()
    };
    engine.set_step(&step).unwrap();
    engine.set_tokens(piece).unwrap();
    engine.run(bucket, part).unwrap();
}

/// Ends of pieces of a prompt: such that chunks never are.
fn pieces(tokens: usize) -> Vec<usize> {
    if std::env::var_os("ONNXCAST_EVERY_TOKEN").is_some() {
        return (1..=tokens).collect();
    }
    let last = tokens - 40;
    let mut ends: Vec<usize> = (1..=40).collect();
    while let Some(end) = ends.last().map(|end| end + 199).filter(|end| *end < last) {
        ends.push(end);
    }
    ends.extend(last..=tokens);
    ends
}

#[test]
fn a_prompt_of_8000_tokens_in_chunks_is_the_prompt_in_other_pieces_and_token_by_token() {
    let dir = long_decoder();
    let prompt: Vec<u32> = (0..8000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) % 256).collect();
    let mut engine = decoder(dir.path().join("model.onnx").to_str().unwrap(), CONTEXT, CHUNK, Precision::Fp16);
    engine.reset_states().unwrap();
    let ends = pieces(prompt.len());
    // After about half of the tokens, and after all of them.
    let seen = [ends[ends.len() / 2], prompt.len()];
    let (mut pos, mut others) = (0, vec![]);
    for end in ends {
        let (bucket, part) = (u32::from(end == pos + 1), if seen.contains(&end) { Part::Whole } else { Part::Body });
        feed(&mut engine, bucket, pos, &prompt[pos..end], part);
        if seen.contains(&end) {
            others.push(engine.logits().unwrap());
        }
        pos = end;
    }
    for (length, single) in seen.into_iter().zip(others) {
        let (_, chunked) = generate(&mut engine, CONTEXT as u32, &prompt[..length], 1).remove(0);
        let single: Vec<f64> = single.iter().map(|x| f64::from(*x)).collect();
        let chunked: Vec<f64> = chunked.iter().map(|x| f64::from(*x)).collect();
        let spread = single.iter().fold(0f64, |most, x| most.max(x.abs()));
        let far = raw::distance(&chunked, &single);
        assert!(far < 0.05 && spread > 1.0, "{length} tokens: logits of up to {spread} are {far} away");
    }
}
