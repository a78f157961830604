"""SmolVLM2 as three ONNX graphs of plain operators.

  export.py --from FOLDER --out FOLDER      the published files (config.json and the safetensors), read from a folder
  export.py --config tiny --out FOLDER      a tiny model of random weights: no download, a few seconds

In: a model that transformers can load. Out: vision.onnx, embed.onnx and decoder.onnx in fp32, opset 17; for a tiny model also
config.json, picture.png and reference.npz, what the unchanged PyTorch model says about the picture.
Promise: each graph is run in onnxruntime and held to the unchanged model (4e-4) before anything is written to FOLDER.

What makes the graphs plain:
1. The tower's position ids depend on data in the original (sizes of padded pictures). For a whole picture they are constants, so
   the embedding they pick is a constant; the original says which ids, nothing is assumed.
2. The causal mask is an input, additive and 4-D, which transformers passes through as it is. So no mask is computed in the graph.
3. Masked entries are -1e4: in fp16 its exponential is exactly 0, and nothing overflows as with the lowest finite value.
4. The decoder is traced once, with a symbolic number of rows; its present outputs are the new rows only.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import nn

OPSET, FILL, BOUND = 17, -1e4, 4e-4
CHECKED_ROWS = (3, 128, 1)
TINY = {
    "vision_config": dict(image_size=48, patch_size=8, hidden_size=48, intermediate_size=80, num_hidden_layers=2,
                          num_attention_heads=3),
    "text_config": dict(model_type="llama", vocab_size=320, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
                        num_attention_heads=4, num_key_value_heads=2, head_dim=16, max_position_embeddings=512,
                        rope_theta=130000.0, rms_norm_eps=1e-5, pad_token_id=0, bos_token_id=None, eos_token_id=None),
    "scale_factor": 3, "image_token_id": 310, "pad_token_id": 0, "tie_word_embeddings": False,
}


class Vision(nn.Module):
    """pixel_values [1,3,H,W] -> image_embeds [1,n,k]."""

    def __init__(self, model):
        super().__init__()
        tower = model.model.vision_model
        self.pos = nn.Parameter(position_rows(tower), requires_grad=False)
        self.patch, self.encoder, self.norm = tower.embeddings.patch_embedding, tower.encoder, tower.post_layernorm
        self.connector = model.model.connector

    def forward(self, pixel_values):
        x = self.patch(pixel_values).flatten(2).transpose(1, 2) + self.pos
        x = self.encoder(inputs_embeds=x, attention_mask=None).last_hidden_state
        return self.connector(self.norm(x))


def position_rows(tower) -> torch.Tensor:
    """[1, patches, width]: the rows that the original looks up for a picture without padding."""
    seen = []
    hook = tower.embeddings.position_embedding.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    patches = tower.embeddings.num_patches_per_side
    with torch.no_grad():
        whole = torch.ones(1, patches, patches, dtype=torch.bool)
        tower.embeddings(pixel_values=picture_like(tower.config), patch_attention_mask=whole)
    hook.remove()
    return tower.embeddings.position_embedding.weight[seen[0]].detach().clone()


def picture_like(vision_config) -> torch.Tensor:
    return torch.zeros(1, 3, vision_config.image_size, vision_config.image_size)


class NewRows:
    """A cache for one pass: attention sees past and new rows, the caller gets the new ones."""

    def __init__(self, past):
        self.past, self.rows = past, [None] * len(past)

    def update(self, key, value, layer, *_, **__):
        self.rows[layer] = (key, value)
        return torch.cat([self.past[layer][0], key], dim=2), torch.cat([self.past[layer][1], value], dim=2)

    def get_seq_length(self, layer=0):
        return self.past[layer][0].shape[2]


class Decoder(nn.Module):
    """inputs_embeds [1,S,k], attention_mask [1,1,S,past+S], position_ids [1,S], past rows -> logits [1,S,vocab], new rows."""

    def __init__(self, model):
        super().__init__()
        self.text_model, self.lm_head = model.model.text_model, model.lm_head

    def forward(self, inputs_embeds, attention_mask, position_ids, *past):
        cache = NewRows(list(zip(past[::2], past[1::2])))
        x = self.text_model(inputs_embeds=inputs_embeds, attention_mask=attention_mask, position_ids=position_ids,
                            past_key_values=cache, use_cache=True).last_hidden_state
        return self.lm_head(x), *(t for pair in cache.rows for t in pair)


def load(folder: str):
    from transformers import AutoModelForImageTextToText
    return AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager",
                                                       local_files_only=True).eval()


def tiny(seed: int):
    """Weights larger than training would start from, so that the best token is seldom a near tie."""
    from transformers import SmolVLMConfig, SmolVLMForConditionalGeneration
    config = SmolVLMConfig(**TINY)
    config._attn_implementation = "eager"
    torch.manual_seed(seed)
    model = SmolVLMForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() > 1:
                p.normal_(0, 1.5 / p[0].numel() ** 0.5)
            elif name.endswith("bias"):
                p.normal_(0, 0.1)
            else:
                p.normal_(1, 0.1)
        model.lm_head.weight[config.image_token_id] = 0  # a trained model never answers with a picture's token
    return model


def causal(rows: int, past: int) -> torch.Tensor:
    mask = torch.full((rows, past + rows), FILL).triu(past + 1)
    return mask[None, None]


def decoder_inputs(model, rows: int, past: int) -> tuple:
    text = model.config.text_config
    heads, dim = text.num_key_value_heads, text.head_dim
    draw = torch.Generator().manual_seed(rows)
    cache = [torch.randn(1, heads, past, dim, generator=draw) for _ in range(2 * text.num_hidden_layers)]
    x = torch.randn(1, rows, text.hidden_size, generator=draw)
    return x, causal(rows, past), torch.arange(past, past + rows)[None], *cache


def write(module, inputs: tuple, path: str, ins: list[str], outs: list[str], axes: dict) -> None:
    torch.onnx.export(module, inputs, path, input_names=ins, output_names=outs, dynamic_axes=axes, opset_version=OPSET,
                      do_constant_folding=True, dynamo=False)


def together(folder: str, name: str) -> None:
    """torch writes a file a tensor where a model has over 2 GB; one file is easier to keep."""
    beside = set(os.listdir(folder)) - {name}
    if beside:
        model = onnx.load(os.path.join(folder, name))
        for file in beside | {name}:
            os.remove(os.path.join(folder, file))
        onnx.save(model, os.path.join(folder, name), save_as_external_data=True, location=name + ".data")


def export(model, out: str) -> None:
    """The three graphs, each into a folder of its own first."""
    text = model.config.text_config
    past = [f"past_key_values.{i}.{kind}" for i in range(text.num_hidden_layers) for kind in ("key", "value")]
    present = [name.replace("past_key_values", "present") for name in past]
    rows, total = {1: "sequence_length"}, {2: "sequence_length", 3: "total_sequence_length"}
    axes = {"inputs_embeds": rows, "attention_mask": total, "position_ids": rows, "logits": rows}
    axes |= {name: {2: "past_sequence_length"} for name in past} | {name: {2: "sequence_length"} for name in present}
    ids = torch.zeros(1, 3, dtype=torch.int64)
    for name, module, inputs, ins, outs, names in (
        ("vision.onnx", Vision(model), (picture_like(model.config.vision_config),), ["pixel_values"], ["image_embeds"], {}),
        ("embed.onnx", model.get_input_embeddings(), (ids,), ["input_ids"], ["inputs_embeds"],
         {"input_ids": rows, "inputs_embeds": rows}),
        ("decoder.onnx", Decoder(model), decoder_inputs(model, 3, 5),
         ["inputs_embeds", "attention_mask", "position_ids", *past], ["logits", *present], axes),
    ):
        part = os.path.join(out, name + ".parts")
        os.mkdir(part)
        write(module, inputs, os.path.join(part, name), ins, outs, names)
        together(part, name)
        for file in os.listdir(part):
            os.rename(os.path.join(part, file), os.path.join(out, file))
        os.rmdir(part)


def check(model, out: str) -> None:
    """Each graph in onnxruntime against the unchanged model."""
    import onnxruntime
    session = lambda name: onnxruntime.InferenceSession(os.path.join(out, name), providers=["CPUExecutionProvider"])
    size = model.config.vision_config.image_size
    pixels = torch.rand(1, 3, size, size, generator=torch.Generator().manual_seed(1)) * 2 - 1
    with torch.no_grad():
        want = model.model.get_image_features(pixels[:, None], return_dict=True).pooler_output
    held("vision", session("vision.onnx").run(None, {"pixel_values": pixels.numpy()})[0], want)
    decoder = session("decoder.onnx")
    names = [i.name for i in decoder.get_inputs()]
    for rows in CHECKED_ROWS:
        inputs = decoder_inputs(model, rows, 7)
        got = decoder.run(None, dict(zip(names, (t.numpy() for t in inputs))))
        held(f"decoder, {rows} rows", got[0], stock_logits(model, inputs))


def stock_logits(model, inputs: tuple) -> torch.Tensor:
    """What transformers' own model and cache make of the same rows, with its own mask."""
    from transformers import DynamicCache
    x, _, positions, *past = inputs
    cache = DynamicCache(config=model.config.text_config)
    for layer, (key, value) in enumerate(zip(past[::2], past[1::2])):
        cache.update(key, value, layer)
    with torch.no_grad():
        hidden = model.model.text_model(inputs_embeds=x, position_ids=positions, past_key_values=cache, use_cache=True)
        return model.lm_head(hidden.last_hidden_state)


