"""Other ways to walk columns, and the one with the least predicted time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from math import ceil

from kgen.records import dataclass, replace
from kgen.schedule.cost import coarse, predict
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.column_choice import choice_of
from kgen.schedule.reduction.column_chunks import with_second
from kgen.schedule.reduction.column_mapping import ColumnDemand, ColumnMapping, mapping_of
from kgen.schedule.reduction.column_tiles import down_columns_only, is_of_one_column, run_length
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.schedule import ColumnSchedule
from kgen.schedule.reduction.walks import columns_walk
from kgen.schedule.search import fastest
from kgen.schedule.target import SECTOR, WORD
from kgen.schedule.traffic import needed_bytes

#: Threads across and down columns; those of chunks.
_BLOCKS = ((256, 1), (128, 2), (64, 4), (32, 8), (16, 16), (8, 32))
_WIDE = _BLOCKS[:3]
#: Elements of a column in flight a thread, the first that fits; and groups of a chunk of columns.
_FLYING, _CHUNKS = (8, 4, 2), (4, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class ColumnWay:
    """Blocks of ``lanes`` threads across groups of ``group`` columns and ``threads`` down, with at most ``most``
    elements of each column in flight a thread.  ``facts``: with the kept dimensions in the order in which columns are
    numbered.  ``chunk``: as in :class:`ColumnMapping`.  ``run``: elements of transposed operands that a thread takes at
    once; 0 without these.
    """

    facts: RowFacts
    group: int
    run: int
    lanes: int
    threads: int
    most: int
    chunk: int
    split: bool = False

    def mapping(self, facts: RowFacts) -> ColumnMapping:
        if self.run:
            return ColumnMapping(self.lanes, self.threads, self.run, True, self.split, chunk=self.chunk, tiled=True)
        return mapping_of(
            ColumnDemand(facts, self.group), self.lanes, self.threads, self.most, self.chunk, split=self.split
        )

    def choice(self) -> Choice:
        return choice_of(self.facts, self.group, self.mapping(self.facts))


def column_seconds(facts: RowFacts, choice: Choice) -> float:
    """Seconds of one launch, as predicted: :func:`plain_seconds`, and more where operands lie apart."""
    assert isinstance(choice.schedule, ColumnSchedule)
    apart = choice.schedule.chunk or any(choice.schedule.accesses[i].kind == "gather" for i in facts.reads)
    return (facts.tuning.columns.slower_apart if apart else 1) * plain_seconds(facts, choice)


def plain_seconds(facts: RowFacts, choice: Choice) -> float:
    """The same by what it moves and computes alone, wherever operands lie."""
    there = facts if choice.space is facts.space else replace(facts, space=choice.space)
    return predict(columns_walk(there, choice), facts.tuning.chunk_costs)


def least_seconds(facts: RowFacts) -> float:
    """Seconds that the bytes of all operands need."""
    space, model = coarse(facts.space), facts.tuning.chunk_costs
    return model.launch + model.wait + needed_bytes(space, facts.itemsizes) / model.memory


def fastest_columns(facts: RowFacts, widest: int, usual: ColumnSchedule | None = None) -> Choice | None:
    """The way with the least predicted time; None if no way applies.  ``widest``: columns that a thread takes at once,
    at most.  ``usual``: what ways take the place of, if any; see :func:`_may_replace`."""
    ways = (way for alike in _ways(facts, widest, usual) for way in _with_choices(alike))
    found = fastest(ways, lambda way: column_seconds(way[0].facts, way[1]), doubt=facts.tuning.doubt)
    return None if found is None else replace(found[1][0].choice(), seconds=found[0])


def _with_choices(ways: Sequence[ColumnWay]) -> Iterator[tuple[ColumnWay, Choice]]:
    """Ways whose operands are accessed alike, each with its schedule for coarse extents."""
    alike, sample = replace(ways[0].facts, space=coarse(ways[0].facts.space)), ways[0].choice()
    assert isinstance(sample.schedule, ColumnSchedule)
    for way in ways:
        one = way.mapping(alike)
        schedule = replace(
            sample.schedule,
            block=one.lanes * one.threads,
            threads=one.threads,
            vectors=one.vectors,
            chunk=one.chunk,
            split=one.split,
        )
        yield way, replace(sample, schedule=schedule)


def flying_registers(facts: RowFacts, schedule: ColumnSchedule) -> int:
    """Registers that the loads in flight of a thread take: one for each element that is loaded alone."""
    found = 0
    for i in facts.reads:
        planned, size = schedule.accesses[i], facts.itemsizes[i]
        whole = planned.kind in ("vector", "transposed") and planned.alignment >= min(WORD, schedule.group * size)
        each = ceil(schedule.group * size / WORD) if whole else schedule.group * ceil(size / WORD)
        found += schedule.vectors * (1 if planned.kind == "row" else each)
    return found


def _ways(facts: RowFacts, widest: int, usual: ColumnSchedule | None) -> Iterator[list[ColumnWay]]:
    """All ways, those together whose operands are accessed alike."""
    orders = [(facts, False), *((with_second(facts, d), True) for d in _sharing_sectors(facts))]
    for (order, may_chunk), n in product(orders, range(widest.bit_length())):
        columns = ColumnDemand(replace(order, space=coarse(order.space)), widest >> n)
        for run in _runs(order, columns.group):
            found = _shapes(order, columns, run, may_chunk=may_chunk)
            if ways := [way for way in found if usual is None or _may_replace(way, usual)]:
                yield ways


def _shapes(facts: RowFacts, columns: ColumnDemand, run: int, *, may_chunk: bool) -> Iterator[ColumnWay]:
    """Each shape of blocks, with as many elements in flight as fit.  ``run``: as in :class:`ColumnWay`.  ``may_chunk``:
    whether chunks may be of use."""
    alone = facts.width if run and facts.reduced == 1 and 1 < facts.width <= columns.whole else run
    shapes = [(*block, 0, split) for block in _BLOCKS for split in (False, True)]
    shapes += [(*block, chunk, False) for block in _WIDE for chunk in _CHUNKS if may_chunk]
    for lanes, threads, chunk, split in shapes:
        each = alone if threads == 1 else run
        flying = (each,) if each else _flying(facts, columns)
        ways = (ColumnWay(facts, columns.group, each, lanes, threads, most, chunk, split) for most in flying)
        yield from islice((way for way in ways if _fits(way, columns)), 1)


def _runs(facts: RowFacts, group: int) -> tuple[int, ...]:
    """Elements of transposed operands that a thread may take at once; 0 without these.  Where runs have one element, as
    in pieces of an odd length, they may as well be gathered, several at a time (*Pieces of odd lengths*)."""
    transposed = down_columns_only(facts)
    run = run_length(facts, group, transposed) if transposed else 0
    while run >= 2 * facts.width:
        run //= 2
    return (1, 0) if run == 1 else (run,)


def _flying(facts: RowFacts, columns: ColumnDemand) -> list[int]:
    """The numbers of elements in flight whose loads fit the registers."""
    one = ColumnWay(facts, columns.group, 0, *_BLOCKS[0], 1, 0).choice().schedule
    assert isinstance(one, ColumnSchedule)
    registers = flying_registers(facts, replace(one, vectors=1))
    return [most for most in _FLYING if most * registers <= columns.tuning.flying_registers]


def _may_replace(way: ColumnWay, usual: ColumnSchedule) -> bool:
    """Whether predictions compare both well: merges of blocks that share columns are not predicted, nor tiles of
    different sizes."""
    alike = not way.run or way.chunk > 0 or (way.group == usual.group and way.run == usual.vectors)
    return alike and (usual.split or not way.split)


def _sharing_sectors(facts: RowFacts) -> list[int]:
    """The kept dimensions along which operands that do not run across columns share sectors: of elements, or of columns
    that are consecutive."""

    def shares(access: int, dimension: int) -> bool:
        step = abs(facts.step_along(access, dimension))
        beside = 0 < step * facts.itemsizes[access] < SECTOR
        return beside or (facts.is_consecutive(access) and 0 < step <= facts.width)

    apart = [i for i in facts.reads if facts.step_along(i, facts.reduced) not in (0, 1)]
    kept = range(facts.reduced + 1, len(facts.space.shape))
    return [d for d in kept if any(shares(i, d) for i in apart)]


def _fits(way: ColumnWay, columns: ColumnDemand) -> bool:
    """Whether a way leaves no thread idle, and the states of a block fit shared memory.  ``columns``: with coarse
    extents."""
    facts, tuning = way.facts, columns.tuning
    states = way.lanes * way.threads * way.group * facts.state_bytes if way.threads > 1 else 0
    if states > tuning.shared_bytes or way.lanes >= 2 * columns.groups or columns.each(way.threads) < 2:
        return False
    if way.split and not _may_split(way, columns):
        return False
    if way.chunk and way.chunk >= min(way.lanes, columns.across):
        return False
    if way.run:
        fits = way.run * columns.size_down <= facts.tuning.column_tiles.kept_bytes
        return fits and is_of_one_column(facts, way.run) and way.run * way.threads < 2 * columns.facts.width
    return way.most * columns.size_down <= tuning.most_flying_bytes and way.most < 2 * columns.each(way.threads)


def _may_split(way: ColumnWay, columns: ColumnDemand) -> bool:
    """Whether several blocks may share columns: these are tall, and a thread of the last block merges one at most."""
    tuning = columns.tuning
    tall = columns.each(way.threads) > tuning.batches_of_blocks * way.most
    whole = way.lanes * way.threads == tuning.block and way.threads >= max(way.group, 2)
    return whole and tall and columns.tiles(way.lanes) < tuning.split_blocks // 2
