"""Steps with reductions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from kgen.ir.graph import IndexMap, Reduction, Shape
from kgen.layout.iterator import IterationSpace, OperandLayout, iteration_space
from kgen.partition.kernel_body import AxisMap, spread
from kgen.partition.step import Step
from kgen.records import dataclass

PLACES = frozenset({"argmin", "argmax"})  # reductions whose result is an index within the row


@dataclass(frozen=True, slots=True)
class ReductionStep(Step):
    """A kernel with reductions.

    ``shape``: first the ``kept`` kept axes, then the reduced ones, without axes of size 1.  ``places``: for each op,
    the axis of ``shape`` that each of its own axes maps to, None for an axis of size 1.  The ``axes`` of accesses are
    those of ``shape``.  ``inner``: how many of the last axes nested reductions reduce, to one result for each segment
    of a row; 0 where there are none.  ``sums``: the operands, of shape (blocks, columns), to each of which a block
    stores the sums of its rows (``column_sums.py``); the values of these stores are added up.  ``short_sums``: those of
    which only results of 16 bits or fewer are made.
    """

    kept: int
    places: tuple[AxisMap, ...]
    inner: int = 0
    sums: frozenset[int] = frozenset()
    short_sums: frozenset[int] = frozenset()

    @property
    def kept_dims(self) -> Shape:
        return self.shape[: self.kept]

    @property
    def reduced_dims(self) -> Shape:
        return self.shape[self.kept :]

    @property
    def outer(self) -> int:
        """How many of the first axes number the segments, or rows without segments."""
        return len(self.shape) - self.inner if self.inner else self.kept

    def is_sum(self, number: int) -> bool:
        """Whether an op stores the sums of a block's rows."""
        op = self.graph.ops[number]
        return op.name == "store" and isinstance(op.attr, IndexMap) and op.attr.operand in self.sums

    def is_of_segment(self, number: int) -> bool:
        """Whether a value varies from segment to segment of a row, but not within them."""
        places = [p for p in self.places[number] if p is not None]
        return self.inner > 0 and any(p >= self.kept for p in places) and all(p < self.outer for p in places)

    def reduces_segments(self, number: int) -> bool:
        """Whether a value is the result of a nested reduction: one for each segment."""
        return self.graph.ops[number].name == "reduce" and self.is_of_segment(number)

    def varies_along_row(self, number: int) -> bool:
        """Whether a value varies along the row.  In rows of one element, all values but results count as varying."""
        if self.kept == len(self.shape):
            return self.graph.ops[number].name != "reduce"
        return any(p is not None and p >= self.kept for p in self.places[number])

    def merges_segments(self, number: int) -> bool:
        """Whether a value is reduced from values of segments."""
        op = self.graph.ops[number]
        return op.name == "reduce" and not self.is_of_segment(number) and self.is_of_segment(op.args[0])

    def index_axes(self) -> frozenset[int]:
        ops = enumerate(self.graph.ops)
        read = (self.places[n][op.attr] for n, op in ops if op.name == "index" and isinstance(op.attr, int))
        return frozenset(place for place in read if place is not None)

    def space(self, shape: tuple[int, ...], layouts: Sequence[OperandLayout]) -> tuple[IterationSpace, int]:
        """The reduced dimensions, fastest first, then the kept ones.

        Operands that have the most axes decide the order of both.  Where a reduction's result is an index within the
        row, the reduced axes keep the order of the program.
        """
        order = sorted(range(len(layouts)), key=lambda i: -sum(a is not None for a in self.accesses[i].axes))
        linear = any(isinstance(op.attr, Reduction) and op.attr.kind in PLACES for op in self.graph.ops)
        segments = ((self.kept, self.outer),) if self.inner else ()
        parts: list[IterationSpace] = []
        for first, last in ((self.outer, len(shape)), *segments, (0, self.kept)):
            keep = frozenset(a - first for a in self.index_axes() if first <= a < last)
            seen = [OperandLayout(layouts[i].shape[first:last], layouts[i].strides[first:last]) for i in order]
            part = iteration_space(shape[first:last], seen, keep=keep, linear=linear and first >= self.kept)
            axes = tuple(tuple(a + first for a in merged) for merged in part.axes)
            strides = tuple(part.strides[order.index(i)] for i in range(len(layouts)))
            parts.append(IterationSpace(part.shape, strides, axes))
        whole = reduce(_joined, parts)
        return whole, len(whole.shape) - len(parts[-1].shape)

    def reads_by_row(self) -> set[tuple[int, AxisMap]]:
        """Accesses (operand and axes) to one element per row or segment, which all its threads may read."""
        ops = self.graph.ops
        by_row = [False] * len(ops)
        for number in range(len(ops) - 1, -1, -1):
            if by_row[number] or self.varies_along_row(number) or ops[number].name == "reduce":
                for a in ops[number].args:
                    by_row[a] = True
        return {
            (op.attr.operand, spread(op, self.places[n], len(self.shape)))
            for n, op in enumerate(ops)
            if op.name == "load"
            and isinstance(op.attr, IndexMap)
            and by_row[n]
            and (self.is_of_segment(n) or not self.varies_along_row(n))
        }

    def phase(self) -> tuple[int, ...]:
        """For each op, how many rounds of reductions it needs, including its own if it is a reduction."""
        found: list[int] = []
        for op in self.graph.ops:
            before = max((found[a] for a in op.args), default=0)
            found.append(before + 1 if op.name == "reduce" else before)
        return tuple(found)


def _joined(one: IterationSpace, other: IterationSpace) -> IterationSpace:
    """The dimensions of both."""
    strides = tuple(a + b for a, b in zip(one.strides, other.strides, strict=True))
    return IterationSpace(one.shape + other.shape, strides, one.axes + other.axes)
