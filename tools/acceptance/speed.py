"""Tokens and speeds of every model of the tables in docs/performance.md, in one go on one device.

  speed.py build FOLDER            compiles every model of the tables, without weights: FOLDER/programs.tar.xz; needs no GPU, but
                                   what tools/modelgen needs, for exports in fp16
  speed.py measure FOLDER --out O  unpacks it and measures; needs python3 alone, but for start-up, which needs numpy and onnx

In: graphs and manifests of this repository. Out: O/{speed.json, speed.md, speed.log, roofline-NAME.svg of each model}. Promise: tokens are
compared before anything is timed; a step that fails or has no time left is told, under "Did not run" too, and stops no other; what was
measured is on disk after every step.
"""
from __future__ import annotations

import argparse
import json
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent))

import roofline  # noqa: E402
import speed_tables as tables  # noqa: E402
from speed_tables import MODELS, Model  # noqa: E402

ARCHIVE, PROMPT, TOKENS = "programs.tar.xz", ",".join(str(7 * i + 3) for i in range(40)), 64
SYNTHETIC = ("--weights", "synthetic:1")
# Longest that one process may take.
MOST_S = 120.0
# An archive for a machine that takes 64 MiB, drivers and this tree among them.
MOST_BYTES = 45 << 20


def say(text: str) -> None:
    print(f"speed: {text}", file=sys.stderr, flush=True)


def compiled(model: Model, folder: Path, target: str, profile: str) -> Path:
    """Builds one executable into the folder."""
    precision = ["--precision", "int4"] if model.precision == "int4" else []
    run = lambda *command, **more: subprocess.run(command, check=True, cwd=ROOT, **more)  # noqa: E731
    with tempfile.TemporaryDirectory() as made:
        onnx = model.onnx if isinstance(model.onnx, str) else exported(model.onnx, made)
        run(f"{target}/onnxcast", "compile", model.name, "--manifest", str(HERE / model.manifest), "--onnx", onnx, "--without-weights",
            *precision)
    env = os.environ | {"ONNXCAST_MODEL": model.name}
    run("cargo", "build", "--quiet", "--locked", "--profile", profile, "--workspace", "--bin", "onnxcast-model", env=env)
    return stripped(f"{target}/onnxcast-model", folder / model.name)


def exported(arguments: tuple[str, ...], folder: str) -> str:
    """Graphs without weights that tools/modelgen writes."""
    python = ROOT / ".cache/venv/bin/python"
    subprocess.run([str(python) if python.exists() else sys.executable, "-m", "modelgen", *arguments, "--graph-only", "--out", folder],
                   check=True, cwd=HERE.parent, stdout=sys.stderr)
    return folder


def stripped(source: str, to: Path) -> Path:
    subprocess.run(["strip", "-o", str(to), source], check=True, cwd=ROOT)
    return to


def build(folder: Path, profile: str, models: list[Model]) -> bool:
    target = "target/" + ("debug" if profile == "dev" else profile)
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--profile", profile, "--workspace"], check=True, cwd=ROOT)
    made, failed = [], []
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made.append(stripped(f"{target}/onnxcast", Path(work) / "onnxcast"))
        for model in models:
            try:
                say(f"building {model.name}")
                made.append(compiled(model, Path(work), target, profile))
            except (OSError, subprocess.CalledProcessError) as e:
                failed.append(model.name)
                say(f"FAIL {model.name}: {e}")
        # One dictionary over all of them: they share the runtime.
        law = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 192 << 20}]
        with lzma.open(folder / ARCHIVE, "wb", filters=law) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
            for path in made:
                tar.add(path, path.name)
    return fits(folder / ARCHIVE, len(made) - 1) and not failed


def fits(archive: Path, models: int, most: int = MOST_BYTES) -> bool:
    size = archive.stat().st_size
    say(f"{archive}: {size / 2**20:.1f} MiB, {models} models")
    if size > most:
        say(f"FAIL {archive}: more than {most / 2**20:.0f} MiB; leave models out with --only, or build with --profile release")
    return size <= most


