"""Tables of speed.py. In: rows of `bench -o json`, of `profile --json`, of `profile --registers --json`, by model. Out: markdown. Promise:
what was not measured is a dash, never a guess; peers' figures are data with their source, in PEERS.
"""
from __future__ import annotations

from dataclasses import dataclass
from statistics import median

# What a memory-bound step is predicted from: NVIDIA H200, driver 580. Read-only kernels carry 4,650 GB/s; a dispatch behind a barrier
# costs 2.2 us, one without 0.26 us (docs/performance.md). Arithmetic is not in it, so a prompt takes longer than predicted.
BANDWIDTH_GB_S, BARRIER_US, DISPATCH_US = 4650.0, 2.2, 0.26


@dataclass(frozen=True)
class Model:
    """An executable to build and to measure."""

    name: str
    title: str
    precision: str
    manifest: str
    # Graphs of this repository, or arguments of tools/modelgen that write them.
    onnx: str | tuple[str, ...]
    # Its column of the table of decode, or what it would be called there.
    column: str
    # Rows of the prefill bucket.
    chunk: int
    # Depth, tokens and repetitions of each row of decode.
    decode: tuple[tuple[int, int, int], ...]

    def tests(self) -> list[str]:
        """The rows that `bench` gives, in their order."""
        prompts = [f"pp{n}" for n in self.prompts()]
        steps = [f"tg{n}@{d}" if d else f"tg{n}" for d, n, _ in self.decode]
        return prompts + steps + (["picture"] if self.column.startswith("2.2B") else [])

    def prompts(self) -> list[int]:
        return sorted({self.chunk, 256})


QWEN = ((0, 128, 5), (512, 128, 3), (1000, 23, 3))
MODELS = [
    Model("speed-qwen-fp16", "Qwen2.5-0.5B shapes", "fp16", "qwen-random.toml", "models/qwen/model.onnx", "0.5B fp16", 256, QWEN),
    Model("speed-qwen-int4", "Qwen2.5-0.5B shapes", "int4", "qwen-random.toml", "models/qwen/model.onnx", "0.5B int4", 256, QWEN),
    Model("speed-vlm-fp16", "SmolVLM2-2.2B shapes", "fp16", "vlm-random.toml", "models/smolvlm2", "2.2B fp16", 128,
          ((0, 128, 5), (256, 128, 3))),
    Model("speed-vlm-int4", "SmolVLM2-2.2B shapes", "int4", "vlm-random.toml", "models/smolvlm2", "2.2B int4", 128,
          ((0, 128, 5), (256, 128, 3))),
    Model("speed-qwen14b", "Qwen2.5-14B shapes", "int4 as given", "qwen14b-random.toml", "models/qwen14b", "14B int4", 256,
          ((0, 128, 5), (8000, 128, 1))),
    # What an export in fp16 multiplies, a prompt's products may take as one half of x (docs/adr/004): what the peers compute in as well.
    Model("speed-qwen-export", "Qwen2.5-0.5B shapes", "fp16, fp16 export", "qwen-random.toml",
          ("decoder", "--preset", "qwen2.5-0.5b", "--fp16"), "0.5B fp16, fp16 export", 256, ((0, 128, 3),)),
    Model("speed-vlm-export", "SmolVLM2-2.2B shapes", "fp16, fp16 export", "vlm-random-256.toml",
          ("vlm", "--preset", "smolvlm2-2.2b", "--fp16"), "2.2B fp16, fp16 export", 256, ((0, 128, 3),)),
]

PEERS_SOURCE = ("Peers: one NVIDIA H200, batch 1, random weights, measured 2026-11-30; onnx-genai: its own published figures. Floor: bytes a "
                "token at 4.65 TB/s.")
DECODE = ["0.5B fp16", "0.5B int4", "2.2B fp16", "2.2B int4", "14B int4"]
# Tokens a second, 128 tokens; the better end of a range.
DECODE_PEERS = {
    "llama.cpp Vulkan (ggml 0.27)": [543, 521, 483, 545, 170],
    "llama.cpp CUDA": [647, 738, 505, 602, 164],
    "PyTorch, whole step in a CUDA graph": [561, 636, 393, None, 135],
    "PyTorch, torch.compile + CUDA graph": [803, None, None, None, None],
    "IREE 3.13, ahead of time (CUDA)": [83, None, None, None, None],
    "onnx-genai native CUDA": [None, 995, None, None, 166],
}
DECODE_FLOOR = [4700, None, 1358, None, 590]
DECODE_GOAL = [2400, 3000, 1000, 1600, 450]
PICTURE = "picture 384 x 384"
# Columns by the program and the row of bench; peers have one figure whatever our export computes in.
PREFILL_ROWS = [("speed-qwen-fp16", "pp256"), ("speed-qwen-export", "pp256"), ("speed-vlm-fp16", "pp256"), ("speed-vlm-export", "pp256"),
                ("speed-qwen14b", "pp256"), ("speed-vlm-fp16", "picture"), ("speed-vlm-export", "picture")]
