"""speed.py with programs that are scripts: what it makes of rows, and that no failure stops the rest."""
import json
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import speed  # noqa: E402
import speed_tables as tables  # noqa: E402

QWEN, VLM = tables.MODELS[0], tables.MODELS[2]


def row(test: str, tokens: int, rate: float, weights: float = 1e6, dispatches: float = 1.0) -> dict:
    return {"test": test, "tokens": tokens, "tokens_per_second": {"median": rate, "min": rate, "max": rate}, "weight_bytes_per_token": weights,
            "cache_bytes_per_token": 0.0, "dispatches_per_token": dispatches, "barriers_per_token": dispatches}


def results() -> dict:
    decode = [row("tg128", 128, rate, 988e6, 124) for rate in (1400.0, 1380.0, 1390.0)]
    return {QWEN.name: {"bench": decode + [row("pp256", 256, 128000.0, 4e6, 221 / 256)]},
            VLM.name: {"bench": [row("picture", 81, 27000.0)]}}


def lines(markdown: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown.splitlines()]


def test_a_table_beside_peers_has_our_median_and_says_how_far_ahead_it_is():
    decode = lines(tables.beside(tables.DECODE, tables.DECODE_PEERS, tables.ours_decode(results()), tables.DECODE_GOAL, True, tables.DECODE_FLOOR))
    assert all(len(line) == 1 + len(tables.DECODE) for line in decode)
    of = {line[0]: line[1:] for line in decode}
    assert of["**ours**"] == ["**1,390**"] + ["-"] * 4 and of["llama.cpp CUDA"][0] == "647"
    assert of["ours, times as fast as the best peer"] == ["1.73", "-", "-", "-", "-"]
    assert of["ours, times as fast as the goal"][0] == "0.58"
    prefill = lines(tables.beside(tables.PREFILL, tables.PREFILL_PEERS, tables.ours_prefill(results()), tables.PREFILL_GOAL, False))
    of = {line[0]: line[1:] for line in prefill}
    assert of["**ours**"] == ["**2**", "-", "-", "-", "-", "**3**", "-"]
    assert of["ours, times as fast as the best peer"] == ["1.20", "-", "-", "-", "-", "1.03", "-"]


def test_prefill_says_which_export_and_which_buckets_a_column_is_of():
    assert tables.PREFILL == [
        "0.5B fp16, one chunk", "0.5B fp16, fp16 export, one chunk", "2.2B fp16, chunks of 128", "2.2B fp16, fp16 export, one chunk",
        "14B int4, one chunk", "picture 384 x 384", "picture 384 x 384, fp16 export"]
    for model in tables.MODELS:
        rows = [line for line in (speed.HERE / model.manifest).read_text().splitlines() if line.startswith("rows = ")]
        assert rows[0] == f"rows = {model.chunk}", "of the prefill bucket, the first that has rows"


def test_the_peers_fill_their_columns():
    for columns, peers, goal in ((tables.DECODE, tables.DECODE_PEERS, tables.DECODE_GOAL), (tables.PREFILL, tables.PREFILL_PEERS, tables.PREFILL_GOAL)):
        assert {len(r) for r in peers.values()} | {len(goal)} == {len(columns)}
    assert len(tables.DECODE_FLOOR) == len(tables.DECODE) and [m.column for m in tables.MODELS][:len(tables.DECODE)] == tables.DECODE


def test_a_prediction_is_bytes_and_dispatches_of_a_whole_run():
    counts = lines(tables.counts_table(results()))[2:]
    # 988 MB at 4,650 GB/s and 124 barriers of 2.2 us; 1,390 t/s.
    assert counts[1] == ["Qwen2.5-0.5B shapes", "fp16", "decode", "988.0", "124", "124", "485", "719", "1.48"]
    assert counts[0][3:6] == ["1,024.0", "221", "221"] and counts[0][7] == "2,000"
    assert counts[2][3:] == ["-"] * 6
    vision = next(line for line in counts if line[2] == "vision" and line[3] != "-")
    assert vision[3:6] == ["81.0", "81", "81"] and vision[7] == "3,000"
    assert tables.predicted_us(0, 3, 1) == pytest.approx(2.2 + 2 * 0.26)


