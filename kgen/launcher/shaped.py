"""The launcher of a file for certain shapes: what it checks of arrays, and when it launches which kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kgen.codegen.arguments import size_name
from kgen.codegen.c_types import storage_type
from kgen.codegen.kernels import Entry
from kgen.codegen.names import pointer, shape
from kgen.ir.graph import Operand
from kgen.launcher.classes import ExtentClass, address_name, apart_name, open_dims
from kgen.launcher.context import BatchAxis, ClassContext, Member, ShapedLauncher
from kgen.launcher.interface import Interface
from kgen.launcher.kernels import KernelLaunch, kernel_launch
from kgen.launcher.numbers import Numbers
from kgen.launcher.ranges import merged
from kgen.layout.iterator import IterationSpace
from kgen.lowering import Batch
from kgen.schedule.scratch import aligned, buffer_bytes
from kgen.schedule.step_layout import Array
from kgen.schedule.trace import computed

#: Marks the arrays that are copied because of their addresses.
_MARK = "mark_unaligned"


def shaped_launcher(
    base: str, classes: Sequence[ExtentClass], entries: tuple[Entry, ...], batch: Batch | None
) -> ShapedLauncher:
    """``entries``: the kernels of the file."""
    first = classes[0]
    whole = first.lowered.specialised
    interface = Interface.of(base, whole.graph)
    numbers = Numbers(first.trace, first.inputs)
    buffers, end = _buffers(first, numbers)
    arrays = [first.lowered.arrays[a.operand] for a in interface.arrays]
    apart = () if batch is None else batch.apart
    layouts = list(_layouts(interface, arrays, numbers, apart))
    kernels = tuple(kernel_launch(e, whole.steps[e.step]) for e in entries)
    more = (
        *buffers,
        *_views(first, numbers),
        *_sizes(first, numbers, entries, whole.graph.operands),
        *_shapes(first, numbers, entries),
    )
    found = merged([_class(one, interface, entries, {k.name: k for k in kernels}) for one in classes])
    extents, aligned = (dict(_extent_lines(first, interface, aligned=aligned)) for aligned in (False, True))
    decided = [*layouts, *(text for c in found for text in (*c.conditions, *c.choices))]
    taken = [*(m.value for m in more), end if any(k.scratch for k in kernels) else ""]
    return ShapedLauncher(
        interface,
        entries,
        whole.steps,
        kernels,
        _ranks(arrays, batch),
        more,
        end,
        numbers=_lines(extents, numbers.used(taken)),
        sizing=_lines(extents, numbers.used([end])),
        extents=_lines(aligned, numbers.used(decided)),
        layouts=layouts,
        classes=found,
        batches=_batches(interface, batch),
        alignment=first.lowered.target.vector_bytes if any(_MARK in text for text in decided) else 0,
    )


def _ranks(arrays: Sequence[Array], batch: Batch | None) -> tuple[int, ...]:
    """Those of the arrays that are given; -1 for any."""
    return tuple(len(a.shape) if batch is None else -1 for a in arrays)


def _batches(interface: Interface, batch: Batch | None) -> tuple[BatchAxis, ...]:
    """Those of all arrays."""
    if batch is None:
        return ()
    shapes = [(a.of.shape, a.name in batch.apart) for a in interface.arrays]
    return tuple(
        BatchAxis(shape.index(batch.dim) if batch.dim in shape else -1, len(shape), apart) for shape, apart in shapes
    )


def _layouts(interface: Interface, arrays: Sequence[Array], numbers: Numbers, apart: Sequence[str]) -> Iterator[str]:
    """The arguments of the check of each array's layout.  ``apart``: the arrays that may have one row for all."""
    for i, (parameter, array) in enumerate(zip(interface.arrays, arrays, strict=True)):
        shape = [numbers.text(n) for n in array.shape]
        if parameter.name in apart:
            shape[0] = f"arrays[{i}].shape[0] == 1 ? 1 : {shape[0]}"
        if shape:
            yield f"arrays[{i}], {i + 1}, {{{', '.join(shape)}}}, {{{_list(numbers, array.strides)}}}"


def _sizes(
    one: ExtentClass, numbers: Numbers, entries: Sequence[Entry], operands: Sequence[Operand]
) -> Iterator[Member]:
    """The extents that kernels take by value."""
    for dim in sorted({str(p.key) for e in entries for p in e.parameters if p.kind == "size"}):
        yield Member(f"long long {size_name(operands, dim)}", numbers.text(one.extents[dim]))


def _shapes(one: ExtentClass, numbers: Numbers, entries: Sequence[Entry]) -> Iterator[Member]:
    """The extents and strides of arrays that kernels access at computed places."""
    graph = one.lowered.specialised.graph
    for number in sorted({int(p.key) for e in entries for p in e.parameters if p.kind == "shape"}):
        array = one.lowered.arrays[number]
        value = f"{{{{{_list(numbers, array.shape)}}}, {{{_list(numbers, array.strides)}}}}}"
        yield Member(f"ArrayShape<{len(array.shape)}> {shape(graph.operands[number].name)}", value)


