"""The choice among ways to compute the same by their predicted times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from math import exp, inf
from typing import TypeVar

Way = TypeVar("Way")

_MOST = 0.3  # by how much a doubted prediction differs at most: the natural logarithm of a factor


def fastest(
    ways: Iterable[Way], seconds: Callable[[Way], float], limit: float = inf, *, doubt: int = 0
) -> tuple[float, Way] | None:
    """The least predicted time and the first way that takes it; None where all take ``limit`` seconds or more.

    ``doubt``: see :class:`~kgen.schedule.tuning.Tuning`.
    """
    found: tuple[float, Way] | None = None
    for way, factor in zip(ways, factors(doubt), strict=False):
        taken = factor * seconds(way)
        if taken < limit:
            found, limit = (taken, way), taken
    return found


def factors(doubt: int) -> Iterator[float]:
    """What the predicted times of ways are multiplied by, one after the other: 1, or what follows from ``doubt``."""
    if not doubt:
        return repeat(1.0)
    from random import Random  # tables that doubt are rare, and its import takes a millisecond

    chosen = Random(doubt)
    return (exp(chosen.uniform(-_MOST, _MOST)) for _ in repeat(None))


def overlapped(parts: Iterable[float], overlap: float) -> float:
    """Seconds of a kernel that several parts bound, which each take so many seconds and overlap in part: the norm of
    this order, 1 where nothing overlaps.
    """
    return float(sum(part**overlap for part in parts) ** (1 / overlap))