class Machine:
    """Where programs run: their folder, caches and log, and the time that is left."""

    def __init__(self, programs: Path, out: Path, end: float, flags: list[str]):
        self.programs, self.out, self.flags, self.end = programs, out, flags, end
        self.caches, self.failed = programs / "caches", []
        self.log = open(out / "speed.log", "a", encoding="utf-8")

    def left(self) -> float:
        return self.end - time.time()

    def fail(self, what: str) -> None:
        self.failed.append(what)
        say(f"FAIL {what}")

    def env(self, cache: str) -> dict:
        (self.caches / cache).mkdir(parents=True, exist_ok=True)
        return os.environ | {"XDG_CACHE_HOME": str(self.caches / cache)}

    def __call__(self, model: Model, *flags: str) -> str | None:
        """Stdout of a program that did well; else the failure is told."""
        command = [str(self.programs / model.name), *flags, *self.flags]
        shown = " ".join([model.name, *flags])
        if self.left() < 5:
            self.fail(f"{shown}: no time left")
            return None
        print("$", shown, file=self.log, flush=True)
        start = time.time()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=min(self.left(), MOST_S), env=self.env("kept"),
                                  stdin=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired) as e:
            self.fail(f"{shown}: {e}")
            return None
        print(done.stdout, done.stderr, f"exit code {done.returncode}, {time.time() - start:.1f} s", sep="\n", file=self.log, flush=True)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
            self.fail(f"{shown}: exit code {done.returncode}: {last}")
            return None
        return done.stdout

    def json(self, model: Model, *flags: str):
        out = self(model, *flags)
        try:
            return json.loads(out) if out else None
        except ValueError as e:
            self.fail(f"{model.name} {' '.join(flags)}: no JSON: {e}")
            return None


def tokens(machine: Machine, model: Model) -> dict:
    """What is promised: the same binary, device and seed give the same tokens to the bit, whatever variants of kernels were chosen
    (docs/start.md) and however many steps go into a submission. Not promised, so not held to: plain tiles (--no-matrix) round as they do."""
    # The pixels of no picture, and no text: ids alone.
    flags = ["--prompt-ids", PROMPT, "-n", str(TOKENS), "--ids", *SYNTHETIC]
    first = machine(model, *flags)
    verdicts = {}
    for what, more in (("at the second start, with kept pipelines and variants", []),
                       ("with the program's own variants and a step a submission (--no-cache --steps 1)", ["--no-cache", "--steps", "1"])):
        other = machine(model, *flags, *more)
        if first is None or other is None:
            verdicts[what] = "did not run"
            continue
        same = first.split() == other.split() and len(first.split()) == TOKENS
        verdicts[what] = "equal" if same else f"NOT equal ({len(first.split())} and {len(other.split())} tokens)"
        if not same:
            machine.fail(f"{model.name}: tokens differ {what}")
    return verdicts


def bench(machine: Machine, model: Model) -> list[dict]:
    """One run of every row, a process for each depth."""
    rows = []
    for depth, count, repetitions in model.decode:
        # Prompts and pictures are measured beside the first depth.
        prompts = ",".join(map(str, model.prompts())) if not depth else "0"
        found = machine.json(model, "bench", "-o", "json", "-p", prompts, "-n", str(count), "-d", str(depth), "-r", str(repetitions), *SYNTHETIC)
        rows += [row for row in found or [] if not depth or row["test"].startswith("tg")]
    return rows


