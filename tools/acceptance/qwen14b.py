"""Qwen2.5-14B's int4 graph with random weights, held against torch and against itself with weights left in host memory.

  qwen14b.py make DIR --seed N             writes the model as onnxruntime-genai's builder would: 8,330,399,744 bytes of data
  qwen14b.py reference DIR --out FILE.npz  runs it in torch (or numpy), fp32, layer by layer from the packed weights
  qwen14b.py pack DIR POOL --onnxcast C    packs the pool, and tells time and memory
  qwen14b.py run --program P --onnxcast C  all of it, then P: verify, the same tokens in every arm, speeds

In: a preset of tools/modelgen and a seed. Out: a table, and everything under --out. Promise: the reference is written from the operators'
definitions in onnxruntime, without the compiler's code; what was not run is no pass.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))

from acceptance import say, sequence, show, timed  # noqa: E402
from modelgen import cli, config  # noqa: E402
from modelgen.weights import RandomWeights  # noqa: E402

PROMPTS, STEPS = "5,255,256,257,700,8000", 64
ARMS = [[]] + [["--gpu-budget", budget, "--offload", mode] for budget in ("6G", "2G", "0") for mode in ("read", "stream")]
# Query rows of attention that are in memory at once.
ROWS = 512


def make(out: str, preset: str, seed: int) -> None:
    cfg = config.DECODERS[preset]
    flags = argparse.Namespace(dtype="fp16", logits_dtype=None, format="genai", attn="eager", shapes="trace", block=32, zp="none",
                               direct_int4=True, float_head=False, batch="batch_size", quantized_embedding=True,
                               dry_run=False, graph_only=False)
    cli.decode_files(out, RandomWeights(seed, cfg.tied), cfg, flags)


class Numpy:
    """Arrays of the host."""

    xp = np

    def put(self, a):
        return np.asarray(a)

    def f32(self, a):
        return a.astype(np.float32)

    def back(self, a):
        return a


class Torch:
    """Arrays of a GPU; fp32 is fp32, not the matrix units' 19 bits."""

    def __init__(self, device: str):
        import torch
        torch.backends.cuda.matmul.allow_tf32 = False
        self.xp, self.device = torch, device

    def put(self, a):
        return self.xp.from_numpy(np.array(a)).to(self.device)

    def f32(self, a):
        return a.float()

    def back(self, a):
        return a.cpu().numpy()


class Weights:
    """Initialisers by name, out of the mapped data file."""

    def __init__(self, folder: str, arrays):
        self.arrays = arrays
        graph = onnx.load(os.path.join(folder, "model.onnx"), load_external_data=False).graph
        self.inits = {i.name: i for i in graph.initializer}
        self.data = np.memmap(os.path.join(folder, "model.onnx.data"), np.uint8, "r")

    def host(self, name: str) -> np.ndarray:
        init = self.inits[name]
        if not init.external_data:
            return numpy_helper.to_array(init)
        place = {e.key: e.value for e in init.external_data}
        start, length = int(place["offset"]), int(place["length"])
        dtype = {onnx.TensorProto.UINT8: np.uint8, onnx.TensorProto.FLOAT16: np.float16, onnx.TensorProto.FLOAT: np.float32}
        return self.data[start:start + length].view(dtype[init.data_type]).reshape(tuple(init.dims))

    def vector(self, name: str):
        return self.arrays.f32(self.arrays.put(self.host(name)))

    def codes(self, packed):
        """The earlier of two codes is in the low nibble."""
        pairs = self.arrays.xp.stack([packed & 15, packed >> 4], -1)
        return self.arrays.f32(pairs)

    def matrix(self, name: str):
        """W [N, K] of a MatMulNBits: (code - 8) * scale, its zero points being absent."""
        packed, scales = self.host(f"{name}.MatMulNBits.qweight"), self.host(f"{name}.MatMulNBits.scales")
        n, blocks, half = packed.shape
        assert f"{name}.MatMulNBits.qzeros" not in self.inits, name
        w = self.codes(self.arrays.put(packed)).reshape(n, blocks, 2 * half) - 8
        w = w * self.arrays.f32(self.arrays.put(scales.reshape(n, blocks)))[..., None]
        return w.reshape(n, blocks * 2 * half)

    def rows(self, ids: list[int]):
        """Rows of a GatherBlockQuantized table, its zero points packed as the codes are."""
        name = "model.embed_tokens.weight"
        packed, scales, zeros = (self.host(f"{name}_{part}")[ids] for part in ("Q4", "scales", "zp"))
        unpack = lambda a: np.stack([a & 15, a >> 4], -1).reshape(len(ids), -1).astype(np.float32)
        blocks = scales.shape[1]
        w = unpack(packed).reshape(len(ids), blocks, -1) - unpack(zeros)[:, :blocks, None]
        return self.arrays.put((w * scales.astype(np.float32)[..., None]).reshape(len(ids), -1))


