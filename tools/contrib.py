#!/usr/bin/env python3
"""Small models made of com.microsoft operators, and what onnxruntime says they give: tests/data/contrib.

    .cache/venv/bin/python tools/contrib.py --out tests/data/contrib
    .cache/venv/bin/python tools/contrib.py --smollm2 .cache/models/smollm2-genai

ops/NAME.onnx, ops/NAME.npz: one operator in one form, at odd shapes; inputs by name, what onnxruntime gives as `out.NAME`, or, for forms
that it lacks (marked below), what the operator's definition says in numpy.
decoders/NAME: a whole decoder as onnxruntime-genai's builder writes it (modelgen), with model.npz: `prompt`, greedy
`tokens`, `step_logits`, a row a token. decoders/mid has other forms of the same decoder beside it, over the same weights.
smollm2/NAME.json (kept when the rest is written anew): modelgen's `run` of SmolLM2's weights in this form; --smollm2 writes the models.
"""
from __future__ import annotations

import argparse
import os
import shutil
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from modelgen import cli, run  # noqa: E402

PROMPT = [5, 17, 42, 8, 60, 3, 29, 11, 50, 23, 7]
STEPS = 12

# The 14B's form: nothing for matrices, zero points for the table; then zero points everywhere; floats; fp32 with fp32 scales.
DECODERS = {
    "mid": "--fp16 --zp none --quantized-embedding",
    "point": "--fp16 --zp uint8 --quantized-embedding",
    "float": "--fp16 --zp float --quantized-embedding",
    "wide": "--zp float --block 16 --logits-dtype fp32",
    "head": "--fp16 --zp none --block 64 --float-head",
}


def record(path: str) -> None:
    """Greedy tokens of path.onnx."""
    model = run.Decoder(run.session(path + ".onnx"))
    rows, tokens = [model.feed(PROMPT)[-1]], []
    for _ in range(STEPS):
        tokens.append(int(rows[-1].argmax()))
        rows.append(model.feed(tokens[-1:])[-1])
    np.savez_compressed(path + ".npz", prompt=np.array(PROMPT), tokens=np.array(tokens),
                        step_logits=np.stack(rows[:STEPS]))


def attentions_of(graph) -> list:
    return [n for n in graph.node if n.op_type == "GroupQueryAttention"]


def setting(**attributes):
    """The same decoder with other attributes of its attention."""
    def change(model) -> None:
        for node in attentions_of(model.graph):
            kept = [a for a in node.attribute if a.name not in attributes]
            del node.attribute[:]
            node.attribute.extend(kept + [helper.make_attribute(k, v) for k, v in attributes.items()])
    return change


def outside(model) -> None:
    """RotaryEmbedding nodes before the attention, and positions as an input."""
    graph = model.graph
    graph.input.append(helper.make_tensor_value_info("position_ids", TensorProto.INT64, ["batch_size", "sequence_length"]))
    nodes = []
    for node in graph.node:
        if node.op_type == "GroupQueryAttention":
            heads = {a.name: a.i for a in node.attribute}
            for i, count in ((0, heads["num_heads"]), (1, heads["kv_num_heads"])):
                y = f"{node.input[i]}/turned"
                nodes.append(helper.make_node("RotaryEmbedding", [node.input[i], "position_ids", *node.input[7:9]], [y],
                                              domain="com.microsoft", name=y, num_heads=count, rotary_embedding_dim=0))
                node.input[i] = y
            del node.input[7:]
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    setting(do_rotary=0)(model)


def buffer(length: int):
    """A cache as long as the whole sequence, before and after."""
    def change(model) -> None:
        for value in (*model.graph.input, *model.graph.output):
            dims = value.type.tensor_type.shape.dim
            if len(dims) == 4:
                dims[2].dim_value = length
    return change


def initializers(model, folder: str) -> dict:
    return {t.name: numpy_helper.to_array(t, folder) for t in model.graph.initializer}


