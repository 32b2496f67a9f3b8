"""Times of every way in which random programs could run: what kgen's choice loses, and whether predictions agree with
the clock.

    python -m benchmarks.candidates SEED COUNT [--seconds S] [--workers N] [--out FILE]     # on a GPU
    python -m benchmarks.candidates --replay FILE                                           # on any machine

The first form times the ways of ``ways.py`` for programs of ``random_programs.py``.  Every result is compared with that
of kgen's way.  Processes compile side by side; one at a time uses the GPU.  ``--replay`` lowers the same programs with
the kgen of now, and looks up the times of what it chooses: a rule can be tried in seconds, without a GPU.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.random_programs import KINDS, program
from benchmarks.timing import launch_time
from benchmarks.ways import forcing, key, lowered, ways

RESULTS = Path(__file__).parent / "results" / "candidates.json"
MOST_BYTES = 1 << 30  # of all operands: every process has its own
NOISE = 0.5e-6  # seconds; times that differ by less are equal
LOSS = 1.1  # a choice is wrong that takes so many times what the fastest way takes
ARCHITECTURE = "sm_90"


@dataclass(frozen=True, slots=True)
class Timed:
    """A way that was timed.  ``kernels``: a digest of its schedules.  ``among``, ``predicted``: see ``ways.Way``."""

    seed: int
    way: str
    kernels: str
    among: str
    predicted: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Chosen:
    """Seconds of a program: of what kgen chose when it was timed, of what it chooses now, and of the fastest way.
    ``now``: None where that was not timed.
    """

    seed: int
    then: float
    now: float | None
    fastest: float

    def loss(self, seconds: float) -> float:
        return seconds / self.fastest if seconds - self.fastest > NOISE else 1.0


# --- on a GPU ---------------------------------------------------------------------------------------------------

_gpu: AbstractContextManager[Any]  # of a worker: whoever has it uses the GPU


def begin(lock: AbstractContextManager[Any]) -> None:
    """Prepare a worker, whose kernels no other process may find: the same text has other schedules."""
    global _gpu
    _gpu = lock
    os.environ["KGEN_CACHE_DIR"] = tempfile.mkdtemp()


def time_ways(seed: int) -> list[Timed]:
    """All ways of a program.  Raises AssertionError where one has another result."""
    import torch

    import kgen
    from benchmarks.random_peers import arrays_of, same
    from kgen.runtime.cuda.architectures import target_for

    one, found, seconds = program(seed, KINDS), list[Timed](), dict[str, float]()
    if one.bytes > MOST_BYTES:
        return []
    with _gpu:
        arrays, wanted = arrays_of(torch, one), None
    for number, (way, kernels) in enumerate(ways(one, target_for(ARCHITECTURE))):
        digest = digest_of(kernels)
        if digest not in seconds:
            kernel = kgen.jit(one.text, name=f"way{number}")
            with forcing(way):
                kernel.warmup([arrays])  # compiles, and uses no GPU
            with forcing(way), _gpu:
                out = kernel(**arrays)
                wanted = out if wanted is None else wanted
                pairs = zip(*(x if isinstance(x, tuple) else (x,) for x in (out, wanted)), strict=True)
                assert all(same(torch, *pair) for pair in pairs), f"{way}: another result: {one}"
                del out
                seconds[digest] = launch_time(torch, lambda: kernel(**arrays))  # noqa: B023
        found.append(Timed(seed, str(way), digest, way.among, way.seconds, seconds[digest]))
    return found


def measure(options: argparse.Namespace) -> None:
    """Times, writes and prints."""
    import torch

    start, found, context = time.monotonic(), list[Timed](), get_context("spawn")
    with ProcessPoolExecutor(options.workers, context, begin, (context.Lock(),)) as pool:
        seeds = {pool.submit(time_ways, s): s for s in range(options.seed, options.seed + options.count)}
        for done in as_completed(seeds):
            found += _result(done, seeds[done])
            if time.monotonic() - start > options.seconds:
                pool.shutdown(cancel_futures=True)
                break
    found.sort(key=lambda timed: timed.seed)
    head = f"{torch.cuda.get_device_name()}; seeds from {options.seed}"
    options.out.write_text(json.dumps({"head": head, "timed": [list(asdict(t).values()) for t in found]}) + "\n")
    print(report(head, found))


def _result(done: Future[list[Timed]], seed: int) -> list[Timed]:
    try:
        return done.result()
    except Exception as problem:  # one program must not end the run
        print(f"failed: {seed}: {type(problem).__name__}: {str(problem)[:200]}", flush=True)
        return []


# --- on any machine ---------------------------------------------------------------------------------------------


def digest_of(kernels: str) -> str:
    return hashlib.sha256(kernels.encode()).hexdigest()[:10]


def replay(path: Path) -> str:
    """What kgen chooses now, in the times of then."""
    read = json.loads(path.read_text())
    found = [Timed(*fields) for fields in read["timed"]]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        now = dict(pool.map(chosen_now, sorted({t.seed for t in found}), chunksize=8))
    return report(read["head"], found, now)


def chosen_now(seed: int) -> tuple[int, str]:
    """The digest of what kgen chooses for a program."""
    from kgen.runtime.cuda.architectures import target_for

    return seed, digest_of(key(lowered(program(seed, KINDS), target_for(ARCHITECTURE))))


def report(head: str, found: Sequence[Timed], now: dict[int, str] | None = None) -> str:
    """What choices lose, how predicted orders agree with the clock, and the programs that lose most, or whose kernels
    are others ``now``.
    """
    chosen = list(_chosen(found, now))
    programs = {one.seed: one for one in chosen}
    lines = [f"{head}: {len(found)} ways of {len(programs)} programs"]
    lines += [f"chosen then: {_losses([one.loss(one.then) for one in chosen])}"]
    if now is not None:
        timed = [(one, one.now) for one in chosen if one.now is not None]
        lines += [f"chosen now: {_losses([one.loss(seconds) for one, seconds in timed])}"]
        lines += [f"not timed: {' '.join(str(one.seed) for one in chosen if one.now is None)}"]
    for among, pairs in sorted(_predictions(found).items()):
        lines += [f"{among}: rank correlation {correlation(pairs):.3f} of {len(pairs)} ways"]
    for one in sorted(chosen, key=lambda one: -one.loss(one.then)):
        if one.now not in (None, one.then):
            lines += [f"{one.seed}: {1e6 * one.then:.1f} -> {1e6 * (one.now or 0):.1f} us of {1e6 * one.fastest:.1f}"]
        elif now is None and one.loss(one.then) > LOSS:
            ways_of = sorted((t for t in found if t.seed == one.seed), key=lambda t: t.seconds)
            first = " | ".join(f"{t.way} {1e6 * t.seconds:.1f}" for t in ways_of[:3])
            lines += [f"{one.loss(one.then):.2f} {1e6 * one.then:.1f} us | {first} | {program(one.seed, KINDS)}"]
    return "\n".join(lines)


def _chosen(found: Sequence[Timed], now: dict[int, str] | None) -> Iterator[Chosen]:
    by_seed: defaultdict[int, list[Timed]] = defaultdict(list)
    for timed in found:
        by_seed[timed.seed].append(timed)
    for seed, among in by_seed.items():
        seconds = {timed.kernels: timed.seconds for timed in among}
        later = None if now is None else seconds.get(now[seed])
        yield Chosen(seed, among[0].seconds, later, min(seconds.values()))


def _losses(losses: Sequence[float]) -> str:
    mean = math.exp(sum(map(math.log, losses)) / max(len(losses), 1))
    return f"{mean:.3f} of the time of the fastest way, {sum(loss > LOSS for loss in losses)} above {LOSS}"


def _predictions(found: Sequence[Timed]) -> dict[str, list[tuple[float, float]]]:
    """Predicted and measured times in multiples of the least of those that were compared, by what was compared."""
    groups: defaultdict[tuple[str, int], list[Timed]] = defaultdict(list)
    for timed in found:
        if timed.predicted:
            groups[timed.among, timed.seed].append(timed)
    pairs: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for (among, _), group in groups.items():
        least = min(t.predicted or math.inf for t in group), min(t.seconds for t in group)
        pairs[among] += [((t.predicted or 0) / least[0], t.seconds / least[1]) for t in group if len(group) > 1]
    return dict(pairs)


def correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Spearman's rank correlation."""
    ranks = [_ranks([pair[side] for pair in pairs]) for side in (0, 1)]
    middle = (len(pairs) + 1) / 2
    up = sum((a - middle) * (b - middle) for a, b in zip(*ranks, strict=True))
    across = [sum((a - middle) ** 2 for a in one) for one in ranks]
    return float(up / max((across[0] * across[1]) ** 0.5, 1e-30))


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share their mean."""
    order = sorted(values)
    first = {v: i for i, v in reversed(list(enumerate(order, 1)))}
    last = {v: i for i, v in enumerate(order, 1)}
    return [(first[v] + last[v]) / 2 for v in values]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("count", type=int, nargs="?", default=0)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no program after so many seconds")
    parser.add_argument("--workers", type=int, default=16, help="processes that compile")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--replay", type=Path, metavar="FILE", help="what kgen chooses now, in the times of a file")
    options = parser.parse_args()
    if options.replay is not None:
        print(replay(options.replay))
    else:
        measure(options)


if __name__ == "__main__":
    main()
