"""The choice among ways to compute the same by their predicted times."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import TypeVar

Way = TypeVar("Way")


def fastest(ways: Iterable[Way], seconds: Callable[[Way], float], limit: float = inf) -> tuple[float, Way] | None:
    """The least predicted time and the first way that takes it; None where all take ``limit`` seconds or more."""
    found: tuple[float, Way] | None = None
    for way in ways:
        taken = seconds(way)
        if taken < limit:
            found, limit = (taken, way), taken
    return found


def overlapped(parts: Iterable[float], overlap: float) -> float:
    """Seconds of a kernel that several parts bound, which each take so many seconds and overlap in part: the norm of
    this order, 1 where nothing overlaps.
    """
    return float(sum(part**overlap for part in parts) ** (1 / overlap))
