"""Measures how long kgen takes from text to CUDA text: a table, and JSON.  Needs no GPU.

    python -m benchmarks.compiler_speed [--json results.json] [--gate 3]

Each number is the best of several new processes (start-up) or repetitions.  ``--gate N`` exits with 1 if one of them is
above N times its target.  CI uses 3, so that a busy machine does not fail it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

Row = dict[str, Any]
STATEMENTS = (50, 500, 5_000)

START_UP = """
import json, time
start = time.perf_counter()
import kgen
imported = time.perf_counter()
kgen.jit("out = a * x + y").source()
print(json.dumps([imported - start, time.perf_counter() - imported]))
"""


def main() -> None:
    """Measure, print, and judge if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--gate", type=float, help="exit with 1 above this many times a target")
    options = parser.parse_args()
    results = [*start_up(), *later(), *scaling()]
    print(f"{'what':<44} {'ms':>9} {'target':>7}")
    for row in results:
        target = "" if row["target_ms"] is None else f"{row['target_ms']:.0f}"
        print(f"{row['what']:<44} {row['ms']:>9.2f} {target:>7}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    if options.gate:
        late = [r["what"] for r in results if r["target_ms"] is not None and r["ms"] > options.gate * r["target_ms"]]
        sys.exit(f"above {options.gate:g} times the target: {', '.join(late)}" if late else 0)


def _row(what: str, seconds: float, target_ms: float | None) -> Row:
    return {"what": what, "ms": seconds * 1e3, "target_ms": target_ms}


def start_up() -> list[Row]:
    """A fresh process: importing, then the first text.  An editable install has to build its tables first."""
    with tempfile.TemporaryDirectory() as bytecode:  # pip writes an installed kgen's; the first run writes it here
        environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
        command = [sys.executable, "-c", START_UP]
        runs = [json.loads(subprocess.check_output(command, text=True, env=environ)) for _ in range(7)]
    from kgen import resources
    from kgen.codegen.templates import DIGEST

    wheel = resources.built(DIGEST) is not None
    first = "first source(), from a wheel" if wheel else "first source(), editable install (no build products)"
    return [
        _row("import kgen", min(r[0] for r in runs), 100),
        _row(first, min(r[1] for r in runs), 150 if wheel else None),
    ]


def later() -> list[Row]:
    """New programs in a process that has made one."""
    import kgen

    kgen.jit("out = a").source()
    programs = {
        "axpy, contiguous": "out = {n} * x + y",
        "gelu of a sum": "out = gelu(x + {n}.5) * y",
        "Adam's update": (
            "inout p\ninout m\ninout v\nlet g = d + {n}.5 * p\nm = 0.9 * m + 0.1 * g\n"
            "v = 0.999 * v + 0.001 * g * g\np = p - 0.001 * m / (sqrt(v) + 1e-8)"
        ),
    }
    rows: list[Row] = []
    for what, text in programs.items():
        rows.append(_row(f"later program: {what}", _best(text), 10))
    return rows


def scaling() -> list[Row]:
    """Programs of many statements: the time grows as their number does, tenfold from row to row."""
    rows: list[Row] = []
    before = 0.0
    for count in STATEMENTS:
        lines = [f"let t{i} = t{i - 1} * b + {i}.5" for i in range(1, count)]
        text = "\n".join(["let t0 = a + {n}", *lines, f"out = t{count - 1}"])
        seconds = _best(text, 1 if count > 1_000 else 3)
        rows.append(_row(f"{count:,} statements", seconds, before * 1e3 * 10 if before else None))
        before = seconds
    return rows


def _best(text: str, repetitions: int = 9) -> float:
    """Seconds from text to CUDA; ``{n}`` makes each repetition a program of its own."""
    import kgen

    seconds = []
    for n in range(repetitions):
        program = text.replace("{n}", str(n))
        start = time.perf_counter()
        kgen.jit(program).source(layout="contiguous")
        seconds.append(time.perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