# Milliseconds of 256 tokens, and of a picture.
PREFILL_PEERS = {
    "llama.cpp Vulkan": [9.2, 9.2, 11.1, 11.1, 86, None, None],
    "llama.cpp CUDA": [8.7, 8.7, 9.0, 9.0, 52, None, None],
    "PyTorch CUDA graph": [2.4, 2.4, 3.6, 3.6, 237, 3.1, 3.1],
}
PREFILL_GOAL = [1.8, 1.8, 3.0, 3.0, 25, 2.5, 2.5]


def prefill_column(name: str, test: str) -> str:
    """What a column shows, the buckets that 256 tokens go through among it."""
    model = next(m for m in MODELS if m.name == name)
    if test == "picture":
        return PICTURE + model.column.removeprefix("2.2B fp16")
    return model.column + (f", chunks of {model.chunk}" if model.chunk < 256 else ", one chunk")


PREFILL = [prefill_column(*row) for row in PREFILL_ROWS]


def table(head: list[str], rows: list[list[str]], texts: int = 1) -> str:
    """Markdown, all but the first `texts` columns numbers."""
    rule = ["---" if i < texts else "---:" for i in range(len(head))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows]) + "\n"


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def runs(results: dict, model: Model, test: str) -> list[dict]:
    """The rows of one test, a run each."""
    return [row for row in results.get(model.name, {}).get("bench", []) if row["test"] == test]


def speeds(results: dict, model: Model, test: str) -> list[float]:
    return [row["tokens_per_second"]["median"] for row in runs(results, model, test)]


def milliseconds(results: dict, model: Model, test: str) -> float | None:
    """Of all tokens of a row, at the median of its runs."""
    rows = runs(results, model, test)
    return 1e3 * rows[0]["tokens"] / median(speeds(results, model, test)) if rows else None


def ours_decode(results: dict) -> list[float | None]:
    found = {m.column: speeds(results, m, "tg128") for m in MODELS}
    return [median(found[c]) if found.get(c) else None for c in DECODE]


def ours_prefill(results: dict) -> list[float | None]:
    of = {m.name: m for m in MODELS}
    return [milliseconds(results, of[name], test) for name, test in PREFILL_ROWS]


def ratio(ours: float | None, other: float | None, faster_is_more: bool) -> float | None:
    """How many times as fast as the other."""
    if not ours or not other:
        return None
    return ours / other if faster_is_more else other / ours


def beside(columns: list[str], peers: dict, ours: list, goal: list, faster_is_more: bool, floor: list | None = None) -> str:
    best = [(max if faster_is_more else min)(known, default=None) for known in
            ([row[i] for row in peers.values() if row[i] is not None] for i in range(len(columns)))]

    def times(other: list) -> list[str]:
        found = [ratio(a, b, faster_is_more) for a, b in zip(ours, other)]
        return ["-" if r is None else f"{r:.2f}" for r in found]

    rows = [[name, *map(number, row)] for name, row in peers.items()]
    rows += [["read floor", *map(number, floor)]] if floor else []
    rows += [["**ours**", *("-" if v is None else f"**{number(v)}**" for v in ours)], ["goal", *map(number, goal)],
             ["ours, times as fast as the best peer", *times(best)], ["ours, times as fast as the goal", *times(goal)]]
    return table(["", *columns], rows)


def rows_table(results: dict) -> str:
    """The rows of docs/performance.md."""
    out = []
    for model in MODELS:
        for test in model.tests():
            found = runs(results, model, test)
            three = " ".join(f"{s:.0f}" for s in speeds(results, model, test)) or "-"
            row = found[0] if found else None
            moved = (row["weight_bytes_per_token"] + row["cache_bytes_per_token"]) / 1e6 if row else None
            counts = f"{row['dispatches_per_token']:.3g}, {row['barriers_per_token']:.3g}" if row else "-"
            took = milliseconds(results, model, test)
            once = f" ({took:.2f} ms)" if took and not test.startswith("tg") else ""
            out.append([model.title, model.precision, test + once, three, number(moved), counts])
    return table(["model", "precision", "test", "t/s, a run each", "MB/token", "dispatches, barriers a token"], out, 3)


def predicted_us(moved: float, dispatches: float, barriers: float) -> float:
    return moved / BANDWIDTH_GB_S / 1e3 + barriers * BARRIER_US + (dispatches - barriers) * DISPATCH_US


