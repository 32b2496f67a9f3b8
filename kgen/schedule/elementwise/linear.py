"""Kernels that walk dense outputs by groups: ``contiguous``, or ``flat`` where some operand is not dense."""

from __future__ import annotations

from kgen.layout.kinds import LayoutKind, index_bits, stride_patterns
from kgen.schedule.elementwise.groups import Grouping
from kgen.schedule.elementwise.reasons import (
    group_reasons,
    index_width_reason,
    listed,
    unvectorised_operands,
    vector_width_reason,
)
from kgen.schedule.facts import Choice, Facts, group_size
from kgen.schedule.schedule import AccessKind, Schedule

_KINDS: dict[LayoutKind, AccessKind] = {
    LayoutKind.CONTIGUOUS: "vector", LayoutKind.SCALAR: "scalar", LayoutKind.STRIDED: "strided",
}  # fmt: skip


def contiguous(facts: Facts) -> Choice | None:
    """Every operand is dense in one order, or a single element.

    Where coordinates matter, long rows of whole groups take ``rows``: a group then has one coordinate in each dimension
    but the fastest.
    """
    if facts.strided or (facts.coordinates and len(facts.space.shape) > 1 and has_whole_rows(facts)):
        return None
    schedule = _linear(facts, "contiguous")
    reasons = (
        vector_width_reason(schedule, facts),
        *unvectorised_operands(schedule, facts),
        index_width_reason(schedule, "every element number"),
    )
    return Choice(schedule, facts.space, reasons)


def flat(facts: Facts) -> Choice | None:
    """Dense outputs.  Strided operands are read one by one."""
    dense = all(c is LayoutKind.CONTIGUOUS for c, t in zip(facts.classes, facts.step.accesses, strict=True) if t.writes)
    if not dense or not facts.strided:
        return None
    schedule = _linear(facts, "flat")
    how = {"strided": "not dense, and found element by element", "row": "the same along rows, and read once a row"}
    kinds = [t.kind for t in schedule.accesses]
    named = {kind: [name for name, k in zip(facts.names, kinds, strict=True) if k == kind] for kind in how}
    reasons = [f"flat: {listed(named[kind])} {what}" for kind, what in how.items() if named[kind]]
    return Choice(schedule, facts.space, (*reasons, *group_reasons(schedule, facts)))


def beyond(block: int, group: int) -> int:
    """How far beyond the last element indices may go where there is an alignment anchor."""
    return (block + 2) * group


def _linear(facts: Facts, template: str) -> Schedule:
    """The schedule: groups of dense operands, and offsets per element for strided ones."""
    group = facts.spread(facts.by_two_accesses(_group(facts)), one_by_one=bool(facts.strided))
    block = facts.threads(group)
    kinds = [_KINDS[c] for c in facts.classes]
    numbers = [i for i, kind in enumerate(kinds) if kind == "strided"]
    pattern_of = dict(zip(numbers, stride_patterns(facts.space, numbers)[1], strict=True))
    two_rows = bool(numbers) and _spans_two_rows(facts, group)
    kinds = _of_two_rows(facts, kinds) if two_rows else kinds
    one_row = Grouping(facts, kinds, [()] * len(kinds), group)
    accesses = one_row.accesses([pattern_of.get(i) for i in range(len(kinds))], [True] * len(kinds))
    # The compiler adds indices to 64-bit pointers, so only the number of elements and computed offsets have to fit
    # 32 bits.  With an alignment anchor, indices go somewhat beyond the last element.
    room = 0 if one_row.anchor is None else beyond(block, group)
    bits = index_bits(facts.space, [facts.itemsizes[i] if i in pattern_of else 0 for i in range(len(kinds))])
    bits = 32 if bits == 32 and facts.space.numel + room < 2**31 else 64
    rank = len(facts.space.shape) if facts.coordinates or numbers else 1
    return Schedule(
        template, block, group, rank, bits, accesses, facts.coordinates, one_row.anchor,
        two_rows=two_rows, target=facts.target,
    )  # fmt: skip


def _of_two_rows(facts: Facts, kinds: list[AccessKind]) -> list[AccessKind]:
    """The kinds of accesses where groups have elements of two rows: one element of each may be all that is read."""
    return ["row" if kind == "strided" and facts.step_along(i, 0) == 0 else kind for i, kind in enumerate(kinds)]


def _spans_two_rows(facts: Facts, group: int) -> bool:
    """Whether no group has elements of more than two rows, of several."""
    rank, width = len(facts.space.shape), facts.space.shape[0]
    return rank > 1 and facts.bounded and not facts.coordinates and 1 < group <= width


def _group(facts: Facts) -> int:
    """Elements a thread: the dense operands decide, and others that are read along the fastest dimension."""
    widest = facts.tuning.elementwise.flat_itemsize
    dense = [s for s, c in zip(facts.itemsizes, facts.classes, strict=True) if c is LayoutKind.CONTIGUOUS]
    strided = [i for i, c in enumerate(facts.classes) if c is LayoutKind.STRIDED and facts.step_along(i, 0)]
    return group_size(
        [*dense, *(min(facts.itemsizes[i], widest) for i in strided if facts.is_streamed(i))], facts.target
    )


def has_whole_rows(facts: Facts) -> bool:
    """Whether rows are long enough for a thread for each group, and consist of whole groups."""
    width = facts.space.shape[0]
    return width >= facts.tuning.elementwise.shortest_row and width % facts.group == 0
