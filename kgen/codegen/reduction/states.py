"""The states of a kernel's reductions, and the variables that elements are accumulated in."""

from __future__ import annotations

from collections.abc import Collection

from kgen.codegen import names
from kgen.codegen.reduction.accumulators import Accumulator, accumulator, with_32bit_index, without_compensation
from kgen.codegen.reduction.context import Part
from kgen.codegen.reduction.sections import label_of
from kgen.ir.graph import Reduction
from kgen.partition.reduction_step import ReductionStep
from kgen.schedule.reduction.states import source_of

States = dict[int, tuple[Accumulator, str]]  #: for each reduction, its accumulator and its state's name


def states_of(step: ReductionStep, shared: Collection[int], *, has_32bit_index: bool, is_brief: bool) -> States:
    """The states of all reductions but those in ``shared``, which take their result from another one's state.

    ``has_32bit_index``: indices within a row have 32 bits.  ``is_brief``: a thread takes few elements of each row.
    """
    unique = names.Unique()
    found: States = {}
    for n, op in enumerate(step.graph.ops):
        if isinstance(op.attr, Reduction) and n not in shared:
            mine = accumulator(op.attr, source_of(step, op), op.dtype)
            mine = with_32bit_index(mine) if has_32bit_index else mine
            mine = without_compensation(mine) if is_brief else mine
            found[n] = (mine, names.state(unique(label_of(step, op))))
    return found


def value_name(step: ReductionStep, number: int, states: States) -> str:
    """The name of a reduction's value: that of its state, if it has one of its own."""
    if number in states:
        return names.of_reduction(states[number][1], "v")
    return names.value(label_of(step, step.graph.ops[number]))


def result_of(mine: Accumulator, state: str, member: str, count: str, *, may_be_empty: bool) -> str:
    """A reduction's value.  ``member``: the member of the state that has it, if it is not the state's own result."""
    if not member:
        return mine.value(state, count)
    if member == "mean":
        member = "mean_or_nan()" if may_be_empty and mine.mean == member else mine.mean.format(count=count)
    return f"{state}.{member}"


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
