"""A call that repeats an earlier one, as one generated Python function.

A first call looks at everything: dtypes, devices, layouts, overlap, schedules.  A later call of the same kind has only
to see that nothing of that differs, and to launch.  What it looks at is written out as straight code, without loops,
for the number and library of its arrays.  Nothing of a user's text is in that code.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any

from kgen.arguments import ArrayValue, ScalarValue, Value
from kgen.arrays.base import Adapter, span
from kgen.runtime.frame import Variable
from kgen.runtime.scalars import pack
from kgen.runtime.session import stream_handle

if TYPE_CHECKING:
    from kgen.execute import Engine
    from kgen.runtime.bound import Bound
    from kgen.schedule.bind import Array

#: ``(args, out, stream, named)`` -> the result, or NotImplemented for another kind of call; nothing has run then.
Quick = Callable[[tuple[Any, ...], Any, Any, Mapping[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """A call as it was made, and what was decided for it.

    ``args``, ``named`` and ``out`` are the caller's own; ``values`` and ``outs`` what they were found to be.
    ``operands``: for each operand of the kernels its name, memory, dtype and whether it is written; ``fresh``: the
    numbers of those that the call allocated.
    """

    engine: Engine
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    out: Any
    values: Mapping[str, Value]
    outs: tuple[ArrayValue | None, ...]
    operands: tuple[Operand, ...]
    adapter: Adapter
    like: Any
    bound: Bound


@dataclass(frozen=True, slots=True)
class Operand:
    name: str
    array: Array
    dtype: Any
    writes: bool
    fresh: bool


@dataclass(slots=True)
class _Text:
    """Lines of a function, and the values that its names stand for."""

    lines: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)

    def miss_unless(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): return NotImplemented")

    def constant(self, value: Any) -> str:
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name


def quick_call(seen: Seen) -> Quick | None:
    """The function for calls like this one; None where its arrays are not simply read where they are."""
    arrays = [v for v in seen.values.values() if isinstance(v, ArrayValue)] + [o for o in seen.outs if o is not None]
    if not arrays or not all(
        a.adapter is seen.adapter and (a.original is None or a.array is a.original) for a in arrays
    ):
        return None
    local = {a.name: f"x{i}" for i, a in enumerate(arrays)}
    written = {o.name for o in seen.operands if o.writes}
    looked = seen.adapter.look([(local[a.name], a.array, a.name in written) for a in arrays])
    if looked is None:
        return None
    text = _Text(names=dict(looked.names))
    scalars = _arguments(text, seen, local)
    if scalars is None:
        return None
    for condition in looked.conditions:
        text.miss_unless(condition)
    pointers = _memory(text, seen, local, looked.pointer)
    _launches(text, seen, pointers, scalars, looked.stream)
    text.names |= {"engine": seen.engine, "here": seen.engine.ran_on}
    text.lines.append("engine.ran_on = here")
    results = [local.get(o.name) or _fresh(seen, o.name) for o in seen.engine.program.outputs]
    text.lines.append(
        f"return {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')' if results else None}"
    )
    scope = dict(text.names)
    exec(_compiled(tuple(text.lines)), scope)
    made: Quick = scope["quick"]
    return made


@lru_cache(maxsize=256)
def _compiled(lines: tuple[str, ...]) -> CodeType:
    """Kernels of one arity share their code: only the names' values differ."""
    return compile("\n    ".join(("def quick(args, out, stream, named):", *lines)), "<kgen call>", "exec")


def _fresh(seen: Seen, name: str) -> str:
    return f"y{[o.name for o in seen.operands if o.fresh].index(name)}"


