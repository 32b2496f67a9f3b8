"""Schedules of kernels that go along rows and sum over them: persistent blocks that keep a sum for each column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kgen.partition.column_sums import FEW_ROWS, MOST_ROWS, RESIDENT_BLOCKS, ROWS_MULTIPLE, WIDE
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.schedule.expressions import Expr, Int, Name, ceil_div, maximum, minimum
from kgen.schedule.facts import Choice
from kgen.schedule.launch import Labels, Rule
from kgen.schedule.reduction.facts import RowColumnsFacts
from kgen.schedule.reduction.launch import counts, row_fields
from kgen.schedule.reduction.reasons import row_columns_reasons
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.reduction.traversal import RowTraversal
from kgen.schedule.step_layout import Array
from kgen.schedule.target import WARP, Target


@dataclass(frozen=True, slots=True)
class RowColumnsSchedule(RowSchedule):
    """``blocks_per_sm``: an SM has registers for so many blocks.  ``reads_ahead``: whether a block loads the next row
    before it works on one.  ``prefetched``: how many
    rows ahead, of its own, a block asks for a row to be in L2; 0 where it does not.
    """

    blocks_per_sm: int = 1
    reads_ahead: bool = False
    prefetched: int = 0


def suits_blocks(
    steps: Sequence[Step], extents: Mapping[str, int], arrays: Sequence[Array | None], target: Target
) -> bool:
    """Whether rows are of a length that a block can keep sums for, dense, and move by whole vectors.

    Where rows are reduced, their number decides nothing: the bits of a row do not depend on it.
    """
    tuning = target.tuning.row_columns
    step = next(s for s in steps if isinstance(s, ReductionStep) and s.sums)
    rows, width = math.prod(extents[str(dim)] for dim in step.shape[:-1]), extents[str(step.shape[-1])]
    if not tuning.shortest <= width <= tuning.longest or (rows < tuning.fewest_rows and not _reduces(step)):
        return False
    pairs = [(arrays[t.operand], t.axes[-1]) for t in step.accesses]
    return all(_moves_by_vectors(a, axis, target) for a, axis in pairs if a is not None and axis is not None)


def _moves_by_vectors(array: Array, axis: int, target: Target) -> bool:
    """Whether rows along an axis are whole vectors, one element behind the other."""
    group = target.vector_bytes // array.itemsize
    others = [s for a, (n, s) in enumerate(zip(array.shape, array.strides, strict=True)) if n > 1 and a != axis]
    return array.strides[axis] == 1 and not any(n % group for n in (array.shape[axis], *others))


def _reduces(step: ReductionStep) -> bool:
    return any(op.name == "reduce" for op in step.graph.ops)


def along_rows_and_columns(facts: RowColumnsFacts) -> Choice:
    """A block a row, which takes several rows."""
    tuning = facts.tuning.row_columns
    traversal = RowTraversal(facts, 1)
    groups = -(-facts.width // traversal.group)
    vectors = max(1, tuning.elements // traversal.group, -(-groups // tuning.most_threads))
    threads = -(-groups // (vectors * WARP)) * WARP
    apart = len(facts.space.shape) == facts.reduced + 1  # all rows at the same distance
    is_long = facts.width * facts.largest >= tuning.prefetched_bytes
    few = vectors * traversal.group <= tuning.elements  # otherwise there are no registers for more loads at once
    exact = few and facts.width == threads * vectors * traversal.group
    schedule = RowColumnsSchedule(
        "row_columns",
        threads,
        traversal.group,
        len(facts.space.shape),
        facts.index_bits(facts.varies),
        traversal.accesses(),
        facts.coordinates,
        target=facts.target,
        threads=threads,
        vectors=vectors,
        reduced=facts.reduced,
        exact=exact,
        has_width=not exact,
        prefetches=traversal.weights > 0,
        blocks_per_sm=max(1, min(-(-WIDE // facts.width), tuning.resident_threads // threads)),
        reads_ahead=few and apart,
        prefetched=(2 if few else 1) if apart and _reduces(facts.step) and is_long else 0,
    )
    return Choice(schedule, facts.space, row_columns_reasons(schedule, facts.step, facts.width))


def row_columns_rule(schedule: RowColumnsSchedule, labels: Labels) -> Rule:
    """As many blocks as :func:`~kgen.partition.column_sums.block_count` says."""
    resident: Expr = ceil_div(WIDE, maximum(Name("width"), 1)) * RESIDENT_BLOCKS
    waves = maximum(ceil_div(Name("rows"), Name("resident") * MOST_ROWS), 1)
    multiple = maximum(minimum(ceil_div(Name("rows"), FEW_ROWS), ROWS_MULTIPLE), 1)
    each = maximum(ceil_div(Name("rows"), Name("resident") * waves * Name("multiple")), 1) * Name("multiple")
    lets = (*counts(schedule), ("resident", resident), ("multiple", multiple), ("block_rows", each))
    blocks = ceil_div(Name("rows"), Name("block_rows"))
    return Rule((blocks, Int(1), Int(1)), schedule.block, Name("rows"), tuple(row_fields(schedule, labels)), lets)