def rms_norm(x, weight, eps: float):
    return x * ((x * x).mean(-1)[..., None] + eps) ** -0.5 * weight


def turned(x, cos, sin):
    """Rotary embedding of halves: x [S, heads, D], cos and sin [S, 1, D/2]."""
    a, b = x[..., :x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return a * cos - b * sin, b * cos + a * sin


def attention(arrays, q, k, v, groups: int):
    """Causal; q [S, H, D], k and v [S, KV, D] -> [S, H * D]."""
    xp, (s, heads, d), out = arrays.xp, q.shape, []
    for start in range(0, s, ROWS):
        end = min(start + ROWS, s)
        queries = q[start:end].reshape(end - start, heads // groups, groups, d)
        scores = xp.einsum("skgd,tkd->kgst", queries, k[:end]) * d ** -0.5
        ahead = np.arange(end)[None, :] > np.arange(start, end)[:, None]
        scores = scores + arrays.put(np.where(ahead, np.float32(-1e30), np.float32(0)))
        scores = xp.exp(scores - xp.amax(scores, -1)[..., None])
        scores = scores / scores.sum(-1)[..., None]
        out.append(xp.einsum("kgst,tkd->skgd", scores, v[:end]).reshape(end - start, heads * d))
    return xp.concatenate(out, 0)


def forward(folder: str, ids: list[int], at: list[int], arrays) -> np.ndarray:
    """Rows of logits at positions `at` of a sequence, float32."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        cfg = json.load(f)
    w, xp, eps = Weights(folder, arrays), arrays.xp, cfg["rms_norm_eps"]
    heads, kv, d, s = cfg["num_attention_heads"], cfg["num_key_value_heads"], cfg["head_dim"], len(ids)
    cos, sin = (w.vector(f"{name}_cache")[:s, None, :] for name in ("cos", "sin"))
    x = w.rows(ids)
    for layer in range(cfg["num_hidden_layers"]):
        base = f"model.layers.{layer}"
        y = rms_norm(x, w.vector(f"{base}.input_layernorm.weight"), eps)
        part = {}
        for name, count in (("q", heads), ("k", kv), ("v", kv)):
            linear = f"{base}.self_attn.{name}_proj"
            part[name] = y @ w.matrix(linear).T
            if cfg["attention_bias"]:
                part[name] = part[name] + w.vector(f"{linear}.bias")
            part[name] = part[name].reshape(s, count, d)
        q, k = (xp.concatenate(turned(part[name], cos, sin), -1) for name in ("q", "k"))
        x = x + attention(arrays, q, k, part["v"], heads // kv) @ w.matrix(f"{base}.self_attn.o_proj").T
        y = rms_norm(x, w.vector(f"{base}.post_attention_layernorm.weight"), eps)
        gate, up = (y @ w.matrix(f"{base}.mlp.{name}_proj").T for name in ("gate", "up"))
        x = x + (gate / (1 + xp.exp(-gate)) * up) @ w.matrix(f"{base}.mlp.down_proj").T
    y = rms_norm(x[at], w.vector("model.norm.weight"), eps)
    return arrays.back(y @ w.matrix("model.embed_tokens" if cfg["tie_word_embeddings"] else "lm_head").T)


def reference(folder: str, out: str, prompts: list[int], steps: int, seed: int, device: str) -> None:
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        vocab = json.load(f)["vocab_size"]
    ids = sequence(vocab, max(prompts) + steps - 1, seed)
    at = sorted({p - 1 + s for p in prompts for s in range(steps)})
    logits = forward(folder, ids, at, Numpy() if device == "numpy" else Torch(device))
    assert np.isfinite(logits).all()
    with open(out + ".part", "wb") as f:
        np.savez(f, ids=np.array(ids, np.int64), at=np.array(at, np.int64), logits=logits.astype(np.float32),
                 prompts=np.array(prompts, np.int64), steps=np.array([steps], np.int64))
    os.replace(out + ".part", out)


def watched(command: list[str]) -> dict:
    """Runs a command; seconds, CPU seconds, and the most bytes that were its own (RssAnon)."""
    start, most = time.time(), 0
    process = subprocess.Popen(command)
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        try:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
                kib = next((int(line.split()[1]) for line in f if line.startswith("RssAnon")), 0)
        except OSError:
            kib = 0
        most = max(most, kib * 1024)
        time.sleep(0.01)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"acceptance: {' '.join(command)}: exit code {process.returncode}")
    return {"seconds": time.time() - start, "cpu_seconds": usage.ru_utime + usage.ru_stime, "rss_anon_bytes": most}


def pack(onnxcast: str, manifest: str, folder: str, pool: str) -> dict:
    name = Path(manifest).stem
    used = watched([onnxcast, "pack", name, "--manifest", manifest, "--onnx", folder, "-o", pool])
    say(f"pool of {os.path.getsize(pool):,} bytes: {used['seconds']:.1f} s, {used['cpu_seconds']:.1f} s of CPU, "
        f"RssAnon at most {used['rss_anon_bytes'] / 1e6:.0f} MB")
    return used


class Run:
    """The program under test, its log, and the time that is left."""

    def __init__(self, a, pool: str):
        self.a, self.pool, self.end = a, pool, time.time() + a.seconds
        self.log = open(os.path.join(a.out, "qwen14b.log"), "a", encoding="utf-8")

    def left(self) -> float:
        return self.end - time.time()

    def __call__(self, *flags: str, codes=(0,)) -> str | None:
        """Stdout; None where it failed or time was up, which the log tells."""
        command = [self.a.program, *flags, "--weights", "other:" + self.pool]
        print("$", *command, file=self.log, flush=True)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=max(self.left(), 1))
        except subprocess.TimeoutExpired:
            print("no time left", file=self.log, flush=True)
            return None
        print(done.stdout, done.stderr, f"exit code {done.returncode}", sep="\n", file=self.log, flush=True)
        return done.stdout if done.returncode in codes else None


def arms(run: Run, depth: int, count: int) -> list[dict]:
    """The same answers with weights in different places: their tokens, how fast, and what moved."""
    rows, baseline = [], None
    for flags in run.a.arms:
        name = " ".join(flags) or "resident"
        row = {"arm": name, "same": False}
        out = run("bench", "--steady", "-d", str(depth), "-n", str(count), "-r", "2", "--warmups", "1", "-o", "json", *flags)
        if out:
            row |= json.loads(out)[0]
            baseline = baseline or row["tokens"]
            row["same"] = row["tokens"] == baseline and len(row["tokens"]) > count
        rows.append(row)
        print(f"{'ok  ' if row['same'] else 'FAIL'} {name}: {told(row)}", flush=True)
    return rows


def told(row: dict) -> str:
    if "counters" not in row:
        return "did not run, or its runs differ (see the log)"
    ms, c = row["ms_per_token"]["median"], row["counters"]
    moved = [c[f"{kind}_bytes_per_token"] / 1e9 for kind in ("read_in_place", "streamed")]
    homes = [c[f"{kind}_bytes"] / 1e9 for kind in ("resident", "mapped", "streamed", "over_budget")]
    return (f"tokens {'equal' if row['same'] else 'NOT equal'}; {ms:.2f} ms a token ({1000 / ms:.1f} tok/s); GB resident, mapped, "
            f"streamed, over budget: {', '.join(f'{h:.3f}' for h in homes)}; GB a token in place, streamed: "
            f"{', '.join(f'{m:.3f}' for m in moved)} ({1000 * sum(moved) / ms:.1f} GB/s); recordings {c['recordings']}")


def measure(run: Run) -> list[dict]:
    rows = []
    for flags in (["-p", "256", "-n", "128", "-r", "5"], ["-p", "8000", "-n", "128", "-d", "8000", "-r", "3"]):
        out = run("bench", *flags, "-o", "json")
        for row in json.loads(out) if out else []:
            rows.append(row | {"flags": flags})
            speed = row["tokens_per_second"]
            print(f"bench {' '.join(flags)}: {row['test']} {speed['median']:.1f} tok/s ({speed['min']:.1f} to {speed['max']:.1f})",
                  flush=True)
        if not out:
            print(f"FAIL bench {' '.join(flags)} did not run (see the log)", flush=True)
    return rows


def keep(out: str, result: dict) -> None:
    with open(os.path.join(out, "qwen14b.json"), "w", encoding="utf-8") as f:
        json.dump(result, f, indent=1)


def cmd_run(a) -> None:
    os.makedirs(a.out, exist_ok=True)
    os.makedirs(a.work, exist_ok=True)
    model, pool, npz = (os.path.join(a.work, name) for name in ("model", "weights.pool", "rows.npz"))
    run = Run(a, pool)
    timed("model", lambda: make(model, a.preset, a.seed))
    with ThreadPoolExecutor(1) as beside:
        # A process of its own, so that its GPU memory is free again afterwards.
        wanted = [sys.executable, __file__, "reference", model, "--out", npz, "--seed", str(a.seed), "--device", a.device,
                  "--prompts", ",".join(map(str, a.prompts)), "--steps", str(a.steps)]
        known = beside.submit(lambda: timed("reference", lambda: subprocess.run(wanted, check=True)))
        used = pack(a.onnxcast, a.manifest, model, pool)
        known.result()
    result = {"pack": used, "pool_bytes": os.path.getsize(pool)}
    out = timed("verify", lambda: run("verify", "--golden", npz, "--json", codes=(0, 9)))
    report = json.loads(out) if out else None
    if report:
        show(a.seed, report)
    result |= {"verify": report, "arms": arms(run, a.depth, a.steps)}
    keep(a.out, result)
    result["bench"] = measure(run)
    keep(a.out, result)
    if not a.keep:
        shutil.rmtree(a.work)
    passed = bool(report and report["passed"]) and all(r["same"] for r in result["arms"]) and len(result["bench"]) == 4
    print(f"{'passed' if passed else 'FAILED'}; {run.left():.0f} s were left", flush=True)
    if not passed:
        raise SystemExit(1)


def numbers(text: str) -> list[int]:
    return [int(n) for n in text.split(",")]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(required=True)
    s = sub.add_parser("make")
    s.add_argument("dir")
    s.set_defaults(fn=lambda a: make(a.dir, a.preset, a.seed))
    r = sub.add_parser("reference")
    r.add_argument("dir")
    r.add_argument("--out", required=True)
    r.set_defaults(fn=lambda a: reference(a.dir, a.out, a.prompts, a.steps, a.seed, a.device))
    k = sub.add_parser("pack")
    k.add_argument("dir")
    k.add_argument("pool")
    k.set_defaults(fn=lambda a: pack(a.onnxcast, a.manifest, a.dir, a.pool))
    g = sub.add_parser("run")
    g.add_argument("--program", required=True, help="the executable")
    g.add_argument("--out", default=".", help="where the log and the result go")
    g.add_argument("--work", default="/tmp/qwen14b", help="where 17 GB may be written; removed at the end")
    g.add_argument("--seconds", type=float, default=510, help="after which nothing more is started")
    g.add_argument("--keep", action="store_true", help="leave model, pool and rows where they are")
    g.add_argument("--depth", type=int, default=300, help="tokens before the answers whose tokens are compared")
    g.add_argument("--arms", type=lambda text: [arm.split() for arm in text.split(";")], default=ARMS,
                   help="flags of each arm, between semicolons; the first is what the others are held against")
    g.set_defaults(fn=cmd_run)
    for which in (s, r, g):
        which.add_argument("--seed", type=int, default=1)
    for which in (s, g):
        which.add_argument("--preset", default="qwen2.5-14b")
    for which in (r, g):
        which.add_argument("--prompts", type=numbers, default=numbers(PROMPTS))
        which.add_argument("--steps", type=int, default=STEPS)
        which.add_argument("--device", default="cuda", help="of torch; numpy is no torch at all")
    for which in (k, g):
        which.add_argument("--onnxcast", required=True, help="the compiler, for its `pack`")
        which.add_argument("--manifest", default=str(HERE / "qwen14b-random.toml"))
    a = p.parse_args()
    a.fn(a)


if __name__ == "__main__":
    main()
