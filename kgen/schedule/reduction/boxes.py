"""Boxes of columns, some operands of which go through shared memory: the orders of dimensions in which they may be, how
they fit a block, and what they cost.

A block takes a box: neighbouring columns at several places of the second kept dimension, and some elements of each at a
time, or all.  Neighbouring threads read each operand along the dimension in which it is consecutive, so that requests
are for whole lines of memory; then each thread takes the elements of its own columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, prod
from typing import Literal

from kgen.records import dataclass, replace
from kgen.schedule.cost import Extents, Traffic, Walk, coarse, predict, run, touched
from kgen.schedule.elementwise.box_shapes import tile_shape
from kgen.schedule.elementwise.walks import DIVISION, arithmetic
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.column_chunks import with_second
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.schedule import BoxColumnSchedule
from kgen.schedule.search import overlapped
from kgen.schedule.target import SECTOR, WARP
from kgen.schedule.trace import leading


@dataclass(frozen=True, slots=True)
class BoxOrder:
    """``facts``: with the kept dimensions in the order of a box.  ``beside``, ``below``: as in the schedule."""

    facts: RowFacts
    beside: tuple[int, ...]
    below: tuple[int, ...]


def orders_beside(facts: RowFacts) -> Iterator[BoxOrder]:
    """Orders of the kept dimensions in which some operand is consecutive across columns, and one that is read along the
    second."""
    for there in _across(facts):
        for second in range(facts.reduced + 1, len(facts.space.shape)):
            order = _order(with_second(there, second), facts.reduced + 1)
            if order.beside:
                yield order


def orders_below(facts: RowFacts) -> Iterator[BoxOrder]:
    """The same where one is consecutive down columns; a block has one place of the other kept dimensions."""
    for there in _across(facts):
        order = _order(there)
        if order.below:
            yield order


def _across(facts: RowFacts) -> Iterator[RowFacts]:
    reduced = facts.reduced
    for first in range(reduced, len(facts.space.shape)):
        if any(facts.step_along(i, first) == 1 for i in (*facts.reads, *facts.written)):
            yield replace(facts, space=facts.space.with_first([*range(reduced), first]))


def _order(facts: RowFacts, beside: int | None = None) -> BoxOrder:
    """``beside``: the dimension along which a block has several places, if any."""
    found: list[int] = []
    below: list[int] = []
    for i in facts.reads:
        across, down = (abs(facts.step_along(i, d)) for d in (facts.reduced, 0))
        second = 0 if beside is None else abs(facts.step_along(i, beside))
        near = min((step for step in (across, second, down) if step), default=0)
        if across in (0, near) or near * facts.itemsizes[i] >= SECTOR:
            continue
        (found if near == second else below).append(i)
    return BoxOrder(facts, tuple(found), tuple(below))


def groups_across(facts: RowFacts) -> Iterator[int]:
    """Columns that a thread takes at once."""
    group, columns = 4, facts.space.shape[facts.reduced]
    while group > 1 and columns % group:
        group //= 2
    while group:
        yield group
        group //= 2


def places_beside(order: BoxOrder) -> tuple[int, ...]:
    """Places of the second kept dimension that a block may have: powers of two, or all of a few."""
    facts = order.facts
    extent = leading(facts.space.shape[facts.reduced + 1], facts.tuning.column_boxes.few_places.bit_length())
    found = [n for n in facts.tuning.column_boxes.places if n < 2 * extent]
    return (*found, *([extent] if extent not in found and extent <= facts.tuning.column_boxes.few_places else ()))


def is_even(schedule: BoxColumnSchedule) -> bool:
    """Whether threads cover whole lines of each boxed access, and a part of the columns, or these several times."""
    for i in schedule.boxed:
        lines, rest = divmod(schedule.block, schedule.line(i))
        if rest or not lines or (lines % schedule.columns and schedule.columns % lines):
            return False
        of_box = schedule.columns * (schedule.deep if i in schedule.beside else schedule.places)
        if of_box % lines:
            return False
    return True


def shared_bytes(facts: RowFacts, schedule: BoxColumnSchedule) -> int:
    """Bytes of shared memory of a block."""
    box = (schedule.columns, schedule.places, schedule.tile_rows)
    tiles = sum(prod(tile_shape(box, facts.itemsizes[i])) * facts.itemsizes[i] for i in schedule.boxed)
    states = schedule.block * schedule.group * facts.state_bytes if schedule.threads > 1 else 0
    return tiles + states


def box_index_bits(facts: RowFacts) -> Literal[32, 64]:
    """The width of offsets from an operand's first column to any element."""
    space = facts.space
    for i in facts.reads:
        span = sum((n - 1) * abs(s) for n, s in zip(space.shape, space.strides[i], strict=True))
        if (span + 1) * facts.itemsizes[i] >= 2**31:
            return 64
    return 32 if facts.rows < 2**31 and facts.width < 2**30 else 64


