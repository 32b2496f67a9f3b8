"""``k.warmup(...)``: many compilations at once, with a progress bar."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

from kgen.call.arguments import bind, describe, operands_of
from kgen.call.engine import Engine
from kgen.runtime.backend import default_backend

_MAX_THREADS = 16
T = TypeVar("T")


def warm_up(engine: Engine, calls: Sequence[tuple[Sequence[Any], Mapping[str, Any]]], progress: bool) -> None:
    """Compile what these calls (on arrays or specs) will need, several at a time."""

    def compile_one(call: tuple[Sequence[Any], Mapping[str, Any]]) -> None:
        backend = default_backend(engine.device)
        values = describe(engine.program, bind(engine.program, *call))
        engine.load(backend, engine.lowering(operands_of(values, (), None), engine.options.target(backend.target)))

    in_parallel(compile_one, calls, f"compiling {engine.name}", progress)


def in_parallel(work: Callable[[T], None], items: Sequence[T], what: str, progress: bool) -> None:
    """``work`` on every item.  The first error is raised once all have ended."""
    with ThreadPoolExecutor(min(_MAX_THREADS, os.cpu_count() or 1)) as pool:
        futures = [pool.submit(work, item) for item in items]
        done = as_completed(futures)
        if progress:
            from rich.console import Console
            from rich.progress import track

            done = iter(track(done, what, len(futures), console=Console(stderr=True)))
        for _ in done:
            pass
    for future in futures:
        future.result()
