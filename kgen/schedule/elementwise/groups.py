"""Groups of consecutive elements: where they begin, how each operand moves by them, and how wide indices are.

All elementwise families but ``strided`` give a thread a group of elements along the fastest dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kgen.layout.iterator import IterationSpace
from kgen.schedule.facts import Facts
from kgen.schedule.schedule import AccessKind, TouchSchedule
from kgen.schedule.target import WORD


@dataclass(frozen=True)
class Grouping:
    """``kinds``: how each touch moves.  ``rows``: of each, the strides that say where rows begin.  ``group``: elements
    that a thread takes at once.  ``leads``: whether groups may begin where an output is aligned.
    """

    facts: Facts
    kinds: Sequence[AccessKind]
    rows: Sequence[Sequence[int]]
    group: int
    leads: bool = True

    @cached_property
    def lead(self) -> int | None:
        """The output at whose aligned addresses groups begin: the first that needs it."""
        if not self.leads:
            return None
        written = (i for i, t in enumerate(self.facts.step.touches) if t.writes and self.kinds[i] == "vector")
        return next((i for i in written if not self._is_aligned(i)), None)

    def touches(self, patterns: Sequence[int | None], shifts: Sequence[bool]) -> tuple[TouchSchedule, ...]:
        """How each operand moves.  ``patterns``: of its strides; ``shifts``: whether it may be shifted."""
        return tuple(
            TouchSchedule(*self._access(i, shifts=shifts[i]), patterns[i], not self.facts.aliased[i])
            for i in range(len(self.kinds))
        )

    def _access(self, touch: int, *, shifts: bool) -> tuple[AccessKind, int]:
        """How a touch moves, and the bytes that each of its groups is aligned to: its whole width, or one element.

        Few states make few variants: where an address lies between aligned ones is found out by the kernel.  Wide
        elements cost little one by one, since a group has few of them and the first-level cache puts them together.
        """
        kind = self.kinds[touch]
        if kind not in ("vector", "transposed"):
            return kind, 0
        itemsize = self.facts.itemsizes[touch]
        if self.lead is None or kind == "transposed":
            fits = self._is_aligned(touch)
        else:
            fits = self._begins_like(touch, self.lead)
        if fits:
            return kind, self.group * itemsize
        reads_only = kind == "vector" and not self.facts.step.touches[touch].writes
        return ("shifted" if shifts and reads_only and is_shifted(itemsize, self.group) else kind), itemsize

    def _is_aligned(self, touch: int) -> bool:
        """Whether every row of a touch begins where a group can."""
        return self._phase(touch) == 0 and self._is_even(touch)

    def _begins_like(self, touch: int, lead: int) -> bool:
        """Whether the rows of two touches lie alike between addresses where a group can begin."""
        both_even = self._is_even(touch) and self._is_even(lead)
        same = both_even or tuple(self.rows[touch]) == tuple(self.rows[lead])
        return same and self._phase(touch) == self._phase(lead)

    def _phase(self, touch: int) -> int:
        """Elements from the last address where a group can begin to the first of a touch."""
        return self.facts.addresses[touch] // self.facts.itemsizes[touch] % self.group

    def _is_even(self, touch: int) -> bool:
        return all(s % self.group == 0 for s in self.rows[touch])


def is_shifted(itemsize: int, group: int) -> bool:
    """Whether groups of an input that are not aligned are read as blocks and shifted."""
    return itemsize < WORD <= group * itemsize


# --- rows and tiles -----------------------------------------------------------------------------------


def outer_strides(kind: AccessKind, space: IterationSpace, touch: int) -> tuple[int, ...]:
    """The strides that say where rows begin.

    For a transposed operand, which is consecutive along the second dimension, the fastest takes its place.
    """
    dims = outer_dims(kind, len(space.shape))
    return tuple(space.strides[touch][d] if space.shape[d] != 1 else 0 for d in dims)


def outer_dims(kind: AccessKind, rank: int) -> tuple[int, ...]:
    """The dimensions of those strides."""
    return (0, *range(2, rank)) if kind == "transposed" else tuple(range(1, rank))


def outer_patterns(
    kinds: Sequence[AccessKind], space: IterationSpace
) -> tuple[list[tuple[int, ...]], list[int | None]]:
    """The distinct outer strides in order of first use, and which one each touch has (None: it begins where it is)."""
    found: dict[tuple[bool, tuple[int, ...]], int] = {}
    numbers: list[int | None] = []
    for touch, kind in enumerate(kinds):
        outer = outer_strides(kind, space, touch)
        if kind == "scalar" or not any(outer):
            numbers.append(None)
        else:
            numbers.append(found.setdefault((kind == "transposed", outer), len(found)))
    return [outer for _, outer in found], numbers
