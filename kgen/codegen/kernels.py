"""One step under one schedule -> what its kernel template sees, and how its parameters are bound at a launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kgen.codegen import names
from kgen.codegen.context import FieldContext, KernelContext, LayoutContext, OffsetContext, TouchContext
from kgen.codegen.element import Argument, Element
from kgen.codegen.spelling import register_type, storage_type
from kgen.dtypes import DType
from kgen.schedule.plan import Schedule
from kgen.schedule.split import Step


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a ``__global__`` function, in order.

    ``pointer``: ``key`` is the operand's number.  ``scalar``: the number in the step's kernel.  ``size``: the
    dimension symbol.  ``layout``: the by-value struct.  ``n``: the number of elements.
    """

    kind: Literal["pointer", "scalar", "size", "layout", "n"]
    key: int | str
    dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel of a module: its name and what a launcher has to know."""

    name: str
    step: int
    schedule: Schedule
    parameters: tuple[Parameter, ...]


def describe(step: Step, number: int, schedule: Schedule, element: Element, name: str) -> tuple[KernelContext, Entry]:
    """The template's context and the launcher's entry of one kernel."""
    index = "unsigned int" if schedule.index_bits == 32 else "long long"
    layout = _layout(step, schedule, f"{name}_layout")
    written = {t.operand for t in step.touches if t.writes}
    parameters: list[Parameter] = []
    declarations: list[str] = []
    for operand in sorted({t.operand for t in step.touches}):
        array = step.kernel.operands[operand]
        exclusive = all(s.restrict for t, s in zip(step.touches, schedule.touches, strict=True) if t.operand == operand)
        const = "" if operand in written else "const "
        restrict = "__restrict__ " if exclusive else ""
        declarations.append(f"{const}{storage_type(array.dtype)}* {restrict}{names.pointer(array.name)}")
        parameters.append(Parameter("pointer", operand))
    for argument in element.arguments:
        if argument.kind == "scalar":
            assert isinstance(argument.key, int)
            parameters.append(Parameter("scalar", argument.key, step.kernel.scalars[argument.key].dtype))
            declarations.append(argument.declaration)
        elif argument.kind == "size":
            parameters.append(Parameter("size", argument.key))
            declarations.append(argument.declaration)
    if layout is not None:
        parameters.append(Parameter("layout", 0))
        declarations.append(f"const {layout.name} layout")
    parameters.append(Parameter("n", 0))
    declarations.append(f"const {index} n")
    context = KernelContext(
        template=f"{schedule.template}.cu.j2",
        name=name,
        comment=_comment(step, schedule),
        parameters=tuple(declarations),
        block=schedule.block,
        group=schedule.group,
        index=index,
        first=_first(schedule),
        element=element.context.name,
        layout=layout,
        once=_touches(step, schedule, lambda t, s: t.reads and s.access == "scalar", names.value)
        if schedule.template == "contiguous"
        else (),
        reads=_touches(step, schedule, lambda t, s: t.reads and s.access == "vector", names.vector),
        writes=_writes(step, schedule),
        offsets=_offsets(step, schedule),
        packed=tuple(_argument(step, schedule, a, "packed", "j") for a in element.arguments),
        direct_at_i=tuple(_argument(step, schedule, a, "direct", "i") for a in element.arguments),
        direct_at_j=tuple(_argument(step, schedule, a, "direct", "j") for a in element.arguments),
    )
    return context, Entry(name, number, schedule, tuple(parameters))


def _first(schedule: Schedule) -> str:
    if schedule.index_bits == 64:
        thread = f"blockIdx.x * {schedule.block}ll + threadIdx.x"
        return thread if schedule.group == 1 else f"{schedule.group} * ({thread})"
    thread = f"blockIdx.x * {schedule.block}u + threadIdx.x"
    return thread if schedule.group == 1 else f"{schedule.group}u * ({thread})"


def _touches(step: Step, schedule: Schedule, wanted: object, name: object) -> tuple[TouchContext, ...]:
    found: list[TouchContext] = []
    unique = names.Unique()
    for t, s in zip(step.touches, schedule.touches, strict=True):
        operand = step.kernel.operands[t.operand]
        if wanted(t, s):  # type: ignore[operator]
            label = unique(name(operand.name))  # type: ignore[operator]
            found.append(
                TouchContext(
                    names.pointer(operand.name),
                    register_type(operand.dtype),
                    label,
                    _pack(operand.dtype, schedule, s.alignment),
                )
            )
    return tuple(found)


def _writes(step: Step, schedule: Schedule) -> tuple[TouchContext, ...]:
    found: list[TouchContext] = []
    for t, s in zip(step.touches, schedule.touches, strict=True):
        if t.writes and s.access == "vector":
            operand = step.kernel.operands[t.operand]
            found.append(
                TouchContext(
                    names.pointer(operand.name),
                    storage_type(operand.dtype),
                    _written(operand.name, t.reads),
                    _pack(operand.dtype, schedule, s.alignment),
                )
            )
    return tuple(found)


def _written(name: str, reads: bool) -> str:
    return names.new_vector(name) if reads else names.vector(name)


def _pack(dtype: DType, schedule: Schedule, alignment: int) -> str:
    return f"Pack<{storage_type(dtype)}, {schedule.group}, {alignment}>"


def _argument(step: Step, schedule: Schedule, argument: Argument, mode: str, at: str) -> str:
    """What a call of the element function passes: from the packs, or straight from memory at an index."""
    if argument.kind == "scalar":
        return argument.declaration.split()[-1]
    if argument.kind == "size":
        return argument.declaration.split()[-1]
    if argument.kind == "index":
        return f"c{dict(schedule.coordinates)[int(argument.key)]}"
    assert isinstance(argument.key, int)
    touch, planned = step.touches[argument.key], schedule.touches[argument.key]
    name = step.kernel.operands[touch.operand].name
    if planned.access == "scalar":
        return argument.declaration.split()[-1] if schedule.template == "contiguous" else f"{names.pointer(name)}[0]"
    if planned.access == "strided":
        return f"{names.pointer(name)}[at{planned.pattern}]"
    if mode == "direct" or planned.access == "linear":
        return f"{names.pointer(name)}[{at}]"
    if argument.kind == "write":
        return f"{_written(name, touch.reads)}.at[{at}]"
    return f"{names.vector(name)}.at[{at}]"


# --- layouts ----------------------------------------------------------------------------------------


def _layout(step: Step, schedule: Schedule, name: str) -> LayoutContext | None:
    """The struct of extents and strides, or None when neither offsets nor coordinates are computed."""
    patterns = schedule.patterns
    if schedule.rank == 1 and not patterns:
        return None
    wide = schedule.index_bits == 64
    fields: list[FieldContext] = []
    if schedule.rank > 1:
        count = schedule.rank - 1
        kind = "long long" if wide else "unsigned int"
        fields.append(FieldContext(f"{kind} extent[{count}]", "of all but the slowest dimension"))
        if not wide:
            fields.append(
                FieldContext(f"unsigned int magic[{count}]", "x / extent[d] == (__umulhi(x, magic[d]) + x) >> shift[d]")
            )
            fields.append(FieldContext(f"unsigned int shift[{count}]", "for every x < 2^31"))
    if patterns:
        shared = "; ".join(f"[{i}] {_list(_sharers(step, schedule, i))}" for i in range(patterns))
        fields.append(FieldContext(f"{'long long' if wide else 'int'} stride[{patterns}][{schedule.rank}]", shared))
    last = schedule.rank - 1 if patterns else max(d for _, d in schedule.coordinates)
    return LayoutContext(
        name,
        schedule.rank,
        tuple(fields),
        tuple(_decomposition(schedule.rank, last, wide)),
        "long long" if wide else "int",
    )


def _decomposition(rank: int, last: int, wide: bool) -> list[str]:
    """Coordinates c0 (fastest) to c<last> of index ``$i``: divide by each extent but the slowest."""
    signed = "long long" if wide else "int"
    index = "long long" if wide else "unsigned int"
    if rank == 1:
        return [f"const {signed} c0 = {'' if wide else 'static_cast<int>('}$i{'' if wide else ')'};"]
    lines: list[str] = []
    rest = "$i"
    for d in range(min(last + 1, rank - 1)):
        operand = rest if rest != "$i" else "($i)"
        if wide:
            lines.append(f"const {index} q{d} = {operand} / layout.extent[{d}];")
            lines.append(f"const {signed} c{d} = {operand} - q{d} * layout.extent[{d}];")
        else:
            lines.append(
                f"const {index} q{d} = (__umulhi({rest}, layout.magic[{d}]) + {operand}) >> layout.shift[{d}];"
            )
            lines.append(f"const {signed} c{d} = static_cast<int>({operand} - q{d} * layout.extent[{d}]);")
        rest = f"q{d}"
    if last == rank - 1:
        lines.append(f"const {signed} c{last} = {rest if wide else f'static_cast<int>({rest})'};")
    return lines


def _sharers(step: Step, schedule: Schedule, pattern: int) -> list[str]:
    return [
        step.kernel.operands[t.operand].name
        for t, s in zip(step.touches, schedule.touches, strict=True)
        if s.pattern == pattern
    ]


def _offsets(step: Step, schedule: Schedule) -> tuple[OffsetContext, ...]:
    found: list[OffsetContext] = []
    for p in range(schedule.patterns):
        terms = " + ".join(f"c{d} * layout.stride[{p}][{d}]" for d in range(schedule.rank))
        found.append(OffsetContext(f"at{p}", terms, _list(_sharers(step, schedule, p))))
    return tuple(found)


def _list(items: Sequence[str]) -> str:
    items = list(dict.fromkeys(items))
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def _comment(step: Step, schedule: Schedule) -> tuple[str, ...]:
    """What the kernel covers and how it is launched."""
    per_block = schedule.block * schedule.group
    launch = f"Launch: {schedule.block} threads a block, ceil(n / {per_block}) blocks; n is the number of elements."
    wide = "" if schedule.index_bits == 32 else "  Indices are 64-bit."
    by_name = [(step.kernel.operands[t.operand].name, s) for t, s in zip(step.touches, schedule.touches, strict=True)]
    if schedule.template == "strided":
        dimensions = f"{schedule.rank} dimension{'s' if schedule.rank > 1 else ''}"
        text = [f"Any strides over {dimensions}, one element a thread.{wide}", launch]
    else:
        how = f"{schedule.group} elements a thread" if schedule.group > 1 else "one element a thread"
        text = [f"Contiguous operands, {how}.{wide}", launch]
        aligned: dict[int, list[str]] = {}
        for name, s in by_name:
            if s.access == "vector" and schedule.group > 1:
                aligned.setdefault(s.alignment, []).append(name)
        text += [
            f"Aligned to {a} byte{'s' if a > 1 else ''}: {_list(n)}." for a, n in sorted(aligned.items(), reverse=True)
        ]
    once = [name for name, s in by_name if s.access == "scalar"]
    if once:
        text.append(f"A single element, the same for all: {_list(once)}.")
    return tuple(names.comment(line) for line in text)
