"""Schedules of reductions along a slow dimension with few columns: neighbouring threads take neighbouring vectors.

A vector has elements of several columns, maybe of several rows.  A block's vectors together have whole rows, so
each element of a thread's vectors stays in one column::

    columns   0 1 2 0  1 2 0 1  2 0 1 2    three columns, vectors of four: a block of 3 n threads
    thread       0        1        2
"""

from __future__ import annotations

import math

from kgen.layout.kinds import stride_patterns
from kgen.records import dataclass
from kgen.schedule.column_tuning import NarrowColumns
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.few import few_rows
from kgen.schedule.reduction.reasons import common_reasons
from kgen.schedule.reduction.schedule import NarrowColumnSchedule, is_plain
from kgen.schedule.reduction.streaming import streaming_accesses
from kgen.schedule.schedule import AccessKind, AccessSchedule
from kgen.schedule.target import WARP


@dataclass(frozen=True, slots=True)
class NarrowMapping:
    """``block`` threads take vectors of ``group`` elements, which cover ``down`` rows; the rest is as in
    :class:`~kgen.schedule.reduction.schedule.NarrowColumnSchedule`."""

    block: int
    group: int
    down: int
    vectors: int
    loops: bool
    split: bool
    blocks_per_sm: int


def narrow_columns(facts: RowFacts) -> Choice | None:
    """The schedule of a kernel that reduces few columns; None where the family does not apply, or elements are so few
    that many threads share each row of them."""
    dense = _dense(facts) if not (facts.only_along_rows or few_rows(facts)) else []
    found = _mapping(facts, dense) if dense else None
    if found is None:
        return None
    columns, accesses = int(facts.space.shape[1]), _accesses(facts, dense, found.group)
    schedule = NarrowColumnSchedule(
        "column_narrow",
        found.block,
        found.group,
        len(facts.space.shape),
        facts.index_bits([True] * len(accesses)),
        accesses,
        facts.coordinates,
        target=facts.target,
        threads=1,
        vectors=found.vectors,
        split=found.split,
        loops=found.loops,
        columnwise=facts.reads,
        streaming=streaming_accesses(facts, accesses, found.group, short=False) if found.split else (),
        columns=columns,
        blocks_per_sm=found.blocks_per_sm,
    )
    what = (
        f"columns: {columns} lie side by side, so vectors go across rows, and {found.block} threads across "
        f"{found.down} rows"
    )
    return Choice(schedule, facts.space, (what, *common_reasons(schedule)))


def _dense(facts: RowFacts) -> list[int]:
    """The operands that are read by vectors; none where the family does not apply."""
    space, tuning = facts.space, facts.tuning.narrow_columns
    dense = [i for i in facts.reads if _is_dense(facts, i)]
    if not dense or set(facts.varying(facts.reads)) - set(dense) or not 1 < space.shape[1] <= tuning.most:
        return []
    others = any(access.reads and i not in dense for i, access in enumerate(facts.step.accesses))
    plain = facts.bounded and is_plain(facts.step) and facts.state_bytes <= tuning.state_bytes
    return dense if plain and not (others and len(space.shape) > 2) else []


def _mapping(facts: RowFacts, dense: list[int]) -> NarrowMapping | None:
    """The thread mapping; None where columns are shorter than the rows of a block, or a row has no thread a column."""
    tuning, columns, group = facts.tuning.narrow_columns, facts.space.shape[1], _group(facts, dense)
    block = _block(columns, max(group, 1), tuning)
    down = block * group // columns
    if not 0 < down <= facts.width or block < columns:
        return None
    vectors, each = _vectors(facts, dense, group), -(-facts.width // down)
    split = each > tuning.batches_of_blocks * vectors and facts.rows // columns < tuning.enough_tiles
    vectors = min(vectors, 1 << (each.bit_length() - 1))
    heavy = group * facts.state_bytes > tuning.light_state_bytes
    resident = tuning.resident_threads_heavy if heavy else tuning.resident_threads
    return NarrowMapping(block, group, down, vectors, each >= 2 * vectors, split, max(1, resident // block))


def _is_dense(facts: RowFacts, access: int) -> bool:
    """Whether rows follow each other in memory without gaps."""
    space = facts.space
    if facts.reduced != 1 or len(space.shape) < 2:
        return False
    return space.strides[access][1] == 1 and space.strides[access][0] == space.shape[1]


def _group(facts: RowFacts, dense: list[int]) -> int:
    """Elements of a vector: the widest to which all dense operands are aligned; 0 if their states do not fit."""
    tuning, columns = facts.tuning.narrow_columns, facts.space.shape[1]
    group = max(1, facts.target.vector_bytes // max(facts.itemsizes[i] for i in dense))
    starts = [facts.addresses[i] // facts.itemsizes[i] for i in dense]
    starts += [s for i in dense for s in facts.space.strides[i][2:]]
    while group and (any(s % group for s in starts) or _states(facts, columns, group) > tuning.shared_bytes):
        group //= 2
    return group


def _states(facts: RowFacts, columns: int, group: int) -> int:
    """Bytes of a block's states.  More than fit where a thread would have too many."""
    tuning, each = facts.tuning.narrow_columns, group * facts.state_bytes
    return each * _block(columns, group, tuning) if each <= tuning.state_bytes else tuning.shared_bytes + 1


def _block(columns: int, group: int, tuning: NarrowColumns) -> int:
    """Threads of a block: whole warps, whose vectors together are whole rows, as near as possible to the goal."""
    unit = math.lcm(columns // math.gcd(columns, group), WARP)
    return unit * max(1, round(tuning.block / unit))


def _vectors(facts: RowFacts, dense: list[int], group: int) -> int:
    """Vectors of each operand that a thread reads at once."""
    tuning, most = facts.tuning.narrow_columns, 1
    flying = tuning.in_flight_bytes * (2 if all(facts.itemsizes[i] == 1 for i in dense) else 1)
    while 2 * most * group * facts.bytes_of(dense) <= flying and most < tuning.most_in_flight:
        most *= 2
    return most


def _accesses(facts: RowFacts, dense: list[int], group: int) -> tuple[AccessSchedule, ...]:
    """How each operand is read or written: dense ones by vectors, others by elements."""
    found: list[AccessSchedule] = []
    _, patterns = stride_patterns(facts.space_from(2), list(range(len(facts.itemsizes))))
    for i, size in enumerate(facts.itemsizes):
        across, vector = facts.space.strides[i][1], group * size if i in dense else size
        whole = i in dense or (across == 1 and not facts.varies[i])
        kind: AccessKind = "vector" if whole else "gather" if across else "row"
        found.append(AccessSchedule(kind, vector if whole else 0, patterns[i], not facts.aliased[i]))
    return tuple(found)
