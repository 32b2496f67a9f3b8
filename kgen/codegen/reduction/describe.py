"""The parameters of a kernel with reductions.  ``describe`` gives the context for its text."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TypeVar

from kgen.codegen import names
from kgen.codegen.c_types import headers_of
from kgen.codegen.family import Parameters, Unit, Written
from kgen.codegen.helpers import LOAD_ALIGNED_BLOCKS
from kgen.codegen.kernels import Parameter
from kgen.codegen.limits import check_parameters
from kgen.codegen.reduction.facts import Described, Facts
from kgen.codegen.reduction.row_groups import is_known
from kgen.codegen.reduction.sections import by_value
from kgen.codegen.reduction.states import states_of
from kgen.partition.reduction_step import ReductionStep
from kgen.records import replace
from kgen.schedule.expressions import Int
from kgen.schedule.reduction.launch import PARTIALS, ROW_BLOCKS
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.reduction.states import known_of
from kgen.schedule.scratch import COUNTER_BYTES

S = TypeVar("S", bound=RowSchedule)


def write_reduction(
    describe: Callable[[Facts], Described], unit: Unit[S], *, needs_n: bool, shares: bool, is_brief: bool
) -> Written:
    """A kernel with reductions.

    ``needs_n``: whether the number of rows is a parameter.  ``shares``: whether a reduction may take its result from
    another one's state.  ``is_brief``: whether a thread takes few elements of each row.
    """
    step, schedule = unit.step, unit.schedule
    assert isinstance(step, ReductionStep)
    parameters = Parameters.of_operands(step, schedule)
    unique = names.Unique()
    values = _numbers(step, schedule, parameters, unique)
    known = known_of(step) if shares else {}
    states = states_of(step, known, has_32bit_index=schedule.index_bits == 32, is_brief=is_brief)
    if schedule.split:
        for accumulator, state in states.values():
            declaration = f"{accumulator.type}* {names.block_partials(state)}"
            parameters.add(Parameter("scratch", 0, bytes=PARTIALS * accumulator.size), declaration)
        parameters.add(Parameter("counters", 0, bytes=ROW_BLOCKS * COUNTER_BYTES), "unsigned int* arrived")
    if schedule.shared_operand is not None:
        parameters.add(Parameter("counters", 0, bytes=Int(COUNTER_BYTES)), "unsigned int* next_row_counter")
    parameters.add(Parameter("layout", 0), f"const {unit.layout_name} layout")
    if needs_n:
        parameters.add(Parameter("n", 0), f"const {'unsigned int' if schedule.index_bits == 32 else 'long long'} n")
    facts = Facts(
        step, schedule, unit.name, unit.base, unit.statements, unit.declare, parameters.declarations, values, states,
        known, unit.layout_name, unit.rule.struct,
    )  # fmt: skip
    described = describe(facts)
    parameters = _without_shapes(parameters, described.without_shape)
    check_parameters(unit.name, schedule, unit.rule, parameters.known)
    context = replace(described.context, parameters=tuple(parameters.declarations))
    movers = (LOAD_ALIGNED_BLOCKS,) if schedule.shifts else ()
    return Written(context, parameters, (*described.headers, *_headers(step)), described.helpers, movers)


def _headers(step: ReductionStep) -> list[str]:
    """What declares the types of the parameters."""
    return [header for number in step.operands for header in headers_of(step.graph.operands[number].dtype)]


def _numbers(
    step: ReductionStep, schedule: RowSchedule, parameters: Parameters, unique: names.Unique
) -> dict[tuple[str, int | str], str]:
    """The names of scalars and sizes, which become parameters, or the number of elements of a row that is known."""
    values: dict[tuple[str, int | str], str] = {}
    for n, op in enumerate(step.graph.ops):
        if op.name not in ("scalar", "size"):
            continue
        assert isinstance(op.attr, int | str)
        if is_known(schedule) and step.shape[step.kept :] == (op.attr,):
            values[op.name, op.attr] = f"{schedule.resident}ll"
            continue
        c_type, values[op.name, op.attr] = by_value(step, n, unique)
        dtype = step.graph.scalars[int(op.attr)].dtype if op.name == "scalar" else None
        declaration = f"const {c_type} {values[op.name, op.attr]}"
        parameters.add(Parameter("scalar" if op.name == "scalar" else "size", op.attr, dtype), declaration)
    return values


def _without_shapes(parameters: Parameters, unread: Set[int]) -> Parameters:
    """Without the extents and strides of operands whose shape nothing reads."""
    used = Parameters()
    for parameter, declaration in zip(parameters.known, parameters.declarations, strict=True):
        if parameter.kind != "shape" or parameter.key not in unread:
            used.add(parameter, declaration)
    return used