def counts_table(results: dict) -> str:
    """A run of each bucket: what it moves, what that and its dispatches should take, and what it takes."""
    out = []
    for model in MODELS:
        buckets = [("prefill", f"pp{model.chunk}", model.chunk), ("decode", "tg128", 1)]
        if "picture" in model.tests():
            buckets.append(("vision", "picture", None))
        for bucket, test, tokens in buckets:
            found = runs(results, model, test)
            if not found:
                out.append([model.title, model.precision, bucket, *["-"] * 6])
                continue
            row, tokens = found[0], tokens or found[0]["tokens"]
            moved = (row["weight_bytes_per_token"] + row["cache_bytes_per_token"]) * tokens
            dispatches, barriers = (row[f"{k}_per_token"] * tokens for k in ("dispatches", "barriers"))
            predicted, took = predicted_us(moved, dispatches, barriers), 1e6 * tokens / median(speeds(results, model, test))
            out.append([model.title, model.precision, bucket, f"{moved / 1e6:,.1f}", f"{dispatches:.0f}", f"{barriers:.0f}",
                        f"{predicted:,.0f}", f"{took:,.0f}", f"{took / predicted:.2f}"])
    head = ["model", "precision", "bucket", "MB moved", "dispatches", "barriers", "predicted us", "measured us", "measured / predicted"]
    return table(head, out, 3)


def figures(registers: dict | None, kernel: str) -> str:
    """What the driver tells of a kernel, in its words."""
    found = [k for k in (registers or {}).get("kernels", []) if k["kernel"] == kernel]
    told = [f"{name} {value}" for k in found for e in k["executables"] for name, value in e["statistics"].items()]
    return ", ".join(told) or "-"


def kernels_table(results: dict, most: int = 8) -> str:
    """Where the time of a decode step and of a chunk goes, with what the driver made of those kernels."""
    out = []
    for model in MODELS:
        mine = results.get(model.name, {})
        rows = (mine.get("profile") or {}).get("kernels", [])
        for bucket in dict.fromkeys(row["bucket"] for row in rows):
            of = sorted((r for r in rows if r["bucket"] == bucket), key=lambda r: -r["us_a_run"])
            for row in of[:most]:
                moved = row["weight_bytes_each"] + row["cache_bytes_each"]
                rate = number(moved / row["us_each"] / 1e3) if row["us_each"] and moved else "-"
                out.append([f"{model.title}, {model.precision}", bucket, f"`{row['kernel']}`", figures(mine.get("registers"), row["kernel"]),
                            f"{row['dispatches']:g}", f"{row['us_each']:.1f}", f"{row['us_a_run']:.0f}", rate])
    head = ["model", "bucket", "kernel", "the driver's figures", "dispatches", "us each", "us a run", "GB/s"]
    return table(head, out, 4)


def starts_table(starts: dict) -> str:
    rows = [[name, " ".join(f"{s:.2f}" for s in seconds) or "-"] for name, seconds in starts.items()]
    return table(["a cold process, first token after", "seconds, a run each"], rows)


def tokens_table(results: dict) -> str:
    rows = []
    for model in MODELS:
        for what, verdict in results.get(model.name, {}).get("tokens", {}).items():
            rows.append([f"{model.title}, {model.precision}", what, verdict])
    return table(["model", "the same 64 tokens", "verdict"], rows, 3)


def page(results: dict, starts: dict, device: str, failed: list[str]) -> str:
    """Everything, to be pasted."""
    parts = [
        f"Device: {device}. Each run is a process of its own: the median of its repetitions after a warm-up. Weights are `synthetic:1`.\n",
        "### Decode, tokens a second, 128 tokens\n",
        beside(DECODE, DECODE_PEERS, ours_decode(results), DECODE_GOAL, True, DECODE_FLOOR),
        "### Prefill of 256 tokens, and a picture, milliseconds\n",
        beside(PREFILL, PREFILL_PEERS, ours_prefill(results), PREFILL_GOAL, False),
        f"{PEERS_SOURCE}\n", "### Rows of bench\n", rows_table(results), "### Counts, predicted and measured, a run of each bucket\n",
        f"Predicted: bytes of weights and cache at {BANDWIDTH_GB_S:,.0f} GB/s, {BARRIER_US} us a dispatch behind a barrier, {DISPATCH_US} us "
        "any other; arithmetic is left out.\n",
        counts_table(results), "### Kernels\n", kernels_table(results), "### Start-up\n", starts_table(starts), "### Tokens\n", tokens_table(results)]
    if failed:
        parts += ["### Did not run\n", "\n".join(f"- {what}" for what in failed) + "\n"]
    return "\n".join(parts)