def _arguments(text: _Text, seen: Seen, local: Mapping[str, str]) -> dict[str, str] | None:
    """Take the arguments apart; the expression of every scalar, by name."""
    given = [a.name for a in seen.engine.program.arguments][: len(seen.args)]
    names = [local.get(name, f"s_{i}") for i, name in enumerate(given)]
    text.miss_unless(f"len(args) == {len(given)} and len(named) == {len(seen.named)}")
    if names:
        text.lines.append(f"{', '.join(names)}, = args")
    sources = dict(zip(given, names, strict=True))
    if seen.named:
        text.lines.append("try:")
        for i, name in enumerate(seen.named):
            sources[name] = local.get(name, f"n_{i}")
            text.lines.append(f"    {sources[name]} = named[{text.constant(name)}]")
        text.lines.append("except KeyError: return NotImplemented")
    scalars: dict[str, str] = {}
    for value in seen.values.values():
        if isinstance(value, ScalarValue):
            if value.name in sources:
                passed = seen.named.get(value.name, dict(zip(given, seen.args, strict=True)).get(value.name))
                if type(passed) not in (bool, int, float, complex):
                    return None
                text.miss_unless(f"type({sources[value.name]}) is {text.constant(type(passed))}")
            scalars[value.name] = sources.get(value.name) or text.constant(value.value)
    outs = [None if o is None else local[o.name] for o in seen.outs]
    if seen.out is None:
        text.miss_unless("out is None")
    elif isinstance(seen.out, tuple):
        text.miss_unless(f"type(out) is tuple and len(out) == {len(outs)}")
        text.lines.append(f"{', '.join(o or f'none{i}' for i, o in enumerate(outs))}, = out")
        for i, out in enumerate(outs):
            if out is None:
                text.miss_unless(f"none{i} is None")
    elif isinstance(seen.out, list):
        return None
    else:
        text.lines.append(f"{outs[0]} = out")
    return scalars


def _memory(text: _Text, seen: Seen, local: Mapping[str, str], pointer: str) -> list[str]:
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


def _aligned(text: _Text, seen: Seen, names: Sequence[str], which: Sequence[int]) -> None:
    """Every pointer has the same place within 16 bytes that the plan was made for."""
    even = [names[i] for i in which if seen.operands[i].array.pointer % 16 == 0]
    if even:
        text.miss_unless(f"not ({' | '.join(even)}) & 15")
    for i in which:
        if place := seen.operands[i].array.pointer % 16:
            text.miss_unless(f"{names[i]} & 15 == {place}")


def _apart(text: _Text, a: Array, at: str, b: Array, bt: str) -> None:
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


def _launches(
    text: _Text, seen: Seen, pointers: Sequence[str], scalars: Mapping[str, str], current_stream: str
) -> None:
    bound = seen.bound
    if not bound.names:
        return
    module = bound.module
    text.names |= {
        "ready": bound.ready, "new_slot": bound.slot, "give_back": bound.give_back, "start": module.start,
        "recover": module.recover, "pack_into": bound.signature.packer.pack_into, "stream_handle": stream_handle,
    }  # fmt: skip
    values = [_value(text, v, pointers, scalars) for v in bound.signature.variables]
    pack = f"pack_into(slot[0], 0, {', '.join(values)})"
    if current_stream:
        text.lines.append(f"at = {current_stream} if stream is None else stream_handle(stream)")
    else:
        text.miss_unless("stream is None")
        text.lines.append("at = 0")
    if bound.has_scratch:
        text.miss_unless(f"not {text.constant(module.is_capturing)}(at)")
    text.lines += [
        "try: slot = ready[at].pop()",
        "except (KeyError, IndexError): slot = new_slot(at)",
    ]
    if any(v.operand is None for v in bound.signature.variables):
        # A scalar that does not fit is looked at again, for a proper diagnostic.
        text.names["Unfit"] = (struct.error, OverflowError)
        text.lines += [f"try: {pack}", "except Unfit:", "    give_back(at, slot)", "    return NotImplemented"]
    else:
        text.lines.append(pack)
    launches = [f"a{i}" for i in range(len(bound.names))]
    text.lines.append(f"{', '.join(launches)}, = slot[1]")
    for launch, name in zip(launches, bound.names, strict=True):
        text.lines += [
            f"status = {module.status_of.format(result=f'start(*{launch})')}",
            f"if status: recover({text.constant(name)}, {launch}, status)",
        ]
    text.lines.append("give_back(at, slot)")


def _value(text: _Text, variable: Variable, pointers: Sequence[str], scalars: Mapping[str, str]) -> str:
    """A variable's value as ``struct`` takes it."""
    if variable.operand is not None:
        return pointers[variable.operand]
    assert variable.scalar is not None
    assert variable.dtype is not None
    value = scalars[variable.scalar]
    if variable.is_raw:
        return f"{text.constant(pack)}({text.constant(variable.scalar)}, {value}, {text.constant(variable.dtype)})"
    return f"{value}.real, {value}.imag" if variable.dtype.is_complex else value
