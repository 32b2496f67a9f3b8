"""A schedule: every decision about one kernel, as frozen data that prints as JSON.

Sizes and strides are not part of it: they are run-time arguments, so one compiled variant serves every shape of
the same class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

#: How a kernel reads or writes one operand:
#: vector      consecutive elements, a group of them a thread at once
#: shifted     consecutive elements that only they themselves are aligned to: aligned blocks, shifted together
#: scalar      the same element everywhere (broadcast over the whole space): one load into a register
#: column      the same element along a row (broadcast over the fastest dimension): one load for a group
#: gather      elements at a stride along a row, one after another
#: transposed  consecutive along another dimension: a tile at a time, turned in shared memory
#: linear      consecutive elements, one a thread
#: strided     one element a thread, at an offset computed from its coordinates
#: row         one element for each row of a kernel with reductions
#: staged      rows one after the other, all of a block flat by way of shared memory
AccessKind = Literal[
    "vector", "shifted", "scalar", "column", "gather", "transposed", "linear", "strided", "row", "staged"
]

#: contiguous  every operand is dense in one order, or a single element: no offsets
#: flat        outputs dense in one order, a group of elements a thread; others at an offset computed for each element
#: rows        a group of elements of one row a thread; where rows begin is computed once for the group
#: tiled       square tiles of two dimensions, one a block, for operands that are consecutive along the second
#: strided     one element a thread, its offsets computed from its coordinates: covers every layout
#: row_reduce     reductions: some threads share a row
#: column_reduce  reductions over a slow dimension: a thread has some rows, which are consecutive in memory
#: column_held    chains of reductions over a slow dimension: a thread keeps some elements of some rows in registers
Template = Literal["contiguous", "flat", "rows", "tiled", "strided", "row_reduce", "column_reduce", "column_held"]


@dataclass(frozen=True, slots=True)
class TouchSchedule:
    """``alignment``: bytes that every group's address is known to be a multiple of (of vectors and the like); of what
    a kernel with reductions shifts, the address of each row.

    ``pattern``: which of the kernel's distinct stride patterns gives the offset, None where there is none.
    ``restrict``: nothing else in the kernel can touch this memory.
    """

    access: AccessKind
    alignment: int = 0
    pattern: int | None = None
    restrict: bool = True

    @property
    def is_straight(self) -> bool:
        """Whether it moves by groups in the order in which the kernel walks."""
        return self.access in ("vector", "shifted")


@dataclass(frozen=True, slots=True)
class Schedule:
    """``template``: the kernel template.  ``block``: threads a block.  ``group``: consecutive elements a thread.

    ``rank``: dimensions left after merging.  ``index_bits``: width of element indices and offsets.
    ``coordinates``: for each axis (from the right) that ``index()`` reads, the merged dimension that it is.
    ``lead``: the touch whose aligned addresses groups begin at, None where they begin at the first element.
    ``across``: neighbouring threads take the same group of neighbouring rows, not neighbours in a row (rows only).
    ``touches``: one entry for each :class:`~kgen.partition.step.Touch`.
    """

    template: Template
    block: int
    group: int
    rank: int
    index_bits: Literal[32, 64]
    touches: tuple[TouchSchedule, ...]
    coordinates: tuple[tuple[int, int], ...] = ()
    lead: int | None = None
    across: bool = False

    @property
    def patterns(self) -> int:
        """How many distinct stride patterns the offset calculator serves."""
        return 1 + max((t.pattern for t in self.touches if t.pattern is not None), default=-1)

    @property
    def gathers(self) -> int:
        """How many operands have a stride of their own along rows."""
        return sum(t.access == "gather" for t in self.touches)

    @property
    def spans(self) -> int:
        """How many bounds a row kernel is given, for operands whose blocks must lie within them."""
        return 2 * sum(t.access == "shifted" for t in self.touches) if self.template == "rows" else 0

    def suffix(self, itemsizes: Sequence[int]) -> str:
        """What tells this variant's kernel from others of one file.  ``itemsizes``: of each touch, in bytes."""
        wide = "_64bit" if self.index_bits == 64 else ""
        if self.template != "contiguous":
            return f"{self.template}{self.rank}{'_across' if self.across else ''}{wide}"
        aligned = self.lead is None and all(
            t.access == "scalar" or t.alignment >= self.group * size
            for t, size in zip(self.touches, itemsizes, strict=True)
        )
        return f"contiguous{'' if aligned else '_unaligned'}{wide}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