def packed(model, folder: str) -> None:
    """One product for q, k and v, its bias in the node, and one input for all of them."""
    graph, known = model.graph, initializers(model, folder)
    by_output = {n.output[0]: n for n in graph.node}
    for node in attentions_of(graph):
        adds = [by_output[node.input[i]] for i in range(3)]
        products = [by_output[add.input[0]] for add in adds]
        joined = []
        for i in (1, 2):
            joined.append(f"{node.name}/qkv.{i}")
            array = np.concatenate([known[p.input[i]] for p in products])
            graph.initializer.append(numpy_helper.from_array(array, joined[-1]))
        bias = np.concatenate([known[add.input[1]] for add in adds])
        graph.initializer.append(numpy_helper.from_array(bias, f"{node.name}/qkv.bias"))
        product = products[0]
        product.input[1:] = [*joined, "", "", f"{node.name}/qkv.bias"]
        next(a for a in product.attribute if a.name == "N").i = len(bias)
        for unused in (*adds, *products[1:]):
            graph.node.remove(unused)
        node.input[0], node.input[1], node.input[2] = product.output[0], "", ""


def mixed(model, folder: str) -> None:
    """Values in eight bits, queries and keys in four: what onnxruntime-genai's mixed recipes do."""
    known = initializers(model, folder)
    for node in model.graph.node:
        if node.op_type == "MatMulNBits" and "v_proj" in node.name:
            packed_codes = known[node.input[1]]
            codes = np.stack([packed_codes & 15, packed_codes >> 4], -1).reshape(*packed_codes.shape[:2], -1)
            node.input[1] += "/8bits"
            model.graph.initializer.append(numpy_helper.from_array((codes + 120).astype(np.uint8), node.input[1]))
            next(a for a in node.attribute if a.name == "bits").i = 8


def variants(folder: str) -> None:
    changes = {"window": setting(local_window_size=6), "softcap": setting(softcap=2.0), "outside": outside,
               "packed": lambda m: packed(m, folder), "mixed": lambda m: mixed(m, folder), "buffer": buffer(64)}
    for name, change in changes.items():
        model = onnx.load(os.path.join(folder, "model.onnx"), load_external_data=False)
        change(model)
        path = os.path.join(folder, name)
        with open(path + ".onnx", "wb") as f:
            f.write(model.SerializeToString(deterministic=True))
        if name == "buffer":  # the same decoder, whose cache lies elsewhere
            shutil.copy(os.path.join(folder, "model.npz"), path + ".npz")
        else:
            record(path)


def decoder(folder: str, flags: str) -> None:
    command = ["decoder", "--preset", "tiny-qwen2", "--seed", "5", "--format", "genai", "--out", folder, *flags.split()]
    cli.main(command)
    for name in os.listdir(folder):
        if name.endswith(".json"):
            os.remove(os.path.join(folder, name))
    record(os.path.join(folder, "model"))


TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "int64": TensorProto.INT64,
         "int32": TensorProto.INT32, "bool": TensorProto.BOOL}


class Case:
    """A graph of one node: arrays in `given` are its inputs, those in `weights` constants."""

    def __init__(self, op: str, domain: str = "com.microsoft", **attributes):
        self.op, self.domain, self.attributes = op, domain, attributes
        self.names: list[str] = []
        self.given: dict[str, np.ndarray] = {}
        self.weights: dict[str, np.ndarray] = {}
        self.dims: dict[str, list] = {}
        self.outputs: list[str] = ["y"]
        self.shown: list[str] | None = None  # of the outputs; all of them unless given
        self.expected: dict[str, np.ndarray] | None = None

    def input(self, name: str, array: np.ndarray) -> "Case":
        self.names.append(name)
        self.given[name] = array
        return self

    def weight(self, name: str, array: np.ndarray | None) -> "Case":
        self.names.append("" if array is None else name)
        if array is not None:
            self.weights[name] = array
        return self

    def model(self) -> onnx.ModelProto:
        names = list(self.names)
        while names and not names[-1]:
            names.pop()
        node = helper.make_node(self.op, names, self.outputs, domain=self.domain, name="node", **self.attributes)
        values = [helper.make_tensor_value_info(n, TYPES[a.dtype.name], a.shape) for n, a in self.given.items()]
        outs = [helper.make_empty_tensor_value_info(n) for n in self.shown or self.outputs if n]
        graph = helper.make_graph([node], "case", values, outs,
                                  [numpy_helper.from_array(a, n) for n, a in self.weights.items()])
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def write(self, path: str) -> None:
        model, wanted = self.model(), [n for n in self.shown or self.outputs if n]
        if self.expected is None:
            results = run.session(model.SerializeToString()).run(wanted, self.given)
            self.expected = dict(zip(wanted, results))
        # The types onnxruntime gave.
        del model.graph.output[:]
        for n in wanted:
            a = self.expected[n]
            model.graph.output.append(helper.make_tensor_value_info(n, TYPES[a.dtype.name], a.shape))
        with open(path + ".onnx", "wb") as f:
            f.write(model.SerializeToString(deterministic=True))
        np.savez_compressed(path + ".npz", **self.given, **{f"out.{n}": a for n, a in self.expected.items()})


