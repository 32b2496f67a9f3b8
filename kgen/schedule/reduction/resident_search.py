"""Other thread mappings of columns that are kept in registers, and the one with the least predicted time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil

from kgen.records import replace
from kgen.schedule.cost import count
from kgen.schedule.facts import Choice
from kgen.schedule.occupancy import Occupant, seconds
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.in_turn import in_turn
from kgen.schedule.reduction.resident_mapping import ResidentDemand, ResidentMapping, left_bytes
from kgen.schedule.reduction.schedule import ColumnSchedule
from kgen.schedule.reduction.walks import columns_walk
from kgen.schedule.search import fastest
from kgen.schedule.target import WORD

Chosen = Callable[[ResidentMapping], Choice]
#: Threads across columns; and also these where few lie side by side, so that threads down them read on.
_LANES, _FEW = (4, 8, 16, 32, 64, 128), (1, 2)


def fastest_mapping(
    facts: RowFacts, columns: ResidentDemand, usual: ResidentMapping, choice_of: Chosen
) -> ResidentMapping:
    """``usual``, or the mapping that is predicted to take much less time.  ``choice_of``: the schedule of a mapping."""
    if len(columns.sizes) == 1 and not columns.piece:  # the rules are exact for one operand
        return usual
    limit = facts.tuning.resident_columns.gain * _seconds(facts, columns, usual, choice_of(in_turn(facts, usual)))
    found = fastest(
        _ways(facts, columns, choice_of), lambda way: _seconds(facts, columns, *way), limit, doubt=facts.tuning.doubt
    )
    return usual if found is None else found[1][0]


def _ways(facts: RowFacts, columns: ResidentDemand, choice_of: Chosen) -> Iterator[tuple[ResidentMapping, Choice]]:
    """All mappings with their schedules, of which those of one group have their accesses in common."""
    for group in (columns.group >> n for n in range(columns.group.bit_length())):
        sample: Choice | None = None
        for mapping in _mappings(facts, columns, group):
            sample = sample or choice_of(mapping)
            assert isinstance(sample.schedule, ColumnSchedule)
            yield mapping, replace(sample, schedule=_mapped(sample.schedule, in_turn(facts, mapping)))


def _mapped(schedule: ColumnSchedule, mapping: ResidentMapping) -> ColumnSchedule:
    block = mapping.lanes * mapping.threads
    return replace(schedule, block=block, threads=mapping.threads, vectors=mapping.vectors, in_turn=mapping.in_turn)


def _seconds(facts: RowFacts, columns: ResidentDemand, mapping: ResidentMapping, choice: Choice) -> float:
    """Seconds of one launch, as predicted."""
    rates, counts = facts.tuning.resident_rates, count(columns_walk(facts, choice), facts.tuning.chunk_costs)
    kept, others = _registers(columns, mapping)
    blocks = ceil(facts.rows / (mapping.group * mapping.lanes))
    return seconds(counts, Occupant(blocks, mapping.lanes * mapping.threads, kept, others, rates.registers), rates)


def _registers(columns: ResidentDemand, mapping: ResidentMapping) -> tuple[int, int]:
    """Registers of a thread: of what it keeps, and of its states."""
    return mapping.vectors * columns.word_bytes(mapping.group) // WORD, 3 * mapping.group * columns.states // WORD


def _mappings(facts: RowFacts, columns: ResidentDemand, group: int) -> Iterator[ResidentMapping]:
    """Those whose elements fit registers, and whose states fit shared memory."""
    tuning, rates, groups = columns.tuning.resident_columns, columns.tuning.resident_rates, facts.rows // group
    for lanes in (*(_FEW if columns.piece else ()), *_LANES):
        threads = max(1, tuning.smallest_block // lanes)
        while lanes < 2 * groups and threads <= min(tuning.largest_block // lanes, columns.height):
            mapping = ResidentMapping(group, lanes, threads, ceil(columns.height / threads))
            shares = left_bytes(lanes, threads, group * columns.states) <= tuning.shared_bytes
            most = min(tuning.most_registers, rates.registers // (lanes * threads))
            if shares and rates.own_registers + sum(_registers(columns, mapping)) <= most:
                yield mapping
            threads *= 2
