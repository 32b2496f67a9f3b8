"""Kernels in which a thread takes a group of several rows at once, and reads once what these share: ``row_pairs``.

These are two rows that share operands; or the two to four rows whose elements alternate in operands that lie across.
"""

from __future__ import annotations

from collections.abc import Set

from kgen.layout.iterator import IterationSpace
from kgen.records import dataclass, replace
from kgen.schedule.elementwise.interleaved import STEPS, group_of
from kgen.schedule.elementwise.order import shared_bytes, shared_first
from kgen.schedule.elementwise.reasons import group_reasons, listed
from kgen.schedule.elementwise.rows import by_groups, transposed_operands
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.schedule import Schedule, extended

#: Rows of a thread (AWQ's numbers, whose scales are as wide as the results, 0.95 of a copy; with one row 0.84, with
#: four 0.92).
ROWS = 2
#: Bytes of elements that alternate, at most (three planes of uint8 164 us, 179 across, of float16 95 and 105; three of
#: float32 127 and 128, two 129 and 127).
NARROW = 2


@dataclass(frozen=True, slots=True)
class PairSchedule(Schedule):
    """``second``: the dimension in which the rows are neighbours.  ``shared``: the accesses that a thread loads once.
    ``alone``: whether a row is one group.  ``rows``: of a thread.  ``alternating``: those of ``shared`` in which the
    elements of the rows alternate.
    """

    second: int = 1
    shared: tuple[int, ...] = ()
    alone: bool = False
    rows: int = ROWS
    alternating: tuple[int, ...] = ()


def row_pairs(facts: Facts) -> Choice | None:
    """Rows of whole groups that share a large part of what they read."""
    return _alternating_rows(facts) or _sharing_rows(facts)


def _sharing_rows(facts: Facts) -> Choice | None:
    """Two rows that read the same of some operands."""
    space = shared_first(facts)
    whole, facts = group_of(facts, space), replace(facts, space=space)
    second = _second(facts) if facts.bounded and not facts.sources else None
    if second is None or transposed_operands(facts)[1] or _divides(facts):
        return None
    group = _dividing(whole, space.shape[0])
    if not _has_whole_sets(facts, group, second, ROWS):
        return None
    rows = by_groups(facts, "row_pairs", space, group, frozenset())
    if not _fits(facts, rows, halved=group < whole):
        return None
    schedule = _paired(facts, rows, second)
    names = [facts.names[i] for i in schedule.shared if rows.accesses[i].kind != "scalar"]
    reason = f"row pairs: {listed(names)} the same for two rows, and read once for both"
    return Choice(schedule, space, (reason, *group_reasons(schedule, facts)))


def _alternating_rows(facts: Facts) -> Choice | None:
    """All rows along a dimension of two to four elements, which alternate in the operands that lie across."""
    second, across = transposed_operands(facts)
    rows = facts.space.shape[second]
    narrow = all(facts.itemsizes[i] <= NARROW for i in across)
    if not across or not narrow or rows not in STEPS or not facts.bounded or facts.sources or _divides(facts):
        return None
    space = facts.space.with_first([0, second])
    planned = _alternating(facts, space, across)
    if planned is None:
        return None
    shared = tuple(i for i in range(len(planned.accesses)) if i in across or not space.strides[i][1])
    schedule = extended(planned, PairSchedule, shared=shared, rows=int(rows), alternating=tuple(sorted(across)))
    names = listed([facts.names[i] for i in schedule.alternating])
    reason = f"row pairs: {names} consecutive across {schedule.rows} rows, whose elements are read at once"
    return Choice(schedule, space, (reason, *group_reasons(schedule, facts)))


def _alternating(facts: Facts, space: IterationSpace, across: Set[int]) -> Schedule | None:
    """The accesses of groups of all rows: what lies across is read as if it were the same for all."""
    rows = space.shape[1]
    strides = tuple((s[0], 0, *s[2:]) if i in across else s for i, s in enumerate(space.strides))
    one = replace(facts, space=replace(space, strides=strides))
    group = one.by_two_accesses(one.group)
    if any(s[0] != rows for i, s in enumerate(strides) if i in across) or not _has_whole_sets(one, group, 1, rows):
        return None
    found = by_groups(one, "row_pairs", one.space, group, frozenset())
    if any(found.accesses[i].wide is None for i in across):
        return None
    accesses = (
        replace(t, wide=replace(t.wide, is_whole=True)) if i in across and t.wide else t
        for i, t in enumerate(found.accesses)
    )
    whole = replace(found, accesses=tuple(accesses))
    return whole if _fits(one, whole, halved=False) else None


def _divides(facts: Facts) -> bool:
    """Whether there are quotients: those by what a row shares have a path of their own in `rows`."""
    return any(op.name == "div" for op in facts.step.graph.ops)


def _dividing(group: int, width: int) -> int:
    """The group, or a part of it of which rows are whole groups."""
    return next((n for n in (group, group // 2, group // 4) if n > 1 and width % n == 0), group)


def _has_whole_sets(facts: Facts, group: int, second: int, rows: int) -> bool:
    """Whether there are whole groups of so many rows only, and many of them."""
    space, many = facts.space, facts.tuning.elementwise.pair_threads
    is_whole = group > 1 and space.shape[0] % group == 0 and space.shape[second] % rows == 0
    return is_whole and space.numel >= many * group * rows


def _fits(facts: Facts, rows: Schedule, *, halved: bool) -> bool:
    """Whether groups begin where rows do, and none is read beyond its end.  Halved ones have to be aligned."""
    if rows.anchor is not None or any(t.reaches_beyond for t in rows.accesses):
        return False
    alone = (0 < t.alignment <= size for t, size in zip(rows.accesses, facts.itemsizes, strict=True))
    return not halved or not any(alone)


def _paired(facts: Facts, rows: Schedule, second: int) -> PairSchedule:
    shared = tuple(i for i in range(len(rows.accesses)) if not facts.step_along(i, second))
    alone = bool(facts.space.shape[0] == rows.group)
    return extended(rows, PairSchedule, second=second, shared=shared, alone=alone)


def _second(facts: Facts) -> int | None:
    """The dimension along which most bytes of a group are shared: more than those that are not, or half as many, of
    operands that do not stay in L1.
    """
    found: dict[int, int] = {}
    for dimension in range(1, len(facts.space.shape)):
        varying, shared = _bytes(facts, dimension)
        large = 2 * shared >= varying and shared_bytes(facts, dimension) > facts.tuning.elementwise.pair_bytes
        if shared > varying or large:
            found[dimension] = shared
    return max(found, key=found.__getitem__, default=None)


def _bytes(facts: Facts, dimension: int) -> tuple[int, int]:
    """Bytes of a group that vary along a dimension, and that do not."""
    varying = shared = 0
    for access, itemsize in enumerate(facts.itemsizes):
        along = itemsize * facts.group if facts.step_along(access, 0) else itemsize
        if facts.step_along(access, dimension):
            varying += along
        elif any(facts.step_along(access, d) for d in range(len(facts.space.shape))):
            shared += along
    return varying, shared
