"""How the operands of a kernel move along its rows: which of them, in what groups, and where those begin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from kgen.layout.access import stride_patterns
from kgen.layout.iterator import IterationSpace
from kgen.partition.cut import RowStep
from kgen.schedule.elementwise.policy import is_shifted
from kgen.schedule.reduction.peel import SHORTEST, SHORTEST_SHIFTED, leader
from kgen.schedule.reduction.schedule import wide_touches
from kgen.schedule.reduction.staging import Stage, stage
from kgen.schedule.schedule import AccessKind, TouchSchedule
from kgen.schedule.target import Target


@dataclass(frozen=True, slots=True)
class Walk:
    """Operands are given as numbers of touches.

    ``wide``: for each, whether it moves along rows; ``straight``: whether through consecutive elements.  ``reads``,
    ``written``: the wide ones that are.  ``own``: of ``reads``, those that no two rows share.  ``group``: elements that
    a thread takes at once; ``whole``: whether rows are a number of the widest accesses.  ``flat``: how rows go by way
    of shared memory, None where they do not.  ``lead``: by whose addresses groups begin, None where they begin with
    rows; ``alike``: those that are aligned there, ``shifted``: those that are shifted out of aligned blocks, instead.
    ``patterns``: the stride pattern that says where an operand's rows begin, None where all begin at one place;
    ``aligned``: those of which that place is, while others move.
    """

    wide: tuple[bool, ...]
    straight: tuple[bool, ...]
    reads: tuple[int, ...]
    written: frozenset[int]
    own: tuple[int, ...]
    group: int
    whole: bool
    flat: Stage | None
    lead: int | None
    alike: Set[int]
    shifted: tuple[int, ...]
    patterns: Mapping[int, int | None]
    aligned: frozenset[int]

    @property
    def staged(self) -> Set[int]:
        """The operands that go by way of shared memory."""
        return frozenset() if self.flat is None else self.flat.operands

    @property
    def weights(self) -> int:
        """How many operands all rows share."""
        return len(self.reads) - len(self.own)


def walk_of(
    step: RowStep, reduced: int, space: IterationSpace, itemsizes: Sequence[int], addresses: Sequence[int],
    *, bounded: bool, along: bool, target: Target,
) -> Walk:  # fmt: skip
    """How rows are walked.  The arguments are those of :func:`~kgen.schedule.reduction.rows.choose_rows`."""
    wide = wide_touches(step)
    numbers = range(len(wide))
    straight = [w and space.strides[i][0] == 1 and space.shape[0] > 1 for i, w in enumerate(wide)]
    walking = [i for i in numbers if straight[i]]
    reads = [i for i in numbers if wide[i] and step.touches[i].reads]
    written = frozenset(i for i in numbers if wide[i] and step.touches[i].writes)
    largest = max((itemsizes[i] for i in numbers if wide[i] and _moves(space, i, reduced)), default=1)
    # Where rows lie across memory, what lies along them is the same for many: groups of it would not help.
    whole = whole_touches(space, reads)
    grouped = walking and (not whole or any(straight[i] for i in whole))
    group = max(1, target.vector_bytes // largest) if grouped else 1
    width = math.prod(space.shape[:reduced])
    may_stage = along and reduced == 1
    flat = stage(space, walking, written, itemsizes, addresses, group, bounded=bounded) if may_stage else None
    lead: int | None = None
    alike: Set[int] = frozenset()
    if flat is not None:
        group, lead = flat.group, flat.lead
    elif group > 1 and reduced == 1 and (width * largest >= SHORTEST or not along):
        lead, alike = leader(space, walking, itemsizes, addresses, group, bounded=bounded, along=along)
    fits = group > 1 and width % group == 0 and reduced == 1
    while lead is None and (space.shape[0] % group or (not along and group > 1)):
        group //= 2
    may_shift = lead is not None and flat is None and (width >= SHORTEST_SHIFTED or not along)
    others = [i for i in walking if may_shift and i not in alike and i not in written]
    staged: Set[int] = frozenset() if flat is None else flat.operands
    kept = IterationSpace(space.shape[reduced:], tuple(s[reduced:] for s in space.strides), space.axes[reduced:])
    strided = [i for i in numbers if i not in staged]
    distinct, places = stride_patterns(kept, strided)
    patterns = dict(zip(strided, places, strict=True))
    # What all rows share is read where it is needed.
    own = [i for i in reads if i in staged or patterns.get(i) is not None or not distinct]
    return Walk(
        wide=tuple(wide),
        straight=tuple(straight),
        reads=tuple(reads),
        written=written,
        own=tuple(own),
        group=group,
        whole=fits,
        flat=flat,
        lead=lead,
        alike=alike,
        shifted=tuple(i for i in others if is_shifted(itemsizes[i], group)),
        patterns=patterns,
        aligned=frozenset(i for i in numbers if addresses[i] == 0 and distinct and patterns.get(i) is None),
    )


def whole_touches(space: IterationSpace, among: Sequence[int]) -> list[int]:
    """Those that move along every dimension."""
    return [i for i in among if all(s for n, s in zip(space.shape, space.strides[i], strict=True) if n > 1)]


def touches_of(
    walk: Walk, space: IterationSpace, itemsizes: Sequence[int], addresses: Sequence[int], aliased: Sequence[bool],
    vector_bytes: int,
) -> tuple[TouchSchedule, ...]:  # fmt: skip
    """How each operand is read or written; ``vector_bytes``: of the widest access."""
    touches: list[TouchSchedule] = []
    for i, size in enumerate(itemsizes):
        kind: AccessKind = "row" if not walk.wide[i] else "vector" if walk.straight[i] else "gather"
        alignment, full = 0, walk.group * size
        if i in walk.staged:
            kind, alignment = "staged", vector_bytes if addresses[i] == 0 else size
        elif i in walk.shifted:
            kind, alignment = "shifted", vector_bytes if i in walk.aligned else size
        elif kind == "vector":
            known = _is_aligned(space, i, full, size, addresses[i]) if walk.lead is None else i in walk.alike
            alignment = full if known else size
        touches.append(TouchSchedule(kind, alignment, walk.patterns.get(i), not aliased[i]))
    return tuple(touches)


def _is_aligned(space: IterationSpace, touch: int, full: int, size: int, address: int) -> bool:
    """Whether every row of an operand begins at a multiple of ``full`` bytes."""
    outer = [s for n, s in zip(space.shape[1:], space.strides[touch][1:], strict=True) if n > 1]
    return address % full == 0 and all(s * size % full == 0 for s in outer)


def _moves(space: IterationSpace, touch: int, reduced: int) -> bool:
    return any(s for n, s in zip(space.shape[:reduced], space.strides[touch][:reduced], strict=True) if n > 1)
