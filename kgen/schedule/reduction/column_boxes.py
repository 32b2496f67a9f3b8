"""Column kernels that read some operands by way of shared memory: those that are consecutive along a second kept
dimension, and beside these those that are so down columns.

A block takes a box: neighbouring columns at several places of the second dimension, and some elements of each at a
time.  Neighbouring threads read each operand along the dimension in which it is consecutive, so that requests are for
whole lines of memory; then each thread takes the elements of its own columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import ceil, prod
from typing import Literal

from kgen.partition.column_sums import BLOCKS
from kgen.records import dataclass, replace
from kgen.schedule.cost import Extents, Traffic, Walk, coarse, pieces, predict, run, touched
from kgen.schedule.elementwise.box_shapes import tile_shape
from kgen.schedule.elementwise.reasons import listed
from kgen.schedule.elementwise.walks import DIVISION, arithmetic
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.column_choice import column_accesses, is_plain_columns
from kgen.schedule.reduction.column_chunks import with_second
from kgen.schedule.reduction.columns import down_columns
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.reasons import common_reasons
from kgen.schedule.reduction.schedule import BoxColumnSchedule, ColumnSchedule
from kgen.schedule.reduction.walks import columns_walk
from kgen.schedule.search import fastest, overlapped
from kgen.schedule.target import LINE, SECTOR, WARP, WORD
from kgen.schedule.trace import leading


@dataclass(frozen=True, slots=True)
class _Order:
    """``facts``: with the kept dimensions in the order of a box.  ``beside``, ``below``: as in the schedule."""

    facts: RowFacts
    beside: tuple[int, ...]
    below: tuple[int, ...]


def boxed_columns(facts: RowFacts) -> Choice | None:
    """The schedule of a kernel that reads columns through boxes, or of one without them if that is predicted to be
    faster; None where no operand lies so that boxes could be, or rows are taken along memory.
    """
    found = fastest(_choices(facts), lambda choice: _seconds(facts, choice))
    usual = None if found is None else down_columns(facts)
    if found is None or usual is None:
        return None
    seconds, choice = found
    if not _is_faster(facts, seconds, usual):
        return usual
    return replace(choice, seconds=facts.tuning.columns.slower_apart * seconds)


def _is_faster(facts: RowFacts, seconds: float, usual: Choice) -> bool:
    """Whether boxes that take so many seconds are faster than columns without.  Merges of blocks that share columns are
    not predicted.
    """
    schedule = usual.schedule
    assert isinstance(schedule, ColumnSchedule)
    return not schedule.split and seconds < _usual_seconds(facts, usual, schedule)


def _usual_seconds(facts: RowFacts, usual: Choice, schedule: ColumnSchedule) -> float:
    """Of one launch, with its requests to L2: one for a part of a line takes as long as one for a whole one (*Boxes of
    columns*).
    """
    walk = columns_walk(replace(facts, space=usual.space), usual)
    requests = 0.0
    for t, planned in zip(walk.traffic, schedule.accesses, strict=True):
        if planned.kind == "gather" and t.reads:  # for those sectors of a line that a warp needs at a time
            at_once = pieces(t, t.warp, SECTOR) / pieces(t, t.warp, LINE)
            requests += pieces(t, walk.block, SECTOR) / at_once
        elif t.reads:
            requests += pieces(t, walk.block, LINE)
    seconds = predict(walk, facts.tuning.box_costs)
    return _with_requests(facts, seconds, requests * prod(walk.space.shape) / prod(walk.block))


def _with_requests(facts: RowFacts, seconds: float, requests: float) -> float:
    tuning = facts.tuning
    return overlapped((seconds, requests / tuning.column_boxes.requests), tuning.box_costs.overlap)


# --- candidates ---------------------------------------------------------------------------------------------


def _choices(facts: RowFacts) -> Iterator[Choice]:
    """Every box that fits."""
    tuning = facts.tuning.column_boxes
    plain = facts.bounded and not facts.is_few and facts.reduced == 1 and is_plain_columns(facts)
    if not plain or facts.only_along_rows or not facts.may_depend_on_rows or BLOCKS in facts.step.shape:
        return
    if facts.width < tuning.shortest:
        return
    for order in _orders(facts):
        for group in _groups(order.facts):
            for lanes, places, threads, vectors in product(
                tuning.lanes, _places(order), tuning.threads, tuning.vectors
            ):
                choice = _choice(order, group, (lanes, places, threads, vectors))
                if choice is not None:
                    yield choice


def _orders(facts: RowFacts) -> Iterator[_Order]:
    """Orders of the kept dimensions in which some operand is consecutive across columns, and another one along the
    second.  Where the others are only so down columns, threads transpose them in registers as fast (*Boxes of
    columns*).
    """
    reduced, rank = facts.reduced, len(facts.space.shape)
    kept = range(reduced, rank)
    for first in kept:
        if not any(facts.step_along(i, first) == 1 for i in facts.reads):
            continue
        there = replace(facts, space=facts.space.with_first([*range(reduced), first]))
        for second in range(reduced + 1, rank):
            order = _order(with_second(there, second))
            if order.beside:
                yield order


def _order(facts: RowFacts) -> _Order:
    beside: list[int] = []
    below: list[int] = []
    for i in facts.reads:
        across, second, down = (abs(facts.step_along(i, d)) for d in (facts.reduced, facts.reduced + 1, 0))
        near = min((step for step in (across, second, down) if step), default=0)
        if across in (0, near) or near * facts.itemsizes[i] >= SECTOR:
            continue
        (beside if near == second else below).append(i)
    return _Order(facts, tuple(beside), tuple(below))


def _groups(facts: RowFacts) -> Iterator[int]:
    """Columns that a thread takes at once."""
    group, columns = 4, facts.space.shape[facts.reduced]
    while group > 1 and columns % group:
        group //= 2
    while group:
        yield group
        group //= 2


def _places(order: _Order) -> tuple[int, ...]:
    """Places of the second kept dimension that a block may have: powers of two, or all of a few."""
    facts = order.facts
    extent = leading(facts.space.shape[facts.reduced + 1], facts.tuning.column_boxes.few_places.bit_length())
    found = [n for n in facts.tuning.column_boxes.places if n < 2 * extent]
    return (*found, *([extent] if extent not in found and extent <= facts.tuning.column_boxes.few_places else ()))


def _choice(order: _Order, group: int, shape: tuple[int, int, int, int]) -> Choice | None:
    """The schedule of a box; None where it does not fit.  ``shape``: lanes, places, threads and vectors."""
    facts, (lanes, places, threads, vectors) = order.facts, shape
    tuning, block = facts.tuning.column_boxes, lanes * places * threads
    height, columns = facts.width, facts.space.shape[facts.reduced]
    if not tuning.fewest_threads <= block <= tuning.most_threads or block % WARP:
        return None
    if lanes * group >= 2 * columns or threads * vectors >= 2 * height:
        return None
    registers = group * vectors * sum(-(-facts.itemsizes[i] // WORD) for i in facts.reads)
    if registers > tuning.registers or (group > 1 and vectors * group > tuning.most_elements):
        return None
    schedule = BoxColumnSchedule(
        "column_boxes",
        block,
        group,
        len(facts.space.shape),
        _index_bits(facts),
        column_accesses(facts, group),
        facts.coordinates,
        target=facts.target,
        threads=threads,
        vectors=vectors,
        reduced=facts.reduced,
        loops=True,
        columnwise=tuple(i for i in facts.reads if facts.step_along(i, 0)),
        lanes=lanes,
        places=places,
        beside=order.beside,
        below=order.below,
    )
    if not _is_even(schedule) or _shared_bytes(facts, schedule) > tuning.shared_bytes:
        return None
    return Choice(schedule, facts.space, _reasons(facts, schedule))


def _is_even(schedule: BoxColumnSchedule) -> bool:
    """Whether threads cover whole lines of each boxed access, and a part of the columns, or these several times."""
    for i in schedule.boxed:
        lines, rest = divmod(schedule.block, schedule.line(i))
        if rest or not lines or (lines % schedule.columns and schedule.columns % lines):
            return False
    return True


def _shared_bytes(facts: RowFacts, schedule: BoxColumnSchedule) -> int:
    """Bytes of shared memory of a block."""
    box = (schedule.columns, schedule.places, schedule.deep)
    tiles = sum(prod(tile_shape(box, facts.itemsizes[i])) * facts.itemsizes[i] for i in schedule.boxed)
    states = schedule.block * schedule.group * facts.state_bytes if schedule.threads > 1 else 0
    return tiles + states


def _index_bits(facts: RowFacts) -> Literal[32, 64]:
    """The width of offsets from an operand's first column to any element."""
    space = facts.space
    for i in facts.reads:
        span = sum((n - 1) * abs(s) for n, s in zip(space.shape, space.strides[i], strict=True))
        if (span + 1) * facts.itemsizes[i] >= 2**31:
            return 64
    return 32 if facts.rows < 2**31 and facts.width < 2**30 else 64


