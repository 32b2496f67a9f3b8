"""Whether chains of reductions should be split into kernels or merged online, where extents and arrays are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kgen.layout.iterator import IterationSpace, OperandLayout
from kgen.partition.reduction_step import ReductionStep
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.resident_columns import resident_mapping
from kgen.schedule.reduction.rows import row_mapping
from kgen.schedule.reduction.schedule import is_plain
from kgen.schedule.reduction.single_row import beside_another
from kgen.schedule.reduction.traversal import RowTraversal
from kgen.schedule.step_layout import Array, view
from kgen.schedule.target import Target
from kgen.spec import c_strides


def prefers_split(
    step: ReductionStep, extents: Mapping[str, int], arrays: Sequence[Array | None], target: Target
) -> bool:
    """Whether a chain of rounds is faster when split into several kernels.

    It is for long rows that neither a block nor a cluster can keep in registers, however many there are; for a shorter
    one that is the only one of its program; and where rows are columns in memory that a block cannot keep in registers.
    """
    if is_plain(step):
        return False
    tuning = target.tuning.chains
    sizes = [1 if dim == 1 else extents[dim] for dim in step.shape]
    rows, width = math.prod(sizes[: step.kept]), math.prod(sizes[step.kept :])
    alone = rows == 1 and width >= tuning.fewest_split
    is_small = width * rows <= tuning.max_one_block_row or width <= target.tuning.rows.elements
    given = [arrays[t.operand] for t in step.accesses]
    by_columns = not is_small and _kept_axis_is_fastest(step, sizes, given)
    if not (by_columns or alone) and (is_small or width <= tuning.max_one_block_row):
        return False
    facts = _facts(step, sizes, given, target)
    if by_columns:
        return resident_mapping(facts) is None
    may = width > tuning.max_one_block_row or facts.may_depend_on_rows
    return may and not row_mapping(facts, RowTraversal(facts)).vectors


def _facts(step: ReductionStep, sizes: Sequence[int], given: Sequence[Array | None], target: Target) -> RowFacts:
    space, reduced = _space(step, tuple(sizes), given)
    itemsizes = [step.graph.operands[t.operand].dtype.size for t in step.accesses]
    addresses = [a.pointer % target.vector_bytes if a is not None else 0 for a in given]
    return RowFacts(step, beside_another(step, space, reduced), itemsizes, addresses, (), (), target, reduced=reduced)


def fills_device(step: ReductionStep, extents: Mapping[str, int], target: Target) -> bool:
    """Whether there are rows enough for a block each to keep the device busy."""
    return math.prod(1 if dim == 1 else extents[dim] for dim in step.shape[: step.kept]) >= target.tuning.chains.rows


def _kept_axis_is_fastest(step: ReductionStep, sizes: Sequence[int], arrays: Sequence[Array | None]) -> bool:
    """Whether a kept axis is the fastest in every array that varies along all axes."""
    strides = [
        {a: x.strides[axis] for a, axis in enumerate(t.axes) if axis is not None and sizes[a] > 1 and x.strides[axis]}
        for t, x in zip(step.accesses, arrays, strict=True)
        if x is not None
    ]
    whole = [s for s in strides if len(s) == sum(n > 1 for n in sizes)]
    return bool(whole) and all(any(a < step.kept and abs(v) == 1 for a, v in s.items()) for s in whole)


def _space(step: ReductionStep, shape: tuple[int, ...], arrays: Sequence[Array | None]) -> tuple[IterationSpace, int]:
    """The space of a kernel.  Outputs that do not exist yet get the layout of a whole array; buffers are contiguous."""
    known = [None if a is None else view(t, a, shape) for t, a in zip(step.accesses, arrays, strict=True)]
    contiguous = OperandLayout(shape, c_strides(shape))
    first = next((x for x in known if x is not None and x.shape == shape), contiguous)
    single = OperandLayout((1,) * len(shape), (0,) * len(shape))
    # An array that varies along every axis is whole.
    moving = [len(t.axes) == len(shape) and None not in t.axes for t in step.accesses]
    return step.space(shape, [x or (first if m else single) for x, m in zip(known, moving, strict=True)])


def prefers_online(step: ReductionStep, extents: Mapping[str, int], target: Target) -> bool:
    """Whether rows are so long that another exchange between threads, or another reading, costs more than rescaling."""
    width = math.prod(1 if dim == 1 else extents[dim] for dim in step.shape[step.kept :])
    return width > target.tuning.chains.max_separate_rounds_row
