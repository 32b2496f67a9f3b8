"""Row kernels by other orders of rows, tiles of rows and threads a row than rules say, where these take less time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kgen.layout.iterator import IterationSpace
from kgen.records import replace
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
    if short:
        usual = _read_in_place(facts, usual) or usual
    gathers = any(usual.schedule.accesses[i].kind == "gather" for i in facts.reads)
    if not facts.bounded or not (gathers or (short and _lie_apart(facts))):
        return usual

    def seconds(choice: Choice) -> float:
        return row_seconds(facts, choice, rates)

    needed = needed_bytes(usual.space, facts.itemsizes)
    tuning = facts.tuning.traffic
    if seconds(usual) <= tuning.slow * (rates.launch + needed / rates.memory):
        return usual
    # Of few elements, other rules know more than these predictions.
    gain = tuning.gain if facts.is_few else facts.tuning.rows.gain_in_place
    others = [*_staged(facts), *(_by_other_threads(facts, usual) if gathers else ())]
    best = _cheapest(facts, usual, others, gain, seconds)
    # What is written out of order costs more than they say.
    gain = tuning.gain if facts.written and not gathers else gain
    return _cheapest(facts, best, list(_in_other_orders(facts)), gain, seconds)


def _cheapest(
    facts: RowFacts, usual: Choice, others: Sequence[Choice], gain: float, seconds: Callable[[Choice], float]
) -> Choice:
    """The usual choice, or the one with the least predicted ``seconds``, if less than ``gain`` of the usual one's, and
    by half a microsecond: a norm of 698,400 elements 4.3 us, 5.2 with what was predicted to gain 0.4."""
    taken = seconds(usual)
    found = fastest(others, seconds, min(gain * taken, taken - 0.5e-6), doubt=facts.tuning.doubt)
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
    best = _cheapest(facts, staged, others, tuning.gain_in_place, lambda choice: row_seconds(many, choice, rates))
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


def _staged(facts: RowFacts) -> Iterator[Choice]:
    """The schedules that stage dense rows, and read others in place, where results may depend on that."""
    may = facts.along and not (facts.segment or facts.is_few) and facts.may_depend_on_rows
    for threads in facts.tuning.rows.sharers if may else ():
        choice = rows_in_order(facts, threads, stages=True)
        assert isinstance(choice.schedule, RowSchedule)
        if choice.schedule.stages:
            yield choice


def _in_place(facts: RowFacts) -> Iterator[Choice]:
    """The schedules that read rows in place, by several numbers of threads a row."""
    tuning = facts.tuning.rows
    for threads in tuning.sharers if facts.along and not facts.segment else ():
        each = -(-facts.width // threads)
        fits = each <= tuning.elements and each * facts.bytes_of(facts.reads) <= tuning.kept_bytes
        if fits and (each > 1 or threads == 1):
            yield rows_in_order(facts, threads)


def _in_other_orders(facts: RowFacts) -> Iterator[Choice]:
    """The schedules of rows that follow each other as in one operand, or as in two."""
    if len(facts.kept.shape) == 1:
        return
    for i, near in _in_neighbours(facts):
        what = f"neighbours: a block takes rows that lie side by side in `{facts.names[i]}`"
        there = rows_in_order(near)
        for choice in (there, *_by_other_threads(near, there), *_staged(near)):
            yield replace(choice, reasons=(*choice.reasons, what))
    yield from _in_tiles(facts)


def _in_tiles(facts: RowFacts) -> Iterator[Choice]:
    """Schedules of rows that lie side by side in two operands, along different dimensions."""
    tuning = facts.tuning.rows
    if facts.segment or facts.is_few or not facts.may_depend_on_rows:
        return
    for places in (tuning.fewest_places, *tuning.tile_places):
        for tiles in row_tiles(facts, places):
            if places > tuning.fewest_places or facts.is_consecutive(tiles.first):
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


def _lie_apart(facts: RowFacts) -> bool:
    """Whether neighbouring rows of one operand are not those of another."""
    steps = [[abs(s) for s in strides[facts.reduced :] if s] for strides in facts.space.strides]
    return any(of != sorted(of) for of in steps)


def _in_neighbours(facts: RowFacts) -> Iterator[tuple[int, RowFacts]]:
    """The facts where neighbouring rows are those that are neighbours in one operand, which differs between all rows;
    with that operand, the first one of each order.
    """
    space, kept = facts.space, range(facts.reduced, len(facts.space.shape))
    orders: dict[tuple[int, ...], int] = {}
    for i, strides in enumerate(space.strides):
        if all(strides[d] for d in kept):
            orders.setdefault(tuple(sorted(kept, key=lambda d: abs(strides[d]))), i)
    for near, i in orders.items():
        yield i, replace(facts, space=space.with_first([*range(facts.reduced), *near]))
