"""Column kernels that read some operands by way of shared memory: those that are consecutive along a second kept
dimension, and beside these those that are so down columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from kgen.partition.column_sums import BLOCKS
from kgen.records import replace
from kgen.schedule.cost import pieces, predict
from kgen.schedule.elementwise.reasons import listed
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.boxes import (
    BoxOrder,
    box_index_bits,
    groups_across,
    is_even,
    orders_beside,
    places_beside,
    seconds_of_boxes,
    shared_bytes,
    with_requests,
)
from kgen.schedule.reduction.column_choice import column_accesses, is_plain_columns
from kgen.schedule.reduction.column_search import plain_seconds
from kgen.schedule.reduction.columns import down_columns
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.reasons import common_reasons
from kgen.schedule.reduction.schedule import BoxColumnSchedule, ColumnSchedule
from kgen.schedule.reduction.walks import columns_walk
from kgen.schedule.search import fastest
from kgen.schedule.target import LINE, SECTOR, WARP, WORD


def boxed_columns(facts: RowFacts) -> Choice | None:
    """The schedule of a kernel that reads columns through boxes, or of one without them if that is predicted to be
    faster; None where no operand lies so that boxes could be, or rows are taken along memory.
    """
    found = fastest(_choices(facts), lambda choice: seconds_of_boxes(facts, choice), doubt=facts.tuning.doubt)
    usual = None if found is None else down_columns(facts)
    if found is None or usual is None:
        return None
    seconds, choice = found
    if not _is_faster(facts, seconds, usual):
        return usual
    return replace(choice, seconds=seconds)


def _is_faster(facts: RowFacts, seconds: float, usual: Choice) -> bool:
    """Whether boxes that take so many seconds are faster than columns without.  Merges of blocks that share columns are
    not predicted.
    """
    schedule = usual.schedule
    assert isinstance(schedule, ColumnSchedule)
    if schedule.split:
        return False
    tuning = facts.tuning.column_boxes
    limit = _usual_seconds(facts, usual, schedule) * (tuning.slower_chunks if schedule.chunk else 1)
    if _reads_bytes_singly(facts, usual, schedule):
        limit = max(limit, tuning.slower_bytes * plain_seconds(facts, usual))
    return seconds < limit


def _reads_bytes_singly(facts: RowFacts, usual: Choice, schedule: ColumnSchedule) -> bool:
    """Whether chunks of columns read bytes one by one, and the next element of a column is in another page of memory,
    of these or of what is gathered.
    """
    narrow = {i for i in facts.reads if facts.itemsizes[i] == 1}
    gathered = {i for i in facts.reads if schedule.accesses[i].kind == "gather"}
    steps = (abs(usual.space.strides[i][0]) * facts.itemsizes[i] for i in narrow | gathered)
    return schedule.chunk > 0 and bool(narrow) and max(steps) >= facts.tuning.column_boxes.page_bytes


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
    return with_requests(facts, seconds, requests * prod(walk.space.shape) / prod(walk.block))


# --- candidates ---------------------------------------------------------------------------------------------


def _choices(facts: RowFacts) -> Iterator[Choice]:
    """Every box that fits."""
    tuning = facts.tuning.column_boxes
    plain = facts.bounded and not facts.is_few and facts.reduced == 1 and is_plain_columns(facts)
    if not plain or facts.only_along_rows or not facts.may_depend_on_rows or BLOCKS in facts.step.shape:
        return
    if facts.width < tuning.shortest:
        return
    # Where the others are only consecutive down columns, threads transpose them in registers as fast (*Boxes of
    # columns*).
    for order in filter(None, map(_of_columns, orders_beside(facts))):
        for group in groups_across(order.facts):
            for lanes, places, threads, vectors in product(
                tuning.lanes, places_beside(order), tuning.threads, tuning.vectors
            ):
                choice = _choice(order, group, (lanes, places, threads, vectors))
                if choice is not None:
                    yield choice


def _of_columns(order: BoxOrder) -> BoxOrder | None:
    """The order without operands that are the same down columns, which are read once for each; None where no other is
    read along the second dimension.
    """
    beside = tuple(i for i in order.beside if order.facts.step_along(i, 0))
    return replace(order, beside=beside) if beside else None


def _choice(order: BoxOrder, group: int, shape: tuple[int, int, int, int]) -> Choice | None:
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
        box_index_bits(facts),
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
    if not is_even(schedule) or shared_bytes(facts, schedule) > tuning.shared_bytes:
        return None
    return Choice(schedule, facts.space, _reasons(facts, schedule))


def _reasons(facts: RowFacts, schedule: BoxColumnSchedule) -> tuple[str, ...]:
    sides = schedule.columns, schedule.places, schedule.deep
    names = listed([facts.names[i] for i in schedule.boxed])
    what = f"boxes of columns: {names} consecutive along another dimension, read in that order by boxes of "
    share = f"{schedule.threads} threads share each" if schedule.threads > 1 else "a thread has each"
    several = f"group of {schedule.group} columns" if schedule.group > 1 else "column"
    return (what + " x ".join(map(str, sides)), f"{share} {several}", *common_reasons(schedule))
