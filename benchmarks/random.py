"""Random programs beside torch.compile: how fast kgen is on what nobody listed.

    python -m benchmarks.random SEED COUNT [--seconds S] [--kinds elementwise,...] [--autotune N] [--merge]

Programs, dtypes, shapes and layouts come from ``random_programs.py``, one for each seed.  Every result is compared with
PyTorch's before it is timed.  Processes compile the peers ahead, while nothing is timed; launches are queued or in a
graph.  Prints the distribution of the ratios of speed and the slowest programs, and writes
``benchmarks/results/random.json`` and ``.md``; ``--autotune`` times the N slowest, after ``kernel.tune()``, beside
max-autotune as well.

``candidates.py`` times the other ways in which kgen could run them.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.random_peers import arrays_of, compile_ahead, compiled, same, translated
from benchmarks.random_programs import KINDS, RandomProgram, program
from benchmarks.timing import launch_time

RESULTS = Path(__file__).parent / "results"
MOST_BYTES = 6 << 30  # of all operands
SHOWN = 40  # programs in the list of the slowest
AUTOTUNE = "max-autotune-no-cudagraphs"


@dataclass(frozen=True, slots=True)
class Row:
    """One program: what moves at least, and seconds of a launch."""

    seed: int
    kind: str
    layout: str
    program: str
    kernels: str
    bytes: int
    kgen: float
    compile: float
    autotune: float | None = None
    tuned: float | None = None  # of what `kernel.tune()` gives, in one run with max-autotune

    @property
    def ratio(self) -> float:
        return self.compile / self.kgen


def programs(options: argparse.Namespace) -> Iterator[RandomProgram]:
    kinds = tuple(options.kinds.split(","))
    for seed in range(options.seed, options.seed + options.count):
        found = program(seed, kinds)
        if found.bytes <= MOST_BYTES:
            yield found


def measure(torch: Any, one: RandomProgram, mode: str | None = None) -> Row | str:
    """The row of a program, or why there is none.  ``mode``: of torch.compile; with one, kgen's kernel is tuned."""
    import kgen

    plain = translated(one)
    if isinstance(plain, str):
        return plain
    function = compiled(torch, plain, mode)
    arrays = arrays_of(torch, one)
    kernel = kgen.jit(one.text, name="random")
    if mode is not None:
        kernel = kernel.tune(**arrays)
    got, want = kernel(**arrays), function(*arrays.values())
    got = got if isinstance(got, tuple) else (got,)
    if not _agree(torch, got, want):
        return "torch.compile is not PyTorch" if _agree(torch, got, plain(*arrays.values())) else "WRONG"
    places = [w.untyped_storage().data_ptr() for w in want]
    if {*places} & {a.untyped_storage().data_ptr() for a in arrays.values()}:
        return "PyTorch gives an input back"
    if len({*places}) < len(places):
        return "PyTorch gives one tensor for several outputs"
    total = one.bytes + sum(g.numel() * g.element_size() for g in got)
    del got, want
    ways = {"kgen": lambda: kernel(**arrays), "compile": lambda: function(*arrays.values())}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(3):
        for name, run in ways.items():
            taken[name].append(launch_time(torch, run))
    kernels = " ".join(step.kernel for step in kernel.explain(**arrays).steps)
    times = {name: median(values) for name, values in taken.items()}
    return Row(one.seed, one.kind, one.layout, str(one), kernels, total, times["kgen"], times["compile"])


def _agree(torch: Any, got: tuple[Any, ...], want: tuple[Any, ...]) -> bool:
    return all(same(torch, g, w) for g, w in zip(got, want, strict=True))


def beside_compile(torch: Any, options: argparse.Namespace) -> None:
    """Measures, prints and writes."""
    start, rows, skipped = time.monotonic(), list[Row](), dict[str, list[int]]()
    todo = list(programs(options))
    with ProcessPoolExecutor(options.workers, get_context("spawn")) as pool:
        size = 3 * options.workers
        for first in range(0, len(todo), size):
            batch = todo[first : first + size]
            list(pool.map(compile_ahead, [p.seed for p in batch], [options.kinds] * len(batch)))
            for one in batch:
                if time.monotonic() - start > options.seconds:
                    break
                found = _tried(torch, one, skipped)
                if found is not None:
                    rows.append(found)
                    print(f"{found.ratio:.2f} {1e6 * found.kgen:.1f} us {found.kernels} | {found.program}", flush=True)
            if time.monotonic() - start > options.seconds:
                break
    path = options.out / "random.json"
    if options.merge and path.exists():
        earlier = [Row(**row) for row in json.loads(path.read_text())["rows"]]
        rows = list({r.seed: r for r in (*earlier, *rows)}.values())
    rows.sort(key=lambda r: r.ratio)
    rows[: options.autotune] = _autotuned(torch, rows[: options.autotune], options)
    head = f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    text = report(head, rows, skipped)
    options.out.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"head": head, "skipped": skipped, "rows": [asdict(r) for r in rows]}, indent=1) + "\n")
    (options.out / "random.md").write_text(text)
    print(text)


