"""The reasons for the schedules of kernels with reductions, as text for ``explain``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgen.ir.graph import Reduction
from kgen.passes.online import approximable_exponentials
from kgen.schedule.elementwise.reasons import listed
from kgen.spec import counted

if TYPE_CHECKING:
    from kgen.partition.reduction_step import ReductionStep
    from kgen.schedule.reduction.schedule import ColumnSchedule, RowSchedule


def _length(schedule: RowSchedule, width: int | None) -> str:
    """The elements of rows that are kept in registers."""
    return f"up to {schedule.threads * schedule.vectors * schedule.group}" if width is None else str(width)


def row_reasons(schedule: RowSchedule, step: ReductionStep, width: int | None, *, plain: bool) -> tuple[str, ...]:
    """How rows of ``width`` elements (None: any number) are processed.  ``plain``: one round, one result per row."""
    alone = schedule.threads == 1
    shared = "one thread takes a row" if alone else f"{schedule.threads} threads share a row"
    if schedule.cluster > 1:
        shared = f"clusters of {schedule.cluster} blocks of {schedule.threads} threads share a row"
    keep, traversal = ("keeps", "walks") if alone else ("keep", "walk")
    if schedule.vectors:
        kept = schedule.vectors * schedule.group
        each = f"{counted(kept, 'element')} each: one pass over memory"
        what = f"rows: {shared} of {_length(schedule, width)} elements and {keep} it in registers, {each}"
    elif plain:
        what = f"rows: {shared} and {traversal} it once"
    elif width is None:
        what = f"rows of any length: {shared}, read again for each round of reductions"
    else:
        what = f"rows: {shared}, too long for their registers: read again for each round of reductions"
    ends: tuple[str, ...] = ()
    if schedule.stages:
        ends = (
            "staged: rows are short, or no multiple of 16 bytes: a block moves all of its rows through shared memory",
        )
        spaced = any(t.kind == "spaced" for t in schedule.accesses)
        ends += ("gaps: rows with gaps between them are read into shared memory one by one",) if spaced else ()
        crosses = "across: some operands run across rows, so neighbouring threads take neighbouring rows"
        ends += (crosses,) if schedule.crosses else ()
    elif schedule.anchor is not None:
        begin = "rows begin or end" if width is not None else "rows may begin or end"
        ends = (f"peeled: {begin} between 16-byte accesses, so elements there are taken one by one",)
    if schedule.prefetches:
        ends = ("prefetched: operands that all rows share are loaded with the row, ahead of the reductions",)
    if schedule.shared_operand is not None:
        ends = ("persistent: clusters take row after row, and keep one operand that all rows share in shared memory",)
    return (what, *ends, *_segments(schedule), *common_reasons(schedule), *_arithmetic(step))


def row_columns_reasons(schedule: RowSchedule, step: ReductionStep, width: int) -> tuple[str, ...]:
    """How rows are processed that are also summed."""
    kept = schedule.vectors * schedule.group
    what = (
        f"rows and columns: blocks of {schedule.threads} threads take several rows of {width} elements, one after the "
        f"other, {kept} elements a thread, and keep a sum for each column: one pass over memory"
    )
    return (what, *common_reasons(schedule), *_arithmetic(step))


def _segments(schedule: RowSchedule) -> tuple[str, ...]:
    """How segments of rows are processed."""
    if not schedule.segment_threads:
        return ()
    each = f"{schedule.segment_threads} threads share" if schedule.segment_threads > 1 else "one thread has"
    return (f"segments: {each} each {schedule.segment} elements of a row, which are reduced in the same pass",)


def resident_column_reasons(schedule: ColumnSchedule, step: ReductionStep, height: int) -> tuple[str, ...]:
    """How columns of ``height`` elements are kept in registers."""
    lanes, threads, group = schedule.block // schedule.threads, schedule.threads, schedule.group
    groups = f"groups of {group} columns" if group > 1 else "columns"
    across = f"{counted(lanes, 'thread')} {'go' if lanes > 1 else 'goes'} across {groups}"
    share = f"{threads} threads share each and keep" if threads > 1 else "a thread has each and keeps"
    kept = f"{counted(schedule.vectors, 'element')} of a column each"
    what = f"columns: rows of {height} elements lie side by side in memory; {across}, {share} it in registers, {kept}"
    turn = f"in turn: neighbouring threads go along {counted(schedule.in_turn, 'group')} of columns, then down these"
    turns = (f"{turn}, so that a warp reads runs of memory",) if schedule.in_turn else ()
    return (f"{what}: one pass over memory", *turns, *common_reasons(schedule), *_arithmetic(step))


def transposed_reasons(schedule: RowSchedule, names: Sequence[str]) -> tuple[str, ...]:
    """Why threads of a column kernel take tiles.  ``names``: of the transposed operands."""
    if not names:
        return ()
    tile = f"{schedule.vectors} x {schedule.group} elements"
    return (f"tiles: {listed(names)} consecutive down columns, so each thread transposes {tile} in registers",)


def common_reasons(schedule: RowSchedule) -> tuple[str, ...]:
    """The reasons that rows and columns have in common."""
    why = "too few rows to keep a device busy" if schedule.is_column else "rows are long"
    split = f"split: {why}, so several blocks share each; the last one merges their results"
    bits = "32-bit indices: every place within a row, in bytes, is below 2^31"
    if schedule.index_bits == 64:
        bits = "64-bit indices: the bytes of a row, or the number of rows, may exceed 2^31"
    last = "L2: more is read than it holds, so loads are evict-last: what is written is evicted first"
    once = "streaming: more is read than L2 holds, each element once, so loads are evict-first"
    return (
        *((split,) if schedule.split else ()),
        *((last,) if schedule.evict_last else ()),
        *((once,) if schedule.streaming else ()),
        bits,
    )


def _arithmetic(step: ReductionStep) -> tuple[str, ...]:
    """Why there are fewer rounds than in the program, and where exponentials may be less exact than float32."""
    found: list[str] = []
    if any(isinstance(op.attr, Reduction) and op.attr.kind == "exp_sum" for op in step.graph.ops):
        found.append(
            "online: sums of exponentials are relative to the greatest so far, so that no round waits for the maximum"
        )
    if approximable_exponentials(step.graph)[1]:
        found.append(
            "quotients by a sum are rounded to 16 bits or fewer, so exponentials with an error of 2^-17 suffice"
        )
    return tuple(found)
