"""Kernels that update few elements often: ``bins``.

Atomic updates of one element follow each other.  So blocks are as many as fit the device; each combines what it
updates in shared memory, and then combines that with memory.
"""

from __future__ import annotations

from math import prod

from kgen.ir.graph import Scatter
from kgen.records import dataclass
from kgen.schedule.elementwise.linear import contiguous, flat
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.schedule import Schedule, extended
from kgen.schedule.step_layout import Source
from kgen.schedule.target import WORD
from kgen.schedule.trace import reaches

#: Indices go beyond the last element by what all blocks take at once.
_LONGEST_NARROW = 2**30


@dataclass(frozen=True, slots=True)
class BinsSchedule(Schedule):
    """``bins``: for each operand that is updated, the elements that a block has room for."""

    bins: tuple[tuple[int, int], ...] = ()


def bins(facts: Facts) -> Choice | None:
    """All that is written are updates of few elements, at computed places."""
    rooms = _rooms(facts) if facts.bounded and facts.sources else None
    choice = (contiguous(facts) or flat(facts)) if rooms else None
    if rooms is None or choice is None:
        return None
    linear = choice.schedule
    bits = max(linear.index_bits, 64 if reaches(facts.space.numel, _LONGEST_NARROW) else 32)
    block = facts.tuning.bins.block
    schedule = extended(linear, BinsSchedule, template="bins", block=block, index_bits=bits, bins=rooms)
    names = " and ".join(f"`{facts.step.graph.operands[operand].name}`" for operand, _ in rooms)
    reason = f"bins: each block combines updates of {names} in shared memory first: there are few elements"
    return Choice(schedule, choice.space, (reason, *choice.reasons))


def _rooms(facts: Facts) -> tuple[tuple[int, int], ...] | None:
    """The room for each operand that is updated; None where one is large for so few updates, or cannot be one."""
    sources = [source for source in facts.sources if source.operand in facts.step.graph.scattered]
    if not sources or not _updates_alone(facts):
        return None
    found: list[tuple[int, int]] = []
    size = 0
    for source in sources:
        room = _room(facts, source)
        if room is None:
            return None
        found.append((source.operand, room))
        size += room * max(source.itemsize, WORD)
    return tuple(found) if size <= facts.tuning.bins.shared_bytes else None


def _updates_alone(facts: Facts) -> bool:
    """Whether all that a step writes are updates, of real numbers that it does not read."""
    graph = facts.step.graph
    if graph.scattered & graph.gathered or any(t.writes for t in facts.step.accesses):
        return False
    kinds = {op.attr.combine for op in graph.ops if isinstance(op.attr, Scatter)}
    return "set" not in kinds and not any(graph.operands[number].dtype.is_complex for number in graph.scattered)


def _room(facts: Facts, source: Source) -> int | None:
    """The least power of two, of some, that an array in C order fits; None for others."""
    tuning, count = facts.tuning.bins, prod(source.shape)
    if not _is_dense(source) or not reaches(facts.space.numel, tuning.fewest_updates):
        return None
    room = next((room for room in tuning.rooms if count <= room), None)
    return room if room is not None and reaches(facts.space.numel, tuning.updates_each * room) else None


def _is_dense(source: Source) -> bool:
    """Whether an array is dense in C order."""
    step = 1
    for extent, stride in zip(reversed(source.shape), reversed(source.strides), strict=True):
        if extent > 1 and stride != step:
            return False
        step *= extent
    return True