def _autotuned(torch: Any, rows: list[Row], options: argparse.Namespace) -> list[Row]:
    """The rows with the times of max-autotune, where it can be timed."""
    seeds, kinds = [row.seed for row in rows], options.kinds
    with ProcessPoolExecutor(options.workers, get_context("spawn")) as pool:
        list(pool.map(compile_ahead, seeds, [kinds] * len(rows), [AUTOTUNE] * len(rows)))
    found: list[Row] = []
    for row in rows:
        timed = measure(torch, program(row.seed, tuple(kinds.split(","))), AUTOTUNE)
        timed = replace(row, autotune=timed.compile, tuned=timed.kgen) if isinstance(timed, Row) else row
        found.append(timed)
        torch.cuda.empty_cache()
    return found


def _tried(torch: Any, one: RandomProgram, skipped: dict[str, list[int]]) -> Row | None:
    """The row of a program; where there is none, its seed goes to the reason in ``skipped``."""
    try:
        found = measure(torch, one)
    except Exception as problem:  # one program must not end the run
        found = f"{type(problem).__name__}: {str(problem)[:80]}"
    torch.cuda.empty_cache()
    if isinstance(found, Row):
        return found
    print(f"skipped ({found}): {one}", flush=True)
    skipped.setdefault(found, []).append(one.seed)
    return None


def report(head: str, rows: list[Row], skipped: dict[str, list[int]]) -> str:
    """The distribution and the slowest, as Markdown.  ``rows``: the slowest first."""
    lines = [
        f"{head}: {len(rows)} random programs beside torch.compile; ratios of speed.", "",
        "| kind | operands | programs | geometric mean | above 1.2 | below .95 | below .8 | below .5 |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    groups = sorted({(r.kind, r.layout) for r in rows})
    for kind, layout in [("all", "all"), *groups]:
        ratios = [r.ratio for r in rows if (kind, layout) in (("all", "all"), (r.kind, r.layout))]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            counts = [sum(r > 1.2 for r in ratios), *(sum(r < limit for r in ratios) for limit in (0.95, 0.8, 0.5))]
            lines.append(f"| {kind} | {layout} | {len(ratios)} | {mean:.2f} | {' | '.join(map(str, counts))} |")
    lines += [
        "",
        *_of_tuned([r.autotune / r.tuned for r in rows if r.autotune and r.tuned]),
        "| ratio | us | GB/s, kgen / torch.compile | seed | program, shape and operands | kernels |",
        "|---" * 6 + "|",
    ]
    for r in rows[:SHOWN]:
        beside = _beside_autotune(r)
        rates = f"{r.bytes / r.kgen / 1e9:.0f} / {r.bytes / r.compile / 1e9:.0f}"
        lines.append(f"| {r.ratio:.2f}{beside} | {r.kgen * 1e6:.1f} | {rates} | {r.seed} | {r.program} | {r.kernels} |")
    named = ((why, ", ".join(map(str, seeds))) for why, seeds in skipped.items())
    lines += ["", *(f"- skipped: {why} (seeds {seeds})" for why, seeds in named)]
    return "\n".join(lines) + "\n"


def _of_tuned(ratios: list[float]) -> list[str]:
    """A sentence on the programs that were timed after ``kernel.tune()``.  ``ratios``: of speed, to max-autotune."""
    if not ratios:
        return []
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    below = ", ".join(f"{sum(r < limit for r in ratios)} below {limit}" for limit in (0.95, 0.85))
    return [f"Tuned, {len(ratios)} of the slowest have {mean:.2f} of the speed of max-autotune; {below}.", ""]


def _beside_autotune(row: Row) -> str:
    if row.autotune is None:
        return ""
    if row.tuned is None:
        return f", {row.autotune / row.kgen:.2f} of max-autotune"
    return f", tuned {row.autotune / row.tuned:.2f} of max-autotune"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no program after so many seconds")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--autotune", type=int, default=0, metavar="N", help="the N slowest beside max-autotune, too")
    parser.add_argument("--workers", type=int, default=12, help="processes that compile")
    parser.add_argument("--merge", action="store_true", help="keep earlier rows of other seeds")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    import torch

    beside_compile(torch, options)


if __name__ == "__main__":
    main()
