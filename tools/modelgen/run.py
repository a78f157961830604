"""Reference runs in onnxruntime (CPU): greedy decoding of the text and the VLM layouts."""
from __future__ import annotations

import json
import os

import numpy as np


def session(path: str, threads: int = 2):
    import onnxruntime as ort
    so = ort.SessionOptions()
    so.intra_op_num_threads = threads
    so.log_severity_level = 3
    return ort.InferenceSession(path, so, providers=["CPUExecutionProvider"])


_DT = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64}


def _empty_past(sess) -> dict[str, np.ndarray]:
    return {i.name: np.zeros((1, i.shape[1], 0, i.shape[3]), _DT[i.type])
            for i in sess.get_inputs() if i.name.startswith("past_key_values.")}


def top(logits: np.ndarray, k: int = 5) -> list[list[float]]:
    ids = np.argsort(-logits, kind="stable")[:k]
    return [[int(i), round(float(logits[i]), 5)] for i in ids]


class Decoder:
    """A with-past text decoder and its cache: feed tokens, get their logits."""

    def __init__(self, sess):
        self.sess, self.names = sess, [o.name for o in sess.get_outputs()]
        self.inputs = {i.name for i in sess.get_inputs()}
        self.past, self.done = _empty_past(sess), 0

    def feed(self, ids: list[int]) -> np.ndarray:
        """[len(ids), vocab] float32."""
        total = self.done + len(ids)
        feed = dict(self.past, input_ids=np.array([ids], np.int64))
        if "attention_mask" in self.inputs:
            feed["attention_mask"] = np.ones((1, total), np.int64)
        if "position_ids" in self.inputs:
            feed["position_ids"] = np.arange(self.done, total, dtype=np.int64)[None]
        result = dict(zip(self.names, self.sess.run(self.names, feed)))
        self.past = {n.replace("present", "past_key_values"): v for n, v in result.items() if n != "logits"}
        self.done = total
        return result["logits"][0].astype(np.float32)


def forced_logits(sess, prompt_ids: list[int], tokens: list[int]) -> list[np.ndarray]:
    """The logits that chose each token, with the given tokens fed back whatever they say."""
    decoder = Decoder(sess)
    return [decoder.feed(piece)[-1] for piece in [prompt_ids, *([t] for t in tokens[:-1])]]


def greedy_logits(sess, prompt_ids: list[int], max_new: int, eos: set[int],
                  chunk: int | None = None) -> tuple[list[int], list[np.ndarray]]:
    """chunk: feed the prompt in pieces of that many tokens (None: all at once)."""
    decoder, tokens, rows = Decoder(sess), [], []
    size = chunk or len(prompt_ids)
    for i in range(0, len(prompt_ids), size):
        row = decoder.feed(prompt_ids[i:i + size])[-1]
    while True:
        rows.append(row)
        tokens.append(int(row.argmax()))
        if tokens[-1] in eos or len(tokens) >= max_new:
            return tokens, rows
        row = decoder.feed(tokens[-1:])[-1]


def greedy(model: str, prompt_ids: list[int], max_new: int, eos: set[int], chunk: int | None = None) -> dict:
    tokens, rows = greedy_logits(session(model), prompt_ids, max_new, eos, chunk)
    best = [top(row, 2) for row in rows]
    margins = [round(a[1] - b[1], 5) for a, b in best]
    return {"prompt_ids": list(map(int, prompt_ids)), "tokens": tokens, "first_top5": top(rows[0]),
            "min_margin": min(margins), "margins": margins}


def chatml(user: str, system: str | None) -> str:
    head = f"<|im_start|>system\n{system}<|im_end|>\n" if system else ""
    return f"{head}<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"


def load_dir(d: str):
    from tokenizers import Tokenizer
    with open(os.path.join(d, "generation_config.json")) as f:
        gen = json.load(f)
    eos = gen["eos_token_id"]
    eos = set(eos if isinstance(eos, list) else [] if eos is None else [eos])
    path = os.path.join(d, "tokenizer.json")
    return (Tokenizer.from_file(path) if os.path.exists(path) else None), eos


def vlm_greedy(d: str, pixels: np.ndarray, ids: list[int], image_token: int, max_new: int, eos: set[int],
               fill: float = -1e4) -> dict:
    """Host side of the SmolVLM2 layout: embed, put image rows in, one prefill, then one token at a time."""
    vision, embed, dec = (session(os.path.join(d, f"{n}.onnx")) for n in ("vision", "embed", "decoder"))
    names = [o.name for o in dec.get_outputs()]
    elem = _DT[next(i for i in dec.get_inputs() if i.name == "inputs_embeds").type]
    feats = vision.run(None, {"pixel_values": pixels.astype(np.float32)})[0]
    past, done, out, tops, margins = _empty_past(dec), 0, [], None, []
    x = embed.run(None, {"input_ids": np.array([ids], np.int64)})[0]
    where = [i for i, t in enumerate(ids) if t == image_token]
    if where:
        assert len(where) == feats.shape[1], (len(where), feats.shape)
        x[0, where] = feats[0]
    while True:
        s = x.shape[1]
        mask = np.zeros((1, 1, s, done + s), np.float32)
        rows, cols = np.arange(s)[:, None] + done, np.arange(done + s)[None]
        mask[0, 0][cols > rows] = fill
        feed = dict(past, inputs_embeds=x.astype(elem), attention_mask=mask.astype(elem),
                    position_ids=np.arange(done, done + s, dtype=np.int64)[None])
        result = dict(zip(names, dec.run(names, feed)))
        for n, v in result.items():
            if n != "logits":
                key = n.replace("present", "past_key_values")
                past[key] = np.concatenate([past[key], v], axis=2)
        done += s
        logits = result["logits"][0, -1].astype(np.float32)
        t = top(logits)
        tops = tops or t
        margins.append(round(t[0][1] - t[1][1], 5))
        out.append(int(logits.argmax()))
        if out[-1] in eos or len(out) >= max_new:
            break
        x = embed.run(None, {"input_ids": np.array([[out[-1]]], np.int64)})[0]
    return {"prompt_ids": list(map(int, ids)), "tokens": out, "first_top5": tops, "margins": margins,
            "min_margin": min(margins),
            "image_features": {"shape": list(feats.shape), "mean": round(float(feats.mean()), 6),
                               "std": round(float(feats.std()), 6),
                               "first8": [round(float(f), 6) for f in feats[0, 0, :8]]}}
