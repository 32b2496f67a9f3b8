"""A fast path for dense arrays of any shape.

A contiguous kernel only takes the number of elements.  So where all arrays are in C order and have one shape, a new
shape needs no lowering: only another count and another grid.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

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
from kgen.codegen.kernels import Entry
from kgen.schedule.expressions import python
from kgen.spec import c_strides


def any_dense_shape_call(call: ObservedCall) -> FastCall | None:
    """The function for calls like this one with any shape; None where kernels depend on more than the element count."""
    found = caller_arrays(call)
    if found is None or not _is_dense(call):
        return None
    local, arrays = found
    guards = call.adapter.dense_guards(arrays)
    text = FunctionText()
    scalars = unpack_arguments(text, call, local)
    if guards is None or scalars is None:
        return None
    write_guards(text, guards, arrays)
    first = next(iter(local.values()))
    text.lines.append(f"shape = {first}.shape")
    others = [name for name in local.values() if name != first]
    if others:
        text.guard(" and ".join(f"{name}.shape == shape" for name in others))
    text.guard("1 not in shape")
    text.lines.append(f"n = {first}.{guards.numel}{'()' if guards.numel_call else ''}")
    text.guard(f"0 < n < {2**31}")  # more take 64-bit indices: another variant
    pointers = _memory(text, call, local, guards)
    launcher = call.launcher.copy()  # its launches change from call to call
    counts = launcher.element_counts()

    def adjust(launch: str, number: int) -> list[str]:
        offset, bits = counts[number]
        write = text.constant(struct.Struct("<I" if bits == 32 else "<q").pack_into)
        return [
            f"{write}(parameters[0], {offset}, n)",
            launcher.module.resize_source.format(launch=launch, blocks=python(launcher.entries[number].rule.grid[0])),
        ]

    write_launches(text, launcher, pointers, scalars, guards, [name for name, _, written in arrays if written], adjust)
    return build_function(text, call, local)


def _is_dense(call: ObservedCall) -> bool:
    """Whether arrays are in C order, of one shape without extents of 1, and kernels take only an element count."""
    shapes = {o.array.shape for o in call.operands}
    if len(shapes) != 1:
        return False
    (shape,) = shapes
    return (
        len(shape) > 0
        and min(shape) > 1
        and all(o.array.strides == c_strides(shape) and o.array.pointer % 16 == 0 for o in call.operands)
        and all(e.rule.only_counts and _counts_only(e) for e in call.launcher.entries)
    )


def _counts_only(entry: Entry) -> bool:
    return {p.kind for p in entry.parameters} <= {"pointer", "scalar", "n"}


# branches: each writes one line of the function
def _memory(text: FunctionText, call: ObservedCall, local: Mapping[str, str], guards: Guards) -> list[str]:
    """Write lines that check alignment and overlap, and allocate outputs.  Returns each operand's pointer, by name."""
    names = [f"p{i}" for i in range(len(call.operands))]
    fresh = [i for i, o in enumerate(call.operands) if o.fresh]
    given = [i for i, o in enumerate(call.operands) if not o.fresh]
    for i in given:
        text.lines.append(f"{names[i]} = {address_expression(text, guards, local[call.operands[i].name])}")
    for i in given:
        for j in given:
            one, other = call.operands[i], call.operands[j]
            if not one.writes or i == j or (other.writes and j < i):
                continue
            if one.array.pointer == other.array.pointer:
                text.guard(f"{names[i]} == {names[j]}")
            else:
                apart = f"{names[i]} + n * {one.array.itemsize} <= {names[j]}"
                text.guard(f"{apart} or {names[j]} + n * {other.array.itemsize} <= {names[i]}")
    if fresh:
        text.guard("stream is None")  # outputs are allocated for the current one
    for number, i in enumerate(fresh):
        make = text.constant(call.adapter.dense_allocator(call.operands[i].dtype, call.like))
        text.lines.append(f"y{number} = {make}(shape)")
        text.lines.append(f"{names[i]} = {address_expression(text, guards, f'y{number}')}")
    text.guard(f"not ({' | '.join(names)}) & 15 and {' and '.join(names)}")  # none of them null
    return names
