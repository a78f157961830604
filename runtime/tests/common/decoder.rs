//! A decoder of three kernels whose next token is a plain function of all tokens so far: state row i holds token i, the logits
//! peak at `next(tokens)`.

use super::*;

pub const VOCAB: u32 = 97;

/// What the kernels compute, in plain code.
pub fn next(tokens: &[u32]) -> u32 {
    tokens.iter().zip(1u32..).fold(11, |sum, (t, i)| (sum + t * i) % VOCAB)
}

const STEP: &str = "layout(buffer_reference, std430, buffer_reference_align = 4) buffer Step {
    uint pos; uint rows; uint done; uint produced; uint limit; uint context; uint stop_count; uint reserved; uint stops[16]; };
";

fn store() -> (Kernel, Code) {
    let glsl = format!(
        "{HEAD}{STEP} layout(push_constant) uniform P {{ Step s; U tokens; U cache; }};
        void main() {{ uint i = gl_GlobalInvocationID.x; if (s.done == 0 && i < s.rows) cache.v[s.pos + i] = tokens.v[i]; }}"
    );
    (kernel("store", 3, 0b100), compile("store", &glsl))
}

fn score() -> (Kernel, Code) {
    let glsl = format!(
        "{HEAD}{STEP} layout(push_constant) uniform P {{ Step s; U cache; F logits; }};
        void main() {{
            uint v = gl_GlobalInvocationID.x;
            if (v >= {VOCAB} || s.done != 0) return;
            uint sum = 11;
            for (uint i = 0; i < s.pos + s.rows; i++) sum = (sum + cache.v[i] * (i + 1)) % {VOCAB};
            logits.v[v] = -abs(float(int(v) - int(sum)));
        }}"
    );
    (kernel("score", 3, 0b100), compile("score", &glsl))
}

fn sample() -> (Kernel, Code) {
    let glsl = format!(
        "{HEAD}{STEP} layout(push_constant) uniform P {{ Step s; F logits; U tokens; U ring; }};
        void main() {{
            if (gl_GlobalInvocationID.x != 0 || s.done != 0) return;
            uint best = 0;
            for (uint v = 1; v < {VOCAB}; v++) if (logits.v[v] > logits.v[best]) best = v;
            s.pos += s.rows;
            s.rows = 1;
            tokens.v[0] = best;
            ring.v[s.produced % 1024] = best;
            s.produced++;
            for (uint i = 0; i < s.stop_count; i++) if (s.stops[i] == best) s.done = 1;
            if (s.done == 0 && s.produced == s.limit) s.done = 2;
            if (s.done == 0 && s.pos == s.context) s.done = 3;
        }}"
    );
    (kernel("sample", 4, 0b1111), compile("sample", &glsl))
}

pub fn decoder(context: u32, chunk: u32) -> (Program, Vec<Code>) {
    let kernels = [store(), score(), sample()];
    let bucket = |name: &'static str, rows: u32| Bucket {
        name: name.into(),
        rows,
        arena_bytes: 0,
        inputs: vec![].into(),
        outputs: vec![].into(),
        blocks: vec![
            Block {
                phase: Phase::Body,
                table: vec![vec![Arg::State(0)].into()].into(),
                dispatches: vec![dispatch(0, rows, &[Arg::Step, Arg::Tokens, Arg::Column(0)], true, "store")].into(),
            },
            Block {
                phase: Phase::Head,
                table: vec![vec![].into()].into(),
                dispatches: vec![
                    dispatch(1, VOCAB, &[Arg::Step, Arg::State(0), Arg::Logits], true, "score"),
                    dispatch(2, 1, &[Arg::Step, Arg::Logits, Arg::Tokens, Arg::Ring], true, "sample"),
                ]
                .into(),
            },
        ]
        .into(),
    };
    let program = Program {
        name: "toy".into(),
        plan_hash: "00".into(),
        kernels: kernels.iter().map(|(k, _)| k.clone()).collect::<Vec<_>>().into(),
        variants: vec![].into(),
        tensors: vec![].into(),
        states: vec![State {
            name: "cache".into(),
            bytes: u64::from(context) * 4,
            shape: vec![context].into(),
            dtype: Elem::U32,
        }]
        .into(),
        buckets: vec![bucket("prefill", chunk), bucket("decode", 1)].into(),
        decoder: Some(Decoder { context, vocab: VOCAB, decode: 1, prefill: 0, pictures: None }),
    };
    (program, kernels.into_iter().map(|(_, code)| code).collect())
}
