"""Random programs without end: ``python -m tests.fuzz.campaign SEED COUNT [--device cuda] [--processes 64]``.

Of twenty seeds nine are elementwise programs, four reductions, three updates, two reach other places (``reach.py``),
and two reduce rows that lie there (``rows.py``).  Prints each failure made small, with the seed that makes it again,
and what was run.  Processes take the machine's GPUs in turn.  The exit status is 1 after failures.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from . import runs
from .runs import Count
from .subjects import SHARES, subjects

MOST_FAILURES = 20
FULLY = 8  # one of so many batches is compiled for a GPU as it is for users


@dataclass(slots=True)
class Done:
    """What became of some batches."""

    count: Count = field(default_factory=Count)
    failed: Counter[str] = field(default_factory=Counter)
    reports: list[str] = field(default_factory=list)

    def add(self, other: Done) -> None:
        self.count.run += other.count.run
        self.count.refused += other.count.refused
        self.count.exact += other.count.exact
        self.count.elements += other.count.elements
        self.failed += other.failed
        self.reports += other.reports


def work(seeds: range, device: str, shrinking: bool) -> Done:
    """One batch."""
    warnings.simplefilter("ignore")
    done = Done()
    for subject, problem in _failures(seeds, done.count, device):
        done.failed[subject.kind] += 1
        done.reports.append(subject.report(problem, device, small=shrinking))
    return done


def _failures(seeds: range, count: Count, device: str) -> Iterator[tuple[Any, Exception]]:
    if device == "cpu":
        return runs.failures(subjects(seeds), count)
    from . import device_runs

    return device_runs.failures(subjects(seeds), count, device, full=seeds.start // len(seeds) % FULLY == 0)


def gpus() -> list[str]:
    """The GPUs that processes may use, as CUDA_VISIBLE_DEVICES names them."""
    from kgen.runtime.cuda.driver import require

    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return named.split(",") if named else [str(i) for i in range(require().device_count)]


def begin(number: Any, devices: list[str]) -> None:
    """In each process, before CUDA starts: one GPU."""
    with number.get_lock():
        mine = number.value
        number.value += 1
    if devices:
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[mine % len(devices)]


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
    total = Done()
    end = chosen.seed + chosen.count
    waiting = (range(first, min(first + size, end)) for first in range(chosen.seed, end, size))
    under_way: dict[Future[Done], range] = {}
    os.environ["OMP_NUM_THREADS"] = "1"  # for torch: there are as many processes as cores
    server = multiprocessing.get_context("forkserver")  # imports take longer than a batch
    server.set_forkserver_preload(["tests.fuzz.warm"])
    devices = gpus() if chosen.device == "cuda" else []
    pool = ProcessPoolExecutor(chosen.processes, server, begin, (server.Value("i"), devices), max_tasks_per_child=64)

    def submit() -> None:
        late = time.perf_counter() - start > chosen.seconds or len(total.reports) >= MOST_FAILURES
        seeds = None if late else next(waiting, None)
        if seeds is not None:
            under_way[pool.submit(work, seeds, chosen.device, not chosen.quick)] = seeds

    with pool:
        for _ in range(2 * chosen.processes):
            submit()
        while under_way:
            finished, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for one in finished:
                seeds = under_way.pop(one)
                try:
                    done = one.result()
                    submit()
                except Exception as problem:
                    lost = [seeds, *under_way.values()] if isinstance(problem, BrokenProcessPool) else [seeds]
                    pool.shutdown(wait=False, cancel_futures=True)
                    return _died(problem, lost, chosen.device)
                total.add(done)
                for text in done.reports:
                    print(text, flush=True)
            if sys.stderr.isatty():
                print(f"\r{total.count.run.total():,} programs", end="", file=sys.stderr, flush=True)
    _summary(total, time.perf_counter() - start, chosen.processes)
    return 1 if total.reports else 0


def _died(problem: Exception, lost: list[range], device: str) -> int:
    """What ends a process, or leaves its GPU unusable, ends the campaign."""
    print(f"a batch died: {problem!r}.  It is one of these, each to be run program by program:")
    for seeds in sorted(lost, key=lambda s: s.start):
        again = f"{seeds.start} {len(seeds)} --device {device} --batch 1 --processes 1"
        print(f"    python -m tests.fuzz.campaign {again}", flush=True)
    return 1


def _summary(total: Done, took: float, processes: int) -> None:
    ran, refused = total.count.run, total.count.refused
    for kind, _ in SHARES:
        print(f"{kind:12} {ran[kind]:10,} ran, {total.failed[kind]} failed")
    rate = ran.total() / took
    print(f"{ran.total():,} programs ran, {refused.total():,} were refused, ", end="")
    print(f"{total.failed.total()} failed: {rate:.1f} a second, {rate / processes:.1f} a process")


if __name__ == "__main__":
    sys.exit(main())
