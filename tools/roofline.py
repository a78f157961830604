"""A picture of where time goes: bytes that a dispatch moves against its time, both in log scale, with lines of memory bandwidth.

  roofline.py -o FILE.svg [--bandwidth GB/S] [--dispatch US] [--title TEXT] ROWS.json …

In: what an executable prints with `profile --json` (a row a kernel: one average dispatch of it) or `bench -o json` (a row a test: one
run). Out: an SVG, a numbered point for each row, and the rows beside it by number. Promise: no row is left out; what reads no weights and
no cache stands on the left edge, hollow. Bytes are of weights and cache, each tensor once a dispatch: activations are not counted.
"""
from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass
from xml.sax.saxutils import escape

COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf"]
# The plot, the height of a line beside it, and the width of the column there.
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 640, 520, 70, 46, 52
LINE, BESIDE = 14, 520


@dataclass
class Point:
    """A row: what it is of, its name, bytes and microseconds."""

    group: str
    name: str
    bytes: float
    us: float

    def rate(self) -> float:
        """GB/s."""
        return self.bytes / self.us / 1e3


def points(rows) -> list[Point]:
    """Of the JSON of `profile` or of `bench`."""
    if isinstance(rows, dict):
        return [of_kernel(row) for row in rows["kernels"]]
    return [of_test(row) for row in rows]


def of_kernel(row: dict) -> Point:
    moved = row["weight_bytes_each"] + row["cache_bytes_each"]
    return Point(row["bucket"], f"{row['dispatches']:g} x {row['kernel']}", moved, row["us_each"])


def of_test(row: dict) -> Point:
    """One step of an answer, or a whole prompt or picture."""
    tokens = 1 if row["test"].startswith("tg") else row["tokens"]
    moved = row["weight_bytes_per_token"] + row["cache_bytes_per_token"]
    return Point("a run", row["test"], moved * tokens, 1e6 * tokens / row["tokens_per_second"]["median"])


class Axis:
    """Values to places, in log scale, from decade to decade."""

    def __init__(self, values: list[float], start: float, end: float):
        self.low, self.high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self.high = max(self.high, self.low + 1)
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def decades(self) -> list[float]:
        return [10.0 ** e for e in range(self.low, self.high + 1)]


def size(n: float) -> str:
    """Bytes for a reader."""
    for unit in ("B", "kB", "MB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} GB"


def short(n: float) -> str:
    return f"{n:,.0f}" if n >= 100 else f"{n:.3g}"


def text(x: float, y: float, what: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(what)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def grid(across: Axis, up: Axis) -> list[str]:
    out = []
    for value in across.decades():
        x = across.at(value)
        out += [line(x, up.start, x, up.end, 'stroke="#ddd"'), text(x, up.start + 16, size(value), 'text-anchor="middle"')]
    for value in up.decades():
        y = up.at(value)
        out += [line(across.start, y, across.end, y, 'stroke="#ddd"'), text(across.start - 6, y + 4, f"{value:g}", 'text-anchor="end"')]
    middle = (up.start + up.end) / 2
    out += [text((across.start + across.end) / 2, up.start + 36, "bytes of weights and cache, a dispatch", 'text-anchor="middle"'),
            text(16, middle, "microseconds", f'text-anchor="middle" transform="rotate(-90 16 {middle:.1f})"')]
    return out


def roof(across: Axis, up: Axis, rate: float, what: str, style: str) -> list[str]:
    """The least time for so many bytes at `rate` GB/s, as far as it is within the frame."""
    least, most = up.decades()[0], up.decades()[-1]
    xs = [max(across.decades()[0], least * rate * 1e3), min(across.decades()[-1], most * rate * 1e3)]
    if xs[0] >= xs[1]:
        return []
    places = [(across.at(x), up.at(x / rate / 1e3)) for x in xs]
    (x1, y1), (x2, y2) = places
    return [line(x1, y1, x2, y2, style), text(x2 - 4, y2 - 5, what, 'text-anchor="end" fill="#555"')]


def svg(all_points: list[Point], bandwidth: float | None = None, dispatch: float | None = None, title: str = "") -> str:
    if not all_points:
        raise ValueError("no rows")
    reads = [p.bytes for p in all_points if p.bytes > 0] or [1.0]
    across = Axis(reads, LEFT, LEFT + WIDTH)
    up = Axis([max(p.us, 1e-3) for p in all_points], TOP + HEIGHT, TOP)
    given = bandwidth is not None
    bandwidth = bandwidth or max(p.rate() if p.us > 0 else 0 for p in all_points)
    groups = sorted({p.group for p in all_points}, key=[p.group for p in all_points].index)
    colour = {g: COLOURS[i % len(COLOURS)] for i, g in enumerate(groups)}
    body = [text(LEFT, 24, title, 'font-size="15"')] if title else []
    body += grid(across, up)
    if bandwidth > 0:
        what = f"{short(bandwidth)} GB/s" + ("" if given else ", the most achieved")
        body += roof(across, up, bandwidth, what, 'stroke="black" stroke-width="1.5"')
        body += roof(across, up, bandwidth / 10, "a tenth of it", 'stroke="#888" stroke-dasharray="4 3"')
    if dispatch and up.decades()[0] <= dispatch <= up.decades()[-1]:
        y = up.at(dispatch)
        body += [line(across.start, y, across.end, y, 'stroke="#888" stroke-dasharray="1 3"'),
                 text(across.end - 4, y - 4, f"an empty dispatch, {dispatch:g} us", 'text-anchor="end" fill="#555"')]
    beside, y = LEFT + WIDTH + 24, TOP
    number = 0
    for group in groups:
        body.append(text(beside, y, f"{group}: number, us, GB/s", f'fill="{colour[group]}" font-weight="bold"'))
        y += LINE
        for p in (p for p in all_points if p.group == group):
            number += 1
            x, row = across.at(p.bytes) if p.bytes > 0 else across.start, up.at(max(p.us, 1e-3))
            rate = short(p.rate()) if p.us > 0 and p.bytes > 0 else "-"
            told = f"{number}  {p.us:.2f}  {rate}  {p.name}"
            fill = colour[group] if p.bytes > 0 else "none"
            body += [f'<circle class="point" cx="{x:.1f}" cy="{row:.1f}" r="4" fill="{fill}" stroke="{colour[group]}">'
                     f"<title>{escape(f'{group}: {told}, {size(p.bytes)}')}</title></circle>",
                     text(x + 6, row - 4, str(number), f'fill="{colour[group]}" font-size="10"'), text(beside, y, told)]
            y += LINE
        y += LINE // 2
    width, height = beside + BESIDE, max(TOP + HEIGHT + BOTTOM, y + LINE)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="11">\n'
            f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("rows", nargs="+", help="files of JSON")
    p.add_argument("-o", "--output", required=True)
    p.add_argument("--bandwidth", type=float, help="GB/s of the device's memory [default: the most that a row achieves]")
    p.add_argument("--dispatch", type=float, help="microseconds of an empty dispatch with its barrier")
    p.add_argument("--title", default="")
    a = p.parse_args()
    found = []
    for path in a.rows:
        try:
            with open(path, encoding="utf-8") as f:
                found += points(json.load(f))
        except (OSError, ValueError, KeyError, TypeError) as e:
            sys.exit(f"roofline: {path}: {e!r}; give what `profile --json` or `bench -o json` prints")
    with open(a.output, "w", encoding="utf-8") as f:
        f.write(svg(found, a.bandwidth, a.dispatch, a.title))


if __name__ == "__main__":
    main()
