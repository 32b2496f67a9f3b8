"""Other tiles of column kernels whose threads transpose in registers, and those with the least predicted time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil

from kgen.records import replace
from kgen.schedule.cost import coarse, count
from kgen.schedule.facts import Choice
from kgen.schedule.occupancy import Occupant, seconds
from kgen.schedule.reduction.column_choice import choice_of
from kgen.schedule.reduction.column_mapping import ColumnDemand, ColumnMapping
from kgen.schedule.reduction.column_search import flying_registers
from kgen.schedule.reduction.column_tiles import is_of_one_column
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.schedule import ColumnSchedule
from kgen.schedule.reduction.walks import columns_walk
from kgen.schedule.search import fastest
from kgen.schedule.target import WORD

#: Threads across and down columns, and elements of a column that a thread takes at once.
_BLOCKS = ((256, 1), (128, 2), (64, 4), (32, 8), (16, 16), (8, 32), (4, 64))
_RUNS = (16, 8, 4)


def fastest_tiles(facts: RowFacts, widest: int, usual: Choice) -> Choice:
    """``usual``, or the tiles that are predicted to take less time.  ``widest``: columns of a tile, at most."""
    if not facts.bounded or not _is_predicted(usual):
        return usual
    alike = replace(facts, space=coarse(facts.space))
    groups = (widest >> n for n in range(widest.bit_length()))
    tiles = ((group, mapping) for group in groups for mapping in _tiles(facts, ColumnDemand(alike, group)))
    ways = (choice_of(facts, group, mapping) for group, mapping in tiles)
    taken = _seconds(facts, usual)
    found = fastest(
        ways, lambda choice: _seconds(facts, choice), facts.tuning.column_tiles.gain * taken, doubt=facts.tuning.doubt
    )
    return replace(usual, seconds=taken) if found is None else replace(found[1], seconds=found[0])


def _is_predicted(choice: Choice) -> bool:
    """Whether predictions of tiles hold: blocks share no columns, and take no chunks."""
    schedule = choice.schedule
    assert isinstance(schedule, ColumnSchedule)
    return not (schedule.split or schedule.chunk)


def _tiles(facts: RowFacts, columns: ColumnDemand) -> Iterator[ColumnMapping]:
    """Those that leave no thread idle, and fit registers and shared memory.  ``columns``: with coarse extents."""
    tuning, group = facts.tuning, columns.group
    for (lanes, threads), run in product(_BLOCKS, _RUNS):
        fits = group * run * facts.bytes_of(facts.reads) <= tuning.column_tiles.kept_bytes
        shared = lanes * threads * group * facts.state_bytes * (threads > 1) <= tuning.columns.shared_bytes
        fits = fits and shared and is_of_one_column(facts, run)
        if fits and lanes < 2 * columns.groups and run * threads < 2 * columns.facts.width:
            yield ColumnMapping(lanes, threads, run, loops=True, split=False, tiled=True)


def _seconds(facts: RowFacts, choice: Choice) -> float:
    """Seconds of one launch, as predicted."""
    rates, tiles, schedule = facts.tuning.tile_rates, facts.tuning.column_tiles, choice.schedule
    assert isinstance(schedule, ColumnSchedule)
    walk = columns_walk(facts, choice)
    counts, states = count(walk, facts.tuning.chunk_costs), ceil(1.5 * schedule.group * facts.state_bytes / WORD)
    blocks = max(tiles.resident_threads // schedule.block, 1)
    most = rates.registers // (blocks * schedule.block) // 8 * 8
    kept = flying_registers(facts, schedule)
    return seconds(counts, Occupant(counts.blocks / walk.times, schedule.block, kept, states, most), rates)
