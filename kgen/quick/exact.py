"""Calls with exactly the shapes, strides and alignment of an earlier one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.arrays.base import span
from kgen.quick.text import Quick, Seen, Text, arguments, finish, launches, opening
from kgen.schedule.bind import Array


def exact_call(seen: Seen) -> Quick | None:
    """The function for calls like this one; None where its arrays are not simply read where they are."""
    opened = opening(seen)
    if opened is None:
        return None
    local, arrays = opened
    looked = seen.adapter.look(arrays)
    text = Text(names=dict(looked.names) if looked else {})
    scalars = arguments(text, seen, local)
    if looked is None or scalars is None:
        return None
    for condition in looked.conditions:
        text.miss_unless(condition)
    pointers = _memory(text, seen, local, looked.pointer)
    launches(text, seen.bound, pointers, scalars, looked.stream)
    return finish(text, seen, local)


def _memory(text: Text, seen: Seen, local: Mapping[str, str], pointer: str) -> list[str]:
    """Pointers that lie as the plan has it; outputs allocated.  One name for each operand."""
    names = [f"p{i}" for i in range(len(seen.operands))]
    given = [i for i, o in enumerate(seen.operands) if not o.fresh]
    fresh = [i for i, o in enumerate(seen.operands) if o.fresh]
    for i in given:
        text.lines.append(f"{names[i]} = {pointer.format(x=local[seen.operands[i].name])}")
    _aligned(text, seen, names, given)
    for i in given:
        for j in given:
            if seen.operands[i].writes and i != j and not (seen.operands[j].writes and j < i):
                _apart(text, seen.operands[i].array, names[i], seen.operands[j].array, names[j])
    for number, i in enumerate(fresh):
        operand = seen.operands[i]
        array = operand.array
        make = text.constant(seen.adapter.allocator(array.shape, array.strides, operand.dtype, seen.like))
        text.lines.append(f"y{number} = {make}()")
        text.lines.append(f"{names[i]} = {pointer.format(x=f'y{number}')}")
    _aligned(text, seen, names, fresh)
    return names


def _aligned(text: Text, seen: Seen, names: Sequence[str], which: Sequence[int]) -> None:
    """Every pointer has the same place within 16 bytes that the plan was made for."""
    even = [names[i] for i in which if seen.operands[i].array.pointer % 16 == 0]
    if even:
        text.miss_unless(f"not ({' | '.join(even)}) & 15")
    for i in which:
        if place := seen.operands[i].array.pointer % 16:
            text.miss_unless(f"{names[i]} & 15 == {place}")


def _apart(text: Text, a: Array, at: str, b: Array, bt: str) -> None:
    """Memory that is written lies to other operands as before: apart, or at exactly the same distance."""
    (low, high), (first, last) = _bytes(a), _bytes(b)
    if low == high or first == last:
        return
    if a.pointer + high <= b.pointer + first or b.pointer + last <= a.pointer + low:
        text.miss_unless(f"{at} + {high - first} <= {bt} or {bt} + {last - low} <= {at}")
    else:
        text.miss_unless(f"{at} - {bt} == {a.pointer - b.pointer}")


def _bytes(array: Array) -> tuple[int, int]:
    """The bytes that an array spans, from its pointer; the second is not one of them."""
    low, high = span(array.shape, array.strides)
    return low * array.itemsize, (high + 1) * array.itemsize