def test_rows_show_each_run_and_a_dash_where_there_was_none():
    found = lines(tables.rows_table(results()))[2:]
    assert len(found) == sum(len(m.tests()) for m in tables.MODELS)
    assert found[1][2:] == ["tg128", "1400 1380 1390", "988", "124, 124"]
    assert found[0][2:4] == ["pp256 (2.00 ms)", "128000"] and found[2][3:] == ["-", "-", "-"]


def test_kernels_stand_with_what_the_driver_tells_of_them():
    kernel = {"bucket": "decode", "kernel": "matvec", "dispatches": 24.0, "us_a_run": 240.0, "us_each": 10.0, "weight_bytes_each": 2e7,
              "cache_bytes_each": 0.0}
    told = {"kernels": [{"kernel": "matvec", "executables": [{"statistics": {"Register Count": 40, "Stack Size": 0}}]}]}
    both = {QWEN.name: {"profile": {"kernels": [kernel, kernel | {"kernel": "other", "weight_bytes_each": 0.0}]}, "registers": told}}
    first, second = lines(tables.kernels_table(both))[2:]
    assert first[2:] == ["`matvec`", "Register Count 40, Stack Size 0", "24", "10.0", "240", "2,000"]
    assert second[3] == "-" and second[-1] == "-"


PROGRAM = """#!{python}
import json, os, sys
args, name = sys.argv[1:], os.path.basename(sys.argv[0])
row = lambda test, tokens: {{"test": test, "tokens": tokens, "tokens_per_second": {{"median": 1000.0, "min": 1.0, "max": 2.0}},
                            "weight_bytes_per_token": 5.0, "cache_bytes_per_token": 1.0, "dispatches_per_token": 3, "barriers_per_token": 2}}
value = lambda flag: args[args.index(flag) + 1]
if args[0] == "info":
    print(json.dumps({{"device": {{"name": "soft"}}}}))
elif args[0] == "bench":
    if {bench_fails}: sys.exit("bench: the device was lost")
    depth, prompts = int(value("-d")), [int(n) for n in value("-p").split(",")]
    rows = [row(f"pp{{n}}", n) for n in prompts if n] + [row(f"tg{{value('-n')}}" + (f"@{{depth}}" if depth else ""), int(value("-n")))]
    print(json.dumps(rows + ([row("picture", 81)] if "vlm" in name else [])))
elif "--registers" in args:
    sys.stderr.write("no registers here\\n"); sys.exit(4)
elif args[0] == "profile":
    print(json.dumps({{"kernels": [{{"bucket": "decode", "kernel": "k", "dispatches": 1, "us_a_run": 2.0, "us_each": 2.0,
                                   "weight_bytes_each": 4000.0, "cache_bytes_each": 0.0}}]}}))
else:
    print(*range({tokens}(len(args))))
"""


def programs(folder: Path, bench_fails: str = "False", tokens: str = "(lambda n: 64)") -> Path:
    folder.mkdir()
    for model in tables.MODELS:
        path = folder / model.name
        path.write_text(PROGRAM.format(python=sys.executable, bench_fails=bench_fails, tokens=tokens))
        path.chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def no_pool(monkeypatch):
    """The pool for start-up needs a compiler: here its making fails."""
    class Pool:
        path, work = Path("/nonexistent/pool"), type("Work", (), {"poll": staticmethod(lambda: 1)})

        def __init__(self, machine, model):
            pass

        def wait(self, seconds):
            return False

    monkeypatch.setattr(speed, "Pool", Pool)


