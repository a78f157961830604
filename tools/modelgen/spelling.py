"""One decoder, spelled as a Style says: see styles.py."""
from __future__ import annotations

import numpy as np
from onnx import TensorProto

from .config import DecoderConfig
from .decoder import Options, cache_ports, causal_mask
from .graph import FLOAT, NPF, Graph
from .styles import Style

INT64, FILL = TensorProto.INT64, -1e4


class Builder:
    def __init__(self, g: Graph, style: Style, cfg: DecoderConfig, weights):
        self.g, self.s, self.cfg, self.weights = g, style, cfg, weights
        self.np_t, self.elem = NPF[style.dtype], FLOAT[style.dtype]
        self.rows = style.flat or style.rope == "rows"

    # -- small parts ---------------------------------------------------
    def param(self, name: str, shape, turned=False) -> str:
        def make():
            a = self.weights.get(name, shape).astype(self.np_t)
            return np.ascontiguousarray(a.T) if turned else a
        return self.g.init(name + ("_T" if turned else ""), shape[::-1] if turned else shape, self.np_t, make)

    def num(self, x: float, wide=False) -> str:
        return self.g.const(x, "float32" if wide else self.np_t.name)

    def linear(self, x: str, name: str, n: int, k: int, bias: bool) -> str:
        g = self.g
        if self.s.linear == "gemm":
            flat = g.op("Reshape", x, g.const([-1, k]))
            args = [flat, self.param(f"{name}.weight", (n, k))]
            y = g.op("Gemm", *args, *([self.param(f"{name}.bias", (n,))] if bias else []), transB=1)
            return g.op("Reshape", y, g.shape(g.dim(x, 0), g.dim(x, 1), n))
        y = g.op("MatMul", x, self.param(f"{name}.weight", (n, k), turned=True))
        return g.op("Add", self.param(f"{name}.bias", (n,)), y) if bias else y

    def packed(self, x: str, names: list[str], sizes: list[int], k: int, bias: bool) -> list[str]:
        """One product for several projections."""
        g = self.g
        if self.s.linear != "packed":
            return [self.linear(x, name, n, k, bias) for name, n in zip(names, sizes)]
        get, label = self.weights.get, "+".join(n.rsplit(".", 1)[-1] for n in names)
        base = names[0].rsplit(".", 1)[0]
        w = g.init(f"{base}.{label}", (k, sum(sizes)), self.np_t, lambda: np.ascontiguousarray(
            np.concatenate([get(f"{m}.weight", (n, k)) for m, n in zip(names, sizes)]).T).astype(self.np_t))
        y = g.op("MatMul", x, w)
        if bias:
            b = g.init(f"{base}.{label}.bias", (sum(sizes),), self.np_t, lambda: np.concatenate(
                [get(f"{m}.bias", (n,)) for m, n in zip(names, sizes)]).astype(self.np_t))
            y = g.op("Add", y, b)
        return g.op("Split", y, g.const(sizes), n_out=len(sizes), axis=-1)

    def norm(self, x: str, name: str, n: int) -> str:
        g, s, cfg = self.g, self.s, self.cfg
        w = self.param(f"{name}.weight", (n,))
        if s.norm == "layer":
            return g.op("LayerNormalization", x, w, self.param(f"{name}.bias", (n,)), axis=-1, epsilon=cfg.rms_eps)
        if s.norm == "rms23":
            return g.op("RMSNormalization", x, w, axis=-1, epsilon=cfg.rms_eps)
        h = g.cast(x, TensorProto.FLOAT) if s.dtype == "fp16" else x
        square = g.op("Pow", h, self.num(2.0, True))
        if s.norm == "axes":
            mean = g.op("ReduceMean", square, g.const([-1]), keepdims=1)
        else:
            mean = g.op("ReduceMean", square, axes=[-1], keepdims=1)
        root = g.op("Sqrt", g.op("Add", mean, self.num(cfg.rms_eps, True)))
        inverse = g.op("Div", self.num(1.0, True), root) if s.norm == "pow" else g.op("Reciprocal", root)
        y = g.op("Mul", h, inverse)
        return g.op("Mul", w, g.cast(y, self.elem) if s.dtype == "fp16" else y)

    # -- positions and masks -------------------------------------------
    def chunk(self, ids: str) -> None:
        g = self.g
        self.seq, self.past = g.dim(ids, 1), g.dim("past_key_values.0.key", 2)
        self.total = g.op("Add", self.past, self.seq)
        self.places = g.op("Range", self.past, self.total, g.const(1))

    def positions(self) -> str:
        g, kind = self.g, self.s.positions
        if kind == "input":
            return "position_ids"
        if kind == "past":
            return g.op("Unsqueeze", self.places, g.const([0]))
        count = g.op("Sub", g.op("CumSum", "attention_mask", g.const(1)), g.const(1))
        filled = g.op("Where", g.op("Equal", "attention_mask", g.const(0)), g.const(1), count)
        start = g.op("Neg", g.op("Unsqueeze", self.seq, g.const([0])))
        return g.op("Slice", filled, start, g.const([2**63 - 1]), g.const([1]), g.const([1]))

    def visible(self) -> str:
        """bool [1, 1, S, T]"""
        g, s = self.g, self.s
        keys = g.op("Range", g.const(0), self.total, g.const(1))
        queries = g.op("Unsqueeze", self.places, g.const([1]))
        seen = g.op("LessOrEqual", keys, queries)
        if s.window:
            seen = g.op("And", seen, g.op("Greater", keys, g.op("Sub", queries, g.const(s.window))))
        if s.mask == "none":
            return g.op("Unsqueeze", seen, g.const([0, 1]))
        pad = g.cast("attention_mask", TensorProto.BOOL)
        if s.mask == "gathernd":
            row = g.op("Reshape", keys, g.const([1, 1, 1, -1, 1]))
            pad = g.op("GatherND", pad, g.op("Concat", g.op("Mul", row, g.const(0)), row, axis=-1))
        else:
            pad = g.op("Unsqueeze", pad, g.const([1, 2]))
        return g.op("And", g.op("Unsqueeze", seen, g.const([0, 1])), pad)

    def mask(self, ids: str) -> str | None:
        g, s = self.g, self.s
        if s.attn == "op23" and s.mask == "none":
            return None
        if s.mask == "trilu":
            return causal_mask(g, ids, "past_key_values.0.key", "attention_mask", Options(dtype=s.dtype))
        seen = self.visible()
        if s.attn == "fill" or s.flat:
            return seen
        return g.op("Where", seen, self.num(0.0), self.num(float("-inf") if s.guard else FILL))

    # -- rotary embedding ----------------------------------------------
    def angles(self) -> np.ndarray:
        r = self.s.rotary
        inv = self.cfg.rope_theta ** -(np.arange(0, r, 2, dtype=np.float32) / np.float32(r))
        return (np.arange(self.cfg.max_position, dtype=np.float32)[:, None] * inv[None]).astype(np.float32)

    def tables(self, positions: str) -> tuple[str, str]:
        """cos and sin as `turn` wants them: rows to multiply with, or whole tables for RotaryEmbedding."""
        g, s = self.g, self.s
        if s.rope == "none":
            return "", ""
        a = self.angles()
        if s.rope.startswith("op23"):
            return tuple(g.array(n, f(a).astype(self.np_t)) for n, f in (("cos_cache", np.cos), ("sin_cache", np.sin)))
        axis = g.const([2 if self.rows else 1])
        if s.rope == "gathered":
            a = np.concatenate([a, a], -1)
            caches = (g.array(n, f(a).astype(self.np_t)) for n, f in (("cos_cache", np.cos), ("sin_cache", np.sin)))
            return tuple(g.op("Unsqueeze", g.op("Gather", c, positions, axis=0), axis) for c in caches)
        inv = g.const(a[1].reshape(1, -1, 1), "float32")
        pos = g.cast(g.op("Unsqueeze", positions, g.const([1])), TensorProto.FLOAT)
        freqs = g.op("Transpose", g.op("MatMul", inv, pos), perm=[0, 2, 1])
        if s.rope == "pairs":
            wide = g.op("Expand", g.op("Unsqueeze", freqs, g.const([3])), g.const([1, 1, 1, 2]))
            freqs = g.op("Reshape", wide, g.const([0, 0, s.rotary]))
        elif s.rope != "split-pairs":
            freqs = g.op("Concat", freqs, freqs, axis=-1)
        parts = [g.op("Cos", freqs), g.op("Sin", freqs)]
        if s.dtype == "fp16":
            parts = [g.cast(p, self.elem) for p in parts]
        return tuple(g.op("Unsqueeze", p, axis) for p in parts)

    def turn(self, x: str, heads: int, positions: str) -> str:
        g, s, dim = self.g, self.s, self.cfg.head_dim
        if s.rope == "none":
            return x
        if s.rope.startswith("op23"):
            attrs = dict(interleaved=int(s.rope == "op23-pairs"))
            attrs |= dict(rotary_embedding_dim=s.rotary) if s.rotary < dim else {}
            attrs |= dict(num_heads=heads) if s.flat else {}
            return g.op("RotaryEmbedding", x, self.cos, self.sin, positions, **attrs)
        part = x if s.rotary == dim else g.slice(x, 0, s.rotary, 3)
        y = self.turn_part(part, s.rotary)
        return y if s.rotary == dim else g.op("Concat", y, g.slice(x, s.rotary, 2**63 - 1, 3), axis=-1)

    def turn_part(self, x: str, r: int) -> str:
        g = self.g
        mul = lambda a, b: g.op("Mul", a, b)
        every = lambda k: g.op("Slice", x, g.const([k]), g.const([2**63 - 1]), g.const([3]), g.const([2]))
        if self.s.rope == "pairs":  # GPT-J: stack(-x[1::2], x[::2]) flattened
            last = g.const([4])
            both = [g.op("Unsqueeze", g.op("Neg", every(1)), last), g.op("Unsqueeze", every(0), last)]
            turned = g.op("Reshape", g.op("Concat", *both, axis=-1), g.const([0, 0, -1, r]))
        elif self.s.rope == "split-pairs":  # complex numbers, as Llama's first code
            pairs = g.op("Reshape", x, g.const([0, 0, -1, r // 2, 2]))
            re, im = (g.op("Gather", pairs, g.const(k), axis=4) for k in (0, 1))
            real = g.op("Sub", mul(re, self.cos), mul(im, self.sin))
            imaginary = g.op("Add", mul(re, self.sin), mul(im, self.cos))
            both = [g.op("Unsqueeze", p, g.const([4])) for p in (real, imaginary)]
            return g.op("Reshape", g.op("Concat", *both, axis=-1), g.const([0, 0, -1, r]))
        else:
            x1, x2 = g.slice(x, 0, r // 2, 3), g.slice(x, r // 2, 2**63 - 1, 3)
            turned = g.op("Concat", g.op("Neg", x2), x1, axis=-1)
        return g.op("Add", mul(x, self.cos), mul(turned, self.sin))

    # -- blocks ----------------------------------------------------------
    def heads(self, x: str, n: int, norm: str | None, positions: str | None) -> str:
        g, d = self.g, self.cfg.head_dim
        if self.s.flat:
            return self.turn(x, n, positions) if positions else x
        x = g.op("Reshape", x, g.const([0, -1, n, d]))
        if norm:
            x = self.norm(x, norm, d)
        if self.rows and positions:
            x = self.turn(x, n, positions)
        x = g.op("Transpose", x, perm=[0, 2, 1, 3])
        return x if self.rows or not positions else self.turn(x, n, positions)

    def attention(self, i: int, x: str, positions: str) -> str:
        g, s, cfg = self.g, self.s, self.cfg
        at, width = f"model.layers.{i}.self_attn", cfg.heads * cfg.head_dim
        sizes = [width, cfg.kv_heads * cfg.head_dim, cfg.kv_heads * cfg.head_dim]
        q, k, v = self.packed(x, [f"{at}.{p}_proj" for p in "qkv"], sizes, cfg.hidden, s.bias)
        norms = (f"{at}.q_norm", f"{at}.k_norm") if s.qk_norm else (None, None)
        q = self.heads(q, cfg.heads, norms[0], positions)
        k = self.heads(k, cfg.kv_heads, norms[1], positions)
        v = self.heads(v, cfg.kv_heads, None, None)
        past, present = f"past_key_values.{i}", f"present.{i}"
        if s.attn.startswith("op23"):
            flat = dict(q_num_heads=cfg.heads, kv_num_heads=cfg.kv_heads) if s.flat else {}
            o, _, _ = g.op("Attention", q, k, v, self.bias or "", f"{past}.key", f"{past}.value",
                           out=[f"attention.{i}", f"{present}.key", f"{present}.value"],
                           is_causal=int(self.bias is None), **flat)
        else:
            k = g.op("Concat", f"{past}.key", k, axis=2, out=f"{present}.key")
            v = g.op("Concat", f"{past}.value", v, axis=2, out=f"{present}.value")
            o = g.op("MatMul", self.probabilities(q, self.repeat(k)), self.repeat(v))
        if not s.flat:
            o = g.op("Reshape", g.op("Transpose", o, perm=[0, 2, 1, 3]), g.const([0, -1, width]))
        return self.linear(o, f"{at}.o_proj", cfg.hidden, width, s.mlp == "gelu-plain")

    def repeat(self, t: str) -> str:
        g, cfg = self.g, self.cfg
        rep = cfg.heads // cfg.kv_heads
        u = g.op("Expand", g.op("Unsqueeze", t, g.const([2])), g.const([1, 1, rep, 1, 1]))
        return g.op("Reshape", u, g.const([0, cfg.heads, -1, cfg.head_dim]))

    def probabilities(self, q: str, k: str) -> str:
        g, s, scale = self.g, self.s, self.cfg.head_dim ** -0.5
        kt = g.op("Transpose", k, perm=[0, 1, 3, 2])
        if s.attn == "sdpa":
            root = self.num(scale ** 0.5)
            scores = g.op("MatMul", g.op("Mul", q, root), g.op("Mul", kt, root))
        else:
            scores = g.op("Div", g.op("MatMul", q, kt), self.num(1 / scale))
        if s.attn == "fill":
            scores = g.op("Where", self.bias, scores, self.num(FILL))
        elif self.bias:
            scores = g.op("Add", scores, self.bias)
        if s.dtype == "fp16":
            scores = g.cast(scores, TensorProto.FLOAT)
        p = g.op("Softmax", scores, axis=-1)
        if s.dtype == "fp16":
            p = g.cast(p, self.elem)
        return g.op("Where", g.op("IsNaN", p), self.num(0.0), p) if s.guard else p

    def mlp(self, i: int, x: str) -> str:
        g, s, cfg, at = self.g, self.s, self.cfg, f"model.layers.{i}.mlp"
        if s.mlp == "gelu-plain":
            up = self.linear(x, f"{at}.up_proj", cfg.inter, cfg.hidden, True)
            return self.linear(self.gelu_tanh(up), f"{at}.down_proj", cfg.hidden, cfg.inter, True)
        gate, up = self.packed(x, [f"{at}.gate_proj", f"{at}.up_proj"], [cfg.inter] * 2, cfg.hidden, False)
        if s.mlp == "gelu-tanh":
            act = self.gelu_tanh(gate)
        elif s.mlp == "gelu-erf":
            erf = g.op("Erf", g.op("Div", gate, self.num(2 ** 0.5)))
            act = g.op("Mul", g.op("Mul", gate, g.op("Add", erf, self.num(1.0))), self.num(0.5))
        else:
            act = g.op("Mul", gate, g.op("Sigmoid", gate))
        return self.linear(g.op("Mul", act, up), f"{at}.down_proj", cfg.hidden, cfg.inter, False)

    def gelu_tanh(self, x: str) -> str:
        g = self.g
        cube = g.op("Mul", g.op("Pow", x, self.num(3.0)), self.num(0.044715))
        inner = g.op("Mul", g.op("Add", x, cube), self.num((2 / np.pi) ** 0.5))
        return g.op("Mul", g.op("Mul", x, self.num(0.5)), g.op("Add", g.op("Tanh", inner), self.num(1.0)))

    # -- the whole -------------------------------------------------------
    def interface(self) -> str:
        g, s, cfg = self.g, self.s, self.cfg
        B, S, T = "batch_size", "sequence_length", "total_sequence_length"
        ids = g.input("input_ids", INT64, [B, S])
        if s.mask != "none" or s.positions == "cumsum":
            g.input("attention_mask", INT64, [B, T])
        if s.positions == "input":
            g.input("position_ids", INT64, [B, S])
        cache_ports(g, cfg, B, s.dtype, s.dtype)
        return ids

    def build(self) -> None:
        g, s, cfg = self.g, self.s, self.cfg
        ids = self.interface()
        table = self.param("model.embed_tokens.weight", (cfg.vocab, cfg.hidden))
        self.chunk(ids)
        h, positions = g.op("Gather", table, ids, axis=0), self.positions()
        if s.learned:
            places = self.param("model.position_embedding.weight", (cfg.max_position, cfg.hidden))
            h = g.op("Add", h, g.op("Gather", places, positions, axis=0))
        self.bias = self.mask(ids)
        self.cos, self.sin = self.tables(positions)
        for i in range(cfg.layers):
            at = f"model.layers.{i}"
            with g.scope(f"/{at.replace('.', '/')}"):
                x = self.norm(h, f"{at}.input_layernorm", cfg.hidden)
                h = g.op("Add", h, self.attention(i, x, positions))
                h = g.op("Add", h, self.mlp(i, self.norm(h, f"{at}.post_attention_layernorm", cfg.hidden)))
        h = self.norm(h, "model.norm", cfg.hidden)
        if s.head == "tied":
            g.op("MatMul", h, g.op("Transpose", table, perm=[1, 0]), out="logits")
        elif s.head == "rows":
            copy = g.init("lm_head.weight", (cfg.vocab, cfg.hidden), self.np_t, lambda: self.weights.get(
                "model.embed_tokens.weight", (cfg.vocab, cfg.hidden)).astype(self.np_t))
            flat = g.op("Reshape", h, g.const([-1, cfg.hidden]))
            g.op("Reshape", g.op("Gemm", flat, copy, transB=1), g.shape(g.dim(h, 0), g.dim(h, 1), cfg.vocab),
                 out="logits")
        else:
            name = "lm_head.weight" if s.head == "untied" else "model.embed_tokens.weight"
            g.op("MatMul", h, self.param(name, (cfg.vocab, cfg.hidden), turned=True), out="logits")
