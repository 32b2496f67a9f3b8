"""Kernels that walk dense outputs by groups: ``contiguous``, or ``flat`` where some operand is not dense."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Literal

from kgen.layout.kinds import LayoutKind, index_bits, stride_patterns
from kgen.records import replace
from kgen.schedule.elementwise.batches import REASON, may_batch, moves_little
from kgen.schedule.elementwise.groups import Grouping, outer_strides
from kgen.schedule.elementwise.reasons import (
    group_reasons,
    index_width_reason,
    listed,
    unvectorised_operands,
    vector_width_reason,
)
from kgen.schedule.facts import Choice, Facts, group_size
from kgen.schedule.schedule import AccessKind, AccessSchedule, Schedule

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
    schedule, why = _linear(facts, "contiguous"), list[str]()
    if may_batch(facts) and len(facts.space.shape) == 1 and moves_little(facts, schedule, facts.space.numel):
        schedule, why = replace(schedule, template="batches", block=facts.tuning.elementwise.block), [REASON]
    reasons = (
        *why,
        vector_width_reason(schedule, facts),
        *unvectorised_operands(schedule, facts),
        index_width_reason(schedule, "every element number"),
    )
    return Choice(schedule, facts.space, reasons)


def flat(facts: Facts) -> Choice | None:
    """Dense outputs.  Strided operands are read one by one, or by units of a row."""
    dense = all(c is LayoutKind.CONTIGUOUS for c, t in zip(facts.classes, facts.step.accesses, strict=True) if t.writes)
    if not dense or not facts.strided:
        return None
    schedule = _linear(facts, "flat")
    by = f"by units of {schedule.unit} elements of a row" if schedule.unit > 1 else "element by element"
    how = {"strided": f"not dense, and found {by}", "row": "the same along rows, and read once a row"}
    kinds = [t.kind for t in schedule.accesses]
    named = {kind: [name for name, k in zip(facts.names, kinds, strict=True) if k == kind] for kind in how}
    reasons = [f"flat: {listed(named[kind])} {what}" for kind, what in how.items() if named[kind]]
    return Choice(schedule, facts.space, (*reasons, *group_reasons(schedule, facts)))


def beyond(block: int, group: int) -> int:
    """How far beyond the last element indices may go where there is an alignment anchor."""
    return (block + 2) * group


def _linear(facts: Facts, template: str) -> Schedule:
    """The schedule: groups of dense operands, and offsets for each element or unit of strided ones."""
    group = facts.spread(facts.by_two_accesses(_group(facts)), one_by_one=bool(facts.strided))
    block = facts.threads(group)
    kinds = [_KINDS[c] for c in facts.classes]
    numbers = [i for i, kind in enumerate(kinds) if kind == "strided"]
    pattern_of = dict(zip(numbers, stride_patterns(facts.space, numbers)[1], strict=True))
    two_rows = bool(numbers) and _spans_two_rows(facts, group)
    one_row = Grouping(facts, kinds, [()] * len(kinds), group)
    unit = _unit(facts, group) if numbers and one_row.anchor is None else 1
    one_row = replace(one_row, kinds=_same_along_rows(facts, kinds)) if two_rows or unit > 1 else one_row
    accesses = one_row.accesses([pattern_of.get(i) for i in range(len(kinds))], [True] * len(kinds))
    accesses = accesses if unit == 1 else _by_units(facts, accesses, unit)
    bits = _index_bits(facts, pattern_of, 0 if one_row.anchor is None else beyond(block, group))
    rank = len(facts.space.shape) if facts.coordinates or numbers else 1
    return Schedule(
        template, block, group, rank, bits, accesses, facts.coordinates, one_row.anchor,
        two_rows=two_rows, unit=unit, target=facts.target,
    )  # fmt: skip


def _index_bits(facts: Facts, computed: Container[int], room: int) -> Literal[32, 64]:
    """32 or 64.  The compiler adds indices to 64-bit pointers, so only the number of elements, and offsets of the
    ``computed`` accesses, have to fit.  ``room``: with an alignment anchor, indices go so far beyond the last element.
    """
    sizes = [size if i in computed else 0 for i, size in enumerate(facts.itemsizes)]
    return 32 if index_bits(facts.space, sizes) == 32 and facts.space.numel + room < 2**31 else 64


def _unit(facts: Facts, group: int) -> int:
    """Elements of a group that are sure to lie in one row: those of each unit from the start of the row on."""
    unit, width = group, facts.space.shape[0]
    if len(facts.space.shape) == 1 or not facts.bounded or facts.coordinates:
        return 1
    while width % unit:
        unit //= 2
    return unit


def _by_units(facts: Facts, accesses: Sequence[AccessSchedule], unit: int) -> tuple[AccessSchedule, ...]:
    """The accesses, strided ones with the alignment of units."""
    return tuple(
        replace(t, alignment=_alignment(facts, i, unit)) if t.kind == "strided" else t for i, t in enumerate(accesses)
    )


def _alignment(facts: Facts, access: int, unit: int) -> int:
    """The alignment of the units of an access in bytes; 0 where their elements are not consecutive."""
    if facts.step_along(access, 0) != 1:
        return 0
    itemsize = facts.itemsizes[access]
    alignment = min(unit * itemsize, facts.target.vector_bytes)
    starts = [facts.addresses[access], *(itemsize * s for s in outer_strides("gather", facts.space, access))]
    while alignment > itemsize and any(start % alignment for start in starts):
        alignment //= 2
    return alignment


def _same_along_rows(facts: Facts, kinds: list[AccessKind]) -> list[AccessKind]:
    """The kinds of accesses where one element of each row or unit may be all that is read."""
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
