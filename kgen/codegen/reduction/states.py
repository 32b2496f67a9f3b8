"""The states of a kernel's reductions, and the variables that elements are accumulated in."""

from __future__ import annotations

from collections.abc import Collection

from kgen.codegen import names
from kgen.codegen.reduction.accumulators import Accumulator, accumulator, with_32bit_index, without_compensation
from kgen.codegen.reduction.context import Part
from kgen.codegen.reduction.sections import label_of
from kgen.ir.graph import Op, Reduction
from kgen.partition.cut import ReductionStep

States = dict[int, tuple[Accumulator, str]]  #: for each reduction, its accumulator and its state's name

#: (kind, other kind) -> the member of the first one's state that is the result of the other, for the same elements.
KNOWN = {("exp_sum", "max"): "peak", ("var", "mean"): "mean", ("std", "mean"): "mean"}


def known_of(step: ReductionStep) -> dict[int, tuple[int, str]]:
    """For each reduction that needs no state of its own: the one whose state has its result, and the member."""
    ops = step.graph.ops
    kinds = {n: op.attr.kind for n, op in enumerate(ops) if isinstance(op.attr, Reduction)}
    return {
        n: (m, KNOWN[kinds[m], kinds[n]])
        for m in kinds
        for n in kinds
        if (kinds[m], kinds[n]) in KNOWN and _same_elements(ops[m], ops[n]) and ops[m].dtype is ops[n].dtype
    }


def _same_elements(one: Op, two: Op) -> bool:
    axes = [op.attr.axes if isinstance(op.attr, Reduction) else () for op in (one, two)]
    return one.args == two.args and axes[0] == axes[1]


def states_of(step: ReductionStep, shared: Collection[int], *, has_32bit_index: bool, is_brief: bool) -> States:
    """The states of all reductions but those in ``shared``, which take their result from another one's state.

    ``has_32bit_index``: indices within a row have 32 bits.  ``is_brief``: a thread takes few elements of each row.
    """
    unique = names.Unique()
    found: States = {}
    for n, op in enumerate(step.graph.ops):
        if isinstance(op.attr, Reduction) and n not in shared:
            mine = accumulator(op.attr, step.graph.ops[op.args[0]].dtype, op.dtype)
            mine = with_32bit_index(mine) if has_32bit_index else mine
            mine = without_compensation(mine) if is_brief else mine
            found[n] = (mine, unique(names.state(label_of(step, op))))
    return found


def thread_state(mine: Accumulator, state: str) -> str:
    """The name of the variable that a thread accumulates in."""
    return state if mine.local is None else names.of_reduction(state, mine.local.word)


def first_of(mine: Accumulator) -> str:
    """The initial value of that variable."""
    return mine.initial if mine.local is None else mine.local.init


def target_of(mine: Accumulator, state: str, column: str, collected: str) -> str:
    """The variable that takes an element.

    ``column``: the index of its column in arrays, if any.  ``collected``: its index, if elements are collected.
    """
    if mine.mode == "direct":
        return thread_state(mine, state) + column
    part = names.of_reduction(state, "part")
    return part if mine.mode == "part" else f"{part}[{collected}]"


def part_of(mine: Accumulator, state: str, thread: str, group: int) -> Part | None:
    """The partial result that takes the elements of a group; None if ``thread`` takes each element directly."""
    if mine.mode == "direct":
        return None
    part = names.of_reduction(state, "part")
    take = (mine.take if mine.local is None else mine.local.take).format(x=part, group=group)
    if mine.mode == "part":
        return Part(thread, take, part, first=mine.start.format(a=thread))
    return Part(thread, take, part, mine.collects, count=group)