def test_everything_is_measured_and_what_lacks_is_told(tmp_path):
    assert not speed.measure(programs(tmp_path / "programs"), tmp_path / "out", 300, [], 2)
    out = tmp_path / "out"
    found = json.loads((out / "speed.json").read_text())
    assert found["device"] == "soft"
    for model in tables.MODELS:
        mine = found["models"][model.name]
        assert set(mine["tokens"].values()) == {"equal"}
        assert [r["test"] for r in mine["bench"]].count("tg128") == 2
        assert sorted({r["test"] for r in mine["bench"]}) == sorted(model.tests())
        drawn = ET.parse(out / f"roofline-{model.name.removeprefix('speed-')}.svg").getroot()
        assert sum(c.get("class") == "point" for c in drawn.iter()) == 1 + len(model.tests())
    # Registers of each model, and the pool.
    models = len(tables.MODELS)
    assert len(found["failed"]) == models + 1 and sum("exit code 4" in f for f in found["failed"]) == models
    page = (out / "speed.md").read_text()
    assert "1000 1000" in page and "### Did not run" in page and "no pool could be made" in page
    # Files that a machine may hand back at once.
    assert len(list(out.iterdir())) == 3 + models


def test_a_model_that_fails_stops_no_other_and_differing_tokens_are_told(tmp_path):
    folder = programs(tmp_path / "programs", bench_fails="'qwen14b' in name", tokens="(lambda n: 64 if n < 8 else 63)")
    (folder / VLM.name).unlink()
    assert not speed.measure(folder, tmp_path / "out", 300, [], 1)
    found = json.loads((tmp_path / "out/speed.json").read_text())
    assert found["models"]["speed-qwen14b"]["bench"] == [] and len(found["models"][QWEN.name]["bench"]) == len(QWEN.tests())
    assert [v for v in found["models"][QWEN.name]["tokens"].values() if v.startswith("NOT equal (64 and 63")]
    assert any("the device was lost" in f for f in found["failed"]) and any(f.startswith(f"{VLM.name}: not in") for f in found["failed"])


def test_without_time_nothing_is_started_and_the_page_is_still_written(tmp_path):
    assert not speed.measure(programs(tmp_path / "programs"), tmp_path / "out", 0, [], 1)
    found = json.loads((tmp_path / "out/speed.json").read_text())
    assert all("no time left" in f or "no pool" in f for f in found["failed"]) and found["models"][QWEN.name]["bench"] == []
    assert "| **ours** |" in (tmp_path / "out/speed.md").read_text()


def test_an_archive_is_unpacked(tmp_path):
    import tarfile
    folder = programs(tmp_path / "programs")
    with tarfile.open(folder / speed.ARCHIVE, "w:xz") as tar:
        tar.add(folder / QWEN.name, QWEN.name)
    (tmp_path / "work").mkdir()
    found = speed.unpack(folder, str(tmp_path / "work"))
    assert [p.name for p in found.iterdir()] == [QWEN.name]


def test_a_first_token_is_timed_and_a_failure_is_none(tmp_path):
    machine = speed.Machine(tmp_path, tmp_path, time.time() + 60, [])
    assert speed.first_token(machine, [sys.executable, "-c", "print(1)"], "a") > 0
    assert speed.first_token(machine, [sys.executable, "-c", "raise SystemExit(3)"], "a") is None


def test_a_program_that_hangs_before_its_first_token_is_stopped(tmp_path):
    machine = speed.Machine(tmp_path, tmp_path, time.time() + 0.5, [])
    start = time.time()
    assert speed.first_token(machine, [sys.executable, "-c", "import time; time.sleep(60)"], "a") is None and time.time() - start < 30


def test_an_archive_that_a_machine_would_not_take_fails(tmp_path, capsys):
    archive = tmp_path / speed.ARCHIVE
    archive.write_bytes(bytes(3 << 20))
    assert speed.fits(archive, 7) and "3.0 MiB, 7 models" in capsys.readouterr().err
    assert not speed.fits(archive, 7, 2 << 20) and "more than 2 MiB" in capsys.readouterr().err
