"""Random programs without end: ``python -m tests.fuzz.campaign SEED COUNT [--device cuda] [--processes 16]``.

Prints each failure made small, with the seed that makes it again, and what was run.  The exit status is 1 after
failures.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple

from .generate import generate
from .harness import Count, failure, failures, invoke, prepare, verify
from .program import Call

MOST_FAILURES = 20


class Done(NamedTuple):
    run: int
    refused: int
    failures: list[str]


def work(first: int, count: int, device: str, shrinking: bool) -> Done:
    """One batch: the programs of seeds ``first`` to ``first + count``."""
    warnings.simplefilter("ignore")
    total = Count()
    found = [
        str(failure(call, problem, lambda c: alone(c, device))) if shrinking else f"generate({call.seed}): {problem}"
        for call, problem in failures([generate(first + i) for i in range(count)], total, device=device)
    ]
    return Done(total.run, sum(total.refused.values()), found)


def alone(call: Call, device: str) -> None:
    one = prepare(call, "kernel", device)
    verify(one, invoke(one))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.campaign", description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--batch", type=int, default=0, help="programs a compilation (32 on the CPU, 128 on a GPU)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no batch after as many")
    parser.add_argument("--quick", action="store_true", help="report failures as they are, not made small")
    chosen = parser.parse_args()
    size = chosen.batch or (32 if chosen.device == "cpu" else 128)
    with tempfile.TemporaryDirectory(prefix="kgen-fuzz-") as folder:
        os.environ["KGEN_CACHE_DIR"] = folder  # nothing is found compiled, and nothing stays
        return campaign(chosen, size)


def campaign(chosen: argparse.Namespace, size: int) -> int:
    start = time.perf_counter()
    run = refused = 0
    found: list[str] = []
    waiting = iter(range(chosen.seed, chosen.seed + chosen.count, size))
    end = chosen.seed + chosen.count
    pool = ProcessPoolExecutor(chosen.processes, multiprocessing.get_context("spawn"), max_tasks_per_child=64)
    under_way: dict[Future[Done], int] = {}

    def submit() -> None:
        first = next(waiting, None)
        if first is not None and time.perf_counter() - start < chosen.seconds and len(found) < MOST_FAILURES:
            count = min(size, end - first)
            under_way[pool.submit(work, first, count, chosen.device, not chosen.quick)] = first

    with pool:
        for _ in range(2 * chosen.processes):
            submit()
        while under_way:
            one = next(as_completed(under_way))
            first = under_way.pop(one)
            try:
                done = one.result()
            except BrokenProcessPool:
                lost = sorted([first, *under_way.values()])
                print(f"a process died in one of the batches of {size} programs from seeds {lost}", flush=True)
                return 1
            except Exception as problem:
                done = Done(0, 0, [f"the batch of {size} programs from seed {first}: {problem!r}"])
            run, refused, found = run + done.run, refused + done.refused, found + done.failures
            for text in done.failures:
                print(text, flush=True)
            submit()
            if sys.stderr.isatty():
                print(f"\r{run:,} programs", end="", file=sys.stderr, flush=True)
    took = time.perf_counter() - start
    print(f"{run:,} programs ran, {refused:,} were refused, {len(found)} failed: {run / took:.1f} a second")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
