"""A model that looks at pictures, at real size with random weights, held against onnxruntime (docs/evaluation.md).

  vlm.py make DIR --seed N                writes DIR/{vision,embed,decoder}.onnx, fp32, their weights rounded to fp16
  vlm.py reference DIR --out FILE.npz     shows it a picture in onnxruntime, fp32 arithmetic, and records the greedy answer
  vlm.py raw DIR --program P …            the decoder's graph as it stands at 3, 128 and 1 rows, P against onnxruntime
  vlm.py run --program P --onnxcast C …   model, pools, references, and the verdicts of P's `run` and `verify`

In: a preset of tools/modelgen and a seed. Out: how far the picture's rows and the answer's logits are from the reference's.
Promise: the program's weights and the reference's are the same numbers; a step that was not compared is no pass.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))

from acceptance import Rounded, say, timed, verdict  # noqa: E402
from modelgen import cli, config, decoder, run, vlm  # noqa: E402
from modelgen.graph import ExternalData, Graph  # noqa: E402
from modelgen.weights import GgufTextRandomVision, GgufWeights  # noqa: E402

STEPS, BEFORE, AFTER = 80, 6, 12
COSINE, RAW = 0.9999, 4e-4


class Ahead:
    """Weights that are drawn by several threads before they are asked for, in the order in which they will be."""

    def __init__(self, weights, wanted: list[tuple], threads: int):
        self.weights, self.wanted, self.pool = weights, iter(wanted), ThreadPoolExecutor(threads)
        self.drawn = {}
        for _ in range(2 * threads):
            self.start()

    def start(self) -> None:
        for name, shape in self.wanted:
            if name not in self.drawn:
                self.drawn[name] = self.pool.submit(self.weights.get, name, shape)
                return

    def get(self, name: str, shape) -> np.ndarray:
        self.start()
        done = self.drawn.pop(name, None)
        return done.result() if done else self.weights.get(name, shape)


class Listed:
    """Notes what is asked for, and gives something of that shape."""

    def __init__(self):
        self.wanted = []

    def get(self, name: str, shape) -> np.ndarray:
        self.wanted.append((name, shape))
        return np.broadcast_to(np.float32(0), shape)


def make(out: str, preset: str, seed: int, gguf: str | None, threads: int) -> None:
    cfg, opt = config.VLMS[preset], decoder.Options()
    weights = Rounded(seed, cfg.text.tied)
    if gguf:
        weights = GgufTextRandomVision(GgufWeights(gguf), weights)
    os.makedirs(out, exist_ok=True)
    for name, build in (("vision", lambda g, w: vlm.build_vision(g, w, cfg, opt)),
                        ("embed", lambda g, w: vlm.build_embed(g, w, cfg, opt)),
                        ("decoder", lambda g, w: decoder.build_embeds_decoder(g, w, cfg.text, opt))):
        path, listed = os.path.join(out, name + ".onnx"), Listed()
        build(Graph("main_graph", cli.OPSET_PLAIN, Everything()), listed)
        data = ExternalData(path + ".data")
        graph = Graph("main_graph", cli.OPSET_PLAIN, data)
        build(graph, Ahead(weights, listed.wanted, threads))
        data.close()
        Path(path).write_bytes(graph.model().SerializeToString(deterministic=True))
    Path(out, "config.json").write_text(json.dumps(cfg.hf_config("fp32")))


class Everything(ExternalData):
    """No file; but every tensor is asked for."""

    def __init__(self):
        super().__init__("none", dry_run=True)

    def append(self, nbytes: int, make) -> tuple[int, int]:
        make()
        return super().append(nbytes, make)


def picture(size: int) -> np.ndarray:
    """[1,3,H,W] in -1..1: smooth, with edges, another one for every channel."""
    y, x = np.mgrid[0:size, 0:size].astype(np.float32) / size
    waves = [np.sin(9 * x + 2 * y), np.cos(7 * y) * np.sign(x - 0.4), np.sin(5 * x * y) + (y > 0.7)]
    return np.clip(np.stack(waves)[None], -1, 1).astype(np.float32)


def reference(folder: str, out: str, steps: int, seed: int, threads: int) -> None:
    """A prompt with a picture in its middle, random tokens around it, and what follows greedily."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        size = json.load(f)["vision_config"]["image_size"]
    looker = run.Looker(folder, threads)
    draw = np.random.Generator(np.random.PCG64(seed))
    before, after = draw.integers(0, looker.vocab, BEFORE).tolist(), draw.integers(0, looker.vocab, AFTER).tolist()
    pixels = picture(size)
    rows = timed("picture, in onnxruntime", lambda: looker.show(pixels))
    prompt = before + rows + after
    tokens, logits = timed("answer, in onnxruntime", lambda: run.greedy_logits(looker, prompt, steps, set()))
    logits = np.stack(logits)
    assert np.isfinite(logits).all()
    save(out, ids=np.array(prompt + tokens[:-1], np.int64), at=np.arange(len(prompt) - 1, len(prompt) - 1 + steps),
         logits=logits, prompts=np.array([len(prompt)], np.int64), steps=np.array([steps], np.int64), pictures=pixels,
         picture_rows=np.stack(looker.pictures), tokens=np.array(tokens, np.int64))


