"""The weights that a quantised pool stands for, put back into the ONNX model (formats: docs/pool.md).

In: a folder with a model and the pool packed from it. Out: a second folder whose model has, for every quantised tensor, the values that
its codes mean. Promise: written from the page alone, without the compiler's code; a tensor that is not understood is an error.
"""
from __future__ import annotations

import json
import os
import re
import shutil
import struct
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx

LAYOUT = re.compile(r"q([48])_g(\d+)_(mid|point|min)(?:_s(\d+))?$")


def read_pool(path: str) -> tuple[list[dict], np.ndarray]:
    """The index's tensors, and the data section."""
    pool = np.memmap(path, np.uint8, "r")
    assert bytes(pool[:8]) == b"ONXCPOOL", path
    index_bytes, _, data = struct.unpack("<3Q", bytes(pool[16:40]))
    return json.loads(bytes(pool[128:128 + index_bytes]))["tensors"], pool[data:]


def codes(raw: np.ndarray, bits: int, n: int, k: int) -> np.ndarray:
    if bits == 8:
        return raw[:n * k].reshape(n, k)
    words = raw[:n * k // 2].view("<u4").reshape(n, k // 8)
    out = np.empty((n, k // 8, 8), np.uint8)
    for column in range(8):
        out[:, :, column] = (words >> (4 * (column // 2) + 16 * (column % 2))) & 15
    return out.reshape(n, k)


def decode(raw: np.ndarray, layout: str, k: int) -> np.ndarray:
    """float32 [n, k]."""
    bits, group, zero, salient = LAYOUT.match(layout).groups()
    bits, group, salient = int(bits), int(group), int(salient or 0)
    # Sections are padded to 16 bytes; n is the largest that fits.
    def sections(n: int) -> list[int]:
        sizes = [n * k * bits // 8, 2 * n * k // group, {"mid": 0, "point": 1, "min": 2}[zero] * n * k // group]
        sizes += [4 * salient, 2 * n * salient] if salient else []
        return [-(-size // 16) * 16 for size in sizes]
    n = raw.size * 8 // (k * bits)
    while sum(sections(n)) > raw.size:
        n -= 1
    assert sum(sections(n)) == raw.size, (layout, raw.size, n, k)
    at, parts = 0, []
    for size in sections(n):
        parts.append(np.ascontiguousarray(raw[at:at + size]))
        at += size
    half = lambda part: part.view("<f2")[:n * k // group].astype(np.float32).reshape(n, k // group, 1)
    q = codes(parts[0], bits, n, k).astype(np.float32).reshape(n, k // group, group)
    if zero == "mid":
        w = (q - 2 ** (bits - 1)) * half(parts[1])
    elif zero == "point":
        w = (q - parts[2][:n * k // group].astype(np.float32).reshape(n, k // group, 1)) * half(parts[1])
    else:
        w = q * half(parts[1]) + half(parts[2])
    w = w.reshape(n, k)
    if salient:
        columns = parts[3].view("<u4")[:salient]
        w[:, columns] += parts[4].view("<f2")[:n * salient].astype(np.float32).reshape(n, salient)
    return w


class Weights:
    """The initialisers of a folder's models by name, and by graph and name as pools of several graphs have them."""

    def __init__(self, folder: str):
        self.inits, self.data = {}, {}
        for file in sorted(f for f in os.listdir(folder) if f.endswith(".onnx")):
            graph = file.removesuffix(".onnx")
            for init in onnx.load(os.path.join(folder, file), load_external_data=False).graph.initializer:
                for name in (init.name, f"{graph}/{init.name}"):
                    self.inits[name] = (graph, init)
            path = os.path.join(folder, file + ".data")
            if os.path.exists(path):
                self.data[graph] = np.memmap(path, np.uint8, "r+")

    def shape(self, name: str) -> list[int]:
        return list(self.inits[name][1].dims)

    def put(self, name: str, values: np.ndarray) -> None:
        graph, init = self.inits[name]
        place = {e.key: e.value for e in init.external_data}
        start, length = int(place["offset"]), int(place["length"])
        assert length == values.size * 4, (init.name, values.shape)
        self.data[graph][start:start + length] = np.ascontiguousarray(values, np.float32).reshape(-1).view(np.uint8)

    def flush(self) -> None:
        for data in self.data.values():
            data.flush()


def dequantise(folder: str, pool: str, out: str, threads: int = 2) -> None:
    """`out` may be the folder itself: then its own weights are replaced."""
    if out != folder:
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(folder, out)
    weights = Weights(out)
    tensors, section = read_pool(pool)
    quantised = [t for t in tensors if LAYOUT.match(t["layout"])]
    others = {t["layout"] for t in tensors} - {t["layout"] for t in quantised}
    assert all(layout.startswith("rows_") for layout in others), others
    with ThreadPoolExecutor(threads) as workers:
        done = sum(workers.map(lambda tensor: replaced(weights, tensor, section), quantised))
    weights.flush()
    assert done, "the pool holds nothing quantised"
    print(f"dequantise: {done} tensors of {len(tensors)} in the pool")


def replaced(weights: Weights, tensor: dict, section: np.ndarray) -> int:
    """How many matrices the tensor holds, one below the other."""
    names = [re.sub(r"\^T$", "", name) for name in tensor["name"].split("+")]
    # The graph holds a matrix as [k, n] for MatMul, and the table as [n, k]; the export says so in the name.
    shapes = [weights.shape(name) for name in names]
    turned = [name.endswith("_T") for name in names]
    stored_n, stored_k = tensor["shape"]
    raw = section[tensor["offset"]:tensor["offset"] + tensor["bytes"]]
    w = decode(raw, tensor["layout"], stored_k)
    assert stored_n <= w.shape[0] < stored_n + 16, (tensor, w.shape)
    counts = [shape[1] if turn else shape[0] for shape, turn in zip(shapes, turned)]
    # Rows and columns past those of the model were added as zeros: to the one part, or to all parts alike.
    steps = counts if sum(counts) == stored_n else [stored_n // len(names)] * len(names)
    row = 0
    for name, shape, turn, count, step in zip(names, shapes, turned, counts, steps):
        part = w[row:row + count, :shape[0] if turn else int(np.prod(shape[1:]))]
        weights.put(name, part.T if turn else part)
        row += step
    assert row == stored_n, (tensor, row)
    return len(names)
