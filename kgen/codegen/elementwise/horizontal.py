"""The text of ``horizontal`` kernels: a device function for each part, and a kernel whose blocks call them."""

from __future__ import annotations

from typing import Any

from kgen.codegen import names
from kgen.codegen.elementwise.context import HorizontalContext, PartContext
from kgen.codegen.family import Family, FamilyOf, Parameters, Unit, Written
from kgen.codegen.kernels import Parameter
from kgen.codegen.layouts import filled, labels_of
from kgen.codegen.limits import check_parameters
from kgen.partition.horizontal import HorizontalStep
from kgen.partition.step import Step
from kgen.schedule.elementwise.horizontal import HorizontalSchedule
from kgen.schedule.schedule import Schedule

#: The order of a kernel's parameters, by kind.
_KINDS = ("pointer", "buffer", "shape", "scalar", "size")


def write_horizontal(unit: Unit[HorizontalSchedule], family: FamilyOf) -> Written:
    """``family``: that of a part, by its name."""
    step, schedule = unit.step, unit.schedule
    assert isinstance(step, HorizontalStep)
    unique = names.Unique()
    parts = [
        _write_part(unit, unique(_output(part)), part, planned, family(planned.template))
        for part, planned in zip(step.parts, schedule.parts, strict=True)
    ]
    declared = {
        parameter: declaration
        for part in parts
        for parameter, declaration in zip(part.parameters.known, part.parameters.declarations, strict=True)
        if parameter.kind in _KINDS
    }
    parameters = Parameters()
    for parameter in sorted(declared, key=lambda p: _KINDS.index(p.kind)):
        parameters.add(parameter, declared[parameter])
    parameters.add(Parameter("layout", 0), f"const {unit.layout_type} layout")
    check_parameters(unit.name, schedule, unit.rule, parameters.known)
    context = HorizontalContext(
        template="horizontal.cu.j2",
        name=unit.name,
        comment=_comment(schedule, [part.context.name for part in parts]),
        parameters=tuple(parameters.declarations),
        block=schedule.block,
        layout=unit.layout_name,
        parts=tuple(PartContext(part.context, _call(part, number)) for number, part in enumerate(parts)),
    )
    return Written(
        context,
        parameters,
        headers=tuple(header for part in parts for header in part.headers),
        helpers=tuple(helper for part in parts for helper in part.helpers),
        movers=tuple(mover for part in parts for mover in part.movers),
    )


def _output(part: Step) -> str:
    """The array that a part writes first."""
    return part.graph.operands[part.graph.base(min(part.written))].name


def _write_part(
    unit: Unit[HorizontalSchedule], label: str, part: Step, schedule: Schedule, family: Family[Any, Any]
) -> Written:
    base = f"{unit.base}_{label}"
    rule = family.launch(schedule, labels_of(part, schedule))
    element = unit.write_element(part, schedule, f"{base}_element")
    return family.write(
        Unit(
            part, schedule, f"{base}_part", base, unit.statements, element, unit.declare, unit.write_element, rule,
            is_part=True,
        )
    )  # fmt: skip


def _call(part: Written, number: int) -> tuple[str, ...]:
    """The call of a part's function."""
    given = {"layout": f"layout.part{number}", "n": f"layout.n[{number}]"}
    arguments = [declared.rpartition(" ")[2] for declared in part.parameters.declarations]
    return filled(f"{part.context.name}(", [*(given.get(a, a) for a in arguments), "block"], ");")


def _comment(schedule: HorizontalSchedule, functions: list[str]) -> tuple[str, ...]:
    return (
        names.comment(f"The first blocks run {functions[0]}, those after them {' and '.join(functions[1:])}."),
        f"Launch: layout.blocks[0] + ... + layout.blocks[{len(functions) - 1}] blocks of {schedule.block} threads.",
    )
