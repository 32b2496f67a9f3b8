"""A schedule: every decision about one kernel, as frozen data that prints as JSON.

Sizes and strides are not part of it: they are run-time arguments, so one compiled variant serves every shape of
the same class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, field, fields
from typing import Any, Literal, TypeVar

from kgen.records import dataclass
from kgen.schedule.target import PORTABLE, Target

#: How a kernel reads or writes one operand:
#: vector      consecutive elements, one group per thread at a time
#: shifted     consecutive elements in unaligned groups: two aligned blocks are loaded and shifted together
#: scalar      the same element everywhere (broadcast over the whole space): one load into a register
#: column      the same element along a row (broadcast over the fastest dimension): one load per group
#: gather      elements at a stride along a row, read one by one
#: interleaved elements at a small step along a row: groups of all that lies between are moved, and taken apart
#: run         elements at a stride along a row that only the call knows: by groups where it is 1
#: transposed  consecutive along another dimension: tiles are transposed, through shared memory or in registers
#: either      a run, or consecutive along the second dimension of a tile, then transposed in shared memory
#: linear      consecutive elements, one per thread
#: strided     one element per thread, at an offset computed from its coordinates
#: row         one element per row: of a kernel with reductions, or of groups that have elements of two rows
#: staged      contiguous rows: a block moves all of its rows through shared memory
#: spaced      rows with gaps between them: a block reads each of its rows into shared memory
AccessKind = Literal[
    "vector", "shifted", "scalar", "column", "gather", "interleaved", "run", "transposed", "either", "linear",
    "strided", "row", "staged", "spaced",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Interleaved:
    """One of several operands whose elements alternate in memory.

    A wide group has ``step`` times as many elements, of which this one has every ``step``-th from ``phase`` on.
    ``alignment``: of wide groups, in bytes.  ``first``: the access whose address they are found by; those that share it
    are moved at once.  ``is_whole``: whether these have every element of a wide group.
    """

    step: int
    phase: int
    alignment: int
    first: int
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class AccessSchedule:
    """``alignment``: the address of every group is a multiple of so many bytes (vector, shifted, transposed and staged
    accesses); for shifted accesses of a kernel with reductions, the address of every row is.  Of strided accesses, the
    address of every unit, where its elements are consecutive; else 0.

    ``pattern``: the stride pattern that gives the offset, None where there is none.
    ``restrict``: whether no other access of the kernel can overlap this memory.  ``wide``: of interleaved accesses.
    """

    kind: AccessKind
    alignment: int = 0
    pattern: int | None = None
    restrict: bool = True
    wide: Interleaved | None = None

    @property
    def is_vectorised(self) -> bool:
        """Whether it accesses whole groups, in the order in which the kernel walks."""
        return self.kind in ("vector", "shifted")

    @property
    def reaches_beyond(self) -> bool:
        """Whether what is moved for a group may lie outside of the operand."""
        return self.kind == "shifted" or (self.wide is not None and not self.wide.is_whole)


@dataclass(frozen=True, slots=True)
class Schedule:
    """``template``: the name of the kernel's family (``kgen/families/``).  ``block``: threads per block.  ``group``:
    elements per thread: consecutive ones, or in ``strided`` elements that are a block of threads apart.

    ``rank``: dimensions left after merging.  ``index_bits``: width of element indices and offsets.  ``narrow_counts``:
    whether thread numbers and coordinates have 32 bits where offsets have 64 (in ``rows`` and ``tiled``).
    ``coordinates``: for each axis that ``index()`` reads, its number and the merged dimension that it became.
    ``anchor``: the access at whose aligned addresses groups begin, None where they begin at the first element.
    ``across``: neighbouring threads take the same group of neighbouring rows, not neighbouring groups of one row (only
    in ``rows``).  ``two_rows``: no group has elements of more than two rows (only in ``flat``).  ``unit``: groups
    consist of so many elements each that lie in one row (only in ``flat``).  ``gathered``: the operands that are read
    by rows at computed places, each with the alignment of its groups in bytes (only in ``rows``).  ``backward``:
    whether blocks take the last elements first.  ``accesses``: one entry per :class:`~kgen.partition.step.Access`.
    ``target``: the devices that it was chosen for.
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
    narrow_counts: bool = False
    gathered: tuple[tuple[int, int], ...] = ()
    two_rows: bool = False
    unit: int = 1
    backward: bool = field(default=False, kw_only=True)
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
    def count_bits(self) -> Literal[32, 64]:
        """The width of thread numbers, element counts and coordinates."""
        return 32 if self.narrow_counts else self.index_bits

    @property
    def counted(self) -> Literal["int", "long long"]:
        """The C type of coordinates."""
        return "int" if self.count_bits == 32 else "long long"

    @property
    def bits_suffix(self) -> str:
        """The suffix of the names of kernels with 64-bit indices."""
        return "_64bit" if self.index_bits == 64 else ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: all fields but the target, whose effect the other fields show.

        ``narrow_counts`` and ``any_length`` are left out where indices have 32 bits, ``wide``, ``gathered``,
        ``order`` and ``shifted_runs`` where there is none, ``unit`` where it is 1, and ``segment_threads`` where there
        are no segments.
        """
        hidden = {"target", *(() if self.index_bits == 64 else ("narrow_counts", "any_length"))}
        optional = ("gathered", "two_rows", "backward", "order", "shifted_runs")
        hidden |= {name for name in optional if not getattr(self, name, None)}
        hidden |= {"unit"} if self.unit == 1 else set()
        found = {name: value for name, value in asdict(self).items() if name not in hidden}
        for access in found["accesses"]:
            if access["wide"] is None:
                del access["wide"]
        if not found.get("segment_threads"):
            found = {name: value for name, value in found.items() if not name.startswith("segment_")}
        return found


Extended = TypeVar("Extended", bound=Schedule)


def extended(schedule: Schedule, kind: type[Extended], **more: Any) -> Extended:
    """A schedule of another kind: the fields of this one, and ``more``."""
    return kind(**({f.name: getattr(schedule, f.name) for f in fields(Schedule)} | more))


#: With fewer elements a thread, a reciprocal costs as much as the divisions by what they share.
LEAST_SHARERS = 8


def shared_accesses(schedule: Schedule) -> frozenset[int] | None:
    """The accesses whose element is the same for all elements of a thread; None where these are few."""
    others = ("tiled", "skewed", "strided", "batches", "row_batches", "bins")
    if schedule.group < LEAST_SHARERS or schedule.template in others:
        return None
    return frozenset(i for i, t in enumerate(schedule.accesses) if t.kind in ("scalar", "column"))


def ranked_suffix(schedule: Schedule, itemsizes: Sequence[int]) -> str:
    """The name suffix of a kernel that computes offsets."""
    how = f"_by{schedule.unit}" if schedule.unit > 1 else "_across" if schedule.across else ""
    return f"{schedule.template}_{schedule.rank}d{how}{schedule.bits_suffix}"
