"""Chains of reductions down columns that threads keep in registers, where operands are consecutive along different
dimensions: those that are not so across columns come through boxes in shared memory.

A softmax over axis 0 of ``x + y`` with y transposed: neighbouring threads take neighbouring columns of x and of the
result, and read y down its columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, prod

from kgen.partition.column_sums import BLOCKS
from kgen.records import replace
from kgen.schedule.cost import count, pieces
from kgen.schedule.elementwise.reasons import listed
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.boxes import (
    BoxOrder,
    box_index_bits,
    boxes_walk,
    groups_across,
    is_even,
    orders_below,
    orders_beside,
    places_beside,
    shared_bytes,
)
from kgen.schedule.reduction.column_choice import column_accesses
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.reasons import common_reasons
from kgen.schedule.reduction.resident_columns import resident_mapping
from kgen.schedule.reduction.row_cost import row_seconds
from kgen.schedule.reduction.row_orders import along_rows
from kgen.schedule.reduction.schedule import BoxColumnSchedule
from kgen.schedule.search import fastest, overlapped
from kgen.schedule.target import LINE, WARP, WORD

#: Bytes of shared memory that each block takes beside its own.
RESERVED = 1 << 10


def resident_boxes(facts: RowFacts) -> Choice | None:
    """The schedule of a kernel that keeps columns, some of them out of boxes; None where no operand lies so that boxes
    could be, or kernels along rows are predicted to be as fast."""
    if not _may_apply(facts):
        return None
    found = fastest(_choices(facts), lambda choice: kept_seconds(facts, choice), doubt=facts.tuning.doubt)
    if found is None:
        return None
    seconds, choice = found
    rows, tuning = row_seconds(facts, along_rows(facts), facts.tuning.gathered_rates), facts.tuning.resident_boxes
    most = min(tuning.gain * rows, rows - tuning.gain_of_few) if facts.is_few else tuning.gain * rows
    return replace(choice, seconds=seconds) if seconds < most else None


def _may_apply(facts: RowFacts) -> bool:
    """Whether a chain of rounds reduces one dimension, who takes which elements may depend on how many columns there
    are, and kernels that keep columns do not read all operands across these."""
    if not facts.bounded or facts.reduced != 1 or facts.is_plain or facts.only_along_rows:
        return False
    if not facts.may_depend_on_rows or BLOCKS in facts.step.shape or not facts.space.numel:
        return False
    return resident_mapping(facts) is None


def _choices(facts: RowFacts) -> Iterator[Choice]:
    """Every box that fits."""
    tuning = facts.tuning.resident_boxes
    for order in (*orders_below(facts), *orders_beside(facts)):
        if not all(order.facts.step_along(i, facts.reduced) == 1 for i in facts.written):
            continue
        for group in groups_across(order.facts):
            places = places_beside(order) if order.beside else (1,)
            for lanes, place, threads in product(facts.tuning.column_boxes.lanes, places, tuning.threads):
                choice = _choice(order, group, lanes, place, threads)
                if choice is not None:
                    yield choice


def _choice(order: BoxOrder, group: int, lanes: int, places: int, threads: int) -> Choice | None:
    """The schedule of a box; None where it does not fit."""
    facts, block = order.facts, lanes * places * threads
    tuning, height, columns = facts.tuning.resident_boxes, facts.width, facts.space.shape[facts.reduced]
    if not tuning.fewest_threads <= block <= tuning.most_threads or block % WARP:
        return None
    if lanes * group >= 2 * columns or threads >= 2 * height:
        return None
    vectors = ceil(height / threads)
    schedule = BoxColumnSchedule(
        "resident_boxes",
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
        columnwise=tuple(i for i, varies in enumerate(facts.varies) if varies),
        lanes=lanes,
        places=places,
        beside=order.beside,
        below=order.below,
    )
    if _registers(facts, schedule) > tuning.registers:
        return None
    pieces_beside = [places * facts.itemsizes[i] for i in order.beside]
    if order.beside and max(pieces_beside) < tuning.fewest_bytes:
        return None
    if not is_even(schedule) or shared_bytes(facts, schedule) > tuning.shared_bytes:
        return None
    return Choice(schedule, facts.space, _reasons(facts, schedule))


def kept_seconds(facts: RowFacts, choice: Choice) -> float:
    """Seconds of one launch.

    Blocks load whole columns, wait for these, and write: few warps on an SM leave memory idle while they wait, and a
    block that is alone there does one thing after the other.
    """
    schedule, rates = choice.schedule, facts.tuning.resident_box_rates
    assert isinstance(schedule, BoxColumnSchedule)
    walk = boxes_walk(replace(facts, space=choice.space), choice)
    counts = count(walk, facts.tuning.box_costs)
    written = sum(LINE * pieces(t, walk.block, LINE) for t in walk.traffic if not t.reads)
    resident = _resident_blocks(facts, schedule, counts.blocks)
    waiting = 1 + rates.hiding_warps / (resident * schedule.block / WARP)
    parts = (
        waiting * counts.memory / rates.memory,
        counts.l2 / rates.l2,
        written * prod(walk.space.shape) / prod(walk.block) / rates.written,
        waiting * counts.instructions / rates.issue,
        counts.shared / rates.shared,
    )
    return rates.launch + (1 + rates.alone / max(1, resident)) * overlapped(parts, rates.overlap)


def _resident_blocks(facts: RowFacts, schedule: BoxColumnSchedule, blocks: float) -> float:
    """Blocks of an SM."""
    rates, warps = facts.tuning.resident_box_rates, schedule.block // WARP
    registers = min(rates.own_registers + _registers(facts, schedule), rates.registers // schedule.block)
    fits = (
        rates.blocks,
        rates.warps // warps,
        rates.registers // (ceil(registers / 8) * 8 * schedule.block),
        rates.shared_bytes // (shared_bytes(facts, schedule) + RESERVED),
    )
    return min(max(1, min(fits)), blocks / rates.multiprocessors)


def _registers(facts: RowFacts, schedule: BoxColumnSchedule) -> int:
    """Registers of a thread for what it loads at once and keeps."""
    return schedule.group * schedule.vectors * (1 + sum(ceil(facts.itemsizes[i] / WORD) for i in facts.reads))


def _reasons(facts: RowFacts, schedule: BoxColumnSchedule) -> tuple[str, ...]:
    names = listed([facts.names[i] for i in schedule.boxed])
    what = f"boxes of columns: {names} consecutive along another dimension, read in that order by boxes of "
    places = f"{schedule.columns} x {schedule.places}" if schedule.places > 1 else f"{schedule.columns}"
    sides = f"{places} columns, all {facts.width} elements of each"
    share = f"{schedule.threads} threads share each" if schedule.threads > 1 else "a thread has each"
    several = f"group of {schedule.group} columns" if schedule.group > 1 else "column"
    kept = f"{share} {several} and keep{'' if schedule.threads > 1 else 's'} it in registers: one pass over memory"
    return (what + sides, kept, *common_reasons(schedule))
