"""Small decoders in the many spellings of the field: one function over the same weights, written as different exporters do.

`python -m modelgen styles --out tests/data/styles` writes every entry of STYLES as NAME.onnx, over one shared weights.bin, with
NAME.json: the prompt, onnxruntime's greedy tokens and the logits that chose each.
"""
from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass

import numpy as np
import onnx

from .config import DecoderConfig
from .graph import Graph
from .weights import RandomWeights

CONFIG = DecoderConfig("style", "llama", hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, inter=48, vocab=64,
                       tied=True, rope_theta=10000.0, rms_eps=1e-5, max_position=80)
PROMPT = [5, 17, 42, 8, 60, 3, 29, 11, 50, 23, 7]
STEPS = 12


@dataclass(frozen=True)
class Style:
    opset: int = 17
    dtype: str = "fp32"
    norm: str = "pow"         # pow, reciprocal, axes (an input, opset 18), rms23, layer
    mask: str = "trilu"       # trilu, range (bool), gathernd (bool, padding picked by GatherND), none
    window: int = 0           # keys a query sees; 0: all
    attn: str = "eager"       # eager, sdpa, fill (Where on the scores), op23 (heads first), op23-flat (rows)
    guard: bool = False       # Where(IsNaN(p), 0, p) after the softmax
    rope: str = "half"        # half, rows (before the head transpose), gathered, pairs, split-pairs, op23, op23-pairs, none
    rotary: int = 8           # leading channels of a head that turn
    positions: str = "input"  # input, cumsum (of the attention mask), past (from its length)
    bias: bool = False        # on q, k, v
    head: str = "tied"        # tied (a Transpose), twice (the table stored again, transposed), rows (again as it is), untied
    qk_norm: bool = False
    linear: str = "matmul"    # matmul, gemm (2-D), packed (one matrix for q, k, v and one for gate, up)
    mlp: str = "silu"         # silu, gelu-tanh, gelu-erf: gated; gelu-plain: two layers with bias
    learned: bool = False     # learned positions, added to the embedding

    @property
    def flat(self) -> bool:
        return self.attn == "op23-flat"


_DYNAMO = dict(opset=18, norm="axes", mask="gathernd", attn="sdpa", guard=True)
_ONNX23 = dict(opset=23, norm="rms23", mask="range", attn="op23", rope="op23")
STYLES: dict[str, Style] = {
    "torchscript": Style(),
    "torchscript-bias": Style(bias=True, norm="reciprocal", attn="sdpa"),
    "torchscript-fp16": Style(dtype="fp16", bias=True),
    "dynamo": Style(**_DYNAMO),
    "dynamo-fp16": Style(**_DYNAMO, dtype="fp16"),
    "dynamo-rows": Style(**_DYNAMO, rope="rows"),
    "onnx23": Style(**_ONNX23),
    "onnx23-flat": Style(**{**_ONNX23, "attn": "op23-flat"}, positions="cumsum"),
    "onnx23-causal": Style(**{**_ONNX23, "mask": "none"}, positions="past"),
    "gathered-gemm": Style(rope="gathered", linear="gemm", bias=True, head="untied"),
    "cumsum-fill": Style(positions="cumsum", mask="range", attn="fill"),
    "twice": Style(head="twice", attn="sdpa"),
    "twice-rows": Style(head="rows"),
    "twice-fp16": Style(head="twice", dtype="fp16", bias=True),
    "past-only": Style(positions="past", mask="none"),
    "packed": Style(linear="packed", rotary=8),
    "window": Style(mask="range", window=6),
    "partial": Style(rotary=4),
    "partial-rows": Style(**_DYNAMO, rotary=4, rope="rows", mlp="gelu-tanh"),
    "onnx23-partial": Style(**_ONNX23, rotary=4),
    "pairs": Style(rope="pairs", mlp="gelu-erf"),
    "split-pairs": Style(rope="split-pairs"),
    "onnx23-pairs": Style(**{**_ONNX23, "rope": "op23-pairs"}, rotary=4),
    "qk-norm": Style(qk_norm=True),
    "gpt2": Style(norm="layer", mask="range", attn="fill", rope="none", linear="packed", bias=True, mlp="gelu-plain",
                  learned=True),
    "gpt2-past": Style(norm="layer", mask="none", rope="none", linear="gemm", bias=True, mlp="gelu-plain", learned=True,
                       positions="past"),
}


class Pool:
    """One data file for all graphs of a folder; equal tensors are stored once."""

    def __init__(self, path: str):
        self.location, self.parts, self.size, self.known = os.path.basename(path), [], 0, {}
        self.path = path

    def append(self, nbytes: int, make) -> tuple[int, int]:
        raw = np.ascontiguousarray(make()).tobytes()
        key = hashlib.sha256(raw).digest()
        if key not in self.known:
            self.known[key] = self.size
            raw += b"\0" * (-nbytes % 64)
            self.parts.append(raw)
            self.size += len(raw)
        return self.known[key], nbytes

    def close(self):
        with open(self.path, "wb") as f:
            f.write(b"".join(self.parts))


def write(out: str, names: list[str] | None = None) -> None:
    from . import run
    from .spelling import Builder
    os.makedirs(out, exist_ok=True)
    pool, weights = Pool(os.path.join(out, "weights.bin")), RandomWeights(3, tied=True)
    for name, style in STYLES.items():
        g = Graph(name, style.opset, pool)
        Builder(g, style, CONFIG, weights).build()
        with open(os.path.join(out, f"{name}.onnx"), "wb") as f:
            f.write(g.model().SerializeToString(deterministic=True))
    pool.close()
    for name in names or STYLES:
        path = os.path.join(out, f"{name}.onnx")
        onnx.checker.check_model(path)
        tokens, rows = run.greedy_logits(run.Decoder(run.session(path)), PROMPT, STEPS, set())
        logits = [[round(float(x), 4) for x in row] for row in rows]
        with open(os.path.join(out, f"{name}.json"), "w") as f:
            json.dump({"prompt": PROMPT, "tokens": tokens, "logits": logits}, f, separators=(",", ":"))
            f.write("\n")
        print(f"{name}: {os.path.getsize(path):,} bytes, tokens {tokens}")