class Pool:
    """A pool file of random weights for start-up, made beside the first steps."""

    def __init__(self, machine: Machine, model: Model):
        self.path, folder = machine.programs / "weights.pool", machine.programs / "model"
        script = [sys.executable, str(HERE / "acceptance.py"), "make", str(folder), "--seed", "1"]
        pack = [str(machine.programs / "onnxcast"), "pack", model.name, "--manifest", str(HERE / model.manifest), "--onnx", str(folder), "-o",
                str(self.path)]
        both = "import subprocess, sys; n = sys.argv.index('--'); subprocess.run(sys.argv[1:n], check=True); subprocess.run(sys.argv[n + 1:], check=True)"
        self.work = subprocess.Popen([sys.executable, "-c", both, *script, "--", *pack], stdout=machine.log, stderr=machine.log)

    def wait(self, seconds: float) -> bool:
        try:
            return self.work.wait(max(seconds, 0)) == 0
        except subprocess.TimeoutExpired:
            self.work.kill()
            return False


def first_token(machine: Machine, command: list[str], cache: str) -> float | None:
    """Seconds from the start of a process to its first byte of output."""
    # The driver keeps pipelines of its own, which a first start would not have.
    env = machine.env(cache) | {"__GL_SHADER_DISK_CACHE": "0"}
    start = time.time()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=machine.log, stdin=subprocess.DEVNULL, env=env) as process:
        # Reading waits for as long as the program lives.
        end = threading.Timer(max(min(machine.left(), MOST_S), 0), process.kill)
        end.start()
        byte = process.stdout.read(1)
        took = time.time() - start
        process.stdout.read()
        code = process.wait()
        end.cancel()
    return took if byte and code == 0 else None


def starts(machine: Machine, model: Model, pool: Pool, times: int = 3) -> dict:
    if not pool.wait(min(machine.left() - 60, 90)) or not pool.path.exists():
        machine.fail("start-up: no pool could be made (numpy, onnx and onnxruntime are needed for it; see the log)")
        return {}
    with open(pool.path, "rb") as f:
        while f.read(1 << 24):
            pass
    command = [str(machine.programs / model.name), "--prompt-ids", PROMPT, "-n", "1", "--ids", "--weights", f"other:{pool.path}", *machine.flags]
    out = {}
    for name, cache, more in (("a first start: kernels compiled, variants measured", "empty{}", []),
                              ("kept pipelines and variants", "empty0", []), ("--no-cache: kernels compiled", "none", ["--no-cache"])):
        seconds = []
        for i in range(times):
            if machine.left() < 20:
                machine.fail(f"start-up, {name}: no time left")
                break
            took = first_token(machine, command + more, cache.format(i))
            seconds += [took] if took is not None else []
            if took is None:
                machine.fail(f"start-up, {name}: no token came (see the log)")
        out[f"{name}; {pool.path.stat().st_size:,} bytes in the page cache"] = seconds
    return out


class Report:
    """What is known so far, on disk after every step."""

    def __init__(self, machine: Machine):
        self.machine, self.device, self.starts = machine, "unknown", {}
        self.results = {model.name: {"bench": [], "tokens": {}} for model in MODELS}

    def keep(self) -> None:
        m = self.machine
        whole = {"device": self.device, "models": self.results, "starts": self.starts, "failed": m.failed}
        (m.out / "speed.json").write_text(json.dumps(whole, indent=1), encoding="utf-8")
        try:
            page = tables.page(self.results, self.starts, self.device, m.failed)
        except Exception as e:  # noqa: BLE001: rows of a form that is not known; they are in speed.json
            page = f"no tables: {e!r}\n"
        (m.out / "speed.md").write_text(page, encoding="utf-8")

    def picture(self, model: Model) -> None:
        mine = self.results[model.name]
        points = roofline.points(mine["profile"]) if mine.get("profile") else []
        points += roofline.points(list({row["test"]: row for row in mine["bench"]}.values()))
        if points:
            drawn = roofline.svg(points, tables.BANDWIDTH_GB_S, tables.BARRIER_US, f"{model.title}, {model.precision}, {self.device}")
            (self.machine.out / f"roofline-{model.name.removeprefix('speed-')}.svg").write_text(drawn, encoding="utf-8")


