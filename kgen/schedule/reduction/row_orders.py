"""Row kernels by other orders of rows, tiles of rows and threads a row than rules say, where these take less time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kgen.layout.iterator import IterationSpace
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.row_cost import row_seconds
from kgen.schedule.reduction.row_tiles import RowTiles, row_tiles
from kgen.schedule.reduction.rows import rows_in_order
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.search import fastest
from kgen.schedule.traffic import needed_bytes


def along_rows(facts: RowFacts) -> Choice:
    """The schedule of any kernel with reductions.

    Neighbouring rows are those of the order of the space.  Where that uses only a part of most sectors of memory, those
    of another operand's order, or more or fewer threads a row, if that is predicted to be faster.
    """
    usual, rates = rows_in_order(facts), facts.tuning.gathered_rates
    short = facts.along and facts.reduced == 1 and facts.width <= facts.tuning.staging.longest_across
    if short and (in_place := _read_in_place(facts, usual)) is not None:
        assert isinstance(usual.schedule, RowSchedule)
        if not usual.schedule.crosses:
            return in_place
        usual = in_place
    if not facts.bounded or not any(usual.schedule.accesses[i].kind == "gather" for i in facts.reads):
        return usual

    def seconds(choice: Choice) -> float:
        return row_seconds(facts, choice, rates)

    needed = needed_bytes(usual.space, facts.itemsizes)
    tuning = facts.tuning.traffic
    if seconds(usual) <= tuning.slow * (rates.launch + needed / rates.memory):
        return usual
    others = list(_by_other_threads(facts, usual))
    if len(facts.kept.shape) > 1:
        for i in facts.varying(facts.reads):
            near = _in_neighbours_of(facts, i)
            what = f"neighbours: a block takes rows that lie side by side in `{facts.names[i]}`"
            there = rows_in_order(near)
            found = [there, *_by_other_threads(near, there)]
            others += [replace(choice, reasons=(*choice.reasons, what)) for choice in found]
        others += _in_tiles(facts)
    # Of few elements, other rules know more than these predictions.
    return _cheapest(usual, others, tuning.gain if facts.is_few else facts.tuning.rows.gain_in_place, seconds)


def _cheapest(usual: Choice, others: Sequence[Choice], gain: float, seconds: Callable[[Choice], float]) -> Choice:
    """The usual choice, or the one with the least predicted ``seconds``, if less than ``gain`` of the usual one's, and
    by half a microsecond: a norm of 698,400 elements 4.3 us, 5.2 with what was predicted to gain 0.4."""
    taken = seconds(usual)
    found = fastest(others, seconds, min(gain * taken, taken - 0.5e-6))
    return usual if found is None else found[1]


def _read_in_place(facts: RowFacts, usual: Choice) -> Choice | None:
    """The usual schedule, or one that reads rows in place, with so many threads a row; None where rows are not staged,
    or shared by several threads beside operands that run across rows.

    Where results depend on the threads, or no call is known yet, the number of rows decides nothing: they are taken for
    many.
    """
    many = facts if facts.bounded and facts.may_depend_on_rows else replace(facts, space=_of_many_rows(facts))
    staged = usual if many is facts else rows_in_order(many)
    schedule, tuning = staged.schedule, facts.tuning.rows
    assert isinstance(schedule, RowSchedule)
    if not schedule.stages or (schedule.crosses and schedule.threads > 1):
        return None
    others = list(_in_place(many))
    rates = facts.tuning.staged_rates
    best = _cheapest(staged, others, tuning.gain_in_place, lambda choice: row_seconds(many, choice, rates))
    assert isinstance(best.schedule, RowSchedule)
    return usual if best is staged else rows_in_order(facts, best.schedule.threads)


def _of_many_rows(facts: RowFacts) -> IterationSpace:
    """The space with rows enough to keep a device busy."""
    width, *others = facts.space.shape
    many = max(facts.tuning.rows.many_elements // max(width, 1), 1)
    return replace(facts.space, shape=(width, *(many for _ in others)))


def _by_other_threads(facts: RowFacts, usual: Choice) -> Iterator[Choice]:
    """:func:`_in_place`, where results may depend on that; not beside staged rows that several threads share."""
    schedule = usual.schedule
    assert isinstance(schedule, RowSchedule)
    if not facts.is_few and facts.may_depend_on_rows and not (schedule.stages and schedule.threads > 1):
        yield from _in_place(facts)


def _in_place(facts: RowFacts) -> Iterator[Choice]:
    """The schedules that read rows in place, by several numbers of threads a row."""
    tuning = facts.tuning.rows
    for threads in tuning.sharers if facts.along and not facts.segment else ():
        each = -(-facts.width // threads)
        fits = each <= tuning.elements and each * facts.bytes_of(facts.reads) <= tuning.kept_bytes
        if fits and (each > 1 or threads == 1):
            yield rows_in_order(facts, threads)


def _in_tiles(facts: RowFacts) -> Iterator[Choice]:
    """Schedules of rows that lie side by side in two operands, along different dimensions."""
    tuning = facts.tuning.rows
    if facts.segment or facts.is_few or not facts.may_depend_on_rows:
        return
    for places in tuning.tile_places:
        for tiles in row_tiles(facts, places):
            for threads in tuning.sharers:
                yield from _tiled(tiles, threads)


def _tiled(tiles: RowTiles, threads: int) -> Iterator[Choice]:
    """By so many threads a row, if these can keep it."""
    facts, tuning = tiles.facts, tiles.facts.tuning.rows
    each = -(-facts.width // threads)
    if each > tuning.elements or each * facts.bytes_of(facts.reads) > tuning.kept_bytes or (each == 1 < threads):
        return
    choice = rows_in_order(facts, threads)
    schedule = choice.schedule
    assert isinstance(schedule, RowSchedule)
    if schedule.stages or schedule.split or schedule.anchor is not None:
        return
    near = " and in ".join(f"`{facts.names[i]}`" for i in (tiles.first, tiles.second))
    what = f"neighbours: a block takes rows that lie side by side in {near}"
    block = tuning.tile_block * (2 if facts.written else 1)
    tiled = replace(schedule, block=block, chunk=tiles.chunk, chunked=tiles.chunked)
    yield replace(choice, schedule=tiled, reasons=(*choice.reasons, what))


def _in_neighbours_of(facts: RowFacts, access: int) -> RowFacts:
    """The facts where neighbouring rows are those that are neighbours in one operand."""
    space, kept = facts.space, range(facts.reduced, len(facts.space.shape))
    near = sorted(kept, key=lambda d: abs(space.strides[access][d]))
    return replace(facts, space=space.with_first([*range(facts.reduced), *near]))
