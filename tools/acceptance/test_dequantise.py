"""What codes mean, from the page docs/pool.md."""
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from dequantise import decode  # noqa: E402


def padded(*parts: np.ndarray) -> np.ndarray:
    raw = [part.tobytes() + bytes(-part.nbytes % 16) for part in parts]
    return np.frombuffer(b"".join(raw), np.uint8)


def words(q: np.ndarray) -> np.ndarray:
    """Column 8i + 2p + h at bits 4p + 16h of word i."""
    out = np.zeros((q.shape[0], q.shape[1] // 8), np.uint32)
    for column in range(q.shape[1]):
        p, h = column % 8 // 2, column % 2
        out[:, column // 8] |= q[:, column].astype(np.uint32) << (4 * p + 16 * h)
    return out


def test_four_bits_around_the_middle():
    q = np.arange(3 * 32).reshape(3, 32) % 16
    scales = np.array([[0.5], [1.0], [2.0]], np.float16)
    w = decode(padded(words(q), scales), "q4_g32_mid", 32)
    assert np.array_equal(w, (q - 8) * np.array([[0.5], [1.0], [2.0]]))


def test_eight_bits_with_minima_and_two_groups():
    q = (np.arange(2 * 64).reshape(2, 64) * 7 % 256).astype(np.uint8)
    scales, minima = np.array([[1, 2], [3, 4]], np.float16), np.array([[-1, 0], [1, 2]], np.float16)
    w = decode(padded(q, scales, minima), "q8_g32_min", 64)
    expected = q.reshape(2, 2, 32) * scales[..., None].astype(np.float32) + minima[..., None].astype(np.float32)
    assert np.array_equal(w, expected.reshape(2, 64))


def test_zero_points_and_corrected_columns():
    q = np.full((2, 32), 5)
    scales, zeros = np.ones((2, 1), np.float16), np.array([[3], [8]], np.uint8)
    columns, more = np.array([1, 30], np.uint32), np.array([[0.25, 0.5], [0.75, 1.0]], np.float16)
    w = decode(padded(words(q), scales, zeros, columns, more), "q4_g32_point_s2", 32)
    assert w[0, 0] == 2 and w[1, 0] == -3
    assert w[0, 1] == 2.25 and w[0, 30] == 2.5 and w[1, 1] == -2.25 and w[1, 30] == -2