def attempt(report: Report, what: str, step) -> None:
    """A step whose failure stops no other."""
    start = time.time()
    try:
        step()
        say(f"{what}: {time.time() - start:.1f} s")
    except Exception as e:  # noqa: BLE001: whatever it is, what was measured must be kept
        report.machine.fail(f"{what}: {e!r}")
    report.keep()


def unpack(folder: Path, work: str) -> Path:
    if (folder / ARCHIVE).exists():
        with tarfile.open(folder / ARCHIVE, "r:xz") as tar:
            tar.extractall(work)
        return Path(work)
    return folder


def measure(folder: Path, out: Path, seconds: float, flags: list[str], rounds: int) -> bool:
    out.mkdir(parents=True, exist_ok=True)
    end = time.time() + seconds  # unpacking takes of it too
    with tempfile.TemporaryDirectory() as work:
        machine = Machine(unpack(folder, work), out, end, flags)
        report = Report(machine)
        present = [m for m in MODELS if (machine.programs / m.name).exists()]
        for model in MODELS:
            if model not in present:
                machine.fail(f"{model.name}: not in {folder}")
        pool = Pool(machine, MODELS[0]) if MODELS[0] in present else None
        everything(report, present, pool, rounds)
        if pool and pool.work.poll() is None:
            pool.work.kill()
    print((out / "speed.md").read_text(encoding="utf-8"))
    return not machine.failed


def everything(report: Report, present: list[Model], pool: Pool | None, rounds: int) -> None:
    """All steps, what matters most first: a row with one run is better than none."""
    machine, results = report.machine, report.results
    for model in present:
        attempt(report, f"{model.name} info", lambda m=model: results[m.name].update(info=machine.json(m, "info", "--json")))
        report.device = ((results[model.name].get("info") or {}).get("device") or {}).get("name", report.device)
        attempt(report, f"{model.name} tokens", lambda m=model: results[m.name].update(tokens=tokens(machine, m)))
    starting = (lambda: report.starts.update(starts(machine, MODELS[0], pool))) if pool else None
    if starting:
        attempt(report, "start-up", starting)
    for i in range(rounds):
        for model in present:
            attempt(report, f"{model.name} bench, run {i + 1}", lambda m=model: results[m.name]["bench"].extend(bench(machine, m)))
            if i == 0:
                attempt(report, f"{model.name} profile", lambda m=model: results[m.name].update(profile=machine.json(m, "profile", "--json", *SYNTHETIC)))
                attempt(report, f"{model.name} registers",
                        lambda m=model: results[m.name].update(registers=machine.json(m, "profile", "--registers", "--json")))
            attempt(report, f"{model.name} picture", lambda m=model: report.picture(m))


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(required=True)
    b = sub.add_parser("build")
    b.add_argument("folder", type=Path)
    b.add_argument("--profile", default="dev", help="of cargo")
    b.add_argument("--only", type=lambda text: text.split(","), help="names of executables, to try the script")
    b.set_defaults(fn=lambda a: build(a.folder, a.profile, [m for m in MODELS if not a.only or m.name in a.only]))
    m = sub.add_parser("measure")
    m.add_argument("folder", type=Path, help="with programs.tar.xz, or with the executables themselves")
    m.add_argument("--out", type=Path, required=True)
    m.add_argument("--seconds", type=float, default=420, help="within which it ends; no step is started that has no time left")
    m.add_argument("--rounds", type=int, default=3, help="runs of every row")
    m.add_argument("--flags", type=str.split, default=[], help="for every run, such as '--device 1'")
    m.set_defaults(fn=lambda a: measure(a.folder, a.out, a.seconds, a.flags, a.rounds))
    a = p.parse_args()
    sys.exit(0 if a.fn(a) else 1)


if __name__ == "__main__":
    main()
