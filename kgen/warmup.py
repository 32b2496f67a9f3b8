"""Many compilations at once, with a progress bar."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

_MOST_THREADS = 16
T = TypeVar("T")


def in_parallel(work: Callable[[T], None], items: Sequence[T], what: str, progress: bool) -> None:
    """``work`` on every item.  The first error is raised once all have ended."""
    with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1)) as pool:
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
