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


class Looker:
    """vision, embed and decoder graphs in one: as Decoder, and an id from the vocabulary's size on is a row of a shown picture."""

    def __init__(self, folder: str, threads: int = 2, fill: float = -1e4):
        self.graph = lambda name: session(os.path.join(folder, f"{name}.onnx"), threads)
        self.embed, self.sess, self.fill = self.graph("embed"), self.graph("decoder"), fill
        self.elem = _DT[next(i for i in self.sess.get_inputs() if i.name == "inputs_embeds").type]
        outputs = {o.name: o.shape for o in self.sess.get_outputs()}
        self.names, self.vocab = list(outputs), outputs["logits"][2]
        self.tower, self.pictures = None, []
        self.forget()

    def forget(self) -> None:
        """The conversation, not the pictures."""
        self.past, self.done = _empty_past(self.sess), 0

    def show(self, pixels: np.ndarray) -> list[int]:
        """pixels [1,3,H,W] -> the ids of the picture's rows."""
        self.tower = self.tower or self.graph("vision")
        name = self.tower.get_inputs()[0].name
        rows = self.tower.run(None, {name: pixels.astype(np.float32)})[0].reshape(-1, self.width())
        first = self.vocab + sum(len(p) for p in self.pictures)
        self.pictures.append(rows)
        return list(range(first, first + len(rows)))

    def width(self) -> int:
        return next(i.shape[2] for i in self.sess.get_inputs() if i.name == "inputs_embeds")

    def embeds(self, ids: list[int]) -> np.ndarray:
        at = np.array(ids, np.int64)
        seen = at >= self.vocab
        x = self.embed.run(None, {"input_ids": np.where(seen, 0, at)[None]})[0]
        if seen.any():
            x[0, seen] = np.concatenate(self.pictures)[at[seen] - self.vocab]
        return x

    def feed(self, ids: list[int]) -> np.ndarray:
        """[len(ids), vocab] float32."""
        rows, total = len(ids), self.done + len(ids)
        positions = np.arange(self.done, total, dtype=np.int64)
        mask = np.where(np.arange(total)[None] > positions[:, None], self.fill, 0)[None, None]
        feed = dict(self.past, inputs_embeds=self.embeds(ids).astype(self.elem), attention_mask=mask.astype(self.elem),
                    position_ids=positions[None])
        result = dict(zip(self.names, self.sess.run(self.names, feed)))
        for name, new in result.items():
            if name != "logits":
                key = name.replace("present", "past_key_values")
                self.past[key] = np.concatenate([self.past[key], new], axis=2)
        self.done = total
        return result["logits"][0].astype(np.float32).reshape(rows, self.vocab)


def forced_logits(decoder, prompt_ids: list[int], tokens: list[int]) -> list[np.ndarray]:
    """The logits that chose each token, with the given tokens fed back whatever they say."""
    return [decoder.feed(piece)[-1] for piece in [prompt_ids, *([t] for t in tokens[:-1])]]


def greedy_logits(decoder, prompt_ids: list[int], max_new: int, eos: set[int],
                  chunk: int | None = None) -> tuple[list[int], list[np.ndarray]]:
    """chunk: feed the prompt in pieces of that many tokens (None: all at once)."""
    tokens, rows = [], []
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
    tokens, rows = greedy_logits(Decoder(session(model)), prompt_ids, max_new, eos, chunk)
    return told(prompt_ids, tokens, rows)


def told(prompt_ids: list[int], tokens: list[int], rows: list[np.ndarray]) -> dict:
    best = [top(row, 2) for row in rows]
    margins = [round(a[1] - b[1], 5) for a, b in best]
    return {"prompt_ids": list(map(int, prompt_ids)), "tokens": tokens, "first_top5": top(rows[0]),
            "min_margin": min(margins), "margins": margins}


def chatml(user: str, system: str | None) -> str:
    head = f"<|im_start|>system\n{system}<|im_end|>\n" if system else ""
    return f"{head}<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"


def smolvlm(user: str, system: str | None = None, picture: str = "") -> str:
    """SmolVLM2's template; `picture` is the text that stands for one: a colon without a space goes before it."""
    head = f"System: {system}<end_of_utterance>\n" if system else ""
    return f"<|im_start|>{head}User:{picture or ' '}{user}<end_of_utterance>\nAssistant:"


def load_dir(d: str):
    from tokenizers import Tokenizer
    with open(os.path.join(d, "generation_config.json")) as f:
        gen = json.load(f)
    eos = gen["eos_token_id"]
    eos = set(eos if isinstance(eos, list) else [] if eos is None else [eos])
    path = os.path.join(d, "tokenizer.json")
    return (Tokenizer.from_file(path) if os.path.exists(path) else None), eos


def with_rows(ids: list[int], image_token: int, rows: list[int]) -> list[int]:
    """A prompt whose image tokens stand for the rows of the shown pictures, in order."""
    wanted = ids.count(image_token)
    assert wanted in (0, len(rows)), f"{wanted} image tokens for {len(rows)} rows of pictures"
    left = iter(rows)
    return [next(left) if i == image_token else i for i in ids]


def vlm_greedy(d: str, pixels: np.ndarray, ids: list[int], image_token: int, max_new: int, eos: set[int],
               fill: float = -1e4) -> dict:
    """A picture, a prompt with its image tokens, and the greedy answer."""
    looker = Looker(d, fill=fill)
    prompt = with_rows(ids, image_token, looker.show(pixels))
    tokens, rows = greedy_logits(looker, prompt, max_new, eos)
    feats = looker.pictures[0]
    return told(ids, tokens, rows) | {
        "image_features": {"shape": [1, *feats.shape], "mean": round(float(feats.mean()), 6),
                           "std": round(float(feats.std()), 6), "first8": [round(float(f), 6) for f in feats[0, :8]]}}
