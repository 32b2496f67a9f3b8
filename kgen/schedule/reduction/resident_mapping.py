"""How the threads of kernels that keep columns in registers are mapped to columns, by rule."""

from __future__ import annotations

from math import ceil

from kgen.records import dataclass
from kgen.schedule.target import WARP, WORD
from kgen.schedule.tuning import H200, Tuning


@dataclass(frozen=True, slots=True)
class ResidentMapping:
    """A thread takes ``group`` neighbouring columns and keeps ``vectors`` elements of each.  ``lanes`` threads take
    neighbouring groups, and ``threads`` share each group.  ``in_turn``: groups that lie side by side, where
    neighbouring threads go along these and then down them (``in_turn.py``).
    """

    group: int
    lanes: int
    threads: int
    vectors: int
    in_turn: int = 0


@dataclass(frozen=True, slots=True)
class ResidentDemand:
    """What the thread mapping of columns of ``height`` elements depends on.

    ``group``: columns per vector.  ``sizes``: bytes of an element of each operand that is kept; ``smallest``: of any
    operand.  ``states``: bytes of the states of one column's reductions in a thread.  ``ragged``: whether runs of
    neighbouring columns may begin within a sector.  ``piece``: columns that lie side by side, where these are few and
    long, and their next elements follow right behind them or behind a gap of as many, so that threads down columns read
    on; else 0.
    """

    height: int
    group: int
    sizes: tuple[int, ...]
    smallest: int
    states: int
    ragged: bool
    tuning: Tuning = H200
    piece: int = 0

    def kept_bytes(self, group: int) -> int:
        """Bytes that a thread keeps for one element of ``group`` columns; of several operands, their words and what is
        computed of them count as well."""
        registers = self.word_bytes(group) + WORD * group if len(self.sizes) > 1 else 0
        return max(group * sum(self.sizes), ceil(self.tuning.resident_columns.share_of_registers * registers))

    def word_bytes(self, group: int) -> int:
        """The same of operands, in whole words."""
        return sum(max(WORD, group * size) for size in self.sizes)


def map_columns(columns: ResidentDemand) -> ResidentMapping | None:
    """The thread mapping of resident columns; None where none fits."""
    tuning, group, height = columns.tuning.resident_columns, columns.group, columns.height
    while group > 1 and group * columns.states > columns.tuning.columns.state_bytes:
        group //= 2
    ragged, thin = tuning.ragged if columns.ragged else (), tuning.thin if columns.smallest < WORD else ()
    for most, narrowest in (*ragged, *tuning.ways, *thin):
        threads = _threads(columns, columns.kept_bytes(group), most)
        usual = next(n for least, n in tuning.lanes if group * columns.smallest >= least)
        if threads > 1 and height <= tuning.short and group * columns.smallest < WORD:
            usual = tuning.lanes_of_short
        elif len(columns.sizes) > 1 and group * columns.smallest < WORD:
            usual = tuning.lanes_of_several
        lanes = max(min(usual, tuning.largest_block // threads), tuning.smallest_block // threads)
        while left_bytes(lanes, threads, group * columns.states) > tuning.shared_bytes:
            lanes //= 2
        if lanes * group * columns.smallest >= narrowest:
            return _with_another(columns, ResidentMapping(group, lanes, threads, -(-height // threads)))
    return _of_piece(columns, group)


def _of_piece(columns: ResidentDemand, group: int) -> ResidentMapping | None:
    """The mapping of a block that has all columns that lie side by side, or half of them, and reads them as one run;
    None where that takes too many threads."""
    tuning, size = columns.tuning.resident_columns, columns.kept_bytes(group)
    whole = 1 << (-(-columns.piece // group) - 1).bit_length()
    for most, _ in tuning.ways if columns.piece else ():
        threads = max(_threads(columns, size, most), tuning.smallest_block // whole)
        lanes = min(whole, tuning.largest_block // threads)
        shares = left_bytes(lanes, threads, group * columns.states) <= tuning.shared_bytes
        if 2 * lanes >= whole and shares:
            return ResidentMapping(group, lanes, threads, -(-columns.height // threads))
    return None


def _with_another(columns: ResidentDemand, found: ResidentMapping) -> ResidentMapping:
    """The mapping; or, where several operands leave an SM registers for one of the largest blocks, fewer elements a
    thread, so that another block works while one waits."""
    tuning, group, threads = columns.tuning.resident_columns, found.group, 2 * found.threads
    registers = tuning.other_registers + found.vectors * columns.word_bytes(group) // WORD
    alone = len(columns.sizes) > 1 and registers > tuning.registers_of_two
    alone = alone and found.lanes * found.threads == tuning.largest_block
    lanes = found.lanes // 2
    wide = lanes * group * columns.smallest >= tuning.narrowest_of_two and found.vectors > 1
    fits = wide and left_bytes(lanes, threads, group * columns.states) <= tuning.shared_bytes
    return ResidentMapping(group, lanes, threads, -(-columns.height // threads)) if alone and fits else found


def _threads(columns: ResidentDemand, size: int, most: int) -> int:
    """Threads that share columns.  Each keeps at most ``most`` bytes, ``size`` for each element of its columns."""
    tuning, height = columns.tuning.resident_columns, columns.height
    each = max(1, min(tuning.most_each, most // size), height if height * size <= tuning.alone_bytes else 0)
    threads = 1
    while threads * each < height:
        threads *= 2
    half = max(1, threads // 2)
    fits = -(-height // half) * size <= tuning.waste_bytes
    return half if _waste(height, threads) > _waste(height, half) + tuning.waste and fits else threads


def left_bytes(lanes: int, threads: int, states: int) -> int:
    """Bytes of partials in shared memory, from each thread or warp that shares columns.  ``states``: of one thread."""
    entries = 0 if threads == 1 else lanes * threads // WARP if lanes < WARP else threads
    return entries * lanes * states


def _waste(height: int, threads: int) -> float:
    """The fraction of register slots that stay unused, relative to ``height``."""
    return -height % threads / height
