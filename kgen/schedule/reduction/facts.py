"""What is known about a step with reductions when its schedule is chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from kgen.ir.graph import Scatter
from kgen.layout.iterator import IterationSpace
from kgen.partition.reduction_step import ReductionStep
from kgen.records import dataclass
from kgen.schedule.facts import Facts
from kgen.schedule.reduction.schedule import is_plain, is_small, varying_accesses
from kgen.schedule.reduction.single_row import may_have_rows
from kgen.schedule.reduction.states import is_exact, state_bytes


@dataclass(frozen=True)
class RowFacts(Facts):
    """``reduced``: how many of the first dimensions of the space are reduced.  ``along``: whether the extents of the
    reduced dimensions are known; ``across``: whether those of the kept ones are; ``bounded``: both.  Operands are given
    as numbers of accesses.
    """

    step: ReductionStep
    reduced: int = 1
    along: bool = True
    across: bool = True

    @cached_property
    def varies(self) -> tuple[bool, ...]:
        """For each access, whether it varies along the row."""
        return varying_accesses(self.step)

    @cached_property
    def reads(self) -> tuple[int, ...]:
        """The operands that vary along the row and are read."""
        return tuple(i for i, varies in enumerate(self.varies) if varies and self.step.accesses[i].reads)

    @cached_property
    def written(self) -> frozenset[int]:
        """The operands that vary along the row and are written."""
        return frozenset(i for i, varies in enumerate(self.varies) if varies and self.step.accesses[i].writes)

    @cached_property
    def width(self) -> int:
        """Elements of a row."""
        return math.prod(self.space.shape[: self.reduced])

    @cached_property
    def segment(self) -> int:
        """Elements of a segment; 0 without segments, and where their elements are not one dimension."""
        whole = self.step.inner > 0 and len(self.space.axes[0]) == self.step.inner
        return self.space.shape[0] if whole else 0

    @cached_property
    def rows(self) -> int:
        return math.prod(self.space.shape[self.reduced :])

    @cached_property
    def kept(self) -> IterationSpace:
        """The kept dimensions of the space."""
        return self.space_from(self.reduced)

    @cached_property
    def is_plain(self) -> bool:
        """Whether there is one round of reductions, and one element per row is written."""
        return is_plain(self.step)

    @cached_property
    def rounds(self) -> int:
        return max(self.step.phase())

    @cached_property
    def only_along_rows(self) -> bool:
        """Whether only kernels along rows do what the step does: they reduce segments, and store one element a row at a
        computed place.
        """
        ops, alone = enumerate(self.step.graph.ops), self.step.kept == len(self.step.shape)
        scatters = (isinstance(op.attr, Scatter) and (alone or not self.step.varies_along_row(n)) for n, op in ops)
        return self.step.inner > 0 or any(scatters)

    @cached_property
    def state_bytes(self) -> int:
        """Bytes of the states of all reductions in one thread, at most."""
        return state_bytes(self.step)

    @cached_property
    def may_depend_on_rows(self) -> bool:
        """Whether who takes which elements may depend on the number of rows: results are the same for all orders of
        merging, there is no other row in the program, or rows do not lie one behind the other.
        """
        together = (self.reduced == 1 or self.segment > 0) and len(self.space.shape) <= self.reduced + 1
        apart = any(abs(self.step_along(i, 0)) > 1 for i, varies in enumerate(self.varies) if varies)
        return is_exact(self.step) or not may_have_rows(self.step) or apart or not together

    @cached_property
    def is_few(self) -> bool:
        """Whether there are so few elements that what one thread does after the other takes most of the time."""
        return self.bounded and self.space.numel <= self.tuning.elementwise.few_threads * self.tuning.rows.few_elements

    @cached_property
    def coordinates(self) -> tuple[tuple[int, int], ...]:
        """For each axis that an ``index()`` of the step reads, its merged dimension."""
        return tuple((axis, self.space.dim_of(axis)) for axis in sorted(self.step.index_axes()))

    @cached_property
    def bytes_written(self) -> int:
        """Bytes per element of all operands that are written along rows."""
        return self.bytes_of(self.written)

    def bytes_of(self, accesses: Sequence[int] | frozenset[int]) -> int:
        """Bytes per element of these accesses together."""
        return sum(self.itemsizes[i] for i in accesses)

    def index_bits(self, varies: Sequence[bool]) -> Literal[32, 64]:
        """The width of offsets within a row, for operands that vary along it (``varies``), and of row numbers."""
        return 32 if is_small(self.space, self.reduced, self.itemsizes, varies) else 64

    def varying(self, among: Sequence[int]) -> list[int]:
        """Those of ``among`` that vary along every dimension."""
        dims = [d for d, n in enumerate(self.space.shape) if n > 1]
        return [i for i in among if all(self.space.strides[i][d] for d in dims)]

    def is_consecutive(self, access: int) -> bool:
        """Whether an access's elements are consecutive along the row."""
        return self.varies[access] and self.step_along(access, 0) == 1

    @cached_property
    def consecutive(self) -> tuple[int, ...]:
        """The operands that are consecutive along the row."""
        return tuple(i for i in range(len(self.varies)) if self.is_consecutive(i))

    @cached_property
    def repeated(self) -> frozenset[int]:
        """The operands that are the same along the fastest dimension of the row: a group has one load."""
        still = (i for i, varies in enumerate(self.varies) if varies and not self.space.strides[i][0])
        return frozenset(i for i in still if i not in self.written)

    @cached_property
    def largest(self) -> int:
        """Bytes per element of the widest operand that varies along the row."""
        space, reduced = self.space, range(self.reduced)
        moving = [
            i
            for i, varies in enumerate(self.varies)
            if varies and any(space.strides[i][d] for d in reduced if space.shape[d] > 1) and i not in self.repeated
        ]
        return max((self.itemsizes[i] for i in moving), default=1)

    @cached_property
    def vector(self) -> int:
        """Elements that fill the widest access; 1 where groups do not help.

        They do not help where the operands that vary along all dimensions are strided along the row: the consecutive
        ones are then the same for many rows.
        """
        varying = self.varying(self.reads)
        helps = self.consecutive and (not varying or any(i in self.consecutive for i in varying))
        return max(1, self.target.vector_bytes // self.largest) if helps else 1

    def space_from(self, first: int) -> IterationSpace:
        """The dimensions from ``first`` on."""
        space = self.space
        return IterationSpace(space.shape[first:], tuple(s[first:] for s in space.strides), space.axes[first:])

    def other_strides(self, access: int, dimension: int) -> list[int]:
        """An access's strides, but the one along ``dimension``."""
        strides = zip(self.space.shape, self.space.strides[access], strict=True)
        return [s for d, (n, s) in enumerate(strides) if n > 1 and d != dimension]


@dataclass(frozen=True)
class RowColumnsFacts(RowFacts):
    """Of a step that also sums over its rows."""
