"""Kernels in which a thread takes a group of two rows at once, and reads once what both share: ``row_pairs``."""

from __future__ import annotations

from dataclasses import replace

from kgen.records import dataclass
from kgen.schedule.elementwise.interleaved import group_of
from kgen.schedule.elementwise.order import shared_bytes, shared_first
from kgen.schedule.elementwise.reasons import group_reasons, listed
from kgen.schedule.elementwise.rows import by_groups, transposed_operands
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.schedule import Schedule, extended

#: Rows of a thread (AWQ's numbers, whose scales are as wide as the results, 0.95 of a copy; with one row 0.84, with
#: four 0.92).
ROWS = 2


@dataclass(frozen=True, slots=True)
class PairSchedule(Schedule):
    """``second``: the dimension in which the two rows are neighbours.  ``shared``: the accesses that are the same for
    both.  ``alone``: whether a row is one group.
    """

    second: int = 1
    shared: tuple[int, ...] = ()
    alone: bool = False


def row_pairs(facts: Facts) -> Choice | None:
    """Rows of whole groups that share a large part of what they read."""
    space = shared_first(facts)
    whole, facts = group_of(facts, space), replace(facts, space=space)
    second = _second(facts) if facts.bounded and not facts.sources else None
    # Quotients by what a row shares have a path of their own in `rows`.
    if second is None or transposed_operands(facts)[1] or any(op.name == "div" for op in facts.step.graph.ops):
        return None
    group = _dividing(whole, space.shape[0])
    if not _has_whole_pairs(facts, group, second):
        return None
    rows = by_groups(facts, "row_pairs", space, group, frozenset())
    if not _fits(facts, rows, halved=group < whole):
        return None
    schedule = _paired(facts, rows, second)
    names = [facts.names[i] for i in schedule.shared if rows.accesses[i].kind != "scalar"]
    reason = f"row pairs: {listed(names)} the same for two rows, and read once for both"
    return Choice(schedule, space, (reason, *group_reasons(schedule, facts)))


def _dividing(group: int, width: int) -> int:
    """The group, or a part of it of which rows are whole groups."""
    return next((n for n in (group, group // 2, group // 4) if n > 1 and width % n == 0), group)


def _has_whole_pairs(facts: Facts, group: int, second: int) -> bool:
    """Whether there are whole groups of pairs of rows only, and many of them."""
    space, many = facts.space, facts.tuning.elementwise.pair_threads
    is_whole = group > 1 and space.shape[0] % group == 0 and space.shape[second] % ROWS == 0
    return is_whole and space.numel >= many * group * ROWS


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
