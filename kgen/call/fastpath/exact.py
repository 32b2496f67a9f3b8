"""Calls with exactly the shapes, strides and alignment of an earlier one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.arrays.base import Look, span
from kgen.call.fastpath.native import native_call
from kgen.call.fastpath.text import (
    NULL,
    Quick,
    Seen,
    Text,
    address,
    arguments,
    finish,
    launches,
    opening,
    place_of,
    recognise,
)  # fmt: skip
from kgen.schedule.bind import Array

#: Operands i and j, whether at an exact distance, and that distance in bytes; or, for pointers p and q of operands that
#: lie apart, the numbers of ``p + first <= q or q + second <= p``.
Distance = tuple[int, int, bool, int, int]


def exact_call(seen: Seen) -> Quick | None:
    """The function for calls like this one; None where its arrays are not simply read where they are."""
    opened = opening(seen)
    if opened is None:
        return None
    local, arrays = opened
    looked = seen.adapter.look(arrays)
    if looked is not None and (native := native_call(seen, looked, local, distances(seen))) is not None:
        return native
    text = Text()
    scalars = arguments(text, seen, local)
    if looked is None or scalars is None:
        return None
    recognise(text, looked, arrays)
    pointers = _memory(text, seen, local, looked)
    launches(text, seen.bound, pointers, scalars, looked, [name for name, _, written in arrays if written])
    return finish(text, seen, local)


def _memory(text: Text, seen: Seen, local: Mapping[str, str], looked: Look) -> list[str]:
    """Pointers that lie as the plan has it; outputs allocated.  One name for each operand."""
    names = [f"p{i}" for i in range(len(seen.operands))]
    given = [i for i, o in enumerate(seen.operands) if not o.fresh]
    fresh = [i for i, o in enumerate(seen.operands) if o.fresh]
    for i in given:
        text.lines.append(f"{names[i]} = {address(text, looked, local[seen.operands[i].name])}")
    _aligned(text, seen, names, given)
    for i, j, exactly, first, second in distances(seen):
        if exactly:
            text.miss_unless(f"{names[i]} - {names[j]} == {first}")
        else:
            text.miss_unless(f"{names[i]} + {first} <= {names[j]} or {names[j]} + {second} <= {names[i]}")
    if fresh:
        text.miss_unless("stream is None")  # outputs are allocated for the current one
    for number, i in enumerate(fresh):
        operand = seen.operands[i]
        array = operand.array
        make = text.constant(seen.adapter.allocator(array.shape, array.strides, operand.dtype, seen.like))
        text.lines.append(f"y{number} = {make}()")
        text.lines.append(f"{names[i]} = {address(text, looked, f'y{number}')}")
    _aligned(text, seen, names, fresh)
    return names


def _aligned(text: Text, seen: Seen, names: Sequence[str], which: Sequence[int]) -> None:
    """Every pointer has the same place within 16 bytes that the plan was made for."""
    places = {names[i]: place_of(seen.operands[i].array.pointer) for i in which}
    even = [name for name, place in places.items() if place == 0]
    if even:
        text.miss_unless(f"not ({' | '.join(even)}) & 15 and {' and '.join(even)}")  # none of them null
    for name, place in places.items():
        if place:
            text.miss_unless(f"{name} == 0" if place == NULL else f"{name} & 15 == {place}")


def distances(seen: Seen) -> list[Distance]:
    """How memory that is written lies to other operands: apart, or else at exactly this distance."""
    found: list[Distance] = []
    given = [(i, o) for i, o in enumerate(seen.operands) if not o.fresh]
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
    """The bytes that an array spans, from its pointer; the second is not one of them."""
    low, high = span(array.shape, array.strides)
    return low * array.itemsize, (high + 1) * array.itemsize
