"""Golden files: what a reference gave for a model, step by step (format: docs/golden.md).

  golden.py run DIR --prompt TEXT...       records a greedy run of DIR/model.onnx (or vision, embed and decoder) in onnxruntime
  golden.py import RUNS.json STEPS.npz     takes a recorded reference: prompts and tokens from RUNS, logits from STEPS
  golden.py check DIR GOLDEN               runs DIR/model.onnx in onnxruntime against a golden file
  golden.py ppl DIR TEXT --window N        perplexity of a text in onnxruntime, in windows that do not overlap
"""
from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from modelgen import run  # noqa: E402

FORMAT = "onnxcast-golden-1"
TOP, DECIMALS = 64, 5


def step_row(ids, logits, logsumexp: float) -> dict:
    return {"logsumexp": round(float(logsumexp), DECIMALS), "ids": [int(i) for i in ids],
            "logits": [round(float(x), DECIMALS) for x in logits]}


def margin(step: dict) -> float:
    return round(step["logits"][0] - step["logits"][1], DECIMALS)


def case(prompt: str, prompt_ids, tokens, text: str, eos: set[int], steps: list[dict]) -> dict:
    assert len(steps) == len(tokens)
    return {"prompt": prompt, "prompt_ids": [int(i) for i in prompt_ids], "tokens": [int(t) for t in tokens],
            "stop": "eos" if int(tokens[-1]) in eos else "length", "text": text,
            "margins": [margin(s) for s in steps], "steps": steps}


def write(path: str, precision: str, made_by: str, cases: list[dict]) -> None:
    """One step a line, so that a change reads as a diff."""
    compact = lambda v: json.dumps(v, ensure_ascii=False, separators=(",", ":"))
    head = {"format": FORMAT, "precision": precision, "made_by": made_by}
    lines = ["{"] + [f'"{k}": {compact(v)},' for k, v in head.items()] + ['"cases": [']
    for c in cases:
        lines += ["{"] + [f'"{k}": {compact(v)},' for k, v in c.items() if k != "steps"] + ['"steps": [']
        lines += [compact(s) + "," for s in c["steps"]]
        lines[-1] = lines[-1].removesuffix(",")
        lines += ["]", "},"]
    lines[-1] = "}"
    lines += ["]", "}"]
    temporary = path + ".part"
    with open(temporary, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    os.replace(temporary, path)
    print(f"{path}: {len(cases)} prompts, {sum(len(c['steps']) for c in cases)} steps, "
          f"smallest margin {min(min(c['margins']) for c in cases)}")


def top_of(logits: np.ndarray) -> dict:
    logits = logits.astype(np.float64)
    ids = np.argsort(-logits, kind="stable")[:TOP]
    return step_row(ids, logits[ids], logits.max() + np.log(np.exp(logits - logits.max()).sum()))


def reader(folder: str):
    """Gives a decoder that has read nothing, as often as it is called."""
    whole = os.path.join(folder, "model.onnx")
    if os.path.exists(whole):
        session = run.session(whole)
        return lambda: run.Decoder(session)
    looker = run.Looker(folder)

    def fresh():
        looker.forget()
        return looker
    return fresh


def cmd_run(a) -> None:
    tok, eos = run.load_dir(a.dir)
    decoder, cases, template = reader(a.graphs or a.dir), [], run.smolvlm if a.smolvlm else run.chatml
    for prompt in a.prompt:
        ids = tok.encode(template(prompt, a.system), add_special_tokens=False).ids
        tokens, logits = run.greedy_logits(decoder(), ids, a.max_new, eos)
        text = tok.decode(tokens, skip_special_tokens=True)
        cases.append(case(prompt, ids, tokens, text, eos, [top_of(row) for row in logits]))
    write(a.out, a.precision, "onnxruntime, greedy", cases)


def cmd_import(a) -> None:
    runs = json.loads(Path(a.runs).read_text(encoding="utf-8"))
    steps = np.load(a.steps)
    cases = []
    for i, r in enumerate(runs):
        part = lambda key: steps[f"{i}.{key}"]
        assert r["prompt_ids"] == part("prompt").tolist() and r["tokens"] == part("tokens").tolist(), i
        rows = [step_row(*row) for row in zip(part("top64_ids"), part("top64_logits"), part("logsumexp"))]
        cases.append(case(r["prompt"], r["prompt_ids"], r["tokens"], r["text"], set(a.eos), rows))
    write(a.out, a.precision, a.made_by, cases)


def cmd_check(a) -> None:
    """Greedy tokens up to the first near tie; logits teacher-forced on every step."""
    golden = json.loads(Path(a.golden).read_text(encoding="utf-8"))
    assert golden["format"] == FORMAT, golden["format"]
    decoder, worst = reader(a.dir), 0.0
    for c in golden["cases"]:
        rows = run.forced_logits(decoder(), c["prompt_ids"], c["tokens"])
        for i, (row, s) in enumerate(zip(rows, c["steps"], strict=True)):
            worst = max(worst, float(np.abs(row[s["ids"]] - s["logits"]).max()))
            if int(row.argmax()) != c["tokens"][i] and c["margins"][i] >= a.bound:
                raise SystemExit(f"{c['prompt']!r}, step {i}: token {int(row.argmax())}, golden {c['tokens'][i]}, "
                                 f"margin {c['margins'][i]}")
    if worst > a.bound:
        raise SystemExit(f"logits differ by {worst:.6f}, bound {a.bound}")
    print(f"{a.golden}: tokens equal, largest logit difference {worst:.6f}")


def cmd_ppl(a) -> None:
    """What `eval-ppl` of the model's executable must give."""
    tok, _ = run.load_dir(a.dir)
    ids = tok.encode(Path(a.text).read_text(encoding="utf-8")).ids[:a.tokens]
    session, nats = run.session(os.path.join(a.dir, "model.onnx")), []
    for start in range(0, len(ids) - 1, a.window):
        window = ids[start:start + a.window]
        rows = run.Decoder(session).feed(window).astype(np.float64)
        top = rows.max(axis=-1)
        nats += [top[i] + np.log(np.exp(rows[i] - top[i]).sum()) - rows[i][t] for i, t in enumerate(window[1:])]
    print(json.dumps({"tokens": len(ids), "scored": len(nats), "perplexity": float(np.exp(np.mean(nats)))}))


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(required=True)
    s = sub.add_parser("run")
    s.add_argument("dir")
    s.add_argument("--prompt", action="append", required=True)
    s.add_argument("--system")
    s.add_argument("--graphs", help="where the graphs are, if not in DIR")
    s.add_argument("--smolvlm", action="store_true", help="SmolVLM2's template instead of ChatML")
    s.add_argument("--max-new", type=int, default=32)
    s.set_defaults(fn=cmd_run)
    t = sub.add_parser("import")
    t.add_argument("runs")
    t.add_argument("steps")
    t.add_argument("--eos", type=int, action="append", required=True)
    t.add_argument("--made-by", required=True)
    t.set_defaults(fn=cmd_import)
    for writer in (s, t):
        writer.add_argument("--precision", default="fp32")
        writer.add_argument("--out", required=True)
    s = sub.add_parser("check")
    s.add_argument("dir")
    s.add_argument("golden")
    s.add_argument("--bound", type=float, default=2e-3)
    s.set_defaults(fn=cmd_check)
    s = sub.add_parser("ppl")
    s.add_argument("dir")
    s.add_argument("text")
    s.add_argument("--window", type=int, required=True)
    s.add_argument("--tokens", type=int)
    s.set_defaults(fn=cmd_ppl)
    a = p.parse_args()
    a.fn(a)


main()
