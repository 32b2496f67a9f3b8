"""A fast path for every layout of an observed call's class: new extents, strides and grids, but no new decision."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping, Sequence

from kgen.arrays.base import Guards
from kgen.call.fastpath.codegen import (
    FastCall,
    FunctionText,
    ObservedCall,
    address_expression,
    build_function,
    caller_arrays,
    unpack_arguments,
    write_guards,
    write_launches,
)
from kgen.call.fastpath.layout_class import Input, LayoutClass, layout_class
from kgen.call.fastpath.native import native_call
from kgen.records import replace
from kgen.schedule.divisors import magic_number, signed_magic
from kgen.schedule.leading_bits import digits, leading_bits


def class_of(call: ObservedCall) -> tuple[ObservedCall, LayoutClass] | None:
    """The class of a call's layouts, and the call with a launcher that has room for it; None where there is none."""
    call = replace(call, launcher=call.launcher.roomy())  # its launches change from call to call
    layouts = layout_class(call)
    return None if layouts is None else (call, layouts)


def same_class_call(call: ObservedCall, layouts: LayoutClass) -> FastCall | None:
    """The function for calls whose layouts are of the class of this one's (:func:`class_of`)."""
    found = caller_arrays(call)
    if found is None:
        return None
    local, arrays = found
    guards = call.adapter.class_guards(arrays)
    text = FunctionText()
    scalars = unpack_arguments(text, call, local)
    if guards is None or scalars is None:
        return None
    if (native := native_call(call, guards, local, (), layouts)) is not None:
        return native
    write_guards(text, guards, arrays)
    pointers = {name: f"p{i}" for i, name in enumerate(local)}
    inputs = _write_inputs(text, layouts.inputs, local, pointers, guards)
    numbers = _Numbers(text, layouts, inputs)
    for relation, one, other in layouts.guards:
        text.guard(f"{numbers.text(one)} {relation} {numbers.text(other)}")
    if layouts.keys:
        key = "".join(f"{numbers.text(node)}, " for node in layouts.keys)
        text.guard(f"({key}) in {text.constant(layouts.known)}")
    _allocate(text, call, layouts, numbers, pointers, guards)

    def adjust(launch: str, number: int) -> list[str]:
        grid = ", ".join(map(numbers.text, layouts.grids[number]))
        lines = [call.launcher.module.resize_source.format(launch=launch, grid=f"({grid})")]
        for kernel, offset, form, values in layouts.values:
            if kernel == number:
                write = text.constant(struct.Struct(form).pack_into)
                lines.append(f"{write}(parameters[0], {offset}, {', '.join(map(numbers.text, values))})")
        return lines

    operands = [pointers[o.name] for o in call.operands]
    for number, node in enumerate(layouts.views):
        base = layouts.bases.get(number)
        operands.append(numbers.text(node) if base is None else f"{operands[base]} + {numbers.text(node)}")
    written = [name for name, _, written in arrays if written]
    write_launches(text, call.launcher, operands, scalars, guards, written, adjust)
    return build_function(text, call, local)


def _write_inputs(
    text: FunctionText, inputs: Sequence[Input], local: Mapping[str, str], pointers: Mapping[str, str], guards: Guards
) -> list[str]:
    """Write lines that read extents, strides and addresses.  Returns the name of each input."""
    names = [pointers[i.array] if i.what == "pointer" else f"{i.what}_{local[i.array]}_{i.dimension}" for i in inputs]
    for array, name in local.items():
        text.lines.append(f"{pointers[array]} = {address_expression(text, guards, name)}")
        for what, source in (("shape", f"{name}.shape"), ("strides", f"{name}.{guards.strides}")):
            found = [n for n, i in zip(names, inputs, strict=True) if (i.array, i.what) == (array, what)]
            if found:
                text.lines.append(f"{', '.join(found)}, = {source}")
                size = guards.stride_bytes.get(name, 1) if what == "strides" else 1
                if size > 1:
                    text.guard(f"not ({' | '.join(found)}) % {size}")
                    text.lines += [f"{n} //= {size}" for n in found]
    return names


class _Numbers:
    """Nodes of a trace as Python: those that are used more than once have a line of their own."""

    def __init__(self, text: FunctionText, layouts: LayoutClass, inputs: Sequence[str]) -> None:
        self._text = text
        self._nodes = layouts.trace.nodes
        self._inputs = inputs
        self._names: dict[int, str] = {}
        self._uses: Counter[int] = Counter()
        for node in layouts.used():
            self._count(node)

    def _count(self, node: int) -> None:
        self._uses[node] += 1
        operation, one, other = self._nodes[node]
        if self._uses[node] == 1 and operation not in ("input", "constant"):
            self._count(one)
            self._count(other)

    def text(self, node: int) -> str:
        """An expression; lines that it needs are written first."""
        operation, one, other = self._nodes[node]
        if operation == "input":
            return self._inputs[one]
        if operation == "constant":
            return f"({one!r})" if one < 0 else repr(one)
        found = self._names.get(node)
        if found is None:
            found = self._spelled(operation, self.text(one), self.text(other))
            if self._uses[node] > 1:
                self._text.lines.append(f"v{node} = {found}")
                found = f"v{node}"
            self._names[node] = found
        return found

    def _spelled(self, operation: str, one: str, other: str) -> str:
        match operation:
            case "magic64":
                self._text.names["signed_magic"] = signed_magic
                return f"signed_magic({one})"
            case "magic" | "shift":
                self._text.names["magic_number"] = magic_number
                return f"magic_number({one})[{int(operation == 'shift')}]"
            case "leading":
                self._text.names["leading_bits"] = leading_bits
                return f"leading_bits({one}, {other})"
            case "digits":
                self._text.names["digits"] = digits
                return f"digits({one}, {other})"
            case "min" | "max":
                return f"({one} if {one} {'<' if operation == 'min' else '>'} {other} else {other})"
        return f"({one} {operation} {other})"


def _allocate(
    text: FunctionText,
    call: ObservedCall,
    layouts: LayoutClass,
    numbers: _Numbers,
    pointers: dict[str, str],
    guards: Guards,
) -> None:
    """Write lines that allocate outputs."""
    fresh = [o for o in call.operands if o.fresh]
    if fresh:
        text.guard("stream is None")  # outputs are allocated for the current one
    for i, (operand, sizes) in enumerate(zip(fresh, layouts.fresh, strict=True)):
        make = text.constant(call.adapter.class_allocator(operand.dtype, call.like))
        shape, strides = ("".join(f"{numbers.text(n)}, " for n in ns) for ns in sizes)
        text.lines.append(f"y{i} = {make}(({shape}), ({strides}))")
        pointers[operand.name] = f"q{i}"
        text.lines.append(f"q{i} = {address_expression(text, guards, f'y{i}')}")
        text.guard(f"q{i} and not q{i} & 15")
