#!/usr/bin/env bash
# The ONNX node cases: takes the wheel onnx 1.19.1 (the last that ships them) and unpacks onnx/backend/test/data/node to
# .cache/conformance. A second run finds them there.
set -euo pipefail
cd "$(dirname "$0")/.."

version=1.19.1
sha256=1839af08ab4a909e4af936b8149c27f8c64b96138981024e251906e0539d8bf9
out=.cache/conformance
python=${PYTHON:-python3}

say() { printf 'conformance: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

[ "$(cat "$out/stamp" 2>/dev/null)" = "$sha256" ] && exit 0
say "fetching onnx $version for its node cases"
rm -rf "$out" "$out.part"
mkdir -p "$out.part"
# The data is the same in every wheel of the version; one is pinned.
"$python" -m pip download -q --disable-pip-version-check --retries 1 --no-deps --only-binary :all: \
  --python-version 3.11 --platform manylinux2014_x86_64 -d "$out.part" "onnx==$version" 2>"$out.part/pip.log" ||
  die "pip could not download onnx $version: $(grep -m 1 ERROR "$out.part/pip.log" || echo "see $out.part/pip.log") (offline?)"
wheel=$(find "$out.part" -name '*.whl')
echo "$sha256  $wheel" | sha256sum --check --status || die "the wheel onnx $version is not the one pinned here"
"$python" - "$wheel" "$out.part" <<'PY'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    wheel.extractall(sys.argv[2], [n for n in wheel.namelist() if n.startswith("onnx/backend/test/data/node/")])
PY
rm -f "$wheel" "$out.part/pip.log"
echo "$sha256" >"$out.part/stamp"
mv "$out.part" "$out"
