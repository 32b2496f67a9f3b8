"""Measures kernels of a language model's layers over the number of tokens T, from 1 to 16384, in replayed graphs.

    python -m benchmarks.serving [--quick] [--rows 1,16] [--only rmsnorm,...] [--widths 4096] [--peers ...] [--merge]

Each graph has 40 launches over rotating inputs.  Outputs are allocated from the pool of the graph, as those of
torch.compile have to be.  Peers: torch, torch.compile (as it comes and with max-autotune), Liger, QuACK, and
FlashInfer's CUDA kernels with programmatic dependent launch (``--flashinfer`` names its headers or a built library).
``copy`` is a plain copy of the bytes that have to move.  Several processes compile at the same time; then one point
after the other is timed.  Writes ``benchmarks/results/serving.json``, ``.md`` and ``.png``, the first two after each
workload; ``--quick`` measures one width a workload, at six numbers of tokens.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from benchmarks import flashinfer, row_peers
from benchmarks.serving_point import Place, measure, prepare
from benchmarks.serving_report import Report, plot
from benchmarks.serving_work import WORK

TOKENS = (1, 4, 16, 64, 128, 256, 512, 1024, 4096, 16384)
QUICK = (1, 16, 64, 256, 1024, 4096)
RESULTS = Path(__file__).parent / "results"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one width a workload, six numbers of tokens")
    parser.add_argument("--rows", type=_numbers, default=(), help="numbers of tokens")
    parser.add_argument("--widths", type=_numbers, default=(), help="lengths of rows")
    parser.add_argument("--only", default="", help="workloads, by name")
    parser.add_argument("--peers", default="torch,compile,autotune,flashinfer,liger,quack")
    parser.add_argument("--flashinfer", type=Path, help="the headers of FlashInfer's wheel, or a library built before")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time no further point after this time")
    parser.add_argument("--workers", type=int, default=min(16, os.cpu_count() or 1), help="processes that compile")
    parser.add_argument("--merge", action="store_true", help="keep earlier points that are not measured")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser


def _contenders(options: argparse.Namespace) -> tuple[str, ...]:
    """Those that can be used here; prints why others cannot."""
    missing = {name: row_peers.missing(name) for name in ("liger", "quack")}
    try:
        flashinfer.library(options.flashinfer)
    except flashinfer.Unavailable as problem:
        missing["flashinfer"] = str(problem)
    peers = [p for p in options.peers.split(",") if p]
    for name in peers:
        if missing.get(name):
            print(f"no column {name}: {missing[name]}", flush=True)
    return ("kgen", "copy", *(p for p in peers if not missing.get(p)))


def _places(options: argparse.Namespace, names: tuple[str, ...]) -> list[Place]:
    chosen = [w for w in WORK if not options.only or w.name in options.only.split(",")]
    return [
        Place(work.name, width, rows, names, options.flashinfer)
        for work in chosen
        for width in options.widths or (work.widths[:1] if options.quick else work.widths)
        for rows in options.rows or (QUICK if options.quick else TOKENS)
    ]


def main() -> None:
    options = _parser().parse_args()
    start = time.monotonic()
    import torch

    gpu = f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, torch {torch.__version__}"
    report = Report.read(options.out) if options.merge else Report(gpu)
    places = _places(options, _contenders(options))
    context = get_context("spawn")
    workers = [ProcessPoolExecutor(1, context) for _ in places[: options.workers]]
    with context.Manager() as manager:
        lock = manager.Lock()
        dealt = [places[number :: len(workers)] for number in range(len(workers))]
        prepared = [worker.submit(prepare, mine, lock) for worker, mine in zip(workers, dealt, strict=True)]
        for future in as_completed(prepared):
            print(f"{time.monotonic() - start:.0f} s: compiled", *future.result(), sep="\n", flush=True)
    for number, place in enumerate(places):
        if time.monotonic() - start < options.seconds:
            point, problems = workers[number % len(workers)].submit(measure, place, options.repeats).result()
            print(point, *problems, sep="\n", flush=True)
            report.add(point)
        if number + 1 == len(places) or places[number + 1].workload != place.workload:
            report.write(options.out)
    plot(report.points, options.out / "serving.png")
    print(report.markdown())


if __name__ == "__main__":
    main()
