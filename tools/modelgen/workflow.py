"""A workflow package in the onnx-genai form: ten policy graphs, inference_metadata.yaml and its annotated
twin around a decoder, and what comes out of running the YAML to the letter in onnxruntime.

    cd tools && python -m modelgen workflow --model ../models/tiny/model.onnx --out ../tests/data/workflow

The caches here grow: before the prompt they are empty, and a step's mask is one longer than the last. `fixed/` has
the two policies of a package whose caches have room for prompt and answer from the start.
"""
from __future__ import annotations

import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

OPSET = 24
DTYPES = {TensorProto.FLOAT: "float32", TensorProto.INT64: "int64", TensorProto.BOOL: "bool"}
HEAD = f'<ir_version: 11, opset_import: ["" : {OPSET}]>\n'

# name -> text; the shapes' symbols tell which axis is the batch
TEXTS = {
    "last_token_logits": """last_token_logits (float[batch, sequence, vocabulary] logits) => (float[batch, vocabulary] last_logits) {
        last = Constant <value_int = -1> ()
        last_logits = Gather <axis = 1> (logits, last) }""",
    "token_to_slot": """token_to_slot (int64[batch] token) => (int64[batch, 1] slot) {
        axis = Constant <value_ints = [1]> ()
        slot = Unsqueeze (token, axis) }""",
    "token_state_update": """token_state_update
        (int64[batch, 1] current, int64[batch, 1] update, bool[batch] active, bool[batch] done) => (int64[batch, 1] next) {
        axis = Constant <value_ints = [1]> ()
        open = Not (done)
        runs = And (active, open)
        column = Unsqueeze (runs, axis)
        next = Where (column, update, current) }""",
    "length_update": """length_update
        (int64[batch] left, int64[batch] right, bool[batch] active, bool[batch] done) => (int64[batch] total) {
        open = Not (done)
        runs = And (active, open)
        sum = Add (left, right)
        total = Where (runs, sum, left) }""",
    "decoder_step_update": """decoder_step_update
        (int64[batch, context] attention_mask, int64[batch] logical_length, int64[batch, 1] position_ids)
        => (int64[batch, longer] next_attention_mask, int64[batch, 1] next_position_ids) {
        axis = Constant <value_ints = [1]> ()
        one = Constant <value_int = 1> ()
        length = Unsqueeze (logical_length, axis)
        zeros = Sub (length, length)
        ones = Add (zeros, one)
        next_attention_mask = Concat <axis = 1> (attention_mask, ones)
        next_position_ids = Add (position_ids, one) }""",
    "fixed/decoder_step_update": """decoder_step_update
        (int64[batch, context] attention_mask, int64[batch] logical_length, int64[batch, 1] position_ids)
        => (int64[batch, context] next_attention_mask, int64[batch, 1] next_position_ids) {
        axis = Constant <value_ints = [1]> ()
        zero = Constant <value_int = 0> ()
        one = Constant <value_int = 1> ()
        shape = Shape <start = 1> (attention_mask)
        scalar = Squeeze (shape)
        slots = Range (zero, scalar, one)
        length = Unsqueeze (logical_length, axis)
        here = Equal (slots, length)
        next_attention_mask = Where (here, one, attention_mask)
        next_position_ids = Add (position_ids, one) }""",
    "termination_batch_initializer": """termination_batch_initializer
        (int64[batch, num_eos] input_eos_ids, int64[batch] input_eos_lengths, int64[batch] input_max_iterations,
         int64[1] fallback_max_iterations, bool[batch] active)
        => (int64[batch, num_eos] row_eos_ids, int64[batch] eos_lengths, int64[batch] max_iterations) {
        zero = Constant <value_int = 0> ()
        given = Greater (input_max_iterations, zero)
        max_iterations = Where (given, input_max_iterations, fallback_max_iterations)
        row_eos_ids = Identity (input_eos_ids)
        eos_lengths = Identity (input_eos_lengths) }""",
    "termination": """termination
        (int64[batch] tokens, int64[batch, num_eos] eos_ids, int64[batch] eos_lengths, int64[1] iteration,
         int64[batch] max_iterations, bool[batch] active)
        => (bool[batch] done, bool[batch] next_active, bool[1] continue) {
        axis = Constant <value_ints = [1]> ()
        zero = Constant <value_int = 0> ()
        one = Constant <value_int = 1> ()
        column = Unsqueeze (tokens, axis)
        same = Equal (column, eos_ids)
        shape = Shape <start = 1> (eos_ids)
        scalar = Squeeze (shape)
        places = Range (zero, scalar, one)
        lengths = Unsqueeze (eos_lengths, axis)
        valid = Less (places, lengths)
        hit = And (same, valid)
        hits = Cast <to = 7> (hit)
        count = ReduceSum <keepdims = 0> (hits, axis)
        ended = Greater (count, zero)
        next = Add (iteration, one)
        spent = GreaterOrEqual (next, max_iterations)
        either = Or (ended, spent)
        going = Not (either)
        next_active = And (active, going)
        done = Not (next_active)
        rows = Cast <to = 7> (next_active)
        most = ReduceMax <keepdims = 1> (rows)
        continue = Greater (most, zero) }""",
}