def _views(one: ExtentClass, numbers: Numbers) -> Iterator[Member]:
    """The addresses of the views that kernels read."""
    graph = one.lowered.specialised.graph
    used = {operand for step in one.lowered.specialised.steps for operand in step.operands}
    for number, operand in enumerate(graph.operands):
        if operand.view is not None and number in used:
            type_ = f"{'const ' * (operand.role == 'input')}{storage_type(operand.dtype)}*"
            value = f"reinterpret_cast<{type_}>({numbers.text(one.lowered.arrays[number].pointer)})"
            yield Member(f"{type_} {pointer(operand.name)}", value)


def _buffers(one: ExtentClass, numbers: Numbers) -> tuple[list[Member], str]:
    """The buffers between kernels, one after the other from the start of the workspace, and the end of the last."""
    found: list[Member] = []
    end: Any = 0
    graph = one.lowered.specialised.graph
    for operand, size in buffer_bytes(graph).items():
        of = graph.operands[operand]
        type_ = f"{storage_type(of.dtype)}*"
        start = f"memory + {numbers.text(end)}" if found else "memory"
        found.append(Member(f"{type_} {pointer(of.name)}", f"reinterpret_cast<{type_}>({start})"))
        end = end + computed(one.trace, aligned(size), one.extents)
    return found, numbers.text(end)


def _class(
    one: ExtentClass, interface: Interface, entries: Sequence[Entry], kernels: Mapping[str, KernelLaunch]
) -> ClassContext:
    numbers = Numbers(one.trace, one.inputs)
    choices: list[str] = []
    for number, step in enumerate(one.lowered.steps):
        if "0" in map(numbers.text, step.placed.space.shape[step.placed.reduced :]):  # there is nothing to compute
            continue
        kernel = kernels[next(e.name for e in entries if (e.step, e.schedule) == (step.number, step.schedule))]
        choices.append(f"choices[{number}].launch = {kernel.function};")
        choices.append(f"choices[{number}].space = {_space(numbers, step.placed.space)};")
        if kernel.scratch:
            choices.append(f"choices[{number}].scratch_bytes = {kernel.scratch_function}(choices[{number}].space);")
    addresses = {address_name(a.name): i for i, a in enumerate(interface.arrays)}
    guards = [(g, numbers.inputs(g[1]) | numbers.inputs(g[2])) for g in one.trace.conditions() if not numbers.holds(g)]
    # Arrays whose address decides anything have to be aligned, as the file was made for.
    aligned = [str(place) for name, place in addresses.items() if any(name in inputs for _, inputs in guards)]
    choices.append(
        f"return {_MARK}(arrays, OPERANDS, {{{', '.join(aligned)}}});" if aligned else "return KGEN_SUCCESS;"
    )
    # A condition on the address of a view is one on extents, too.
    conditions = (numbers.guard(guard) for guard, inputs in guards if not inputs <= addresses.keys())
    return ClassContext(tuple(dict.fromkeys(conditions)), tuple(choices))


def _lines(lines: Mapping[str, str], used: Sequence[str]) -> list[str]:
    return [line for name, line in lines.items() if name in used]


def _list(numbers: Numbers, values: Sequence[Any]) -> str:
    return ", ".join(map(numbers.text, values))


def _space(numbers: Numbers, space: IterationSpace) -> str:
    strides = ", ".join(f"{{{_list(numbers, s)}}}" for s in space.strides)
    return f"{{{len(space.shape)}, {{{_list(numbers, space.shape)}}}, {{{strides}}}}}"


def _extent_lines(one: ExtentClass, interface: Interface, *, aligned: bool) -> Iterator[tuple[str, str]]:
    """For each open extent and each address, its name and the line that reads it from the first array that has it.

    ``aligned``: whether addresses are those of the copies that are made of arrays at other addresses, which are not
    known yet but for their alignment.
    """
    batch = one.lowered.batch
    apart = () if batch is None else batch.apart
    for dim in open_dims(one.lowered):
        of_all = () if batch is None or dim != batch.dim else apart  # these may have one row for all
        given = ((i, a.of.shape) for i, a in enumerate(interface.arrays) if a.name not in of_all)
        place, axis = next((i, shape.index(dim)) for i, shape in given if dim in shape)
        yield dim, f"const long long {dim} = arrays[{place}].shape[{axis}];"
    for place, array in enumerate(interface.arrays):
        name = address_name(array.name)
        value = f"arrays[{place}].address"
        value = f"{value} % ALIGNMENT == 0 ? {value} : 0" if aligned else value
        yield name, f"const uintptr_t {name} = {value};"
        if array.name in apart:
            yield apart_name(array.name), f"const long long {apart_name(array.name)} = arrays[{place}].strides[0];"
