"""Groups of consecutive elements: where they begin, and how each operand is accessed by them.

All elementwise families but ``strided`` give a thread a group of elements along the fastest dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from kgen.layout.iterator import IterationSpace
from kgen.records import dataclass
from kgen.schedule.facts import Facts, group_size
from kgen.schedule.schedule import AccessKind, AccessSchedule
from kgen.schedule.target import WORD


@dataclass(frozen=True)
class Grouping:
    """``kinds``: the kind of each access.  ``rows``: its outer strides, which give the offsets of rows.  ``group``:
    elements that a thread takes at once.  ``anchors``: whether an output may be the alignment anchor.
    """

    facts: Facts
    kinds: Sequence[AccessKind]
    rows: Sequence[Sequence[int]]
    group: int
    anchors: bool = True

    @cached_property
    def anchor(self) -> int | None:
        """The alignment anchor: the first output whose rows do not all begin at aligned addresses."""
        if not self.anchors:
            return None
        written = (i for i, t in enumerate(self.facts.step.accesses) if t.writes and self.kinds[i] == "vector")
        return next((i for i in written if not self._is_aligned(i)), None)

    def accesses(self, patterns: Sequence[int | None], shifts: Sequence[bool]) -> tuple[AccessSchedule, ...]:
        """The schedule of each access.  ``patterns``: its stride pattern.  ``shifts``: whether it may be shifted."""
        return tuple(
            AccessSchedule(*self._access(i, shifts=shifts[i]), patterns[i], not self.facts.aliased[i])
            for i in range(len(self.kinds))
        )

    def _access(self, access: int, *, shifts: bool) -> tuple[AccessKind, int]:
        """The kind of an access, and the alignment of its groups in bytes: a whole group (or vector), or one element.

        Only these two alignments are told apart, so that there are few variants; the kernel computes the exact
        misalignment.  Reading wide elements one by one costs little: a group has few, and L1 combines the reads.
        """
        kind = self.kinds[access]
        if kind not in ("vector", "transposed"):
            return kind, 0
        itemsize = self.facts.itemsizes[access]
        if self.anchor is None or kind == "transposed":
            fits = self._is_aligned(access)
        else:
            fits = self._begins_like(access, self.anchor)
        if fits:
            return kind, self._unit(access) * itemsize
        reads_only = kind == "vector" and not self.facts.step.accesses[access].writes
        return ("shifted" if shifts and reads_only and is_shifted(itemsize, self.group) else kind), itemsize

    def _is_aligned(self, access: int) -> bool:
        """Whether every row of an access begins at the aligned address of a group."""
        return self._phase(access) == 0 and self._is_even(access)

    def _begins_like(self, access: int, anchor: int) -> bool:
        """Whether the rows of two accesses always have the same offset from an aligned address, in elements."""
        both_even = self._is_even(access) and self._is_even(anchor)
        same = both_even or tuple(self.rows[access]) == tuple(self.rows[anchor])
        return same and self._phase(access) == self._phase(anchor) % self._unit(access)

    def _phase(self, access: int) -> int:
        """Elements between the last aligned address and the first element of an access."""
        return self.facts.addresses[access] // self.facts.itemsizes[access] % self._unit(access)

    def _is_even(self, access: int) -> bool:
        return all(s % self._unit(access) == 0 for s in self.rows[access])

    def _unit(self, access: int) -> int:
        """The elements of a group that move at once: several vectors where all rows share a wide operand."""
        return min(self.group, group_size([self.facts.itemsizes[access]], self.facts.target))


def is_shifted(itemsize: int, group: int) -> bool:
    """Whether unaligned groups of an input are read as aligned blocks and shifted."""
    return itemsize < WORD <= group * itemsize


# --- rows and tiles -----------------------------------------------------------------------------------


def outer_strides(kind: AccessKind, space: IterationSpace, access: int) -> tuple[int, ...]:
    """The strides that give the offsets of rows.

    A transposed operand is consecutive along the second dimension, so it has the fastest dimension's stride instead.
    """
    dims = outer_dims(kind, len(space.shape))
    return tuple(space.strides[access][d] if space.shape[d] != 1 else 0 for d in dims)


def outer_dims(kind: AccessKind, rank: int) -> tuple[int, ...]:
    """The dimensions of :func:`outer_strides`."""
    return (0, *range(2, rank)) if kind == "transposed" else tuple(range(1, rank))


def outer_patterns(
    kinds: Sequence[AccessKind], space: IterationSpace
) -> tuple[list[tuple[int, ...]], list[int | None]]:
    """The distinct outer strides in order of first use, and the index of each access's (None: all of them are 0)."""
    found: list[tuple[bool, tuple[int, ...]]] = []  # no dict: strides may be traced, and hashing takes their value
    numbers: list[int | None] = []
    for access, kind in enumerate(kinds):
        outer = outer_strides(kind, space, access)
        if kind == "scalar" or not any(outer):
            numbers.append(None)
            continue
        pattern = kind == "transposed", outer
        if pattern not in found:
            found.append(pattern)
        numbers.append(found.index(pattern))
    return [outer for _, outer in found], numbers
