"""How a row kernel's threads share the groups of a row."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kgen.codegen.narrow import rounded_stores
from kgen.codegen.reduction.facts import Facts
from kgen.codegen.reduction.gathered_rows import GatheredRows
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.parts import Parts
from kgen.dtypes import FLOAT64
from kgen.ir.graph import IndexMap
from kgen.ir.ops import BRANCHING
from kgen.schedule.reduction.row_columns import RowColumnsSchedule
from kgen.schedule.reduction.schedule import WARP, RowSchedule, is_plain
from kgen.schedule.target import WORD


def is_exact(schedule: RowSchedule) -> bool:
    """Whether every row fills its threads' registers exactly."""
    return schedule.stages and schedule.threads == 1


def is_known(schedule: RowSchedule) -> bool:
    """Whether the text has the number of elements of a row: all rows have just as many as there are registers for."""
    return isinstance(schedule, RowColumnsSchedule) and schedule.exact


def resident_accesses(schedule: RowSchedule) -> set[int]:
    """The register-resident accesses.  What rows or groups share comes from the cache where used, unless prefetched."""
    if schedule.vectors == 0:
        return set()
    by_group = {i for i, t in enumerate(schedule.accesses) if t.kind == "column" and not schedule.segment_threads}
    others = {*range(len(schedule.accesses))} - by_group
    if schedule.prefetches:
        return others
    of_segments = {i for i, t in enumerate(schedule.accesses) if t.kind == "column" and schedule.segment_threads}
    some_differ = schedule.patterns > 0 or schedule.stages
    shared = [i for i, t in enumerate(schedule.accesses) if t.pattern is None and t.kind != "staged" and some_differ]
    return others - {*shared} | of_segments


def walked_at_once(facts: Facts, parts: Parts, gathered: GatheredRows) -> int:
    """Groups of a row that a thread which walks it loads at once: where elements take divisions or functions, whose
    branches would keep each load behind the work on what was loaded before; else 0."""
    schedule, tuning, ops = facts.schedule, facts.schedule.target.tuning.rows, facts.step.graph.ops
    branches = any(parts.varies[n] and op.name in BRANCHING for n, op in enumerate(ops))
    if schedule.vectors or gathered.labels or not branches:
        return 0
    registers = _registers(facts)
    count = tuning.walked_at_once if registers else 0
    while count > 1 and count * registers > tuning.walked_bytes:
        count //= 2
    return count


def unrolled_groups(operands: Operands) -> int:
    """Groups that a walk takes without a branch: fewer where elements are read one by one, because the compiler keeps
    how far each is from the first one, in two registers."""
    schedule, tuning = operands.schedule, operands.schedule.target.tuning.rows
    apart = sum(not (operands.is_grouped(i) or operands.is_one(i)) for i in range(len(schedule.accesses)))
    most = tuning.walked_apart // max(1, schedule.group * apart)
    return max(1, min(tuning.walked_at_once, most))


def _registers(facts: Facts) -> int:
    """Bytes of registers that a group takes: elements that are loaded alone take one each, and the arithmetic on
    float64 takes as many again."""
    operands, step, found = facts.operands(), facts.step, 0
    for i, access in enumerate(step.accesses):
        dtype = step.graph.operands[access.operand].dtype
        each = dtype.size if operands.planned(i).is_vectorised else max(dtype.size, WORD)
        several = access.reads and not operands.is_of_row(i)
        found += facts.schedule.group * each * (2 if dtype is FLOAT64 else 1) if several else 0
    return found


def fills_rows(facts: Facts) -> bool:
    """Whether, in blocks of several rows, only a thread's last group is checked against the row's end: where elements
    are read one or two at a time, and one result of each row is written.  Threads without a row read the first one.

    Each check is a branch of loads: norm of 31.8 million quotients in three orders 93 instructions an element, now 63,
    105 to 87 us.
    """
    schedule = facts.schedule
    short = (
        schedule.rows > 1 < schedule.vectors
        and schedule.group * schedule.vectors <= schedule.target.tuning.rows.elements
    )
    plain = schedule.anchor is None and not (schedule.stages or schedule.segment_threads or schedule.any_length)
    return short and plain and schedule.group <= 2 and is_plain(facts.step)


def exchange_lanes(entries: int) -> int:
    """The lanes of each warp that merge what so many warps left: a power of two."""
    return min(1 << (entries - 1).bit_length(), WARP)


def stores_words(operands: Operands) -> bool:
    """Whether results of 8 bits are stored by whole words."""
    schedule, written = operands.schedule, (i for i, t in enumerate(operands.step.accesses) if t.writes)
    grouped = all(operands.is_grouped(i) or operands.is_one(i) for i in written)
    return schedule.anchor is None and schedule.group % 4 == 0 and grouped


