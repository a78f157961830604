"""make loc: hand-written files over 400 lines and functions over 60 lines; prints nothing where there are none."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

FILE_LINES, FUNCTION_LINES = 400, 60
BRACES = {".rs": re.compile(r"^(\s*)(?:pub(?:\(\w+\))? )?(?:const |unsafe |async |extern \"C\" )*fn (\w+)"),
          ".comp": re.compile(r"^()[A-Za-z_]\w*(?: \w+)? (\w+)\(.*\)\s*\{?$"),
          ".glsl": re.compile(r"^()[A-Za-z_]\w*(?: \w+)? (\w+)\(.*\)\s*\{?$"),
          ".sh": re.compile(r"^()(\w+)\(\) \{$")}
PYTHON = re.compile(r"^(\s*)def (\w+)")


def functions(path: Path, lines: list[str]):
    """(name, first line, length), by the indentation that the formatters keep."""
    for i, line in enumerate(lines):
        if path.suffix == ".py" and (m := PYTHON.match(line)):
            deeper = re.compile(rf"{m[1]}(?:\s|\))")
            after = (j for j in range(i + 1, len(lines)) if lines[j].strip() and not deeper.match(lines[j]))
            end = next(after, len(lines))
            while not lines[end - 1].strip():
                end -= 1
            yield m[2], i + 1, end - i
        elif path.suffix in BRACES and (m := BRACES[path.suffix].match(line)):
            end = next((j for j in range(i, len(lines)) if lines[j].rstrip() in (m[1] + "}", m[1] + ");")
                        or (j == i and lines[j].rstrip().endswith(("}", ";")))), i)
            yield m[2], i + 1, end - i + 1


def main() -> None:
    tracked = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.splitlines()
    for path in map(Path, tracked):
        if path.suffix != ".py" and path.suffix not in BRACES or not path.is_file():
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > FILE_LINES:
            print(f"{path}: {len(lines)} lines")
        for name, first, length in functions(path, lines):
            if length > FUNCTION_LINES:
                print(f"{path}:{first}: {name}: {length} lines")


main()