def pack(q: np.ndarray, bits: int) -> np.ndarray:
    """[.., n] codes -> [.., ceil(n * bits / 8)] bytes, the first in the low bits."""
    per = 8 // bits
    short = -q.shape[-1] % per
    q = np.pad(q, [(0, 0)] * (q.ndim - 1) + [(0, short)]).astype(np.uint8)
    out = np.zeros(q.shape[:-1] + (q.shape[-1] // per,), np.uint8)
    for i in range(per):
        out |= q[..., i::per] << (bits * i)
    return out


class Matrix:
    """Random codes of n rows of k columns in blocks, and what they mean."""

    def __init__(self, rng, n, k, bits, block, scale="float32", zeros="none"):
        self.n, self.k, self.bits, self.block = n, k, bits, block
        self.blocks = -(-k // block)
        self.q = rng.integers(0, 1 << bits, (n, self.blocks * block))
        self.scales = rng.uniform(0.01, 0.05, (n, self.blocks)).astype(scale)
        middle = 1 << (bits - 1)
        z = {"none": np.full((n, self.blocks), middle), "packed": rng.integers(0, 1 << bits, (n, self.blocks)),
             "float": rng.uniform(0, 2 * middle, (n, self.blocks)).astype(scale)}[zeros]
        self.z = z.astype(np.float32)
        self.zeros = {"none": None, "packed": pack(z, bits) if zeros == "packed" else None, "float": z}[zeros]

    def values(self, of: np.ndarray | None = None) -> np.ndarray:
        of = np.arange(self.k) // self.block if of is None else of
        return (self.q[:, :self.k] - self.z[:, of]) * self.scales.astype(np.float32)[:, of]

    def packed(self) -> np.ndarray:
        return pack(self.q.reshape(self.n, self.blocks, self.block), self.bits)


def products(rng) -> dict[str, Case]:
    """MatMulNBits."""
    def case(n, k, bits, block, scale="float32", zeros="none", flat=False, order=None, bias=False, x=(1, 3), exact=False):
        m = Matrix(rng, n, k, bits, block, scale, zeros)
        a = rng.standard_normal((*x, k)).astype(scale)
        shape = (lambda s: s.reshape(-1)) if flat else (lambda s: s)
        c = Case("MatMulNBits", K=k, N=n, bits=bits, block_size=block, accuracy_level=0)
        c.input("a", a).weight("b", m.packed()).weight("scales", shape(m.scales))
        c.weight("zero_points", None if m.zeros is None else shape(m.zeros))
        c.weight("g_idx", None if order is None else np.asarray(order, np.int32))
        b = rng.standard_normal(n).astype(scale)
        c.weight("bias", b if bias else None)
        if exact:  # onnxruntime's CPU provider lacks this form
            y = a.astype(np.float32) @ m.values(order).T + (b.astype(np.float32) if bias else 0)
            c.expected = {"y": y.astype(scale)}
        return c

    shuffled = np.repeat(rng.permutation(6), 16)
    shuffled = np.array([[0, 2, 1, 1, 2, 0][i] for i in shuffled])
    mixed = rng.permutation(np.repeat(np.arange(3), 32))
    return {
        "product-4-32": case(7, 96, 4, 32),
        "product-4-32-packed-odd": case(6, 96, 4, 32, zeros="packed"),
        "product-4-32-float": case(5, 64, 4, 32, zeros="float"),
        "product-4-16": case(9, 80, 4, 16, zeros="packed"),
        "product-4-64-fp16": case(8, 192, 4, 64, "float16", "packed"),
        "product-4-128-short": case(5, 200, 4, 128, zeros="packed"),
        "product-4-128-halves": case(6, 576, 4, 128),
        "product-4-256": case(4, 512, 4, 256, zeros="float", flat=True),
        "product-4-1024-short": case(3, 1100, 4, 1024, zeros="packed", exact=True),
        "product-4-32-ragged": case(6, 45, 4, 32, bias=True),
        "product-8-32": case(5, 96, 8, 32, zeros="packed"),
        "product-8-64-ragged": case(4, 100, 8, 64, flat=True, zeros="packed"),
        "product-8-128-float": case(4, 256, 8, 128, zeros="float", exact=True),
        "product-2-32": case(6, 96, 2, 32, exact=True),
        "product-2-64-packed": case(5, 320, 2, 64, zeros="packed", exact=True),
        "product-2-16-float": case(5, 48, 2, 16, zeros="float", exact=True),
        "product-4-32-row": case(6, 64, 4, 32, bias=True, x=(1, 1)),
        "product-4-32-flat-rows": case(6, 64, 4, 32, x=(5,)),
        "product-4-32-order": case(5, 96, 4, 32, zeros="packed", order=shuffled, exact=True),
        "product-4-32-order-any": case(5, 96, 4, 32, order=mixed, exact=True),
        "product-4-32-in-order": case(5, 64, 4, 32, order=np.arange(64) // 32, exact=True),
    }


def lookups(rng) -> dict[str, Case]:
    """GatherBlockQuantized."""
    def case(v, k, bits, block, scale="float32", zeros="none", exact=False):
        m = Matrix(rng, v, k, bits, block, scale, zeros)
        c = Case("GatherBlockQuantized", bits=bits, block_size=block, gather_axis=0, quantize_axis=1)
        c.weight("data", pack(m.q[:, :k], bits))
        ids = np.array([[0, v - 1, 3, 3]])
        c.input("ids", ids).weight("scales", m.scales).weight("zero_points", m.zeros)
        if exact:
            c.expected = {"y": m.values()[ids].astype(scale)}
        return c

    return {
        "lookup-4-32": case(10, 96, 4, 32),
        "lookup-4-16-packed-odd": case(9, 48, 4, 16, zeros="packed"),
        "lookup-4-128-fp16": case(8, 256, 4, 128, "float16", "packed"),
        "lookup-8-32": case(7, 64, 8, 32, zeros="packed"),
        "lookup-8-64": case(7, 128, 8, 64),
        "lookup-4-32-short": case(7, 48, 4, 32, zeros="packed", exact=True),
    }


def caches(length: int, half: int) -> tuple[np.ndarray, np.ndarray]:
    angle = np.outer(np.arange(length), 10000.0 ** (-np.arange(half) / half)).astype(np.float32)
    return np.cos(angle), np.sin(angle)


def attentions(rng) -> dict[str, Case]:
    """GroupQueryAttention."""
    def case(heads=4, kv=2, dim=16, rows=3, past=5, total=None, live=None, packed=False, rotary=True, half=None, **attributes):
        total = past + rows if total is None else total
        random = lambda *shape: rng.standard_normal(shape).astype(np.float32)
        c = Case("GroupQueryAttention", num_heads=heads, kv_num_heads=kv, do_rotary=int(rotary), **attributes)
        if packed:
            c.input("q", random(1, rows, (heads + 2 * kv) * dim)).weight("k", None).weight("v", None)
        else:
            c.input("q", random(1, rows, heads * dim)).input("k", random(1, rows, kv * dim))
            c.input("v", random(1, rows, kv * dim))
        if past:
            c.input("past_key", random(1, kv, past, dim)).input("past_value", random(1, kv, past, dim))
        else:
            c.weight("past_key", None).weight("past_value", None)
        live = total if live is None else live
        c.input("seqlens_k", np.array([live - 1], np.int32)).weight("total", np.array(total, np.int32))
        cos, sin = caches(64, half or dim // 2)
        c.weight("cos", cos if rotary else None).weight("sin", sin if rotary else None)
        c.outputs = ["y", "present_key", "present_value"]
        # What a buffer holds past the live rows is nobody's business.
        c.shown = ["y"] if total <= past else None
        return c

    def more(c: Case, **inputs) -> Case:
        for name in ("position_ids", "attention_bias", "head_sink"):
            if name in inputs:
                c.input(name, inputs[name])
            else:
                c.weight(name, None)
        return c

    bias = rng.standard_normal((1, 4, 3, 8)).astype(np.float32)
    return {
        "gqa-prompt": case(past=0, rows=6),
        "gqa-grow": case(),
        "gqa-one": case(rows=1, past=7),
        "gqa-packed": case(packed=True),
        "gqa-packed-prompt": case(packed=True, past=0, rows=5, kv=4),
        "gqa-plain": case(rotary=False, scale=0.3),
        "gqa-pairs": case(rotary_interleaved=1),
        "gqa-part": case(dim=32, half=8),
        "gqa-window": case(past=9, rows=3, local_window_size=4),
        "gqa-window-prompt": case(past=0, rows=9, local_window_size=4),
        "gqa-softcap": case(softcap=2.0),
        "gqa-buffer": case(past=12, rows=1, total=8),
        "gqa-buffer-prompt": case(past=12, rows=6, total=6),
        "gqa-positions": more(case(past=5, rows=1), position_ids=np.array([[9]])),
        "gqa-bias": more(case(rotary=False), attention_bias=bias),
        "gqa-bias-softcap": more(case(rotary=False, softcap=3.0), attention_bias=bias),
    }


def others(rng) -> dict[str, Case]:
    random = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    norm = lambda op, **a: Case(op, epsilon=1e-5, **a)
    cos, sin = caches(32, 8)

    def rotary(x, positions, half=None, **attributes):
        c, s = (cos, sin) if half is None else caches(32, half)
        return (Case("RotaryEmbedding", **attributes).input("x", x).input("position_ids", positions)
                .weight("cos", c).weight("sin", s))

    skip_rms = norm("SkipSimplifiedLayerNormalization").input("x", random(1, 3, 24)).input("skip", random(1, 3, 24))
    skip_rms.weight("gamma", random(24)).outputs = ["y", "", "", "sum"]
    skip_bias = norm("SkipSimplifiedLayerNormalization").input("x", random(1, 3, 24)).input("skip", random(1, 3, 24))
    skip_bias.weight("gamma", random(24)).weight("bias", random(24)).outputs = ["y", "", "", "sum"]
    skip_layer = norm("SkipLayerNormalization").input("x", random(1, 3, 24)).input("skip", random(1, 3, 24))
    skip_layer.weight("gamma", random(24)).weight("beta", random(24)).weight("bias", random(24))
    skip_layer.outputs = ["y", "", "", "sum"]
    return {
        "rms": Case("SimplifiedLayerNormalization", domain="", axis=-1, epsilon=1e-5, stash_type=1)
        .input("x", random(2, 3, 24)).weight("scale", random(24)),
        "skip-rms": skip_rms,
        "skip-rms-bias": skip_bias,
        "skip-layer": skip_layer,
        "rotary": rotary(random(1, 3, 32), np.array([[4, 9, 2]])),
        "rotary-from": rotary(random(1, 3, 32), np.array([5])),
        "rotary-heads": rotary(random(1, 2, 3, 16), np.array([[4, 9, 2]])),
        "rotary-pairs": rotary(random(1, 3, 32), np.array([[4, 9, 2]]), interleaved=1),
        "rotary-part": rotary(random(1, 3, 64), np.array([[4, 9, 2]]), num_heads=2, rotary_embedding_dim=16),
        "bias-gelu": Case("BiasGelu").input("x", random(2, 3, 8)).weight("bias", random(8)),
        "fast-gelu": Case("FastGelu").input("x", random(2, 3, 8)).weight("bias", random(8)),
        "fast-gelu-plain": Case("FastGelu").input("x", random(2, 3, 8)),
        "quick-gelu": Case("QuickGelu").input("x", random(2, 3, 8)),
        "quick-gelu-silu": Case("QuickGelu", alpha=1.0).input("x", random(2, 3, 8)),
        "gelu": Case("Gelu").input("x", random(2, 3, 8)),
    }


def many_headed(rng) -> dict[str, Case]:
    """MultiHeadAttention."""
    random = lambda *shape: rng.standard_normal(shape).astype(np.float32)

    def case(q, k=None, v=None, bias=None, padding=None, extra=None, past=None, outputs=1, heads=2, **attributes):
        c = Case("MultiHeadAttention", num_heads=heads, **attributes)
        for name, a in (("q", q), ("k", k), ("v", v), ("bias", bias), ("padding", padding), ("extra", extra),
                        ("past_key", past), ("past_value", past)):
            c.weight(name, None) if a is None else c.input(name, a)
        c.outputs = ["y", "present_key", "present_value"][:outputs]
        return c

    def packed(q, kv=None):
        """onnxruntime's CPU provider takes no packed inputs: what it gives for the parts."""
        flat = lambda x, i: np.ascontiguousarray(x[:, :, :, i].reshape(1, x.shape[1], -1))
        parts = (q, flat(kv, 0), flat(kv, 1)) if kv is not None else (flat(q, i) for i in range(3))
        apart, whole = case(*parts), case(q, kv)
        whole.expected = {"y": run.session(apart.model().SerializeToString()).run(None, apart.given)[0]}
        return whole

    q, kv = random(1, 3, 16), random(1, 5, 16)
    return {
        "mha": case(q, kv, kv[..., ::-1].copy()),
        "mha-bias": case(q, kv, kv, bias=random(48)),
        "mha-causal": case(q, q, q, unidirectional=1),
        "mha-heads": case(q, random(1, 2, 5, 8), random(1, 2, 5, 8), scale=0.5),
        "mha-packed-kv": packed(q, random(1, 5, 2, 2, 8)),
        "mha-packed": packed(random(1, 3, 2, 3, 8)),
        "mha-padding": case(q, kv, kv, padding=np.array([[1, 1, 0, 1, 0]], np.int32)),
        "mha-length": case(q, kv, kv, padding=np.array([3], np.int32)),
        "mha-extra": case(q, kv, kv, extra=random(1, 2, 3, 5)),
        "mha-past": case(q, q, q, past=random(1, 2, 4, 8), outputs=3),
        "mha-past-causal": case(q, q, q, past=random(1, 2, 4, 8), outputs=3, unidirectional=1),
    }


# fp32 with float zero points says what the weights say; the others quantise anew and compute in fp16, head and table in floats.
SMOLLM2 = {"exact": "--zp float --float-head", "fp16": "--fp16", "fp16-head": "--fp16 --float-head"}


def smollm2(out: str) -> None:
    from modelgen import fetch
    cache = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".cache", "downloads")
    os.makedirs(out, exist_ok=True)
    gguf = os.path.join(out, "weights.gguf")
    for name, flags in SMOLLM2.items():
        folder = os.path.join(out, name)
        if os.path.exists(folder):
            continue
        if not os.path.exists(gguf):
            fetch.fetch("smollm2-135m", gguf, cache)
        shutil.rmtree(folder + ".part", ignore_errors=True)
        cli.main(["gguf", "--gguf", gguf, "--format", "genai", "--out", folder + ".part", *flags.split()])
        os.rename(folder + ".part", folder)
    if os.path.exists(gguf):
        os.remove(gguf)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out")
    parser.add_argument("--smollm2", metavar="FOLDER")
    args = parser.parse_args()
    if args.smollm2:
        smollm2(args.smollm2)
    out = args.out
    if not out:
        return
    for part in ("ops", "decoders"):
        shutil.rmtree(os.path.join(out, part), ignore_errors=True)
    os.makedirs(os.path.join(out, "ops"))
    rng = np.random.default_rng(7)
    for cases in (products, lookups, attentions, others, many_headed):
        for name, case in cases(rng).items():
            try:
                case.write(os.path.join(out, "ops", name))
            except Exception as error:
                raise SystemExit(f"{name}: {error}") from error
    for name, flags in DECODERS.items():
        decoder(os.path.join(out, "decoders", name), flags)
    variants(os.path.join(out, "decoders", "mid"))


if __name__ == "__main__":
    main()
