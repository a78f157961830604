"""A model of real size with random weights, held against onnxruntime (docs/evaluation.md).

  acceptance.py make DIR --seed N                     writes DIR/model.onnx, fp32, its weights rounded to fp16
  acceptance.py reference DIR --out FILE.npz          runs it in onnxruntime, fp32 arithmetic; keeps whole rows of logits
  acceptance.py dequantise DIR POOL --out DIR2        the same model with the weights that an int4 pool stands for
  acceptance.py run --program P --onnxcast C …        all of it for several seeds, and the verdict of P's `verify`

In: a preset of tools/modelgen and a seed. Out: rows of logits of one token sequence, which every prompt length is a prefix of.
Promise: the program's weights and the reference's are the same numbers, so what differs is arithmetic and storage of the cache.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from modelgen import cli, config, run  # noqa: E402
from modelgen.weights import RandomWeights  # noqa: E402

PROMPTS, STEPS = "5,255,256,257,700", 64


class Rounded(RandomWeights):
    """Values that fp16 holds exactly."""

    def get(self, name: str, shape) -> np.ndarray:
        return super().get(name, shape).astype(np.float16).astype(np.float32)


def say(text: str) -> None:
    print(f"acceptance: {text}", file=sys.stderr, flush=True)


def make(out: str, preset: str, seed: int) -> None:
    cfg = config.DECODERS[preset]
    flags = argparse.Namespace(dtype="fp32", logits_dtype=None, format="optimum", attn="eager", shapes="trace", block=32,
                               zp="uint8", direct_int4=False, float_head=False, batch="batch_size", dry_run=False,
                               graph_only=False)
    cli.decode_files(out, Rounded(seed, cfg.tied), cfg, flags)


def sequence(vocab: int, length: int, seed: int) -> list[int]:
    return np.random.Generator(np.random.PCG64(seed)).integers(0, vocab, length).tolist()


def reference(folder: str, out: str, prompts: list[int], steps: int, seed: int, threads: int) -> None:
    """One pass over the whole sequence; the rows that the prompts and their steps need."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        vocab = json.load(f)["vocab_size"]
    ids = sequence(vocab, max(prompts) + steps - 1, seed)
    at = sorted({p - 1 + s for p in prompts for s in range(steps)})
    decoder = run.Decoder(run.session(os.path.join(folder, "model.onnx"), threads))
    logits = decoder.feed(ids)[at]
    assert np.isfinite(logits).all()
    part = out + ".part"
    with open(part, "wb") as f:
        np.savez(f, ids=np.array(ids, np.int64), at=np.array(at, np.int64), logits=logits,
                 prompts=np.array(prompts, np.int64), steps=np.array([steps], np.int64))
    os.replace(part, out)


def timed(what: str, work):
    start = time.time()
    result = work()
    say(f"{what}: {time.time() - start:.1f} s")
    return result


def verdict(program: str, pool: str, npz: str, flags: str) -> dict:
    command = [program, "verify", "--golden", npz, "--json", "--weights", "other:" + pool]
    done = subprocess.run(command + flags.split(), stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 9):
        raise SystemExit(f"acceptance: {' '.join(command)}: exit code {done.returncode}")
    return json.loads(done.stdout)


def show(seed: int, report: dict) -> None:
    for p in report["prompts"]:
        mark = "FAIL" if p["failures"] else "ok  "
        print(f"{mark} {report['precision']} seed {seed}, prompt of {p['prompt_tokens']}: {p['steps']} steps, cosine at least "
              f"{p['min_cosine']:.7f}, max abs {p['max_abs']:.4f}, best token same in {p['sure_same']} of {p['sure']} sure "
              f"steps, {p['close_same']} of {p['close']} near ties", flush=True)
        for failure in p["failures"][:3]:
            print(f"     {failure}", flush=True)


def one_seed(a, seed: int, folder: Path) -> bool:
    model, pool, npz = str(folder / "model"), str(folder / "weights.pool"), str(folder / "rows.npz")
    timed(f"seed {seed}, model", lambda: make(model, a.preset, seed))
    pack = [a.onnxcast, "pack", a.name, "--manifest", a.manifest, "--onnx", model, "-o", pool]
    if a.precision:
        pack += ["--precision", a.precision]
    if a.method:
        pack += ["--method", a.method]
    timed(f"seed {seed}, pool", lambda: subprocess.run(pack, check=True))
    read = model
    if a.precision == "int4":
        read = str(folder / "dequantised")
        from dequantise import dequantise
        timed(f"seed {seed}, dequantised", lambda: dequantise(model, pool, read))
    timed(f"seed {seed}, reference", lambda: reference(read, npz, a.prompts, a.steps, seed, a.threads))
    report = timed(f"seed {seed}, program", lambda: verdict(a.program, pool, npz, a.flags))
    show(seed, report)
    return report["passed"]


def cmd_run(a) -> None:
    passed = []
    for seed in a.seeds:
        folder = tempfile.mkdtemp(dir=a.work, prefix=f"acceptance-{a.precision or 'fp16'}-{seed}-")
        try:
            passed.append(one_seed(a, seed, Path(folder)))
        finally:
            if not a.keep:
                shutil.rmtree(folder)
    print(f"{sum(passed)} of {len(passed)} seeds within bounds", flush=True)
    if not all(passed):
        raise SystemExit(1)


def numbers(text: str) -> list[int]:
    return [int(n) for n in text.split(",")]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(required=True)
    s = sub.add_parser("make")
    s.add_argument("dir")
    s.add_argument("--seed", type=int, default=1)
    s.add_argument("--preset", default="qwen2.5-0.5b")
    s.set_defaults(fn=lambda a: make(a.dir, a.preset, a.seed))
    r = sub.add_parser("reference")
    r.add_argument("dir")
    r.add_argument("--out", required=True)
    r.add_argument("--seed", type=int, default=1, help="of the token sequence")
    r.set_defaults(fn=lambda a: reference(a.dir, a.out, a.prompts, a.steps, a.seed, a.threads))
    s = sub.add_parser("dequantise")
    s.add_argument("dir")
    s.add_argument("pool")
    s.add_argument("--out", required=True)
    s.set_defaults(fn=lambda a: __import__("dequantise").dequantise(a.dir, a.pool, a.out))
    s = sub.add_parser("run")
    s.add_argument("--program", required=True, help="the executable")
    s.add_argument("--onnxcast", required=True, help="the compiler, for its `pack`")
    s.add_argument("--name", default="qwen-random")
    s.add_argument("--manifest", default=str(HERE / "qwen-random.toml"))
    s.add_argument("--preset", default="qwen2.5-0.5b")
    s.add_argument("--precision", help="as the program was compiled, where the manifest says otherwise")
    s.add_argument("--seeds", type=numbers, default=[1, 2, 3])
    s.add_argument("--flags", default="", help="more flags of `verify`, in one word")
    s.add_argument("--keep", action="store_true", help="leave models, pools and rows where they are")
    s.add_argument("--method", help="how an int4 pool is made (`onnxcast pack --method`)")
    s.add_argument("--work", help="where gigabytes may be written [the system's temporary folder]")
    s.set_defaults(fn=cmd_run)
    for runs in (r, s):
        runs.add_argument("--prompts", type=numbers, default=numbers(PROMPTS))
        runs.add_argument("--steps", type=int, default=STEPS)
        runs.add_argument("--threads", type=int, default=os.cpu_count() or 2)
    a = p.parse_args()
    a.fn(a)


if __name__ == "__main__":
    main()
