"""Schedules of reductions along a slow dimension: neighbouring threads take neighbouring columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from kgen.partition.column_sums import BLOCKS
from kgen.records import replace
from kgen.schedule.cost import coarse
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.column_choice import choice_of, is_plain_columns
from kgen.schedule.reduction.column_chunks import operand_beside, with_second
from kgen.schedule.reduction.column_mapping import (
    ColumnDemand,
    chunked_mapping,
    few_mapping,
    partials_mapping,
    tiled_mapping,
    usual_mapping,
)
from kgen.schedule.reduction.column_search import (
    column_seconds,
    fastest_columns,
    flying_registers,
    least_seconds,
)
from kgen.schedule.reduction.column_tiles import down_columns_only, run_length
from kgen.schedule.reduction.columns_apart import with_columns_apart
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.few import few_columns, rows_are_faster
from kgen.schedule.reduction.row_cost import row_seconds
from kgen.schedule.reduction.row_orders import along_rows
from kgen.schedule.reduction.schedule import ColumnSchedule
from kgen.schedule.reduction.tile_search import fastest_tiles
from kgen.schedule.schedule import Schedule
from kgen.schedule.target import SECTOR


def down_columns(facts: RowFacts) -> Choice | None:
    """The schedule of a kernel that reduces columns; None where the family does not apply."""
    if facts.only_along_rows:
        return None
    group = _group(facts)
    if group is None:
        return _instead_of_rows(facts)
    if BLOCKS in facts.step.shape:
        return choice_of(facts, group, partials_mapping(ColumnDemand(facts, group)))
    transposed = down_columns_only(facts)
    few = few_columns(facts, group, kept=False, runs=facts.tuning.column_tiles.few_runs if transposed else (0,))
    if few is not None:
        if rows_are_faster(facts, few, along=bool(transposed)):
            return None
        return choice_of(facts, few.group, few_mapping(ColumnDemand(facts, few.group), few))
    if transposed:
        tiled = tiled_mapping(ColumnDemand(facts, group), run_length(facts, group, transposed))
        tiles = fastest_tiles(facts, group, _fastest(facts, group, choice_of(facts, group, tiled)))
        return None if _takes_longer_than_rows(facts, tiles) else tiles
    columns, beside = ColumnDemand(facts, group), operand_beside(facts) if facts.bounded else None
    if beside is None or columns.groups < columns.tuning.fewest_chunked:
        group = _stored_at_once(facts, group)
        usual = choice_of(facts, group, usual_mapping(ColumnDemand(facts, group)))
        return with_columns_apart(facts, _fastest(facts, group, usual))
    there = with_second(facts, beside[1])
    mapping = chunked_mapping(ColumnDemand(there, group))
    choice = choice_of(there, group, mapping)
    if mapping.chunk:
        near = f"`{facts.names[beside[0]]}` is consecutive along another kept dimension"
        why = f"chunks: {near}: blocks take {mapping.chunk * group} columns of it"
        choice = replace(choice, reasons=(*choice.reasons, why))
    choice = replace(choice, seconds=column_seconds(facts, choice))
    return choice if mapping.chunk and facts.step.accesses[beside[0]].writes else _fastest(facts, group, choice)


def _stored_at_once(facts: RowFacts, group: int) -> int:
    """Columns that a thread takes at once: of short ones, as many as one access stores (*Short columns of wide
    results*)."""
    if not facts.bounded or facts.width >= 2 * facts.tuning.columns.fewest_each:
        return group
    written = (i for i, one in enumerate(facts.step.accesses) if one.writes and facts.step_along(i, facts.reduced) == 1)
    widest = max((facts.itemsizes[i] for i in written), default=1)
    return min(group, max(1, facts.target.vector_bytes // widest))


def _fastest(facts: RowFacts, group: int, usual: Choice) -> Choice:
    """The usual schedule; or, where its threads do not fill a device, its loads take too many registers, or it is
    predicted to take much longer than memory needs, the one that is predicted to be the fastest.
    """
    tuning, schedule = facts.tuning.columns, usual.schedule
    assert isinstance(schedule, ColumnSchedule)
    if not facts.bounded or facts.is_few:
        return usual
    crowded, idle, taken = _is_crowded(facts, schedule), _is_idle(facts, usual), column_seconds(facts, usual)
    if not (idle or crowded) and taken <= facts.tuning.traffic.slow * least_seconds(facts):
        return usual
    alike = idle or not (_is_tiled(schedule) or schedule.split or schedule.chunk)
    gain = 1.0 if crowded else tuning.gain if alike else tuning.gain_of_others
    return _below(gain * taken, fastest_columns(facts, group, schedule)) or usual


def _is_tiled(schedule: Schedule) -> bool:
    return any(planned.kind == "transposed" for planned in schedule.accesses)


def _is_crowded(facts: RowFacts, schedule: ColumnSchedule) -> bool:
    """Whether loads in flight take too many registers; tiles have their own limit."""
    return not _is_tiled(schedule) and flying_registers(facts, schedule) > facts.tuning.columns.flying_registers


def _is_idle(facts: RowFacts, usual: Choice) -> bool:
    """Whether threads do not fill a device."""
    schedule = usual.schedule
    assert isinstance(schedule, ColumnSchedule)
    columns = ColumnDemand(replace(facts, space=coarse(usual.space)), schedule.group)
    threads = columns.tiles(schedule.block // schedule.threads) * schedule.block
    few = threads < facts.tuning.columns.enough_waves * facts.tuning.chunk_costs.threads
    return few and not (schedule.split or schedule.chunk)


def _instead_of_rows(facts: RowFacts) -> Choice | None:
    """The same where neighbouring columns are few, or not so in all operands: only if that is predicted to take less
    time than a kernel along rows; always where many long columns have pieces side by side, of which blocks along rows
    would use a part of each sector."""
    tuning, orders = facts.tuning.columns, _orders_across(facts)
    if not orders:
        return None
    pieces = orders[0][0] is facts and all(_has_pieces(facts, i) for i in facts.reads)
    if pieces and facts.rows >= tuning.fewest_in_pieces and facts.width >= tuning.shortest_in_pieces:
        return fastest_columns(facts, orders[0][1])
    rows = along_rows(facts)
    taken = row_seconds(facts, rows, facts.tuning.gathered_rates)
    if taken <= facts.tuning.traffic.slow * least_seconds(facts):
        return None
    gain = 1 if pieces else tuning.gain_over_rows
    found = [choice for there, group in orders if (choice := fastest_columns(there, group)) is not None]
    fastest = min(found, key=lambda choice: choice.seconds or inf, default=None)
    tiles = facts.tuning.column_tiles
    if fastest is not None and _is_tiled(fastest.schedule) and facts.width <= tiles.longest_of_rows:
        gain /= tiles.slower_than_rows
    return _below(gain * taken, fastest)


def _takes_longer_than_rows(facts: RowFacts, tiles: Choice) -> bool:
    """Whether a kernel along rows is predicted to take less time than tiles, where results may depend on that (*Rows
    beside tiles*)."""
    if tiles.seconds is None or not facts.bounded or not facts.may_depend_on_rows:
        return False
    return row_seconds(facts, along_rows(facts), facts.tuning.gathered_rates) < tiles.seconds


def _orders_across(facts: RowFacts) -> list[tuple[RowFacts, int]]:
    """The facts, and these with another kept dimension first, along which some operand is consecutive; each with the
    columns that a thread takes at once, at most.  None where columns may not take the place of rows.
    """
    known = facts.bounded and not facts.is_few and facts.space.numel
    if not (known and is_plain_columns(facts) and facts.may_depend_on_rows):
        return []
    others = range(facts.reduced + 1, len(facts.space.shape))
    across = [d for d in others if any(facts.step_along(i, d) == 1 for i in facts.reads)]
    spaces = [facts.space.with_first([*range(facts.reduced), d]) for d in across]
    orders = [facts, *(replace(facts, space=space) for space in spaces)]
    return [(there, group) for there in orders if (group := _widest(there))]


def _below(limit: float, found: Choice | None) -> Choice | None:
    """What is predicted to take less than ``limit`` seconds."""
    return found if found is not None and found.seconds is not None and found.seconds < limit else None


def _widest(facts: RowFacts) -> int:
    """Columns that a thread takes at once, at most; 0 if neighbouring columns are far apart in every operand."""
    space, reduced = facts.space, facts.reduced
    several = reduced < len(space.shape) and space.shape[reduced] > 1
    if not several or facts.state_bytes > facts.tuning.columns.state_bytes:
        return 0
    across = [facts.itemsizes[i] for i in facts.reads if space.strides[i][reduced] == 1]
    if not across:
        return int(any(_shares_sectors(facts, i) for i in facts.reads))
    group = max(1, facts.target.vector_bytes // max(across))
    while space.shape[reduced] % group or group * facts.state_bytes > facts.tuning.columns.state_bytes:
        group //= 2
    return group


def _shares_sectors(facts: RowFacts, access: int) -> bool:
    """Whether neighbouring columns of an operand are in one sector, and nearer than neighbours in a column, or than its
    next piece."""
    step = abs(facts.step_along(access, facts.reduced))
    down = (abs(facts.step_along(access, d)) for d in range(facts.reduced))
    near = 0 < step * facts.itemsizes[access] < SECTOR
    return (near and all(step < other for other in down)) or _has_pieces(facts, access)


def _has_pieces(facts: RowFacts, access: int) -> bool:
    """Whether an operand's columns are pieces of a few consecutive elements, side by side in one sector: for sums over
    axes 0 and 2 of (N, 100, 4), 4 elements of each of 100 columns."""
    step, space = abs(facts.step_along(access, facts.reduced)), facts.space
    down = [(n, abs(facts.step_along(access, d))) for d, n in enumerate(space.shape[: facts.reduced])]
    inside = [n * other <= step for n, other in down if other < step]
    return 0 < step * facts.itemsizes[access] <= SECTOR and 0 < len(inside) < len(down) and all(inside)


def _group(facts: RowFacts) -> int | None:
    """Columns that a thread takes at once; None where the family does not apply."""
    space, tuning = facts.space, facts.tuning.columns
    if not is_plain_columns(facts):
        return None
    across = [i for i in facts.reads if space.strides[i][facts.reduced] == 1]
    if not _are_side_by_side(facts, across):
        return None
    # Where all that differs from row to row is consecutive along rows, row kernels find the rest in the cache.
    whole = any(i in across for i in facts.varying(facts.reads))
    tiles = whole and facts.width >= facts.tuning.column_tiles.shortest
    if (down_columns_only(facts) and not tiles) or facts.state_bytes > tuning.state_bytes:
        return None
    group = max(1, facts.target.vector_bytes // max(facts.itemsizes[i] for i in across))
    while space.shape[facts.reduced] % group or group * facts.state_bytes > tuning.state_bytes:
        group = group // 2 if facts.across else 1
    return group


def _are_side_by_side(facts: RowFacts, across: Sequence[int]) -> bool:
    """Whether enough columns are, perhaps through several dimensions, and then in operands with most of the bytes.
    ``across``: the operands in which neighbouring columns are."""
    fewest, rest = facts.tuning.columns.fewest, set(facts.varying(facts.reads)) - set(across)
    alike = facts.space.shape[facts.reduced] >= fewest or 2 * facts.bytes_of([*rest]) <= facts.bytes_of(across)
    return alike and any(_run(facts, i) >= fewest for i in across)


def _run(facts: RowFacts, access: int) -> int:
    """How far columns lie side by side in an operand, without long gaps, through all kept dimensions."""
    run = 1
    for extent, step in zip(facts.kept.shape, facts.kept.strides[access], strict=True):
        if abs(step) > 2 * run:
            break
        run = max(run, abs(step) * extent)
    return run