def initializer(caches: list, fixed: bool) -> str:
    """decoder_state_initializer for caches (name, heads, head dim)."""
    outs = ", ".join(f"float[batch, {h}, {'capacity' if fixed else 'past'}, {d}] \"{n}\"" for n, h, d in caches)
    body = f"""decoder_state_initializer
        (int64[batch, prompt_sequence] prompt_tokens, int64[batch] prompt_lengths, int64[1] max_iterations)
        => (int64[batch, capacity] attention_mask, int64[batch, sequence] position_ids, int64[batch, capacity] body_attention_mask,
            int64[batch, 1] body_position_ids, int64[batch, 1] token_slot, int64[batch] generated_lengths, int64[batch] cache_lengths, {outs}) {{
        axis = Constant <value_ints = [1]> ()
        none = Constant <value_ints = [0]> ()
        zero = Constant <value_int = 0> ()
        one = Constant <value_int = 1> ()
        shape = Shape (prompt_tokens)
        rows = Shape <start = 0, end = 1> (prompt_tokens)
        columns = Shape <start = 1> (prompt_tokens)
        given = Greater (prompt_lengths, zero)
        cache_lengths = Where (given, prompt_lengths, columns)
        room = {'Add (columns, max_iterations)' if fixed else 'Identity (columns)'}
        scalar = Squeeze (room)
        slots = Range (zero, scalar, one)
        lengths = Unsqueeze (cache_lengths, axis)
        live = Less (slots, lengths)
        attention_mask = Cast <to = 7> (live)
        body_attention_mask = Identity (attention_mask)
        long = Squeeze (columns)
        places = Range (zero, long, one)
        position_ids = Expand (places, shape)
        body_position_ids = Unsqueeze (cache_lengths, axis)
        token_slot = Mul (lengths, zero)
        generated_lengths = Mul (cache_lengths, zero)
        past = {'Identity (room)' if fixed else 'Identity (none)'}
"""
    for i, (name, heads, dim) in enumerate(caches):
        body += f"""        heads_{i} = Constant <value_ints = [{heads}]> ()
        dim_{i} = Constant <value_ints = [{dim}]> ()
        size_{i} = Concat <axis = 0> (rows, heads_{i}, past, dim_{i})
        "{name}" = ConstantOfShape <value = float[1] {{0.0}}> (size_{i})
"""
    return body + "}"


class Nodes:
    def __init__(self):
        self.nodes = []

    def __call__(self, op: str, *ins: str, out: str = "", **attrs) -> str:
        out = out or f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(ins), [out], **attrs))
        return out

    def const(self, value, dtype) -> str:
        out = f"const_{len(self.nodes)}"
        tensor = numpy_helper.from_array(np.array(value, dtype))
        self.nodes.append(helper.make_node("Constant", [], [out], value=tensor))
        return out


def threefry(n: Nodes, seed: str, counter: str) -> str:
    """The first word of Threefry-2x64-20 with key (seed, 0) and counter (counter, 0)."""
    u = lambda x: n.const(x, np.uint64)
    key = n("Cast", seed, to=TensorProto.UINT64)
    zero = n("BitwiseXor", key, key)
    keys = [key, zero, n("BitwiseXor", key, u(0x1BD11BDAA9FC1A22))]
    x0, x1 = n("Add", n("Cast", counter, to=TensorProto.UINT64), key), zero
    for r in range(20):
        x0 = n("Add", x0, x1)
        by = (16, 42, 12, 31, 16, 32, 24, 21)[r % 8]
        left = n("BitShift", x1, u(by), direction="LEFT")
        x1 = n("BitwiseXor", n("BitwiseOr", left, n("BitShift", x1, u(64 - by), direction="RIGHT")), x0)
        if r % 4 == 3:
            k = r // 4 + 1
            x0 = n("Add", x0, keys[k % 3])
            x1 = n("Add", n("Add", x1, keys[(k + 1) % 3]), u(k))
    return x0


