"""A fast path for calls with exactly the shapes, strides and alignment of an earlier one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.arrays.base import Guards, span
from kgen.call.fastpath.codegen import (
    NULL,
    FastCall,
    FunctionText,
    ObservedCall,
    address_expression,
    alignment_of,
    build_function,
    caller_arrays,
    unpack_arguments,
    write_guards,
    write_launches,
)  # fmt: skip
from kgen.call.fastpath.native import native_call
from kgen.schedule.step_layout import Array

#: ``(i, j, True, bytes, 0)``: the pointers of operands i and j differ by exactly so many bytes.
#: ``(i, j, False, first, second)``: they do not overlap: ``p + first <= q or q + second <= p``.
PointerDistance = tuple[int, int, bool, int, int]


def same_layout_call(call: ObservedCall) -> FastCall | None:
    """The function for calls like this one; None where kernels read copies, or the library has no guards."""
    found = caller_arrays(call)
    if found is None:
        return None
    local, arrays = found
    guards = call.adapter.guards(arrays)
    if guards is not None and (native := native_call(call, guards, local, pointer_distances(call))) is not None:
        return native
    text = FunctionText()
    scalars = unpack_arguments(text, call, local)
    if guards is None or scalars is None:
        return None
    write_guards(text, guards, arrays)
    pointers = _memory(text, call, local, guards)
    pointers += [f"{pointers[v.base]} + {v.offset}" for v in call.views]
    write_launches(text, call.launcher, pointers, scalars, guards, [name for name, _, written in arrays if written])
    return build_function(text, call, local)


def _memory(text: FunctionText, call: ObservedCall, local: Mapping[str, str], guards: Guards) -> list[str]:
    """Write lines that check alignment and overlap, and allocate outputs.  Returns each operand's pointer, by name."""
    names = [f"p{i}" for i in range(len(call.operands))]
    given = [i for i, o in enumerate(call.operands) if not o.fresh]
    fresh = [i for i, o in enumerate(call.operands) if o.fresh]
    for i in given:
        text.lines.append(f"{names[i]} = {address_expression(text, guards, local[call.operands[i].name])}")
    _aligned(text, call, names, given)
    for i, j, exactly, first, second in pointer_distances(call):
        if exactly:
            text.guard(f"{names[i]} - {names[j]} == {first}")
        else:
            text.guard(f"{names[i]} + {first} <= {names[j]} or {names[j]} + {second} <= {names[i]}")
    if fresh:
        text.guard("stream is None")  # outputs are allocated for the current one
    for number, i in enumerate(fresh):
        operand = call.operands[i]
        array = operand.array
        make = text.constant(call.adapter.allocator(array.shape, array.strides, operand.dtype, call.like))
        text.lines.append(f"y{number} = {make}()")
        text.lines.append(f"{names[i]} = {address_expression(text, guards, f'y{number}')}")
    _aligned(text, call, names, fresh)
    return names


def _aligned(text: FunctionText, call: ObservedCall, names: Sequence[str], which: Sequence[int]) -> None:
    """Write guards: each pointer has the same offset within 16 bytes as in the observed call."""
    places = {names[i]: alignment_of(call.operands[i].array.pointer) for i in which}
    even = [name for name, place in places.items() if place == 0]
    if even:
        text.guard(f"not ({' | '.join(even)}) & 15 and {' and '.join(even)}")  # none of them null
    for name, place in places.items():
        if place:
            text.guard(f"{name} == 0" if place == NULL else f"{name} & 15 == {place}")


def pointer_distances(call: ObservedCall) -> list[PointerDistance]:
    """For each written operand and another one: that they do not overlap, or their exact distance."""
    found: list[PointerDistance] = []
    given = [(i, o) for i, o in enumerate(call.operands) if not o.fresh]
    for i, one in given:
        for j, other in given:
            if not one.writes or i == j or (other.writes and j < i):
                continue
            a, b = one.array, other.array
            (low, high), (first, last) = _bytes(a), _bytes(b)
            if low == high or first == last:
                continue
            if a.pointer + high <= b.pointer + first or b.pointer + last <= a.pointer + low:
                found.append((i, j, False, high - first, last - low))
            else:
                found.append((i, j, True, a.pointer - b.pointer, 0))
    return found


def _bytes(array: Array) -> tuple[int, int]:
    """The first byte of an array and the one after its last, relative to its pointer."""
    low, high = span(array.shape, array.strides)
    return low * array.itemsize, (high + 1) * array.itemsize