def save(path: str, **arrays) -> None:
    with open(path + ".part", "wb") as f:
        np.savez(f, **arrays)
    os.replace(path + ".part", path)


def rows_of_picture(a, program: str, pool: str, npz: str) -> tuple[float, float]:
    """Smallest cosine of a row, and the largest difference, of the program's tower against the reference's."""
    want = np.load(npz)
    (got,) = ran(program, a.bucket, pool, {a.pixels: want["pictures"]}).values()
    return apart(got.reshape(want["picture_rows"][0].shape), want["picture_rows"][0])


def ran(program: str, bucket: str, pool: str, inputs: dict) -> dict:
    """The outputs of a bucket of the program, by name."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(pool)) as folder:
        given, out = os.path.join(folder, "in.npz"), os.path.join(folder, "out.npz")
        save(given, **inputs)
        subprocess.run([program, "run", "--bucket", bucket, "--inputs", given, "--outputs", out, "--weights", "other:" + pool],
                       check=True)
        return dict(np.load(out))


def apart(got: np.ndarray, want: np.ndarray) -> tuple[float, float]:
    got, want = got.astype(np.float64), want.astype(np.float64)
    cosines = (got * want).sum(-1) / np.sqrt((got ** 2).sum(-1) * (want ** 2).sum(-1))
    return float(cosines.min()), float(np.abs(got - want).max())


def show(what: str, passed: bool, text: str) -> bool:
    print(f"{'ok  ' if passed else 'FAIL'} {what}: {text}", flush=True)
    return passed


def judged(a, precision: str, pool: str, npz: str) -> bool:
    program, what = a.program[precision], f"{precision} seed {a.seed}"
    cosine, worst = rows_of_picture(a, program, pool, npz)
    passed = show(f"{what}, picture", cosine >= COSINE, f"cosine of a row at least {cosine:.7f}, max abs {worst:.5f}")
    report = verdict(program, pool, npz, a.flags)
    for p in report["prompts"]:
        told = (f"{p['steps']} steps after {p['prompt_tokens']} tokens, cosine at least {p['min_cosine']:.7f}, max abs "
                f"{p['max_abs']:.4f}, best token same in {p['sure_same']} of {p['sure']} sure steps, {p['close_same']} of "
                f"{p['close']} near ties")
        passed &= show(f"{what}, answer", not p["failures"], "; ".join([told, *p["failures"][:3]]))
    return passed and report["passed"]


def raw_rows(a, model: str, pool: str) -> bool:
    """The decoder's graph as it stands, fp32: inputs by name, each number of rows against onnxruntime."""
    session, passed = run.session(os.path.join(model, "decoder.onnx"), a.threads), True
    draw = np.random.Generator(np.random.PCG64(a.seed))
    for rows in (3, 128, 1):
        inputs = {}
        for port in session.get_inputs():
            shape = [{"sequence_length": rows, "past_sequence_length": a.past, "total_sequence_length": a.past + rows}.get(d, d)
                     for d in port.shape]
            inputs[port.name] = draw.standard_normal(shape, np.float32)
        positions = np.arange(a.past, a.past + rows, dtype=np.int64)
        inputs["position_ids"] = positions[None]
        inputs["attention_mask"] = np.where(np.arange(a.past + rows) > positions[:, None], np.float32(-1e4), np.float32(0))[None, None]
        names = [o.name for o in session.get_outputs()]
        want = dict(zip(names, session.run(names, inputs)))
        got = ran(a.program["raw"], f"rows{rows}", pool, inputs)
        worst = max(float(np.abs(got[name] - want[name]).max()) for name in names)
        passed &= show(f"fp32 seed {a.seed}, {rows} rows as they stand", worst <= RAW, f"max abs {worst:.2e} of {len(names)} outputs")
    return passed


def pack(a, name: str, manifest: str, precision: str, model: str, pool: str) -> None:
    command = [a.onnxcast, "pack", name, "--manifest", manifest, "--onnx", model, "--precision", precision, "-o", pool]
    if precision == "int4":
        command += ["--method", a.method]
    timed(f"pool of {name}", lambda: subprocess.run(command, check=True))
    say(f"pool of {name}, {precision}: {os.path.getsize(pool):,} bytes")