def token_sampler() -> onnx.ModelProto:
    n = Nodes()
    f = lambda x: n.const(x, np.float32)
    i = lambda x: n.const(x, np.int64)
    axis = i([1])
    column = lambda x: n("Unsqueeze", x, axis)
    runs = n("And", "active", n("Not", "done"))
    word = n("BitShift", threefry(n, "seed", "counter"), n.const(11, np.uint64), direction="RIGHT")
    share = n("Div", n("Cast", word, to=TensorProto.DOUBLE), n.const(2.0 ** 53, np.float64))
    share = n("Cast", share, to=TensorProto.FLOAT)
    low = f(np.finfo(np.float32).min)
    scaled = n("Div", "logits", column(n("Max", "temperature", f(1e-6))))
    best = n("ReduceMax", scaled, axis, keepdims=1)
    least = n("Add", best, n("Log", column(n("Clip", "min_p", f(1e-20), f(1.0)))))
    stays = n("Or", column(n("LessOrEqual", "min_p", f(0.0))), n("GreaterOrEqual", scaled, least))
    scaled = n("Where", stays, scaled, low)
    vocab = n("Shape", "logits", start=1)
    shape = n("Shape", "logits")
    k = n("Where", n("Greater", "top_k", i(0)), "top_k", vocab)
    k = n("Min", n("Max", k, i(1)), vocab)
    places = n("Expand", n("Range", i(0), n("Squeeze", vocab), i(1)), shape)

    def sort(x, name):
        values, order = f"{name}_values", f"{name}_order"
        n.nodes.append(helper.make_node("TopK", [x, vocab], [values, order], axis=-1, largest=1, sorted=1))
        return values, order

    def keep(order, which):
        """True at the places in `order` whose rank is kept."""
        zeros = n("ConstantOfShape", shape, value=numpy_helper.from_array(np.zeros(1, np.int64)))
        marks = n("ScatterElements", zeros, order, n("Cast", which, to=TensorProto.INT64), axis=1)
        return n("Greater", marks, i(0))

    _, order = sort(scaled, "logit")
    scaled = n("Where", keep(order, n("Less", places, column(k))), scaled, low)
    p = n("Softmax", scaled, axis=-1)
    values, order = sort(p, "p")
    before = n("Sub", n("CumSum", values, i(1)), values)
    inside = keep(order, n("Less", before, column(n("Clip", "top_p", f(1e-6), f(1.0)))))
    p = n("Where", inside, p, f(0.0))
    p = n("Div", p, n("Max", n("ReduceSum", p, axis, keepdims=1), f(1e-20)))
    reached = n("GreaterOrEqual", n("CumSum", p, i(1)), column(share))
    first = n("ArgMax", n("Cast", reached, to=TensorProto.INT64), axis=-1, keepdims=0)
    n("Where", runs, first, i(-1), out="token")
    n("Where", runs, n("Add", "counter", i(1)), "counter", out="next_counter")
    row = lambda name, t: helper.make_tensor_value_info(name, t, ["batch"])
    ints, floats, bools = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL
    ins = [helper.make_tensor_value_info("logits", floats, ["batch", "vocabulary"]), row("temperature", floats),
           row("top_k", ints), row("top_p", floats), row("min_p", floats), row("seed", ints), row("counter", ints),
           row("active", bools), row("done", bools)]
    graph = helper.make_graph(n.nodes, "token_sampler", ins, [row("token", ints), row("next_counter", ints)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=11)


# a sampler that no kernel is: the runner-up, on every second token
RUNNER_UP = """runner_up (float[batch, vocabulary] logits, int64[batch] counter) => (int64[batch] token, int64[batch] next_counter) {
        two = Constant <value_ints = [2]> ()
        one = Constant <value_int = 1> ()
        couple = Constant <value_int = 2> ()
        axis = Constant <value_ints = [1]> ()
        values, order = TopK <axis = -1, largest = 1, sorted = 1> (logits, two)
        odd = Mod (counter, couple)
        which = Unsqueeze (odd, axis)
        picked = GatherElements <axis = 1> (order, which)
        token = Squeeze (picked, axis)
        next_counter = Add (counter, one) }"""


# ends at a second even token in a row, at a sum of tokens, or two tokens before the limit
ENDING = """ending (int64[batch] tokens, int64[batch] before, int64[batch] total, int64[1] iteration, int64[batch] max_iterations,
         bool[batch] active)
        => (bool[batch] done, bool[batch] next_active, bool[1] continue, int64[batch] kept) {
        zero = Constant <value_int = 0> ()
        couple = Constant <value_int = 2> ()
        three = Constant <value_int = 3> ()
        most = Constant <value_int = 1500> ()
        odd = Mod (tokens, couple)
        even = Equal (odd, zero)
        odd_before = Mod (before, couple)
        even_before = Equal (odd_before, zero)
        pair = And (even, even_before)
        sum = Add (total, tokens)
        long = GreaterOrEqual (sum, most)
        next = Add (iteration, three)
        spent = GreaterOrEqual (next, max_iterations)
        one_of = Or (pair, long)
        ended = Or (one_of, spent)
        going = Not (ended)
        next_active = And (active, going)
        done = Not (next_active)
        rows = Cast <to = 7> (next_active)
        best = ReduceMax <keepdims = 1> (rows)
        continue = Greater (best, zero)
        kept = Identity (tokens) }"""


def processors(vocab: int) -> dict:
    """Policies between logits and sampler: scale and bias of the last row, and what every token so far costs."""
    bias = ", ".join(str(-10000.0 if i % 5 == 3 else round((i * 7 % 11) * 0.06, 2)) for i in range(vocab))
    return {
        "scaled_logits": f"""scaled_logits (float[batch, sequence, {vocab}] logits) => (float[batch, {vocab}] last_logits)
        <float[{vocab}] bias = {{{bias}}}> {{
        last = Constant <value_int = -1> ()
        scale = Constant <value_float = 0.75> ()
        row = Gather <axis = 1> (logits, last)
        scaled = Mul (row, scale)
        last_logits = Add (scaled, bias) }}""",
        "count_initializer": f"""count_initializer (bool[batch] active) => (float[batch, {vocab}] counts) {{
        axis = Constant <value_ints = [1]> ()
        zeros = Constant <value = float[1, {vocab}] {{{", ".join(["0"] * vocab)}}}> ()
        flags = Cast <to = 1> (active)
        column = Unsqueeze (flags, axis)
        counts = Mul (column, zeros) }}""",
        "count_penalty": f"""count_penalty (float[batch, {vocab}] logits, float[batch, {vocab}] counts) => (float[batch, {vocab}] processed) {{
        cost = Constant <value_float = 0.4> ()
        costs = Mul (counts, cost)
        processed = Sub (logits, costs) }}""",
        "count_update": f"""count_update (float[batch, {vocab}] counts, int64[batch] token) => (float[batch, {vocab}] next) {{
        axis = Constant <value_ints = [1]> ()
        zero = Constant <value_int = 0> ()
        one = Constant <value_int = 1> ()
        size = Constant <value_int = {vocab}> ()
        ids = Range (zero, size, one)
        column = Unsqueeze (token, axis)
        same = Equal (ids, column)
        marks = Cast <to = 1> (same)
        next = Add (counts, marks) }}""",
    }


def ports(model: onnx.ModelProto) -> dict:
    def contract(v):
        t = v.type.tensor_type
        shape = [d.dim_param if d.HasField("dim_param") else d.dim_value for d in t.shape.dim]
        shape = ["batch" if s == "batch_size" else s for s in shape]
        out = {"dtype": DTYPES[t.elem_type], "rank": len(shape), "shape": shape}
        if shape and shape[0] == "batch":
            out["batch_layout"] = {"kind": "request_aligned", "axis": 0}
        return out
    known = {t.name for t in model.graph.initializer}
    return {"inputs": {v.name: contract(v) for v in model.graph.input if v.name not in known},
            "outputs": {v.name: contract(v) for v in model.graph.output}}


def row(dtype: str, rank: int = 1, *more) -> dict:
    return {"dtype": dtype, "rank": rank, "shape": ["batch", *more],
            "batch_layout": {"kind": "request_aligned", "axis": 0}}


def single(dtype: str, dim=1) -> dict:
    return {"dtype": dtype, "rank": 1, "shape": [dim]}


def metadata(models: dict, caches: list, eos: int, max_context: int, vocab: int) -> dict:
    def given(contract, source, role=None, default=None, name=None):
        out = {"contract": contract,
               "role": {"kind": "runtime", "version": "1.0", "role": role} if role else {"kind": "opaque"},
               "source": {"kind": source, "name": name} if name else {"kind": source},
               "required": default is None}
        if default is not None:
            out["default"] = default
        return out
    ints, floats, bools = row("int64"), row("float32"), row("bool")
    inputs = {
        "request.input_ids": given(row("int64", 2, "sequence"), "request", "prompt_tokens"),
        "request.max_iterations": given(single("int64"), "request", "max_output_tokens"),
        "package.one_token": given(ints, "literal", default=1),
        "package.max_context": given(single("int64"), "literal", default=max_context),
        "request.prompt_lengths": given(ints, "application", default=-1, name="prompt_lengths"),
        "request.eos_ids": given(row("int64", 2, "num_eos"), "application", default=eos, name="eos_ids"),
        "request.eos_lengths": given(ints, "application", default=1, name="eos_lengths"),
        "request.row_max_iterations": given(ints, "application", default=-1, name="row_max_iterations"),
        "request.temperature": given(floats, "request", "sampling_temperature", 1.0),
        "request.top_k": given(ints, "request", "sampling_top_k", 1),
        "request.top_p": given(floats, "request", "sampling_top_p", 1.0),
        "request.min_p": given(floats, "request", "sampling_min_p", 0.0),
        "request.seed": given(ints, "request", "seed", 0),
        "request.rng_counter": given(ints, "application", default=0, name="rng_counter"),
        "package.active": given(bools, "literal", default=True),
        "package.not_done": given(bools, "literal", default=False),
        "package.zero_batch": given(ints, "literal", default=0),
    }
    promise = lambda kind, *names: {
        "id": f"onnx-genai.{kind}", "version": "2", "bindings": {n: n for n in names},
        "parameters": {"batching": "per_row", "inactive_rows": "preserve"}}
    contracts = {
        "token_sampler": promise("token-sampler", "logits", "token", "temperature", "top_k", "top_p", "min_p", "active",
                                 "done", "seed", "counter", "next_counter"),
        "termination": promise("termination-predicate", "tokens", "eos_ids", "iteration", "max_iterations", "eos_lengths",
                               "active", "done", "next_active", "continue"),
        "token_state_update": promise("state-update", "current", "update", "active", "done", "next"),
    }
    components = {}
    for name, (artifact, model) in models.items():
        c = {"implementation": {"kind": "onnx", "artifact": artifact}, "ports": ports(model)}
        if name == "model":
            c["ports"]["roles"] = {"input_ids": "token_ids", "attention_mask": "attention_mask",
                                   "position_ids": "position_ids", "logits": "logits"}
        if name in contracts:
            c["contract"] = contracts[name]
            c["application_overridable"] = name == "token_sampler"
        components[name] = c
    cell = lambda contract, initializer: {"contract": contract, "scope": "invocation", "initializer": initializer,
                                          "recurrence": {"kind": "invariant"}}
    bounded = lambda axis: {"kind": "bounded", "axis": axis, "max": "package.max_context"}
    state = {
        "token": cell(row("int64", 2, 1), "initializer.token_slot"),
        "logits": cell(row("float32", 2, vocab), "decoder.setup.last_logits"),
        "generated_lengths": cell(ints, "initializer.generated_lengths"),
        "active": cell(bools, "package.active"),
        "done": cell(bools, "package.not_done"),
        "accepted_len": cell(ints, "package.zero_batch"),
        "cache_lengths": cell(ints, "initializer.cache_lengths"),
        "rng_counter": cell(ints, "request.rng_counter"),
        "attention_mask": {**cell(row("int64", 2, "context"), "initializer.attention_mask"), "recurrence": bounded(1)},
        "position_ids": cell(row("int64", 2, 1), "initializer.body_position_ids"),
    }
    for i, (name, heads, dim) in enumerate(caches):
        state[f"cache_{i}"] = {
            **cell(row("float32", 4, heads, "past_sequence", dim), f"decoder.setup.{present(name)}"),
            "recurrence": bounded(2), "service_group": "decoder_cache", "management": "runtime",
            "release_boundary": "invocation"}
    alias = lambda i, name: {"input": name, "output": present(name), "role": name.rsplit(".", 1)[1],
                             "layer": int(name.split(".")[1])}
    serving = {"active": "active", "done": "done", "accepted_len": "accepted_len", "state_service": {"groups": {
        "decoder_cache": {"kind": "full_attention", "sequence_axis": 2, "layout": "bnsh", "logical_lengths": "cache_lengths",
                          "aliasing": "permitted", "reuse": {"prefix_reusable": True, "evictable_prefix": False},
                          "capabilities": {"rollback_positions": 32, "snapshot": True, "fork": True},
                          "ports": {"model": {f"cache_{i}": alias(i, c[0]) for i, c in enumerate(caches)}}}}}}
    capabilities = ["workflow_ssa", "linear_effects", "nested_control_flow", "typed_emit", "emit_valid_length",
                    "loop_induction_values", "serving_service_contract", "bounded_state_recurrence"]
    names = ("temperature", "top_k", "top_p", "min_p", "seed")
    return {
        "schema_version": "1.0",
        "pipeline": {"workflow": {
            "manifest": {"capabilities": capabilities}, "inputs": inputs,
            "outputs": {"tokens": {"contract": row("int64", 2, "generated_sequence"), "role": "tokens", "stage": "pre_adapter"}},
            "components": components, "state": state, "serving": serving, "steps": [loop(caches)]}},
        "package": {"tokenizer": {"algorithm": "bpe", "vocab_size": vocab, "byte_level": True,
                                  "special_tokens": {"eos": {"id": eos, "content": "<|im_end|>"}}}},
        "generation": {"overrides": {"max_output_tokens": {"input": "request.max_iterations"},
                                     **{n: {"input": f"request.{n}"} for n in names}}},
    }


def present(past: str) -> str:
    return past.replace("past_key_values", "present")


def invoke(component: str, inputs: dict, outputs: dict) -> dict:
    return {"kind": "invoke", "component": component, "inputs": inputs, "outputs": outputs}


def loop(caches: list) -> dict:
    names = [c[0] for c in caches]
    runs = {"active": "active", "done": "done"}
    first = {n: f"initializer.{n}" for n in ("attention_mask", "body_attention_mask", "token_slot", "generated_lengths",
                                             "cache_lengths", "position_ids", "body_position_ids", *names)}
    setup = [
        invoke("decoder_state_initializer", {"prompt_tokens": "request.input_ids", "prompt_lengths": "request.prompt_lengths",
                                             "max_iterations": "request.max_iterations"}, first),
        invoke("model", {"input_ids": "request.input_ids", "attention_mask": "initializer.attention_mask",
                         "position_ids": "initializer.position_ids", **{n: f"initializer.{n}" for n in names}},
               {"logits": "decoder.setup.logits", **{present(n): f"decoder.setup.{present(n)}" for n in names}}),
        invoke("termination_batch_initializer",
               {"input_eos_ids": "request.eos_ids", "input_eos_lengths": "request.eos_lengths",
                "input_max_iterations": "request.row_max_iterations", "fallback_max_iterations": "request.max_iterations",
                "active": "package.active"},
               {"row_eos_ids": "termination.eos_ids", "eos_lengths": "termination.eos_lengths",
                "max_iterations": "termination.max_iterations"}),
        invoke("last_token_logits", {"logits": "decoder.setup.logits"}, {"last_logits": "decoder.setup.last_logits"}),
    ]
    length = lambda component, left, out: invoke(
        component, {"left": left, "right": "package.one_token", **runs}, {"total": out})
    steps = [
        invoke("token_sampler", {"logits": "logits", **{n: f"request.{n}" for n in ("temperature", "top_k", "top_p", "min_p", "seed")},
                                 "counter": "rng_counter", **runs}, {"token": "sample.body", "next_counter": "sample.next_counter"}),
        invoke("token_to_slot", {"token": "sample.body"}, {"slot": "sample.slot"}),
        length("generated_length_update", "generated_lengths", "token.next_lengths"),
        length("generated_length_update", "package.zero_batch", "token.emitted_length"),
        invoke("token_state_update", {"current": "token", "update": "sample.slot", **runs}, {"next": "token.body"}),
        invoke("termination", {"tokens": "sample.body", "eos_ids": "termination.eos_ids", "eos_lengths": "termination.eos_lengths",
                               "iteration": "loop.iteration", "max_iterations": "termination.max_iterations", "active": "active"},
               {"done": "loop.done", "continue": "loop.continue", "next_active": "loop.next_active"}),
        length("cache_length_update", "cache_lengths", "cache_lengths.next"),
        length("cache_length_update", "package.zero_batch", "accepted_len.next"),
        {"kind": "emit", "value": "token.body", "output": "tokens", "mode": "append", "valid_length": "token.emitted_length",
         "when": "active"},
        invoke("decoder_step_update", {"attention_mask": "attention_mask", "logical_length": "cache_lengths",
                                       "position_ids": "position_ids"},
               {"next_attention_mask": "decoder_step.attention_mask", "next_position_ids": "decoder_step.position_ids"}),
        invoke("model", {"input_ids": "token.body", "attention_mask": "decoder_step.attention_mask", "position_ids": "position_ids",
                         **{n: f"cache_{i}" for i, n in enumerate(names)}},
               {"logits": "decoder.body.logits", **{present(n): f"decoder.body.{present(n)}" for n in names}}),
        invoke("last_token_logits", {"logits": "decoder.body.logits"}, {"last_logits": "decoder.body.last_logits"}),
    ]
    carried = {"token": "token.body", "logits": "decoder.body.last_logits", "generated_lengths": "token.next_lengths",
               "active": "loop.next_active", "done": "loop.done", "cache_lengths": "cache_lengths.next",
               "accepted_len": "accepted_len.next", "rng_counter": "sample.next_counter",
               "attention_mask": "decoder_step.attention_mask", "position_ids": "decoder_step.position_ids",
               **{f"cache_{i}": f"decoder.body.{present(n)}" for i, n in enumerate(names)}}
    return {"kind": "loop", "setup": setup, "steps": steps, "continue_when": "active",
            "max_iterations": "request.max_iterations", "carried": [{"cell": c, "next": n} for c, n in carried.items()],
            "termination": "generation_eos", "iteration": {"value": "loop.iteration", "contract": single("int64")}}


def dump(node, indent: int = 0) -> str:
    """YAML of plain tables, lists and scalars."""
    pad = "  " * indent
    scalar = lambda x: json.dumps(x) if not isinstance(x, str) or not plain(x) else x
    plain = lambda x: x[:1].isalpha() and all(c.isalnum() or c in "._-/" for c in x) and x not in ("true", "false", "null", "y", "n")
    key = lambda k: k if plain(k) else json.dumps(k)
    if isinstance(node, dict):
        return "".join(f"{pad}{key(k)}: {scalar(v)}\n" if not isinstance(v, (dict, list)) or not v and v != {} else
                       f"{pad}{key(k)}:\n" + dump(v, indent + (isinstance(v, dict))) for k, v in node.items())
    out = ""
    for item in node:
        if isinstance(item, dict):
            text = dump(item, indent + 1)
            out += f"{pad}- {text[2 * (indent + 1):]}"
        else:
            out += f"{pad}- {scalar(item)}\n"
    return out


def annotated(text: str) -> str:
    """The same object, with comments for people."""
    notes = {"    inputs:": "what comes from outside", "    components:": "the decoder and its policies",
             "    state:": "what one iteration leaves to the next", "    serving:": "for servers", "    steps:": "what runs"}
    out = ["# The metadata of this package, with remarks.\n"]
    for line in text.splitlines():
        if line in notes:
            out.append(f"\n    # {notes[line]}\n")
        out.append(line + ("  # once" if line.endswith("setup:") else "") + "\n")
    return "".join(out)


class Literal:
    """Runs the YAML step by step."""

    def __init__(self, meta: dict, folder: str):
        import onnxruntime
        self.w = meta["pipeline"]["workflow"]
        artifact = lambda c: os.path.join(folder, c["implementation"]["artifact"])
        self.sessions = {n: onnxruntime.InferenceSession(artifact(c)) for n, c in self.w["components"].items()}

    def run(self, given: dict) -> list:
        np_t = {"int64": np.int64, "float32": np.float32, "bool": np.bool_}
        v = {}
        for name, i in self.w["inputs"].items():
            c = i["contract"]
            shape = [d if isinstance(d, int) else 1 for d in c["shape"]]
            value = given.get(name, i.get("default"))
            v[name] = np.array(value, np_t[c["dtype"]]) if isinstance(value, list) else np.full(shape, value, np_t[c["dtype"]])
        self.emitted = []
        (one,) = self.w["steps"]
        for s in one["setup"]:
            self.step(s, v)
        for name, cell in self.w["state"].items():
            v[name] = v[cell["initializer"]]
        for i in range(int(v[one["max_iterations"]][0])):
            if not v[one["continue_when"]].any():
                break
            v[one["iteration"]["value"]] = np.array([i], np.int64)
            for s in one["steps"]:
                self.step(s, v)
            v.update({c["cell"]: v[c["next"]] for c in one["carried"]})
        return self.emitted

    def step(self, s: dict, v: dict) -> None:
        if s["kind"] == "emit":
            if v[s["when"]].all():
                self.emitted += v[s["value"]][0, :int(v[s["valid_length"]][0])].tolist()
            return
        outs = self.sessions[s["component"]].run(list(s["outputs"]), {p: v[x] for p, x in s["inputs"].items()})
        v.update(zip(s["outputs"].values(), outs))


REQUESTS = [
    {"prompt": [72, 101, 108, 108, 111], "max": 24},
    {"prompt": [5], "max": 1},
    {"prompt": list(range(40, 57)), "max": 9, "temperature": 0.8, "top_k": 0, "seed": 7},
    {"prompt": [200, 3, 17], "max": 16, "temperature": 1.3, "top_k": 40, "top_p": 0.9, "seed": 123456789012345},
    {"prompt": [9, 9], "max": 12, "temperature": 0.7, "top_k": -1, "min_p": 0.05, "seed": 1},
]


def build(model_path: str, out: str, eos: int, max_context: int) -> None:
    os.makedirs(os.path.join(out, "policies", "fixed"), exist_ok=True)
    model = onnx.load(model_path, load_external_data=False)
    caches = []
    for v in model.graph.input:
        dims = v.type.tensor_type.shape.dim
        if len(dims) == 4:
            caches.append((v.name, dims[1].dim_value, dims[3].dim_value))
    vocab = model.graph.output[0].type.tensor_type.shape.dim[2].dim_value
    graphs = {name: parser.parse_model(HEAD + text) for name, text in TEXTS.items()}
    graphs["decoder_state_initializer"] = parser.parse_model(HEAD + initializer(caches, False))
    graphs["fixed/decoder_state_initializer"] = parser.parse_model(HEAD + initializer(caches, True))
    graphs["runner_up"] = parser.parse_model(HEAD + RUNNER_UP)
    graphs["token_sampler"] = token_sampler()
    given = {"ending": ENDING, **processors(vocab)}
    graphs |= {name: parser.parse_model(HEAD + text) for name, text in given.items()}
    for name in ("generated_length_update", "cache_length_update"):
        graphs[name] = graphs["length_update"]
    del graphs["length_update"]
    models = {"model": ("model.onnx", model)}
    for name, graph in graphs.items():
        onnx.checker.check_model(graph, full_check=True)
        with open(os.path.join(out, "policies", f"{name}.onnx"), "wb") as f:
            f.write(graph.SerializeToString(deterministic=True))
        if "/" not in name and name not in ("runner_up", *given):
            models[name] = (f"policies/{name}.onnx", graph)
    meta = metadata(models, caches, eos, max_context, vocab)
    text = dump(meta)
    for name, content in (("inference_metadata.yaml", text), ("inference_metadata.annotated.yaml", annotated(text))):
        with open(os.path.join(out, name), "w") as f:
            f.write(content)
    own = with_runner_up(metadata(models, caches, eos, max_context, vocab), graphs["runner_up"])
    with open(os.path.join(out, "runner_up.yaml"), "w") as f:
        f.write(dump(own))
    new = lambda: metadata(models, caches, eos, max_context, vocab)
    drawn = lambda: with_runner_up(new(), graphs["runner_up"])
    others = {"ending": with_ending(new(), graphs), "processed": with_processors(new(), graphs, vocab),
              "all_own": with_ending(with_processors(drawn(), graphs, vocab), graphs)}
    for name, other in others.items():
        with open(os.path.join(out, f"{name}.yaml"), "w") as f:
            f.write(dump(other))
    golden(meta, own, others, model_path, out)


def with_runner_up(meta: dict, graph: onnx.ModelProto) -> dict:
    """The same package with a sampler that no contract here knows."""
    workflow = meta["pipeline"]["workflow"]
    names = ("logits", "token", "counter", "next_counter")
    workflow["components"]["token_sampler"] = {
        "implementation": {"kind": "onnx", "artifact": "policies/runner_up.onnx"}, "ports": ports(graph),
        "contract": {"id": "acme.runner-up", "version": "1", "bindings": {n: n for n in names}}}
    step = workflow["steps"][0]["steps"][0]
    step["inputs"] = {k: step["inputs"][k] for k in ("logits", "counter")}
    meta["generation"]["overrides"] = {"max_output_tokens": {"input": "request.max_iterations"}}
    return meta


def component(name: str, graphs: dict) -> dict:
    return {"implementation": {"kind": "onnx", "artifact": f"policies/{name}.onnx"}, "ports": ports(graphs[name])}


def cell(meta: dict, name: str, contract: dict, initializer: str, following: str) -> None:
    """One more value that is carried from step to step."""
    workflow = meta["pipeline"]["workflow"]
    workflow["state"][name] = {"contract": contract, "scope": "invocation", "initializer": initializer,
                               "recurrence": {"kind": "invariant"}}
    workflow["steps"][0]["carried"].append({"cell": name, "next": following})


def with_ending(meta: dict, graphs: dict) -> dict:
    """The same package with a termination policy of its own, which holds a token and a sum."""
    workflow = meta["pipeline"]["workflow"]
    workflow["components"]["termination"] = component("ending", graphs)
    steps = workflow["steps"][0]["steps"]
    (at,) = [i for i, s in enumerate(steps) if s.get("component") == "termination"]
    steps[at]["inputs"] = {"tokens": "sample.body", "before": "before", "total": "total", "iteration": "loop.iteration",
                           "max_iterations": "termination.max_iterations", "active": "active"}
    steps[at]["outputs"]["kept"] = "before.next"
    sum_ = {"left": "total", "right": "sample.body", "active": "active", "done": "done"}
    steps.insert(at + 1, invoke("generated_length_update", sum_, {"total": "total.next"}))
    cell(meta, "before", row("int64"), "package.one_token", "before.next")
    cell(meta, "total", row("int64"), "package.zero_batch", "total.next")
    return meta


def with_processors(meta: dict, graphs: dict, vocab: int) -> dict:
    """The same package with policies between logits and sampler, one of which holds a count of every token."""
    workflow = meta["pipeline"]["workflow"]
    workflow["components"]["last_token_logits"] = component("scaled_logits", graphs)
    for name in ("count_initializer", "count_penalty", "count_update"):
        workflow["components"][name] = component(name, graphs)
    loop = workflow["steps"][0]
    loop["setup"].append(invoke("count_initializer", {"active": "package.active"}, {"counts": "counts.first"}))
    penalty = invoke("count_penalty", {"logits": "logits", "counts": "counts"}, {"processed": "sample.logits"})
    loop["steps"][0]["inputs"]["logits"] = "sample.logits"
    loop["steps"].insert(0, penalty)
    loop["steps"].insert(2, invoke("count_update", {"counts": "counts", "token": "sample.body"}, {"next": "counts.next"}))
    cell(meta, "counts", row("float32", 2, vocab), "counts.first", "counts.next")
    return meta


def golden(meta: dict, own: dict, others: dict, model_path: str, out: str) -> None:
    import tempfile
    import shutil
    with tempfile.TemporaryDirectory() as folder:
        for f in (model_path, model_path + ".data"):
            if os.path.exists(f):
                shutil.copy(f, folder)
        shutil.copytree(os.path.join(out, "policies"), os.path.join(folder, "policies"))
        cases = []
        literal = Literal(meta, folder)
        for r in REQUESTS:
            given = {"request.input_ids": [r["prompt"]], "request.max_iterations": [r["max"]]}
            given |= {f"request.{n}": r[n] for n in ("temperature", "top_k", "top_p", "min_p", "seed") if n in r}
            cases.append({**r, "tokens": literal.run(given)})
        # the same answer once more, stopped by one of its own tokens
        stop = cases[0]["tokens"][4]
        given = {"request.input_ids": [REQUESTS[0]["prompt"]], "request.max_iterations": [24], "request.eos_ids": [[stop]]}
        cases.append({**REQUESTS[0], "stop": stop, "tokens": literal.run(given)})
        own = Literal(own, folder).run({"request.input_ids": [REQUESTS[0]["prompt"]], "request.max_iterations": [24]})
        answers = {}
        for name, other in others.items():
            literal, answers[name] = Literal(other, folder), []
            for r in [*REQUESTS, {**REQUESTS[0], "max": 9}]:
                given = {"request.input_ids": [r["prompt"]], "request.max_iterations": [r["max"]]}
                given |= {f"request.{n}": r[n] for n in ("temperature", "top_k", "top_p", "min_p", "seed") if n in r}
                answers[name].append({**r, "tokens": literal.run(given)})
    with open(os.path.join(out, "golden.json"), "w") as f:
        json.dump({"cases": cases, "runner_up": own, **answers}, f, indent=1)
        f.write("\n")
