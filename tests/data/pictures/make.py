"""Writes the pictures of this folder and expected.npz: what Pillow makes of them.

python make.py      (Pillow 13.0.0, numpy; any later Pillow is to give the same within the tests' bounds)
"""
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

HERE = Path(__file__).parent
WIDTH, HEIGHT = 37, 29


def motif(width=WIDTH, height=HEIGHT, step=0):
    """Ramps, a disc with a hard edge and some noise."""
    y, x = np.mgrid[0:height, 0:width].astype(np.int64)
    disc = ((x - width // 3) ** 2 + (y - height // 2) ** 2 < (height // 3) ** 2)[..., None]
    ramps = np.stack([x * 255 // width, y * 255 // height, (x + y) * 255 // (width + height)], -1)
    noise = (x * 37 + y * 91 + x * y * 13)[..., None] % np.array([23, 29, 31])
    out = np.where(disc, 255 - ramps, ramps) + noise - 15 + step
    return Image.fromarray(np.clip(out, 0, 255).astype(np.uint8))


def harsh(width, height):
    """The picture that runtime/tests/pictures.rs computes too: every kind of edge, so that filters swing over 0 and 255."""
    y, x = np.mgrid[0:height, 0:width].astype(np.int64)
    channels = [(x * x * 7 + y * 13 + x * y * 3 + c * 50) // (1 + c) & 255 for c in range(3)]
    checks = ((x // 5 + y // 3) % 2 * 255)[..., None]
    stack = np.stack(channels, -1)
    return Image.fromarray(np.where(((x + y) % 11 < 5)[..., None], checks, stack).astype(np.uint8))


def png16(path, samples, colour):
    """A PNG of 16 bits a channel, which Pillow does not write for colour."""
    height, width = samples.shape[:2]
    rows = samples.astype(">u2").reshape(height, -1)
    raw = b"".join(b"\0" + row.tobytes() for row in rows)

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def over_white(image):
    rgba = image.convert("RGBA")
    out = Image.new("RGB", image.size, "white")
    out.paste(rgba, mask=rgba.getchannel("A"))
    return np.asarray(out)


def pictures():
    """Writes the files; yields names and pixels."""
    base = motif()
    alpha = Image.fromarray((np.mgrid[0:HEIGHT, 0:WIDTH][1] * 255 // (WIDTH - 1)).astype(np.uint8))
    clear = base.copy()
    clear.putalpha(alpha)

    def save(image, name, **options):
        image.save(HERE / name, **options)
        with Image.open(HERE / name) as saved:
            return name, over_white(ImageOps.exif_transpose(saved))

    yield save(base, "rgb.png")
    yield save(base.convert("L"), "grey.png")
    yield save(base.convert("1"), "bits.png")
    yield save(clear.convert("LA"), "grey-alpha.png")
    yield save(clear, "rgba.png")
    yield save(base.quantize(16), "palette.png")
    yield save(base.quantize(16), "palette-clear.png", transparency=3)
    yield save(base, "named-jpeg.jpg", format="PNG")
    exif = Image.Exif()
    exif[0x112] = 8
    yield save(base, "turned.png", exif=exif)
    yield save(base, "turned.webp", exif=exif, lossless=True)
    smooth = motif(48, 40)
    yield save(smooth, "rgb.jpg", quality=95, subsampling=0)
    yield save(smooth, "halved.jpg", quality=90, subsampling=2)
    yield save(smooth, "progressive.jpg", quality=90, progressive=True, subsampling=0)
    yield save(smooth.convert("L"), "grey.jpg", quality=95)
    yield save(smooth.convert("CMYK"), "cmyk.jpg", quality=95)
    # The same data declared to be YCCK: the marker's last byte tells.
    cmyk = (HERE / "cmyk.jpg").read_bytes()
    at = cmyk.index(b"Adobe") + 11
    (HERE / "ycck.jpg").write_bytes(cmyk[:at] + b"\x02" + cmyk[at + 1 :])
    with Image.open(HERE / "ycck.jpg") as saved:
        yield "ycck.jpg", over_white(saved)
    small = motif(16, 8)
    for orientation in range(1, 9):
        exif[0x112] = orientation
        yield save(small, f"orientation-{orientation}.jpg", quality=95, subsampling=0, exif=exif)
    yield save(base, "lossy.webp", quality=90)
    yield save(base, "lossless.webp", lossless=True)
    yield save(clear, "rgba.webp", lossless=True)
    yield save(base, "animated.webp", save_all=True, append_images=[motif(step=40)], lossless=True, duration=50)
    yield save(base, "animated.png", save_all=True, append_images=[motif(step=40)], duration=50)
    base.save(HERE / "animated.gif", save_all=True, append_images=[motif(step=40)], duration=50)
    dot = Image.new("RGB", (1, 1), (200, 100, 50))
    yield save(dot, "dot.png")
    yield save(dot, "dot.jpg", quality=95, subsampling=0)
    yield save(dot, "dot.webp", lossless=True)
    deep = np.asarray(base).astype(np.uint16) * 256 + 77
    png16(HERE / "grey16.png", deep[..., 0], 0)
    yield "grey16.png", np.repeat(np.asarray(base)[..., :1], 3, -1)
    png16(HERE / "rgb16.png", deep, 2)
    yield "rgb16.png", np.asarray(base)
    png16(HERE / "rgba16.png", np.concatenate([deep, np.asarray(alpha).astype(np.uint16)[..., None] * 257], -1), 6)
    yield "rgba16.png", over_white(clear)


FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3}
SIZES = [
    ((61, 47), (24, 24)),
    ((61, 47), (70, 53)),
    ((61, 47), (5, 60)),
    ((61, 47), (1, 1)),
    ((61, 47), (61, 20)),
    ((61, 47), (30, 47)),
    ((1000, 700), (9, 8)),
    ((1, 1), (5, 4)),
    ((2, 3), (7, 5)),
]


def resized():
    for (width, height), size in SIZES:
        source = harsh(width, height)
        for name, number in FILTERS.items():
            yield f"{name} {width}x{height} {size[0]}x{size[1]}", np.asarray(source.resize(size, number))


np.savez_compressed(HERE / "expected.npz", **dict(pictures()), **dict(resized()))
