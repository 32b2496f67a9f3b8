"""Thread mappings of few elements: those with the least time of one thread and of one SM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import ceil, prod

from kgen.ir.graph import Reduction
from kgen.layout.iterator import IterationSpace
from kgen.records import dataclass, replace
from kgen.schedule.cost import Extents, Traffic, coarse, pieces, run
from kgen.schedule.elementwise.walks import arithmetic
from kgen.schedule.latency import RowWork, Work, cycles, row_cycles
from kgen.schedule.reduction.column_tiles import is_of_one_column
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.thread_mapping import few_block
from kgen.schedule.target import SECTOR, WARP, WORD
from kgen.schedule.trace import leading

#: Merges that take as long as a group that another thread has loaded takes to be added: a shuffle and an addition
#: (*More threads a row in the order of fewer*).
_ADDED = 0.5

#: Reductions that take an exponential of each element, and its instructions.
_EXPONENTIAL_SUMS = frozenset({"exp_sum", "logsumexp"})
_EXPONENTIAL = 16


@dataclass(frozen=True, slots=True)
class Across:
    """``lanes`` threads take neighbouring groups of ``group`` columns; ``threads`` share each.  ``split``: whether
    several blocks share columns.  ``run``: elements of transposed operands that a thread takes at once; 0 where these
    are read one by one.
    """

    group: int
    lanes: int
    threads: int
    split: bool = False
    run: int = 0


def few_columns(facts: RowFacts, widest: int, *, kept: bool, runs: Sequence[int] = (0,)) -> Across | None:
    """The fastest mapping of columns, in groups of at most ``widest``; None where elements are many.  ``kept``: whether
    threads keep their elements, for a chain of rounds.  ``runs``: as in :class:`Across`, those to compare.
    """
    if not facts.is_few:
        return None
    few = _Few(facts, coarse(facts.space))
    ways = [way for way in few.across(widest, runs) if few.fits(way, kept=kept)]
    moved = {columns: few.moved(columns) for columns in {way.group * way.lanes for way in ways}}

    def taken(way: Across) -> float:
        return cycles(few.of_columns(way, moved[way.group * way.lanes], kept=kept), facts.tuning.latency)

    return min(ways, key=taken, default=None)


def rows_are_faster(facts: RowFacts, columns: Across, *, along: bool) -> bool:
    """Whether few elements take less time along rows than by this mapping of columns.

    ``along``: whether some operand is consecutive along rows; if none is, only where threads share columns whose states
    have several words, which rows merge by shuffles (*Few columns by rows*).
    """
    threads, few = few_rows(facts), _Few(facts, coarse(facts.space))
    shares = columns.threads > 1 and few.words >= 2
    if threads is None or not (along or shares):
        return False
    gain = 1 if along else facts.tuning.columns.gain_of_few
    across = few.of_columns(columns, few.moved(columns.group * columns.lanes), kept=False)
    latency = facts.tuning.latency
    return cycles(few.of_rows(threads), latency) < gain * cycles(across, latency)


def few_rows(facts: RowFacts) -> int | None:
    """Threads that share a row; None where elements are many, or where results depend on who takes which elements."""
    tuning = facts.tuning.rows
    if not facts.is_few or not facts.may_depend_on_rows or facts.width > tuning.few_sharing * tuning.several_elements:
        return None
    few = _Few(facts, coarse(facts.space))
    ways = [1 << n for n in range(few.width.bit_length() + 1) if 1 << n <= tuning.few_sharing]
    return min(ways, key=lambda threads: row_cycles(few.shared_by(threads), facts.tuning.row_latency))


def helping_rows(facts: RowFacts, threads: int, groups: int) -> int:
    """Threads that share a row of so many ``groups``, part of a warp, where so many ``threads`` share it if there are
    many rows, in whose order floats are added: more where that takes less time.
    """
    few, ways = _Few(facts, coarse(facts.space)), [threads]
    while ways[-1] < min(WARP, groups):
        ways.append(2 * ways[-1])
    added = ceil(groups / threads) * facts.rounds * few.words * _ADDED

    def taken(way: int) -> float:
        work = few.shared_by(way)
        exchange = few.merges(threads) + added if way > threads else work.merges
        return row_cycles(replace(work, merges=exchange), facts.tuning.row_latency)

    return min(ways, key=taken)


@dataclass(frozen=True)
class _Few:
    """``space``: with coarse extents."""

    facts: RowFacts
    space: IterationSpace

    @cached_property
    def width(self) -> int:
        """Elements of a row or column, rounded up to four significant bits."""
        below = leading(self.facts.width - 1, 4)
        return below + (1 << max(0, below.bit_length() - 4))

    @cached_property
    def rows(self) -> int:
        return prod(self.space.shape[self.facts.reduced :])

    @cached_property
    def instructions(self) -> float:
        return arithmetic(self.facts.step) + 2 * self.facts.rounds

    @cached_property
    def exponentials(self) -> int:
        """Reductions that take an exponential of each element."""
        attributes = (op.attr for op in self.facts.step.graph.ops)
        return sum(isinstance(one, Reduction) and one.kind in _EXPONENTIAL_SUMS for one in attributes)

    @cached_property
    def bytes_read(self) -> int:
        """For one element of a column."""
        return self.facts.bytes_of(self.facts.reads)

    @cached_property
    def state_bytes(self) -> int:
        return self.facts.state_bytes

    @cached_property
    def operands(self) -> tuple[Traffic, ...]:
        """What varies along rows or columns."""
        facts, one = self.facts, (1.0,) * len(self.space.shape)
        return tuple(
            Traffic(one, 1, facts.itemsizes[i], self.space.strides[i], facts.misaligned[i], reads=True)
            for i, varies in enumerate(facts.varies)
            if varies
        )

    @cached_property
    def words(self) -> float:
        """Of the states of one round."""
        return max(1.0, self.state_bytes / WORD / self.facts.rounds)

    def across(self, widest: int, runs: Sequence[int]) -> Iterator[Across]:
        tuning, most, group = self.facts.tuning.columns, self.facts.tuning.resident_columns.largest_block, widest
        while group:
            lanes = tuning.fewest_lanes
            while lanes == tuning.fewest_lanes or lanes < 2 * (self.rows // group):
                threads = 1
                while lanes * threads <= most and threads < 2 * self.width:
                    if lanes * threads >= WARP:
                        yield from (Across(group, lanes, threads, run=run) for run in runs)
                    # The last block merges partials with at least one thread per column.
                    if lanes * threads == tuning.block and threads >= max(group, 2):
                        yield Across(group, lanes, threads, split=True)
                    threads *= 2
                lanes *= 2
            group //= 2

    def fits(self, way: Across, *, kept: bool) -> bool:
        """Whether elements fit the registers of threads, and states the shared memory of a block."""
        facts, tuning = self.facts, self.facts.tuning.columns
        states = way.group * self.state_bytes * way.lanes * (way.threads if way.threads > 1 else 0)
        held = ceil(self.width / way.threads) * way.group * self.bytes_read if kept else 0
        if way.run and not self.takes_runs(way):
            return False
        return states <= tuning.shared_bytes and held <= facts.tuning.rows.kept_bytes and not (kept and way.split)

    def takes_runs(self, way: Across) -> bool:
        """Whether runs fit columns, and the registers of threads."""
        facts = self.facts
        fits = way.group * way.run * self.bytes_read <= facts.tuning.column_tiles.kept_bytes
        return is_of_one_column(facts, way.run) and fits and way.run * way.threads < 2 * facts.width

    def of_columns(self, way: Across, moved: float, *, kept: bool) -> Work:
        facts, tuning = self.facts, self.facts.tuning.columns
        tiles, at_once = ceil(self.rows / (way.group * way.lanes)), tuning.whole_bytes // (way.group * self.bytes_read)
        spans = max(1, min(ceil(self.width / (4 * way.threads)), tuning.split_blocks // tiles)) if way.split else 1
        each = ceil(self.width / (way.threads * spans * max(1, way.run))) * max(1, way.run)
        warps = way.lanes * way.threads // WARP
        merges, barriers = spans * way.group / way.threads * way.split, 0
        if way.threads > 1 and kept:
            near = max(1, WARP // way.lanes)
            merges += facts.rounds * (way.group * near.bit_length() + (warps if near > 1 else way.threads) / 4)
            barriers = 2 * facts.rounds
        elif way.threads > 1:
            left = way.threads
            while left > 1:
                after = ceil(left / 8)
                merges += ceil(after * way.group / way.threads) * (min(left, 8) - 1)
                barriers += 1
                left = after
            barriers += 4  # shared memory, and a loop, cost about as much
        return Work(
            tiles * spans,
            warps,
            1 if kept else ceil(each / max(1, way.run or at_once)) + (way.run > 0 and facts.width % way.run > 0),
            each * way.group,
            self.instructions,
            merges * self.words,
            barriers,
            moved / spans,
            way.split,
        )

    def of_rows(self, threads: int) -> Work:
        """What ``cycles`` takes to compare rows with columns."""
        facts, block = self.facts, max(threads, self.facts.tuning.rows.short_block)
        return Work(
            ceil(self.rows * threads / block),
            block // WARP,
            1,
            ceil(self.width / threads),
            self.instructions,
            self.merges(threads),
            2 * facts.rounds * (threads > WARP),
            self.moved(block // threads),
        )

    def shared_by(self, threads: int) -> RowWork:
        """What ``row_cycles`` takes to compare numbers of threads that share a row."""
        facts, group = self.facts, self.facts.vector
        while group > 1 and (group * threads > self.width or facts.space.shape[0] % group):
            group //= 2
        groups, block = ceil(self.width / (group * threads)), few_block(self.rows, threads, facts.tuning.rows)
        return RowWork(
            ceil(self.rows * threads / block),
            block // WARP,
            groups,
            groups * group,
            self.instructions + _EXPONENTIAL * self.exponentials,
            self.merges(threads),
            2 * facts.rounds * (threads > WARP),
            facts.reduced > 1,
            self.moved(block // threads),
        )

    def merges(self, threads: int) -> float:
        """Of states by shuffles, one after the other."""
        lanes, warps = min(threads, WARP), ceil(threads / WARP)
        return (lanes.bit_length() - 1 + warps.bit_length() - 1) * self.facts.rounds * self.words

    def moved(self, rows: int) -> float:
        """Bytes of the sectors of so many neighbouring rows or columns."""
        inner, kept = self.space.shape[: self.facts.reduced], self.space.shape[self.facts.reduced :]
        box: Extents = (*map(float, inner), *run((1.0,) * len(kept), range(len(kept)), kept, min(rows, self.rows)))
        return SECTOR * sum(pieces(operand, box, SECTOR) for operand in self.operands)