# --- predicted times ----------------------------------------------------------------------------------------


def seconds_of_boxes(facts: RowFacts, choice: Choice) -> float:
    """Seconds of one launch."""
    walk = boxes_walk(replace(facts, space=choice.space), choice)
    requests = sum(t.requests * touched(t) / prod(t.warp) for t in walk.traffic if t.reads) * prod(walk.space.shape)
    return with_requests(facts, predict(walk, facts.tuning.box_costs), requests)


def box_seconds(facts: RowFacts, choice: Choice) -> float:
    """The same beside other kernels: longer, as for columns of gathered elements; but not where elements are single
    bytes, whose copies take longer than predicted, too (*Boxes beside chunks*).
    """
    narrow = any(facts.itemsizes[i] == 1 for i in facts.reads)
    slower = 1 if narrow else facts.tuning.columns.slower_apart
    return facts.tuning.traffic.launch + slower * seconds_of_boxes(facts, choice)


def with_requests(facts: RowFacts, seconds: float, requests: float) -> float:
    tuning = facts.tuning
    return overlapped((seconds, requests / tuning.column_boxes.requests), tuning.box_costs.overlap)


def boxes_walk(facts: RowFacts, choice: Choice) -> Walk:
    """Boxes, each through all elements of its columns."""
    schedule, space, tuning = choice.schedule, coarse(choice.space), facts.tuning.column_boxes
    assert isinstance(schedule, BoxColumnSchedule)
    shape, rank, group = space.shape, len(space.shape), schedule.group
    columns, beside = schedule.reduced, schedule.reduced + 1
    found: list[Traffic] = []
    for i, planned in enumerate(schedule.accesses):
        size, vectors = facts.itemsizes[i], schedule.vectors
        if i in schedule.boxed:
            line = beside if i in schedule.beside else 0
            warp, requests, each = (
                _reach(shape, [(line, schedule.line(i)), (columns, WARP)], WARP),
                1.0,
                vectors * group,
            )
        else:
            sides = [(columns, schedule.columns), (beside, schedule.places), (0, schedule.threads)]
            warp, each = _reach(shape, sides, WARP * group), vectors
            whole = planned.kind == "vector" and planned.alignment >= min(16, group * size)
            requests = 1.0 if whole or planned.kind == "row" else float(group)
        found.append(
            Traffic(warp, requests, size, space.strides[i], facts.misaligned[i], facts.step.accesses[i].reads, each)
        )
    block = _reach(shape, [(0, shape[0]), (columns, schedule.columns), (beside, schedule.places)], prod(shape))
    boxed = len(schedule.boxed)
    loads = sum(2 * t.requests / group for i, t in enumerate(found) if t.reads and i not in schedule.boxed)
    start = (tuning.start + DIVISION[schedule.index_bits] * (rank - 2)) / (ceil(shape[0] / schedule.threads) * group)
    start += tuning.batch / (schedule.vectors * group)
    return Walk(
        space,
        block,
        (columns, *range(beside, rank), 0),
        found,
        tuning.barriers * (arithmetic(facts.step) + 2 * facts.rounds + loads + tuning.boxed * boxed + start),
        _used(schedule, facts),
        schedule.block,
        waits=1 + (schedule.threads > 1) * facts.rounds,
        shared=2.0 * boxed,
    )


def _used(schedule: BoxColumnSchedule, facts: RowFacts) -> float:
    """The fraction of lanes with work."""
    found = 1.0
    shape, bits = facts.space.shape, facts.tuning.column_boxes.few_places.bit_length()
    for dimension, side in (
        (0, schedule.deep),
        (facts.reduced, schedule.columns),
        (facts.reduced + 1, schedule.places),
    ):
        if side > 1:
            extent = leading(shape[dimension], bits)
            found *= extent / (ceil(extent / side) * side)
    return found


def _reach(shape: Sequence[int], sides: Sequence[tuple[int, int]], elements: float) -> Extents:
    """How far ``elements`` reach that fill sides one after the other: dimensions, and elements along them."""
    found: Extents = (1.0,) * len(shape)
    for dimension, side in sides:
        if dimension < len(shape):
            found = run(found, [dimension], [min(n, side) for n in shape], elements)
    return found
