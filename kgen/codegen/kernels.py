"""One step under one schedule -> what its kernel template sees, and how its parameters are bound at a launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kgen.codegen import names
from kgen.codegen.context import FieldContext, GroupContext, KernelContext, LayoutContext, OffsetContext, TouchContext
from kgen.codegen.element import Argument, Element, Statement
from kgen.codegen.elementwise.groups import describe_groups
from kgen.codegen.layouts import (
    OFFSETS_32,
    apart,
    before,
    call_lines,
    decomposition,
    divisor_fields,
    placement,
    sum_lines,
    touch_labels,
)
from kgen.codegen.limits import check_parameters
from kgen.codegen.reduction.access import known_of, states_of
from kgen.codegen.reduction.columns import ColumnWriter
from kgen.codegen.reduction.resident_columns import HeldColumnWriter
from kgen.codegen.reduction.rows import Described, RowsWriter, describe_rows
from kgen.codegen.reduction.sections import by_value
from kgen.codegen.spelling import register_type, storage_type
from kgen.dtypes import DType
from kgen.partition.cut import RowStep
from kgen.partition.step import Step
from kgen.schedule.elementwise.policy import beyond
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a ``__global__`` function, in order.

    ``pointer``: ``key`` is the operand's number; ``buffer``: the same, of memory of kgen's own.  ``partial``: what
    blocks leave of a reduction, so many bytes each; ``arrived``: a counter for each group of blocks; ``taken``: one of
    rows.  ``scalar``: the number in the step's kernel.  ``size``: the dimension symbol.  ``layout``: the by-value
    struct.  ``n``: the number of elements or rows.
    """

    kind: Literal["pointer", "buffer", "partial", "arrived", "taken", "scalar", "size", "layout", "n"]
    key: int | str
    dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel of a module: its name and what a launcher has to know."""

    name: str
    step: int
    schedule: Schedule
    parameters: tuple[Parameter, ...]


def describe(
    step: Step, number: int, schedule: Schedule, element: Element, name: str
) -> tuple[KernelContext | GroupContext, Entry]:
    """The template's context and the launcher's entry of one kernel."""
    index = _index(schedule)
    grouped = schedule.template in ("rows", "tiled")
    layout = None if grouped else _layout(step, schedule, f"{name}_layout")
    parameters, declarations = _pointers(step, schedule)
    for argument in element.arguments:
        if argument.kind == "scalar":
            assert isinstance(argument.key, int)
            parameters.append(Parameter("scalar", argument.key, step.kernel.scalars[argument.key].dtype))
            declarations.append(argument.declaration)
        elif argument.kind == "size":
            parameters.append(Parameter("size", argument.key))
            declarations.append(argument.declaration)
    if layout is not None or grouped:
        parameters.append(Parameter("layout", 0))
        declarations.append(f"const {name}_layout layout")
    if schedule.template != "tiled":  # a tile kernel's grid is exact
        parameters.append(Parameter("n", 0))
        declarations.append(f"const {index} n")
    check_parameters(name, schedule, parameters)
    entry = Entry(name, number, schedule, tuple(parameters))
    if grouped:
        return describe_groups(step, schedule, element, name, tuple(declarations)), entry
    labels = _pattern_names(step, schedule)
    touched = touch_labels(step)

    def passed(mode: str, at: str) -> tuple[str, ...]:
        return call_lines(element, [_argument(step, schedule, labels, touched, a, mode, at) for a in element.arguments])

    context = KernelContext(
        template="strided.cu.j2" if schedule.template == "strided" else "contiguous.cu.j2",
        name=name,
        comment=_comment(step, schedule),
        parameters=tuple(declarations),
        block=schedule.block,
        group=schedule.group,
        index=index,
        first=_first(schedule),
        before=_before(step, schedule),
        layout=layout,
        needs_index=layout is not None or any(a.kind == "index" for a in element.arguments),
        once=_once(step, schedule, element),
        reads=_packs(step, schedule, touched, written=False),
        writes=_packs(step, schedule, touched, written=True),
        offsets=_offsets(step, schedule),
        packed=passed("packed", "j"),
        direct_at_i=passed("direct", "i"),
        direct_at_e=passed("direct", "e"),
    )
    return context, entry


def _pointers(step: Step, schedule: Schedule) -> tuple[list[Parameter], list[str]]:
    """The parameters that are operands in memory, and their declarations."""
    written = {t.operand for t in step.touches if t.writes}
    parameters: list[Parameter] = []
    declarations: list[str] = []
    for operand in sorted({t.operand for t in step.touches}):
        array = step.kernel.operands[operand]
        exclusive = all(s.restrict for t, s in zip(step.touches, schedule.touches, strict=True) if t.operand == operand)
        const = "" if operand in written else "const "
        restrict = "__restrict__ " if exclusive else ""
        declarations.append(f"{const}{storage_type(array.dtype)}* {restrict}{names.pointer(array.name)}")
        parameters.append(Parameter("buffer" if array.role == "buffer" else "pointer", operand))
    return parameters, declarations


def describe_reduction(
    step: RowStep, number: int, schedule: Schedule, name: str, base: str, statements: Sequence[Statement],
    declare: Callable[[Element], Element],
) -> tuple[Described, Entry]:  # fmt: skip
    """The template's context and the launcher's entry of a kernel with reductions.

    ``declare`` gives its device functions the names that they have in the file.
    """
    assert isinstance(schedule, RowSchedule)
    parameters, declarations = _pointers(step, schedule)
    unique = names.Unique()
    values: dict[tuple[str, int | str], str] = {}
    for n, op in enumerate(step.kernel.ops):
        if op.name in ("scalar", "size"):
            assert isinstance(op.attr, int | str)
            c_type, value = by_value(step, n, unique)
            values[op.name, op.attr] = value
            dtype = step.kernel.scalars[int(op.attr)].dtype if op.name == "scalar" else None
            parameters.append(Parameter("scalar" if op.name == "scalar" else "size", op.attr, dtype))
            declarations.append(f"const {c_type} {value}")
    known = known_of(step) if schedule.template != "column_reduce" else {}
    states = states_of(step, schedule, known)
    if schedule.split:
        for accumulator, state in states.values():
            parameters.append(Parameter("partial", accumulator.size))
            declarations.append(f"{accumulator.type}* {names.left(state)}")
        parameters.append(Parameter("arrived", 0))
        declarations.append("unsigned int* arrived")
    if schedule.near is not None:
        parameters.append(Parameter("taken", 0))
        declarations.append("unsigned int* taken")
    parameters.append(Parameter("layout", 0))
    declarations.append(f"const {name}_layout layout")
    # With a block for each row, the grid is exact.
    if schedule.template == "row_reduce" and (schedule.rows > 1 or schedule.near is not None):
        parameters.append(Parameter("n", 0))
        declarations.append(f"const {'unsigned int' if schedule.index_bits == 32 else 'long long'} n")
    check_parameters(name, schedule, parameters)
    kind = _WRITERS[schedule.template]
    described = describe_rows(
        kind, step, schedule, name, base, statements, declare, declarations, values, states, known
    )
    return described, Entry(name, number, schedule, tuple(parameters))


#: What writes the text of each template of a kernel with reductions.
_WRITERS: Mapping[str, type[RowsWriter]] = {
    "row_reduce": RowsWriter, "column_reduce": ColumnWriter, "column_held": HeldColumnWriter,
}  # fmt: skip


def _index(schedule: Schedule) -> str:
    """The type of element numbers; that of a group that may begin before the first element has a sign."""
    if schedule.index_bits == 64:
        return "long long"
    return "int" if schedule.template in ("contiguous", "flat") and schedule.lead is not None else "unsigned int"


def _first(schedule: Schedule) -> str:
    group = schedule.group
    wide = schedule.index_bits == 64
    thread = f"blockIdx.x * {schedule.block}{'ll' if wide else 'u'} + threadIdx.x"
    if schedule.lead is not None:
        return f"{group} * ({_index(schedule)})({thread}) - before"
    return thread if group == 1 else f"{group}{'' if wide else 'u'} * ({thread})"


def _before(step: Step, schedule: Schedule) -> str:
    if schedule.lead is None:
        return ""
    operand = step.kernel.operands[step.touches[schedule.lead].operand]
    return before(names.pointer(operand.name), operand.dtype.size, schedule.group)


def _once(step: Step, schedule: Schedule, element: Element) -> tuple[TouchContext, ...]:
    """Operands of one element that a contiguous kernel reads before anything else."""
    if schedule.template not in ("contiguous", "flat"):
        return ()
    found: list[TouchContext] = []
    for argument in element.arguments:
        if argument.kind == "read" and schedule.touches[int(argument.key)].access == "scalar":
            operand = step.kernel.operands[step.touches[int(argument.key)].operand]
            found.append(
                TouchContext(names.pointer(operand.name), register_type(operand.dtype), argument.name, pack="")
            )
    return tuple(found)


def _packs(step: Step, schedule: Schedule, touched: Sequence[str], *, written: bool) -> tuple[TouchContext, ...]:
    """The operands that move as packs: those that are read, or those that are written."""
    found: list[TouchContext] = []
    for t, s, label in zip(step.touches, schedule.touches, touched, strict=True):
        if s.is_straight and (t.writes if written else t.reads):
            operand = step.kernel.operands[t.operand]
            name = _written(label, t.reads) if written else names.vector(label)
            pack = _pack(operand.dtype, schedule, s.alignment)
            pointer, type_, shifted = names.pointer(operand.name), storage_type(operand.dtype), s.access == "shifted"
            found.append(TouchContext(pointer, type_, name, pack, shifted))
    return tuple(found)


def _written(name: str, reads: bool) -> str:
    return names.new_vector(name) if reads else names.vector(name)


def _pack(dtype: DType, schedule: Schedule, alignment: int) -> str:
    return f"Pack<{storage_type(dtype)}, {schedule.group}, {alignment}>"


def _argument(
    step: Step,
    schedule: Schedule,
    labels: Sequence[str],
    touched: Sequence[str],
    argument: Argument,
    mode: str,
    at: str,
) -> str:
    """What a call of the element function passes: from the packs, or straight from memory at an index.

    ``labels`` and ``touched`` are the names of stride patterns and touches; ``at`` is the place within the pack, or
    the index.
    """
    position = "e" if mode == "packed" else at
    if argument.kind == "scalar":
        return argument.name
    if argument.kind == "size":
        return argument.name
    if argument.kind == "index":
        # A space of one dimension has no layout struct to take an index apart with: the index is the coordinate.
        alone = schedule.rank == 1 and not schedule.patterns
        return position if alone else f"c{dict(schedule.coordinates)[int(argument.key)]}"
    assert isinstance(argument.key, int)
    touch, planned = step.touches[argument.key], schedule.touches[argument.key]
    name = step.kernel.operands[touch.operand].name
    if planned.access == "scalar":
        return f"{names.pointer(name)}[0]" if schedule.template == "strided" else argument.name
    if planned.pattern is not None:
        return f"{names.pointer(name)}[{names.offset(labels[planned.pattern])}]"
    if mode == "direct" or planned.access == "linear":
        return f"{names.pointer(name)}[{at}]"
    if argument.kind == "write":
        return f"{_written(touched[argument.key], touch.reads)}.at[{at}]"
    return f"{names.vector(touched[argument.key])}.at[{at}]"


# --- layouts ----------------------------------------------------------------------------------------


def _layout(step: Step, schedule: Schedule, name: str) -> LayoutContext | None:
    """The struct of extents and strides, or None when neither offsets nor coordinates are computed."""
    patterns = schedule.patterns
    if schedule.rank == 1 and not patterns:
        return None
    wide = schedule.index_bits == 64
    fields = divisor_fields(schedule.rank - 1, wide, "of all but the slowest dimension")
    kind = "long long" if wide else "int"
    for pattern, label in enumerate(_pattern_names(step, schedule)):
        sharers = _sharers(step, schedule, pattern)
        shared = f"of {names.listed(sharers)}" if len(dict.fromkeys(sharers)) > 1 else ""
        fields.append(FieldContext(f"{kind} {label}_stride[{schedule.rank}]", shared))
    wanted = set(range(schedule.rank)) if patterns else {d for _, d in schedule.coordinates}
    return LayoutContext(
        name, _layout_comment(schedule), tuple(fields), tuple(decomposition(schedule.rank, wanted, wide))
    )


def _layout_comment(schedule: Schedule) -> str:
    """What the struct describes."""
    if schedule.rank == 1:
        return "Where the operands lie: strides in elements along the only dimension."
    strides = "; strides in elements" if schedule.patterns else ""
    return f"Where the elements lie: {schedule.rank} dimensions, the fastest first{strides}."


def _sharers(step: Step, schedule: Schedule, pattern: int) -> list[str]:
    return [
        step.kernel.operands[t.operand].name
        for t, s in zip(step.touches, schedule.touches, strict=True)
        if s.pattern == pattern
    ]


def _pattern_names(step: Step, schedule: Schedule) -> tuple[str, ...]:
    """Each stride pattern bears the name of the first touch that has it."""
    first: dict[int, str] = {}
    for s, label in zip(schedule.touches, touch_labels(step), strict=True):
        if s.pattern is not None:
            first.setdefault(s.pattern, label)
    return tuple(first[p] for p in sorted(first))


def _offsets(step: Step, schedule: Schedule) -> tuple[OffsetContext, ...]:
    kind = "long long" if schedule.index_bits == 64 else "int"
    found: list[OffsetContext] = []
    for label in _pattern_names(step, schedule):
        start = f"const {kind} {names.offset(label)} = "
        terms = [f"c{d} * layout.{label}_stride[{d}]" for d in range(schedule.rank)]
        found.append(OffsetContext(sum_lines(start, terms)))
    return tuple(found)


def _comment(step: Step, schedule: Schedule) -> tuple[str, ...]:
    """What the kernel covers and how it is launched."""
    per_block = schedule.block * schedule.group
    reached = "n" if schedule.lead is None else f"(n + {schedule.group - 1})"
    most = "2^31" if schedule.lead is None else f"2^31 - {beyond(schedule.group)}"
    launch = (
        f"Launch: ceil({reached} / {per_block}) blocks of {schedule.block} threads (a divisor of every SM's threads), "
        f"for n {f'< {most} ' if schedule.index_bits == 32 else ''}elements."
    )
    wide = "" if schedule.index_bits == 32 else " Indices are 64-bit."
    by_name = [(step.kernel.operands[t.operand].name, s) for t, s in zip(step.touches, schedule.touches, strict=True)]
    if schedule.template == "strided":
        strided = [name for name, s in by_name if s.access == "strided"]
        in_order = [name for name, s in by_name if s.access == "linear"]
        dimensions = f"{schedule.rank} dimension{'s' if schedule.rank > 1 else ''}"
        where = f"{names.listed(strided)} at any strides" + (
            f", {names.listed(in_order)} in memory order" if in_order else ""
        )
        text = [f"One element a thread over {dimensions}: {where}.{wide}", launch]
        text += [] if wide else [OFFSETS_32]
    else:
        how = f"{schedule.group} elements a thread" if schedule.group > 1 else "one element a thread"
        text = [f"Operands in memory order, {how}.{wide}", launch]
        others = [name for name, s in by_name if s.access == "strided"]
        text += [f"At an offset computed for each element: {names.listed(others)}."] if others else []
        text += [OFFSETS_32] if others and not wide else []
        text += placement(step, schedule)
    once = [name for name, s in by_name if s.access == "scalar"]
    if once:
        text.append(f"A single element, the same for all: {names.listed(once)}.")
    return tuple(names.comment(line) for line in [*text, *apart(step, schedule)])
