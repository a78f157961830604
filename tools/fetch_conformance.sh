#!/usr/bin/env bash
# The ONNX node cases: takes the wheel onnx 1.19.1 (the last that ships them) and unpacks onnx/backend/test/data/node to
# .cache/conformance. A second run finds them there.
set -euo pipefail
cd "$(dirname "$0")/.."

version=1.19.1
sha256=1839af08ab4a909e4af936b8149c27f8c64b96138981024e251906e0539d8bf9
out=.cache/conformance
label=conformance
. tools/wheel.sh

[ "$(cat "$out/stamp" 2>/dev/null)" = "$sha256" ] && exit 0
say "fetching onnx $version for its node cases"
rm -rf "$out" "$out.part"
mkdir -p "$out.part"
# The data is the same in every wheel of the version; one is pinned.
wheel=$(wheel onnx "$version" "$sha256" "$out.part" --python-version 3.11 --platform manylinux2014_x86_64)
"${PYTHON:-python3}" - "$wheel" "$out.part" <<'PY'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    wheel.extractall(sys.argv[2], [n for n in wheel.namelist() if n.startswith("onnx/backend/test/data/node/")])
PY
rm -f "$wheel"
echo "$sha256" >"$out.part/stamp"
mv "$out.part" "$out"
