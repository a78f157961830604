"""The reference of qwen14b.py, held against onnxruntime on a small model of the same form."""
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import qwen14b  # noqa: E402
from modelgen import cli, config, run  # noqa: E402
from modelgen.weights import RandomWeights  # noqa: E402


@pytest.mark.parametrize("rows", [qwen14b.ROWS, 7])
def test_the_reference_is_what_onnxruntime_computes(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(qwen14b, "ROWS", rows)
    cfg = config.DECODERS["tiny-qwen2"]
    flags = qwen14b.argparse.Namespace(
        dtype="fp32", logits_dtype=None, format="genai", attn="eager", shapes="trace", block=32, zp="none", direct_int4=True,
        float_head=False, batch="batch_size", quantized_embedding=True, dry_run=False, graph_only=False)
    cli.decode_files(str(tmp_path), RandomWeights(3, cfg.tied), cfg, flags)
    ids = qwen14b.sequence(cfg.vocab, 40, 1)
    expected = run.Decoder(run.session(str(tmp_path / "model.onnx"))).feed(ids)
    at = [0, 5, 39]
    got = qwen14b.forward(str(tmp_path), ids, at, qwen14b.Numpy())
    assert np.abs(got - expected[at]).max() < 2e-4, np.abs(got - expected[at]).max()
