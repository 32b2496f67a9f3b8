"""Schedules of chains of reductions along a slow dimension, such as softmax over the channels of an NCHW image: a block
keeps some columns in registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.layout.iterator import IterationSpace
from kgen.records import replace
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.column_choice import column_accesses
from kgen.schedule.reduction.evict_last import evict_last_accesses, exceeds_l2
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.few import few_columns
from kgen.schedule.reduction.in_turn import in_turn
from kgen.schedule.reduction.reasons import resident_column_reasons
from kgen.schedule.reduction.resident_mapping import ResidentDemand, ResidentMapping, map_columns
from kgen.schedule.reduction.resident_search import fastest_mapping
from kgen.schedule.reduction.schedule import ColumnSchedule
from kgen.schedule.target import SECTOR


def resident_columns(facts: RowFacts) -> Choice | None:
    """The schedule of a kernel that keeps columns; None where rows are not columns, or are too long."""
    # Where the length of columns is not known, they may not fit registers.
    found = resident_mapping(facts) if facts.along and not facts.only_along_rows else None
    if found is None:
        return None
    if (few := few_columns(facts, found.group, kept=True)) is not None:
        found = ResidentMapping(few.group, few.lanes, few.threads, -(-facts.width // few.threads))
    else:
        found = _sharing_sectors(facts, found)
        found = replace(found, lanes=_filled(facts, found))
        if facts.bounded:
            found = fastest_mapping(facts, _demand(facts), found, lambda mapping: _choice_of(facts, mapping))
    return _choice_of(facts, in_turn(facts, found))


def _choice_of(facts: RowFacts, found: ResidentMapping) -> Choice:
    """The schedule of a mapping."""
    reads = [i for i in facts.varying(facts.reads) if facts.step.accesses[i].reads]
    accesses = column_accesses(facts, found.group)
    read, written = (facts.space.numel * size for size in (facts.bytes_of(reads), facts.bytes_written))
    large = facts.bounded and exceeds_l2(facts.target, read, written)
    schedule = ColumnSchedule(
        "column_resident",
        found.lanes * found.threads,
        found.group,
        len(facts.space.shape),
        facts.index_bits([True] * len(accesses)),
        accesses,
        facts.coordinates,
        target=facts.target,
        threads=found.threads,
        vectors=found.vectors,
        reduced=facts.reduced,
        columnwise=tuple(i for i, varies in enumerate(facts.varies) if varies),
        evict_last=evict_last_accesses(facts, accesses, reads, found.group) if large else (),
        in_turn=found.in_turn,
    )
    return Choice(schedule, facts.space, resident_column_reasons(schedule, facts.step, facts.width))


def _sharing_sectors(facts: RowFacts, found: ResidentMapping) -> ResidentMapping:
    """The mapping; where few columns lie side by side, more threads down each, so that warps use whole sectors."""
    tuning, beside = facts.tuning.resident_columns, facts.space.shape[facts.reduced]
    size = max(facts.itemsizes[i] for i in facts.reads)
    if beside * size >= SECTOR or found.threads >= tuning.sharers_of_few or facts.width < 2 * tuning.sharers_of_few:
        return found
    threads = tuning.sharers_of_few
    return ResidentMapping(found.group, tuning.smallest_block // threads, threads, -(-facts.width // threads))


def _filled(facts: RowFacts, found: ResidentMapping) -> int:
    """Threads across of many blocks that move at least ``block_bytes``: a device starts blocks at a limited rate."""
    tuning, lanes = facts.tuning.rows, found.lanes
    each = found.group * facts.width * (facts.bytes_of(facts.reads) + facts.bytes_written)
    many = facts.bounded and facts.rows >= facts.tuning.resident_columns.many_blocks * lanes * found.group
    while many and lanes * found.threads < tuning.filled_block and lanes * each < tuning.block_bytes:
        lanes *= 2
    return lanes


def resident_mapping(facts: RowFacts) -> ResidentMapping | None:
    """The thread mapping of resident columns; None where rows are not columns, or a block cannot keep them."""
    if not _has_unit_stride_kept_axis(facts.space, facts.reduced):
        return None
    whole = _whole(facts)
    reads = [i for i in whole if facts.step.accesses[i].reads]
    across = all(_is_fastest_across(facts, i) for i in whole)
    if facts.is_plain or not reads or not facts.space.numel or not across:
        return None
    demand = _demand(facts)
    # Where vectors that all operands are aligned to are too narrow, unaligned operands are read element by element.
    wide = widest_group(replace(facts, addresses=(0,) * len(facts.addresses)), whole)
    return map_columns(demand) or map_columns(replace(demand, group=wide))


def _whole(facts: RowFacts) -> list[int]:
    """The operands that vary along columns, and from one to the next."""
    return list(facts.varying([i for i, varies in enumerate(facts.varies) if varies]))


def _demand(facts: RowFacts) -> ResidentDemand:
    """What mappings depend on, with vectors to which all operands are aligned."""
    whole = _whole(facts)
    sizes = tuple(facts.itemsizes[i] for i in whole if facts.step.accesses[i].reads)
    ragged = any(s * facts.itemsizes[i] % SECTOR for i in whole for s in facts.other_strides(i, facts.reduced))
    smallest = min(facts.itemsizes[i] for i in whole)
    tuning, beside = facts.tuning.resident_columns, facts.space.shape[facts.reduced]
    few = facts.reduced == 1 and beside <= tuning.most_of_piece and facts.width > tuning.short and not facts.is_few
    near = all(beside <= abs(facts.step_along(i, 0)) <= tuning.gaps_of_piece * beside for i in whole)
    return ResidentDemand(
        facts.width,
        widest_group(facts, whole),
        sizes,
        smallest,
        facts.state_bytes,
        ragged,
        facts.tuning,
        beside if few and near else 0,
    )


def _is_fastest_across(facts: RowFacts, access: int) -> bool:
    """Whether neighbouring columns are nearer to each other in memory than other elements of an operand."""
    step = abs(facts.step_along(access, facts.reduced))
    return all(step <= abs(s) for s in facts.other_strides(access, facts.reduced))


def _has_unit_stride_kept_axis(space: IterationSpace, reduced: int) -> bool:
    """Whether the first kept axis has stride 1 in some operand."""
    several = 0 < reduced < len(space.shape) and space.shape[reduced] > 1
    return several and any(strides[reduced] == 1 for strides in space.strides)


def widest_group(facts: RowFacts, among: Sequence[int]) -> int:
    """Columns per vector: the widest vectors to which all operands of ``among`` are aligned."""
    group = max(1, facts.target.vector_bytes // max(facts.itemsizes[i] for i in among))
    lengths = [facts.space.shape[facts.reduced]]
    for i in among:
        lengths += [facts.addresses[i] // facts.itemsizes[i], *facts.other_strides(i, facts.reduced)]
    while any(n % group for n in lengths):
        group //= 2
    return group