def rounded_groups(operands: Operands, stores: Iterable[int], rows: Collection[int]) -> frozenset[int]:
    """The stores of fp8 whose groups are rounded at once.  ``rows``: those of rows at computed places."""
    ops, fours = operands.step.graph.ops, operands.schedule.group % 4 == 0
    mine = [n for n in stores if (stores_words(operands) if isinstance(ops[n].attr, IndexMap) else n in rows)]
    return rounded_stores(ops, mine) if fours else frozenset()


def start_of_group(schedule: RowSchedule, v: str) -> str:
    """The index of the first element of a thread's group ``v``, counted from the row's first group."""
    threads, group = schedule.row_threads, schedule.group
    if schedule.segment_vectors > 1:
        near, whole = schedule.segment_threads, schedule.segment_threads * schedule.segment_vectors
        place = f"thread / {near} * {whole} + {v} * {near} + thread % {near}" if near > 1 else f"thread * {whole} + {v}"
        return f"{group} * ({place})"
    if threads == 1 and not v:
        return "0"
    number = f"{v} * {threads} + thread" if v and threads > 1 else v or "thread"
    if group == 1:
        return number
    return f"{group} * ({number})" if " " in number else f"{group} * {number}"


def blocks_per_sm(schedule: RowSchedule, *, halves: bool = False) -> int:
    """Blocks that an SM has registers for; 0 where the compiler decides.  ``halves``: whether halves take the place of
    what is loaded: in so few registers the compiler would load row operands late."""
    tuning = schedule.target.tuning
    if schedule.shared_operand is not None:
        return tuning.persistent.blocks_per_sm
    if schedule.gathered and schedule.vectors > 1 and schedule.threads < WARP:
        return tuning.rows.crowded_threads // schedule.block
    if _reads_gaps_behind_others(schedule):
        return max(tuning.staging.crowded_threads // schedule.block, 1)
    few = len(schedule.accesses) <= tuning.rows.few_accesses and schedule.block == tuning.rows.segmented_block
    if schedule.segment_threads and few:
        return tuning.rows.segmented_blocks
    if schedule.vectors and halves:
        return max(tuning.rows.halves_resident_threads // schedule.block, 1)
    if schedule.vectors:
        return 0
    threads = tuning.rows.split_resident_threads if schedule.split else tuning.columns.resident_threads
    return max(threads // schedule.block, 1)


def few_blocks(schedule: RowSchedule) -> int | None:
    """Small blocks let the next kernel start early only where there are at most so many; None: of larger blocks."""
    tuning = schedule.target.tuning.rows
    return tuning.few_blocks if schedule.block <= tuning.small_block else None


def _reads_gaps_behind_others(schedule: RowSchedule) -> bool:
    """Whether each thread has read many elements across rows when it reads rows with gaps."""
    long = schedule.resident >= schedule.target.tuning.staging.crowded_elements
    return long and schedule.threads == 1 and schedule.crosses and any(t.kind == "spaced" for t in schedule.accesses)


def loads_first(operands: Operands, loads: Iterable[int], written: int) -> bool:
    """Whether all loads of a thread are issued before any arithmetic.  ``written``: bytes per element of the outputs.

    For rows of three groups a thread or more that write at least as many bytes as they read.  Softmax of 16384
    float32 runs at 1.02 of a copy, otherwise 0.99; of 4096 bfloat16 at 1.031, otherwise 1.025; but int8 from
    bfloat16 would run at 0.98, otherwise 1.02.
    """
    schedule = operands.schedule
    special = schedule.stages or schedule.any_length or schedule.shared_operand is not None
    alone = schedule.rows == 1 and schedule.anchor is None and not special
    read = sum(operands.operand(t).dtype.size for t in loads)
    return alone and schedule.vectors > 2 and written >= read and schedule.segment_vectors == 1


def row_width(schedule: RowSchedule) -> str:
    """The number of elements of a row."""
    if is_known(schedule) or is_exact(schedule):
        return f"{schedule.resident}"
    return "width" if schedule.rows > 1 and not schedule.stages else "layout.width"


def guards_rows(facts: Facts) -> bool:
    """Whether only threads with rows may write: the others compute as well, on what is staged for no row, or on the
    first one."""
    accesses = zip(facts.schedule.accesses, facts.step.accesses, strict=True)
    beside = bool(facts.step.graph.scattered) or any(t.kind == "gather" and a.writes for t, a in accesses)
    return (facts.schedule.stages and beside) or (facts.schedule.exact and facts.schedule.rows > 1)
