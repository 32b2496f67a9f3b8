"""Kernels that walk rows by groups and compute the offset of the row once per group: ``rows``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from math import prod

from kgen.dtypes import FLOAT32
from kgen.ir.graph import IndexMap
from kgen.layout.iterator import IterationSpace
from kgen.layout.kinds import LayoutKind, index_bits
from kgen.records import replace
from kgen.schedule.elementwise.gathers import gathered_rows
from kgen.schedule.elementwise.groups import Grouping, outer_patterns, outer_strides
from kgen.schedule.elementwise.interleaved import group_of, interleaved
from kgen.schedule.elementwise.order import shared_first
from kgen.schedule.elementwise.reasons import group_reasons, listed
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.schedule import AccessKind, Interleaved, Schedule
from kgen.schedule.target import WORD
from kgen.schedule.trace import reaches


def rows(facts: Facts) -> Choice | None:
    """The offset of a row is computed once per group of elements; None where all lies in memory order."""
    return by_rows(facts) if facts.strided or facts.coordinates else None


def by_rows(facts: Facts) -> Choice:
    """The same, wherever operands lie."""
    reason = "rows: one coordinate in each dimension but the fastest for a group"
    if facts.strided:
        reason = f"rows: {listed(facts.strided)} not dense in the order in which the outputs are walked"
    second, along = transposed_operands(facts)
    across = bool(along) and not reaches(facts.space.shape[second], facts.tuning.elementwise.shortest_side)
    space = facts.space.with_first([0, second]) if across else shared_first(facts)
    group = facts.spread(facts.by_two_accesses(group_of(facts, space)))
    schedule = by_groups(facts, "rows", space, group * (1 + _divides_bytes(facts, group)), frozenset())
    if _moves_apart(facts, schedule) and (fewer := facts.spread(group, one_by_one=True)) < group:
        schedule = by_groups(facts, "rows", space, fewer, frozenset())
    if not across and schedule.anchor is None:
        schedule = replace(schedule, gathered=gathered_rows(facts, schedule.group))
    if across:
        schedule = replace(schedule, across=True)
        names = [facts.names[i] for i in sorted(along)]
        reason += f"; {space.shape[1]} rows side by side, along which {listed(names)} consecutive"
    return Choice(schedule, space, (reason, *group_reasons(schedule, facts)))


def _moves_apart(facts: Facts, schedule: Schedule) -> bool:
    """Whether groups are not read, or not written, by whole accesses: a thread then takes long over one.  Not where
    what is written is interleaved."""
    sizes = [min(schedule.group * size, facts.target.vector_bytes) for size in facts.itemsizes]
    apart = [
        t.kind in ("gather", "interleaved", "shifted") or (t.kind == "vector" and t.alignment < size)
        for t, size in zip(schedule.accesses, sizes, strict=True)
    ]
    if any(alone and t.writes for alone, t in zip(apart, facts.step.accesses, strict=True)):
        return schedule.anchor is not None
    return any(apart)


def _divides_bytes(facts: Facts, group: int) -> bool:
    """Whether bytes become 2-byte numbers that are divided by what long rows share: such a kernel is bound by
    instructions, many of which are for a thread's reciprocal, and not for each element.
    """
    width, accesses = facts.space.shape[0], facts.step.accesses
    sizes = {(facts.itemsizes[i], t.writes) for i, t in enumerate(accesses) if facts.step_along(i, 0)}
    if sizes != {(1, False), (2, True)} or group * 2 != facts.target.vector_bytes or not _divides_by_shared(facts):
        return False
    return width % (2 * group) == 0 and reaches(width, facts.tuning.elementwise.shortest_divided_row)


def _divides_by_shared(facts: Facts) -> bool:
    """Whether something is divided by an operand that is the same along the fastest dimension."""
    ops, accesses = facts.step.graph.ops, facts.step.accesses
    shared = {(t.operand, t.axes) for i, t in enumerate(accesses) if not facts.step_along(i, 0)}
    divisors = [ops[op.args[1]].attr for op in ops if op.name == "div" and op.dtype is FLOAT32]
    return any(isinstance(d, IndexMap) and (d.operand, d.axes) in shared for d in divisors)


def by_groups(facts: Facts, template: str, space: IterationSpace, group: int, transposed: Set[int]) -> Schedule:
    """A schedule that walks the fastest dimension by groups.  ``transposed``: the operands that go through tiles."""
    kinds = [_kind(space, i, of, i in transposed) for i, of in enumerate(facts.classes)]
    outer = [outer_strides(kind, space, i) for i, kind in enumerate(kinds)]
    narrow = any(group * facts.itemsizes[i] < WORD for i in transposed)
    grouping = Grouping(facts, kinds, outer, group, anchors=not narrow)
    wide: Mapping[int, Interleaved] = {}
    if group > 1 and not transposed:
        wide = interleaved(facts, space, group, aligned=grouping.anchor is None)
    # Short operands that all rows share are not shifted: they are in the cache, and every row would meet their ends.
    is_long = reaches(space.shape[0], facts.tuning.elementwise.shortest_shifted_shared_row)
    shifts = [not transposed and (is_long or any(strides)) for strides in outer]
    accesses = grouping.accesses(outer_patterns(kinds, space)[1], shifts)
    accesses = tuple(
        t if i not in wide else replace(t, kind="interleaved", wide=wide[i]) for i, t in enumerate(accesses)
    )
    bits, rank = index_bits(space, facts.itemsizes), len(space.shape)
    block = facts.threads(group) if template == "rows" else facts.tuning.elementwise.block
    coordinates = replace(facts, space=space).coordinates
    return Schedule(
        template, block, group, rank, bits, accesses, coordinates, grouping.anchor,
        narrow_counts=bits == 64 and _has_few_groups(space, group), target=facts.target,
    )  # fmt: skip


def _has_few_groups(space: IterationSpace, group: int) -> bool:
    """Whether thread numbers and coordinates fit 32 bits: groups are counted, of which a row may have one more."""
    width, *rest = space.shape
    return (width // group + 2) * prod(rest) < 2**31 and all(extent < 2**31 - 16 * group for extent in space.shape)


def transposed_operands(facts: Facts) -> tuple[int, set[int]]:
    """The most common dimension, other than the fastest, along which inputs are consecutive, and these inputs."""
    candidates = [
        (i, d)
        for i, access in enumerate(facts.step.accesses)
        if not access.writes and facts.step_along(i, 0) not in (0, 1)
        for d in range(1, len(facts.space.shape))
        if facts.step_along(i, d) == 1
    ]
    if not candidates:
        return 0, set()
    second, _ = Counter(d for _, d in candidates).most_common(1)[0]
    return second, {i for i, d in candidates if d == second}


def _kind(space: IterationSpace, access: int, of: LayoutKind, transposed: bool) -> AccessKind:
    if of is LayoutKind.SCALAR:
        return "scalar"
    if transposed:
        return "transposed"
    step = space.strides[access][0]
    return "vector" if step == 1 else "column" if step == 0 else "gather"
