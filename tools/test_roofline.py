"""The picture of roofline.py: well-formed, with every row in it at its place."""
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import roofline  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def kernel(name: str, us: float, weights: float, cache: float = 0.0, bucket: str = "decode") -> dict:
    return {"bucket": bucket, "kernel": name, "note": name, "runs": 2, "dispatches": 24.0, "us_a_run": 24 * us, "us_each": us,
            "weight_bytes_each": weights, "cache_bytes_each": cache}


PROFILE = {"model": "m", "device": "d", "kernels": [
    kernel("linear <a> & b", 10.0, 40e6), kernel("attention", 4.0, 0.0, 2e6), kernel("argmax", 2.5, 0.0),
    kernel("linear <a> & b", 90.0, 40e6, bucket="prefill")]}
BENCH = [{"test": "tg128", "tokens": 128, "weight_bytes_per_token": 1e9, "cache_bytes_per_token": 1e6,
          "tokens_per_second": {"median": 1000.0}},
         {"test": "pp256", "tokens": 256, "weight_bytes_per_token": 4e6, "cache_bytes_per_token": 0.0,
          "tokens_per_second": {"median": 80000.0}}]


def drawn(points, **more):
    root = ET.fromstring(roofline.svg(points, **more))
    return root, [c for c in root.iter(f"{SVG}circle") if c.get("class") == "point"]


def test_every_row_of_profile_and_bench_has_its_point_and_its_line_of_text():
    points = roofline.points(PROFILE) + roofline.points(BENCH)
    root, circles = drawn(points, title="m < n")
    assert len(circles) == len(points) == 6
    texts = [t.text for t in root.iter(f"{SVG}text")]
    assert "m < n" in texts and sum("linear <a> & b" in t for t in texts) == 2
    for circle in circles:
        x, y = float(circle.get("cx")), float(circle.get("cy"))
        assert roofline.LEFT <= x <= roofline.LEFT + roofline.WIDTH
        assert roofline.TOP <= y <= roofline.TOP + roofline.HEIGHT


def test_a_step_is_a_token_and_a_prompt_is_whole():
    step, prompt = roofline.points(BENCH)
    assert (step.bytes, step.us) == (1.001e9, 1000.0)
    assert (prompt.bytes, prompt.us) == (256 * 4e6, 3200.0)


def test_axes_are_logarithmic_and_the_fastest_row_lies_on_the_roof():
    points = roofline.points(PROFILE)
    across = roofline.Axis([1e3, 1e6], 0, 300)
    assert [across.at(v) for v in (1e3, 1e4, 1e6)] == pytest.approx([0, 100, 300])
    root, circles = drawn(points)
    roof = next(l for l in root.iter(f"{SVG}line") if l.get("stroke") == "black")
    x1, y1, x2, y2 = (float(roof.get(k)) for k in ("x1", "y1", "x2", "y2"))
    x, y = float(circles[0].get("cx")), float(circles[0].get("cy"))
    assert abs(y - (y1 + (x - x1) / (x2 - x1) * (y2 - y1))) < 0.3
    assert any("4,000 GB/s, the most achieved" == t.text for t in root.iter(f"{SVG}text"))
    named, _ = drawn(points, bandwidth=4650.0, dispatch=2.2)
    texts = [t.text for t in named.iter(f"{SVG}text")]
    assert "4,650 GB/s" in texts and "an empty dispatch, 2.2 us" in texts


def test_what_reads_nothing_stands_hollow_on_the_left_edge():
    _, circles = drawn(roofline.points(PROFILE))
    hollow = [c for c in circles if c.get("fill") == "none"]
    assert [float(c.get("cx")) for c in hollow] == [roofline.LEFT]


def test_rows_without_any_bytes_or_none_at_all():
    root, circles = drawn(roofline.points({"kernels": [kernel("argmax", 0.0, 0.0)]}))
    assert len(circles) == 1
    with pytest.raises(ValueError):
        roofline.svg([])


def test_the_command_writes_a_file_and_says_what_it_cannot_read(tmp_path):
    rows, out = tmp_path / "rows.json", tmp_path / "out.svg"
    rows.write_text(json.dumps(PROFILE))
    command = [sys.executable, roofline.__file__, str(rows), "-o", str(out)]
    subprocess.run(command, check=True)
    assert ET.parse(out).getroot().tag == f"{SVG}svg"
    rows.write_text("{}")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith(f"roofline: {rows}: KeyError") and done.stderr.count("\n") == 1