def held(what: str, got: np.ndarray, want: torch.Tensor) -> None:
    worst = float(np.abs(got - want.numpy()).max())
    print(f"{what}: largest difference {worst:.1e}", file=sys.stderr)
    if not worst <= BOUND:
        raise SystemExit(f"export: {what} is off by {worst}; bound {BOUND}")


def reference(model, out: str, seed: int, steps: int = 20) -> None:
    """A picture, a prompt around it, and the unchanged model's greedy answer, every step from scratch."""
    from PIL import Image
    config, draw = model.config, np.random.Generator(np.random.PCG64(seed))
    size = config.vision_config.image_size
    picture = draw.integers(0, 256, (size // 8, size // 8, 3), dtype=np.uint8).repeat(8, 0).repeat(8, 1)
    Image.fromarray(picture).save(os.path.join(out, "picture.png"))
    pixels = torch.from_numpy((picture.astype(np.float32) / 127.5 - 1).transpose(2, 0, 1)[None].copy())
    n = (size // config.vision_config.patch_size // config.scale_factor) ** 2
    prompt, tokens, rows = [5, 17, 3, *[config.image_token_id] * n, 41, 7, 12], [], []
    with torch.no_grad():
        embeds = model.model.get_image_features(pixels[:, None], return_dict=True).pooler_output
        while len(tokens) < steps:
            ids = torch.tensor([prompt + tokens])
            rows.append(model(input_ids=ids, pixel_values=pixels[:, None]).logits[0, -1].numpy())
            tokens.append(int(rows[-1].argmax()))
    best = np.sort(np.stack(rows), axis=-1)
    np.savez(os.path.join(out, "reference.npz"), pixel_values=pixels.numpy(), image_embeds=embeds.numpy(),
             prompt=np.array(prompt), tokens=np.array(tokens), step_logits=np.stack(rows))
    told = {"prompt": prompt, "greedy_tokens": tokens, "top2_margin": [float(m) for m in best[:, -1] - best[:, -2]],
            "image_token_id": config.image_token_id, "image_tokens": n}
    Path(out, "config.json").write_text(json.dumps(told, indent=1) + "\n")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = p.add_mutually_exclusive_group(required=True)
    what.add_argument("--from", dest="folder", help="a folder with the published files")
    what.add_argument("--config", choices=["tiny"])
    p.add_argument("--seed", type=int, default=4, help="of a tiny model")
    p.add_argument("--out", required=True)
    a = p.parse_args()
    model = load(a.folder) if a.folder else tiny(a.seed)
    os.makedirs(a.out, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=a.out, prefix=".export-") as part:
        export(model, part)
        check(model, part)
        if a.config:
            reference(model, part, a.seed)
        for file in os.listdir(part):
            shutil.move(os.path.join(part, file), os.path.join(a.out, file))
    print(f"export: {a.out} is ready", file=sys.stderr)


main()
