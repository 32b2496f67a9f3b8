"""The fewest comparisons with constants that say what many do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal

from kgen.records import dataclass

Relation = Literal["==", "!=", "<", "<="]


@dataclass(slots=True)
class Bounds:
    """What is known of one whole number: both bounds are inclusive."""

    low: int | None = None
    high: int | None = None
    excluded: set[int] = field(default_factory=set)

    def add(self, relation: Relation, value: int, *, is_first: bool) -> None:
        """``value`` is on the left of the relation if it ``is_first``."""
        if relation == "!=":
            self.excluded.add(value)
            return
        if relation == "==" or is_first:
            low = value + (relation == "<")
            self.low = low if self.low is None else max(low, self.low)
        if relation == "==" or not is_first:
            high = value - (relation == "<")
            self.high = high if self.high is None else min(high, self.high)

    def relations(self) -> Iterator[tuple[Relation, int, bool]]:
        """The fewest relations that say it, each as :meth:`add` takes it."""
        low, high, excluded = self.low, self.high, self.excluded
        while low in excluded:
            low += 1
        while high in excluded:
            high -= 1
        if low is not None and low == high:
            yield "==", low, False
            return
        if low is not None:
            yield "<=", low, True
        if high is not None:
            yield "<=", high, False
        for value in sorted(excluded):
            if (low is None or low < value) and (high is None or value < high):
                yield "!=", value, False