def _reasons(facts: RowFacts, schedule: BoxColumnSchedule) -> tuple[str, ...]:
    sides = schedule.columns, schedule.places, schedule.deep
    names = listed([facts.names[i] for i in schedule.boxed])
    what = f"boxes of columns: {names} consecutive along another dimension, read in that order by boxes of "
    share = f"{schedule.threads} threads share each" if schedule.threads > 1 else "a thread has each"
    several = f"group of {schedule.group} columns" if schedule.group > 1 else "column"
    return (what + " x ".join(map(str, sides)), f"{share} {several}", *common_reasons(schedule))


# --- predicted times ----------------------------------------------------------------------------------------


def _seconds(facts: RowFacts, choice: Choice) -> float:
    """Seconds of one launch."""
    walk = _walk(replace(facts, space=choice.space), choice)
    requests = sum(t.requests * touched(t) / prod(t.warp) for t in walk.traffic if t.reads) * prod(walk.space.shape)
    return _with_requests(facts, predict(walk, facts.tuning.box_costs), requests)


def box_seconds(facts: RowFacts, choice: Choice) -> float:
    """The same beside other kernels: by the rates that columns of gathered elements are predicted with."""
    return facts.tuning.traffic.launch + facts.tuning.columns.slower_apart * _seconds(facts, choice)


def _walk(facts: RowFacts, choice: Choice) -> Walk:
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
