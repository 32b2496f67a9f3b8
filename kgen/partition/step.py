"""Steps: the kernels that a program is split into."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.ir.graph import Graph, Shape
from kgen.layout.iterator import IterationSpace, OperandLayout, iteration_space
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class Access:
    """One way in which a kernel accesses an operand: which one, through which map, reading, writing or both."""

    operand: int
    axes: tuple[int | None, ...]
    reads: bool
    writes: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel over one iteration shape.  ``accesses``: those that write first, then those that only read."""

    graph: Graph
    shape: Shape
    accesses: tuple[Access, ...]

    @property
    def kept_dims(self) -> Shape:
        """The dimensions that results have."""
        return self.shape

    @property
    def reduced_dims(self) -> Shape:
        """The dimensions that are reduced."""
        return ()

    def index_axes(self) -> frozenset[int]:
        """The axes of the space that ``index()`` reads; they must not be merged with others."""
        rank = len(self.shape)
        return frozenset(op.attr + rank for op in self.graph.ops if op.name == "index" and isinstance(op.attr, int))

    @property
    def operands(self) -> list[int]:
        """The operands that it accesses, those at computed places included."""
        return sorted(self.read | self.written)

    @property
    def read(self) -> frozenset[int]:
        """The operands that it reads, those at computed places included."""
        return frozenset(t.operand for t in self.accesses if t.reads) | self.graph.gathered

    @property
    def written(self) -> frozenset[int]:
        """The operands that it writes to, those at computed places included."""
        return frozenset(t.operand for t in self.accesses if t.writes) | self.graph.scattered

    def reads_by_row(self) -> set[tuple[int, tuple[int | None, ...]]]:
        """Accesses (operand and axes) to one element per row, which all threads of the row may read."""
        return set()

    def space(self, shape: tuple[int, ...], layouts: Sequence[OperandLayout]) -> tuple[IterationSpace, int]:
        """The space in the order in which it is walked, and how many of its first dimensions are reduced."""
        return iteration_space(shape, layouts, keep=self.index_axes()), 0
