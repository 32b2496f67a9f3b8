"""The comment above a kernel that goes along rows."""

from __future__ import annotations

from kgen.codegen import names
from kgen.codegen.layouts import alignment_comment, no_overlap_comment
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.row_groups import blocks_per_sm
from kgen.codegen.reduction.staging import staged_operands
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.spec import counted


def bound_comment(schedule: RowSchedule, blocks: int) -> list[str]:
    """What the launch bound of ``blocks`` blocks means, of the 65,536 registers of an SM."""
    registers = min((1 << 16) // (blocks * schedule.block) // 8 * 8, 255) if blocks else 0
    return [f"Bound: at most {registers} registers a thread, so that {blocks} blocks fit an SM."] if blocks > 1 else []


# branches: one for each fact that the comment states
def row_comment(operands: Operands, *, fills: bool, walks_once: bool) -> tuple[str, ...]:
    """What the kernel does, how it is launched, and what it requires of its operands.

    ``fills``: whether all but a thread's last group must lie within the row.  ``walks_once``: whether elements are read
    for one element function only.
    """
    schedule = operands.schedule
    exact = schedule.stages and schedule.threads == 1  # every row fills the thread's registers exactly
    rows = f"{schedule.rows} rows a block, " if schedule.rows > 1 else ""
    share = f"{schedule.threads} threads a row" if schedule.threads > 1 else "one thread a row"
    if schedule.cluster > 1:
        share = f"a cluster of {schedule.cluster} blocks a row (sm_90 and CUDA 12.1, or later)"
    most = schedule.row_threads * schedule.vectors * schedule.group
    if schedule.vectors:
        least = most - schedule.row_threads * schedule.group + 1
        alone = exact or schedule.exact or (fills and least == most)
        up_to = "" if alone else f"{least} to " if fills else "up to "
        most += schedule.group - 1 if schedule.anchor is not None and not schedule.stages else 0
        what = f"Rows of {up_to}{counted(most, 'element')}, kept in registers: {rows}{share}."
    elif schedule.split:
        what = f"Rows of any length, each shared by several blocks: {share} and block."
    elif walks_once:
        what = f"Rows of any length, walked once: {share}."
    else:
        what = f"Rows of any length, read again for each round of reductions: {share}."
    launch = f"Launch: a block of {schedule.block} threads for each row."
    memory: tuple[str, ...] = ()
    if schedule.split:
        multiple = f"any multiple of {schedule.group}" if schedule.group > 1 else "any"
        launch = f"Launch: (rows, ceil(width / span)) blocks of {schedule.block} threads; `span`: {multiple}."
        partials = "rows * gridDim.y of each `*_block_partials`"
        memory = (f"Memory: {partials}; `arrived` counts for each row, 0 before and after.",)
    if schedule.rows > 1:
        launch = f"Launch: ceil(n / {schedule.rows}) blocks of {schedule.block} threads, for n rows."
    if schedule.chunk:
        memory = ("Rows are numbered by chunks: n counts the last chunk as whole.",)
    launches = _cluster_launch(schedule) if schedule.cluster > 1 else (launch, *memory)
    if schedule.shared_operand is None:
        launches = (*launches, *bound_comment(schedule, blocks_per_sm(schedule)))
    text = [what + (" Indices are 64-bit." if schedule.index_bits == 64 else ""), *launches]
    if schedule.segment_threads:
        shared_by = f"{schedule.segment_threads} threads" if schedule.segment_threads > 1 else "one thread"
        text.insert(1, f"Segments of {schedule.segment} elements, the fastest extent: {shared_by} each.")
    if schedule.index_bits == 32:
        below = "2^31" if schedule.vectors else "2^31 - 2^16"  # a loop's index goes up to 2^16 beyond the row's end
        text.append(f"Limits: fewer than 2^31 rows, and every place within a row, in bytes, below {below}.")
    else:
        text.append("Limits: fewer than 2^31 blocks.")
    text += alignment_comment(operands.step, schedule)
    text += staged_operands(operands)
    if schedule.group > 1 and schedule.anchor is None and not exact:
        widths = (
            "row widths and row strides" if schedule.reduced == 1 else "the fastest extent and the strides beyond it"
        )
        text.append(f"Vector accesses: {widths} are multiples of {schedule.group} elements.")
    return tuple(names.comment(line) for line in [*text, *no_overlap_comment(operands.step, schedule)])


def _cluster_launch(schedule: RowSchedule) -> tuple[str, ...]:
    """The launch of a kernel whose blocks form clusters."""
    blocks = f"{schedule.cluster} blocks of {schedule.block} threads"
    if schedule.shared_operand is None:
        return (f"Launch: {blocks} for each row.",)
    blocks_per_sm = schedule.target.tuning.persistent.blocks_per_sm
    return (
        f"Launch: {blocks} for each cluster; `next_row_counter` is 0.",
        f"Bound: {blocks_per_sm} blocks an SM, which leaves L1 room for the other operands.",
        "Clusters: as many as fit the device (cudaOccupancyMaxActiveClusters), but no more than n, of rows.",
    )
