"""Calls on dense arrays of one shape, whatever that shape is.

What a contiguous kernel is told of a shape is how many elements there are.  So where every array is in C order and of
the same shape, a shape that was never seen before needs no plan: only another count and another grid.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from kgen.arrays.base import Look
from kgen.call.fastpath.text import Quick, Seen, Text, address, arguments, finish, launches, opening, recognise
from kgen.codegen.kernels import Entry
from kgen.schedule.expressions import python
from kgen.spec import c_strides


def dense_call(seen: Seen) -> Quick | None:
    """The function for calls like this one but for the shape; None where the kernels depend on more of it."""
    opened = opening(seen)
    if opened is None or not _is_dense(seen):
        return None
    local, arrays = opened
    looked = seen.adapter.look_dense(arrays)
    text = Text()
    scalars = arguments(text, seen, local)
    if looked is None or scalars is None:
        return None
    recognise(text, looked, arrays)
    first = next(iter(local.values()))
    text.lines.append(f"shape = {first}.shape")
    others = [name for name in local.values() if name != first]
    if others:
        text.miss_unless(" and ".join(f"{name}.shape == shape" for name in others))
    text.miss_unless("1 not in shape")
    text.lines.append(f"n = {first}.{looked.numel}{'()' if looked.numel_call else ''}")
    text.miss_unless(f"0 < n < {2**31}")  # more take 64-bit indices: another variant
    pointers = _memory(text, seen, local, looked)
    bound = seen.bound.copy()  # its launches change from call to call
    counts = bound.counts()

    def adjust(launch: str, number: int) -> list[str]:
        offset, bits = counts[number]
        write = text.constant(struct.Struct("<I" if bits == 32 else "<q").pack_into)
        return [
            f"{write}(slot[0], {offset}, n)",
            bound.module.resized.format(launch=launch, blocks=python(bound.entries[number].rule.grid[0])),
        ]

    launches(text, bound, pointers, scalars, looked, [name for name, _, written in arrays if written], adjust)
    return finish(text, seen, local)


def _is_dense(seen: Seen) -> bool:
    """Every array in C order, of one shape without extents of 1, and every kernel one that counts elements only."""
    shapes = {o.array.shape for o in seen.operands}
    if len(shapes) != 1:
        return False
    (shape,) = shapes
    return (
        len(shape) > 0
        and min(shape) > 1
        and all(o.array.strides == c_strides(shape) and o.array.pointer % 16 == 0 for o in seen.operands)
        and all(e.rule.only_counts and _counts_only(e) for e in seen.bound.entries)
    )


def _counts_only(entry: Entry) -> bool:
    return {p.kind for p in entry.parameters} <= {"pointer", "scalar", "n"}


# branches: each writes one line of the function
def _memory(text: Text, seen: Seen, local: Mapping[str, str], looked: Look) -> list[str]:
    """Aligned pointers, what is written apart from the rest or the same array as before; outputs allocated."""
    names = [f"p{i}" for i in range(len(seen.operands))]
    fresh = [i for i, o in enumerate(seen.operands) if o.fresh]
    given = [i for i, o in enumerate(seen.operands) if not o.fresh]
    for i in given:
        text.lines.append(f"{names[i]} = {address(text, looked, local[seen.operands[i].name])}")
    for i in given:
        for j in given:
            one, other = seen.operands[i], seen.operands[j]
            if not one.writes or i == j or (other.writes and j < i):
                continue
            if one.array.pointer == other.array.pointer:
                text.miss_unless(f"{names[i]} == {names[j]}")
            else:
                apart = f"{names[i]} + n * {one.array.itemsize} <= {names[j]}"
                text.miss_unless(f"{apart} or {names[j]} + n * {other.array.itemsize} <= {names[i]}")
    if fresh:
        text.miss_unless("stream is None")  # outputs are allocated for the current one
    for number, i in enumerate(fresh):
        make = text.constant(seen.adapter.dense_allocator(seen.operands[i].dtype, seen.like))
        text.lines.append(f"y{number} = {make}(shape)")
        text.lines.append(f"{names[i]} = {address(text, looked, f'y{number}')}")
    text.miss_unless(f"not ({' | '.join(names)}) & 15 and {' and '.join(names)}")  # none of them null
    return names
