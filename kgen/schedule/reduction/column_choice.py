"""The schedule of a column kernel, for a mapping of threads to columns."""

from __future__ import annotations

from kgen.layout.kinds import stride_patterns
from kgen.schedule.facts import Choice
from kgen.schedule.reduction.column_mapping import ColumnMapping
from kgen.schedule.reduction.column_tiles import down_columns_only, shifted_runs, tile_index_bits, transpose
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.reasons import common_reasons, transposed_reasons
from kgen.schedule.reduction.schedule import ColumnSchedule
from kgen.schedule.reduction.streaming import streaming_accesses
from kgen.schedule.schedule import AccessKind, AccessSchedule


def choice_of(facts: RowFacts, group: int, mapping: ColumnMapping) -> Choice:
    """``group``: neighbouring columns that a thread takes."""
    transposed = down_columns_only(facts) if mapping.tiled else ()
    accesses = transpose(facts, column_accesses(facts, group, apart=mapping.apart), transposed, mapping.vectors)
    # Without loops over runs, whose loads wait for each other (*Whole short columns, and rows that L1 loses*).
    whole = facts.bounded and mapping.tiled and _has_columns_alone(facts, mapping)
    streams = facts.bounded and mapping.split  # slower without split (sums of a middle axis 1.00, not 1.04)
    schedule = ColumnSchedule(
        "column_reduce",
        mapping.lanes * mapping.threads,
        group,
        len(facts.space.shape),
        tile_index_bits(facts, group, transposed),
        accesses,
        facts.coordinates,
        target=facts.target,
        threads=mapping.threads,
        vectors=mapping.vectors,
        reduced=facts.reduced,
        split=mapping.split,
        loops=(mapping.loops and not whole) or not facts.bounded,
        at_once=whole or (mapping.at_once and facts.bounded),
        chunk=mapping.chunk,
        apart=mapping.apart,
        shifted_runs=() if mapping.chunk else shifted_runs(facts, accesses, transposed, mapping.vectors),
        columnwise=_moving(facts),
        streaming=streaming_accesses(facts, accesses, group, short=False) if streams else (),
    )
    across, one = (f"groups of {group} columns", "group") if group > 1 else ("columns", "column")
    share = f"{mapping.threads} threads share each {one}" if mapping.threads > 1 else f"a thread has a {one}"
    what = f"columns: {mapping.lanes} threads across {across}, {share}"
    tiles = transposed_reasons(schedule, [facts.names[i] for i in transposed])
    return Choice(schedule, facts.space, (what, *tiles, *common_reasons(schedule)))


def _has_columns_alone(facts: RowFacts, mapping: ColumnMapping) -> bool:
    """Whether each thread has whole columns alone."""
    return facts.reduced == 1 and mapping.threads == 1 and mapping.vectors == facts.width


def _moving(facts: RowFacts) -> tuple[int, ...]:
    """The operands that are read and differ from element to element of a column, as far as that is known."""
    inner = range(facts.reduced)
    return tuple(i for i in facts.reads if not facts.bounded or any(facts.space.strides[i][d] for d in inner))


def column_accesses(facts: RowFacts, group: int, *, apart: bool = False) -> tuple[AccessSchedule, ...]:
    """How each operand is read or written by threads that take ``group`` neighbouring columns each.

    Groups are along the first of the kept dimensions.
    """
    accesses: list[AccessSchedule] = []
    _, found = stride_patterns(facts.space_from(facts.reduced + 1), list(range(len(facts.itemsizes))))
    for i, size in enumerate(facts.itemsizes):
        step_across = facts.space.strides[i][facts.reduced]
        kind: AccessKind = "vector" if step_across == 1 else "row" if step_across == 0 else "gather"
        alignment = 0
        if kind == "vector":
            full, strides = min(facts.target.vector_bytes, group * size), facts.other_strides(i, facts.reduced)
            aligned = facts.addresses[i] % full == 0 and all(s * size % full == 0 for s in strides)
            alignment = full if aligned and not apart else size
        accesses.append(AccessSchedule(kind, alignment, found[i], not facts.aliased[i]))
    return tuple(accesses)


def is_plain_columns(facts: RowFacts) -> bool:
    """Whether a kernel has one round of reductions and writes one element per row (rows may have only one element)."""
    return facts.is_plain or (facts.step.kept == len(facts.step.shape) and facts.rounds == 1)
