"""A schedule: every decision about one kernel, as frozen data that prints as JSON.

Sizes and strides are not part of it: they are run-time arguments, so one compiled variant serves every shape of
the same class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from kgen.schedule.target import PORTABLE, Target

#: How a kernel reads or writes one operand:
#: vector      consecutive elements, a group of them a thread at once
#: shifted     consecutive elements that only they themselves are aligned to: aligned blocks, shifted together
#: scalar      the same element everywhere (broadcast over the whole space): one load into a register
#: column      the same element along a row (broadcast over the fastest dimension): one load for a group
#: gather      elements at a stride along a row, one after another
#: transposed  consecutive along another dimension: a tile at a time, transposed through shared memory
#: linear      consecutive elements, one a thread
#: strided     one element a thread, at an offset computed from its coordinates
#: row         one element for each row of a kernel with reductions
#: staged      rows one after the other, all of a block flat by way of shared memory
AccessKind = Literal[
    "vector", "shifted", "scalar", "column", "gather", "transposed", "linear", "strided", "row", "staged"
]


@dataclass(frozen=True, slots=True)
class AccessSchedule:
    """``alignment``: bytes that every group's address is known to be a multiple of (of vectors and the like); of what
    a kernel with reductions shifts, the address of each row.

    ``pattern``: which of the kernel's distinct stride patterns gives the offset, None where there is none.
    ``restrict``: nothing else in the kernel can access this memory.
    """

    kind: AccessKind
    alignment: int = 0
    pattern: int | None = None
    restrict: bool = True

    @property
    def is_vectorised(self) -> bool:
        """Whether it moves by groups in the order in which the kernel walks."""
        return self.kind in ("vector", "shifted")


@dataclass(frozen=True, slots=True)
class Schedule:
    """``template``: the name of the kernel's family (``kgen/families/``).  ``block``: threads a block.  ``group``:
    consecutive elements a thread.

    ``rank``: dimensions left after merging.  ``index_bits``: width of element indices and offsets.
    ``coordinates``: for each axis (from the right) that ``index()`` reads, the merged dimension that it is.
    ``anchor``: the access whose aligned addresses groups begin at, None where they begin at the first element.
    ``across``: neighbouring threads take the same group of neighbouring rows, not neighbours in a row (rows only).
    ``accesses``: one entry for each :class:`~kgen.partition.step.Access`.  ``target``: what it was chosen for.
    """

    template: str
    block: int
    group: int
    rank: int
    index_bits: Literal[32, 64]
    accesses: tuple[AccessSchedule, ...]
    coordinates: tuple[tuple[int, int], ...] = ()
    anchor: int | None = None
    across: bool = False
    target: Target = field(default=PORTABLE, kw_only=True)

    @property
    def patterns(self) -> int:
        """How many distinct stride patterns the offset calculator serves."""
        return 1 + max((t.pattern for t in self.accesses if t.pattern is not None), default=-1)

    @property
    def signed(self) -> Literal["int", "long long"]:
        """The C type of offsets."""
        return "int" if self.index_bits == 32 else "long long"

    @property
    def bits_suffix(self) -> str:
        """What the names of kernels with 64-bit indices end in."""
        return "_64bit" if self.index_bits == 64 else ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: all but the target, which other fields follow from."""
        return {name: value for name, value in asdict(self).items() if name != "target"}


def ranked_suffix(schedule: Schedule, itemsizes: Sequence[int]) -> str:
    """The end of the name of a kernel that computes offsets."""
    return f"{schedule.template}_{schedule.rank}d{'_across' if schedule.across else ''}{schedule.bits_suffix}"
