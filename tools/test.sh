#!/usr/bin/env bash
# make test: everything. The last line adds up what every test runner said.
#   needs nothing      unit tests of compiler and runtime, modelgen
#   needs a device     kernels and end to end, on any Vulkan device
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'test: %s\n' "$*" >&2; }
log=$(mktemp)
# Tests that find something missing say so here (tests/common/skipped.rs); libtest counts them as passed.
export ONNXCAST_SKIPPED; ONNXCAST_SKIPPED=$(mktemp)
trap 'rm -f "$log" "$ONNXCAST_SKIPPED"' EXIT

tools/check.sh
say "modelgen"
PYTHONPATH=tools .cache/venv/bin/python -m pytest -q -p no:cacheprovider tools | tee -a "$log"
say "conformance cases"
tools/fetch_conformance.sh
say "a vision transformer"
tools/fetch_vit.sh
say "SmolLM2 as a genai export"
.cache/venv/bin/python tools/contrib.py --smollm2 .cache/models/smollm2-genai
say "executables"
for model in tiny tiny-vlm smollm2; do tools/model.sh "$model"; done
onnx=tests/data/smolvlm-tiny/vision.onnx tools/model.sh vision
onnx=tests/data/genai tools/model.sh tiny-genai
say "compiler, runtime, end to end"
cargo test --locked --workspace 2>&1 | tee -a "$log"
say "smollm2 against its golden file"
bin/smollm2 verify

sort -u -o "$ONNXCAST_SKIPPED" "$ONNXCAST_SKIPPED"
sed 's/^/skipped: /' "$ONNXCAST_SKIPPED" >&2
awk -v missing="$(wc -l <"$ONNXCAST_SKIPPED")" '
  /^test result: / { passed += $4; failed += $6; skipped += $8 }
  /^[0-9]+ passed.* in [0-9.]+s/ { passed += $1 }
  END { printf "total: %d passed, %d failed, %d skipped\n", passed - missing, failed, skipped + missing }' "$log"
