"""One point of ``serving.py``: its contenders are compiled in a process of their own, and timed there later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks import flashinfer
from benchmarks.row_peers import functions_of
from benchmarks.serving_report import Point
from benchmarks.serving_work import WORK, Arrays, Work
from benchmarks.timing import Graph, Run

LAUNCHES = 40
SETS = 4
MODES = {"compile": None, "autotune": "max-autotune-no-cudagraphs"}
COMPILED = ("kgen", "compile", "autotune", "liger", "quack")


@dataclass(frozen=True, slots=True)
class Place:
    """A workload at a width and a number of tokens, and who is timed there.  ``library``: FlashInfer's."""

    workload: str
    width: int
    tokens: int
    names: tuple[str, ...]
    library: Path | None = None

    @property
    def work(self) -> Work:
        return next(w for w in WORK if w.name == self.workload)

    def arrays(self, torch: Any) -> Arrays:
        return self.work.make(torch, self.tokens, self.width)

    def says(self, name: str, problem: Exception) -> str:
        what = f"{self.workload} {self.width}, T = {self.tokens}: {name}: {type(problem).__name__}"
        return f"{what}: {str(problem).splitlines()[:1]}"


def prepare(places: list[Place], lock: Any) -> list[str]:
    """Compiles whatever has to be compiled for these points, and keeps it in this process.  Returns what failed.

    ``lock``: peers that choose the fastest of several kernels time these while they hold it.
    """
    import torch
    from torch._inductor import config

    config.compile_threads = 1
    torch.set_num_threads(1)
    torch._dynamo.config.recompile_limit = len(places) * len(MODES)  # all stay compiled
    problems: list[str] = []
    with torch.no_grad(), _one_at_a_time(lock):
        for place in places:
            arrays = place.arrays(torch)
            for name in (n for n in place.names if n in COMPILED):
                try:
                    function = _function(place, name)
                    if function is not None:
                        function(arrays)
                except Exception as problem:  # a peer may fail in any way; it is left out when it is timed
                    problems.append(place.says(name, problem))
            torch.cuda.synchronize()
            del arrays
            torch.cuda.empty_cache()
    return problems


def _one_at_a_time(lock: Any) -> Any:
    """Inductor times its candidates only while it holds the lock: others' kernels would change its choice."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    plain: Callable[..., Any] = CachingAutotuner.benchmark_all_configs

    def locked(*args: Any, **kwargs: Any) -> Any:
        with lock:
            return plain(*args, **kwargs)

    return patch.object(CachingAutotuner, "benchmark_all_configs", locked)


def measure(place: Place, repeats: int) -> tuple[Point, list[str]]:
    """Seconds of one launch by contender.  Whoever fails or is wrong is left out, and the second result says why."""
    import torch

    sets = [place.arrays(torch) for _ in range(SETS)]
    seconds: dict[str, float] = {}
    problems: list[str] = []
    with torch.no_grad():
        exact = _tuple(place.work.reference(torch)(*sets[0].values()))
        for name in place.names:
            try:
                runs = _runs(torch, place, name, sets, exact)
                if runs is not None:
                    _check(_tuple(runs[0]()), exact if name not in ("copy", "torch") else ())
                    seconds[name] = Graph(torch, runs, LAUNCHES).time(repeats)
            except Exception as problem:  # a peer may fail in any way
                problems.append(place.says(name, problem))
    total = sum(map(_bytes, (*sets[0].values(), *exact)))
    del sets, exact
    torch.cuda.empty_cache()
    return Point(place.workload, place.width, place.tokens, total, seconds), problems


def _runs(torch: Any, place: Place, name: str, sets: list[Arrays], exact: tuple[Any, ...]) -> list[Run] | None:
    """One run for each set of arrays; None where a peer has no such kernel."""
    if name == "copy":
        total = sum(map(_bytes, (*sets[0].values(), *exact)))
        return [partial(torch.neg, torch.zeros(total // 8, device="cuda")) for _ in sets]
    if name == "flashinfer":
        out = tuple(map(torch.empty_like, exact))
        calls = [flashinfer.call_of(flashinfer.library(place.library), place.workload, a, out) for a in sets]
        return [call for call in calls if call is not None] or None
    function = _function(place, name)
    return None if function is None else [partial(function, a) for a in sets]


@cache
def _function(place: Place, name: str) -> Callable[[Arrays], Any] | None:
    """A contender as a function of the arrays by name; None where a peer has no such kernel."""
    import torch

    import kgen

    if name == "kgen":
        kernel = kgen.jit(place.work.program, name=place.workload)
        return lambda arrays: kernel(**arrays)
    found: Any = place.work.reference(torch)
    if name in MODES:
        found = torch.compile(found, dynamic=False, mode=MODES[name])
    elif name in ("liger", "quack"):
        found = functions_of(torch, name).get(place.workload)
    return None if found is None else lambda arrays: found(*arrays.values())


def _check(found: tuple[Any, ...], exact: tuple[Any, ...]) -> None:
    for got, want in zip(found, exact, strict=bool(exact)):
        got, want = got.float(), want.float()
        # The next value of a narrow format may differ by a rounding: fp8 has three bits of mantissa.
        near = (got - want).abs() <= 0.13 * want.abs() + 0.06
        assert near.all(), "the result is wrong"


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _bytes(array: Any) -> int:
    return int(array.numel() * array.element_size())