def pooled(a, what: str, model: str, folder: Path) -> str:
    pool = str(folder / f"{what}.pool")
    if what == "raw":
        pack(a, "vlm-raw", a.raw_manifest, "fp32", model, pool)
    else:
        pack(a, a.name, a.manifest, what, model, pool)
    return pool


def check(a, folder: Path) -> list[bool]:
    """Pools are written side by side, and while onnxruntime answers; int4 comes last, as it puts its own weights into the model."""
    model, npz, passed = str(folder / "model"), str(folder / "rows.npz"), []
    timed("model", lambda: make(model, a.preset, a.seed, a.gguf, a.threads))
    order = sorted(a.program, key=["int4", "fp16", "fp32", "raw"].index)
    with ThreadPoolExecutor(len(order)) as workers:
        pools = {what: workers.submit(pooled, a, what, model, folder) for what in order}
        if set(order) - {"raw", "int4"}:
            reference(model, npz, a.steps, a.seed, a.threads)
        for what in (w for w in order if w != "int4"):
            pool = pools[what].result()
            passed.append(raw_rows(a, model, pool) if what == "raw" else judged(a, what, pool, npz))
            if what == "fp16" and a.golden:
                passed.append(tokens_of_goldens(a, pool))
            os.remove(pool)
        if "int4" in pools:
            pool = pools["int4"].result()
            from dequantise import dequantise
            timed("dequantised", lambda: dequantise(model, pool, model, a.threads))
            reference(model, npz, a.steps, a.seed, a.threads)
            passed.append(judged(a, "int4", pool, npz))
    return passed


def tokens_of_goldens(a, pool: str) -> bool:
    """Text alone: what the real text model answers (--gguf)."""
    done = subprocess.run([a.program["fp16"], "verify", "--golden", a.golden, "--weights", "other:" + pool],
                          stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="")
    return show(f"fp16, {a.golden}", done.returncode == 0, f"exit code {done.returncode}")


def cmd_run(a) -> None:
    folder = Path(tempfile.mkdtemp(dir=a.work, prefix="acceptance-vlm-"))
    try:
        passed = check(a, folder)
    finally:
        if not a.keep:
            shutil.rmtree(folder)
    print(f"{sum(passed)} of {len(passed)} within bounds", flush=True)
    if not all(passed):
        raise SystemExit(1)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(required=True)
    m = sub.add_parser("make")
    m.add_argument("dir")
    m.set_defaults(fn=lambda a: make(a.dir, a.preset, a.seed, a.gguf, a.threads))
    r = sub.add_parser("reference")
    r.add_argument("dir")
    r.add_argument("--out", required=True)
    r.set_defaults(fn=lambda a: reference(a.dir, a.out, a.steps, a.seed, a.threads))
    s = sub.add_parser("run")
    s.add_argument("--program", action="append", required=True, metavar="WHAT=PATH", type=lambda t: t.split("=", 1),
                   help="an executable, and what it is compiled as: fp32, fp16, int4, or raw (vlm-raw.toml)")
    s.add_argument("--onnxcast", required=True, help="the compiler, for its `pack`")
    s.add_argument("--name", default="vlm-random")
    s.add_argument("--manifest", default=str(HERE / "vlm-random.toml"))
    s.add_argument("--raw-manifest", default=str(HERE / "vlm-raw.toml"))
    s.add_argument("--bucket", default="vision")
    s.add_argument("--pixels", default="pixel_values", help="the tower's input")
    s.add_argument("--past", type=int, default=384, help="rows of the cache before those of a raw run")
    s.add_argument("--flags", default="", help="more flags of `verify`, in one word")
    s.add_argument("--method", default="nearest", help="how an int4 pool is made (`onnxcast pack --method`)")
    s.add_argument("--golden", help="a golden file whose prompts are text, for fp16 with --gguf")
    s.add_argument("--keep", action="store_true", help="leave models, pools and rows where they are")
    s.add_argument("--work", help="where gigabytes may be written [the system's temporary folder]")
    s.set_defaults(fn=cmd_run)
    for each in (m, r, s):
        each.add_argument("--seed", type=int, default=1)
        each.add_argument("--threads", type=int, default=os.cpu_count() or 2)
    for makes in (m, s):
        makes.add_argument("--preset", choices=sorted(config.VLMS), default="smolvlm2-2.2b")
        makes.add_argument("--gguf", help="real text weights (preset smolvlm-256m: SmolLM2-135M)")
    for refers in (r, s):
        refers.add_argument("--steps", type=int, default=STEPS)
    a = p.parse_args()
    if "program" in a:
        a.program = dict(a.program)
    a.fn(a)


if __name__ == "__main__":
    main()
