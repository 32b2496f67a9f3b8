"""Generates the Python functions of fast paths, from the parts that all of them share.

A first call determines dtypes, devices, layouts, overlap and schedules.  A later call of the same kind only checks that
these are the same, and launches.  Its checks are straight-line code, without loops, for the number and the library of
its arrays.  No part of a user's text is in that code.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from kgen.arrays.base import Adapter, Guards
from kgen.call.arguments import ArrayValue, ScalarValue, Value
from kgen.dynamo import mark
from kgen.program import Program
from kgen.records import dataclass
from kgen.runtime.launcher import PER_THREAD_STREAM
from kgen.runtime.parameters import Variable
from kgen.runtime.scalars import pack
from kgen.runtime.stream import stream_handle

if TYPE_CHECKING:
    from kgen.call.cached_lowering import CachedLowering
    from kgen.lowering import Lowered
    from kgen.runtime.launcher import Launcher
    from kgen.schedule.step_layout import Array

#: ``(args, out, stream, named)`` -> the result, or NotImplemented for another kind of call, of which nothing has run.
FastCall = Callable[[tuple[Any, ...], Any, Any, Mapping[str, Any]], Any]


class Ran(Protocol):
    """Where a fast path notes the device that it ran on."""

    ran_on: str | None


class Caller(Protocol):
    """The engine of a call."""

    program: Program
    lowering: CachedLowering

    @property
    def fast(self) -> Ran: ...


@dataclass(frozen=True, slots=True)
class ObservedCall:
    """A call on the full path, and everything decided for it.

    ``args``, ``named`` and ``out`` are as the caller passed them; ``values`` and ``outs`` describe them.
    """

    engine: Caller
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    out: Any
    values: Mapping[str, Value]
    outs: Sequence[ArrayValue | None]
    operands: tuple[Operand, ...]
    lowered: Lowered
    adapter: Adapter
    like: Any
    launcher: Launcher
    views: tuple[ViewAddress, ...]

    def passed(self) -> dict[str, Any]:
        """The arguments and params of the call, by name."""
        names = (a.name for a in self.engine.program.arguments)
        return {**dict(zip(names, self.args, strict=False)), **self.named}

    def has_plain_scalars(self) -> bool:
        """Whether all scalars passed are plain Python numbers: then comparing their types is enough."""
        passed = self.passed()
        scalars = [passed[v.name] for v in self.values.values() if isinstance(v, ScalarValue) and v.name in passed]
        return all(type(x) in (bool, int, float, complex) for x in scalars)


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of the kernels.  ``fresh``: the call allocated it."""

    name: str
    array: Array
    dtype: Any
    writes: bool
    fresh: bool


@dataclass(frozen=True, slots=True)
class ViewAddress:
    """The address of a view, an operand of the kernels that comes after all others: ``offset`` bytes after a base."""

    base: int  # the number of an operand
    offset: int


NULL = -1  #: the alignment of an array without memory, which has no elements


def alignment_of(pointer: int) -> int:
    """The offset of an address within 16 bytes, which guards compare."""
    return pointer % 16 if pointer else NULL


@dataclass(slots=True)
class FunctionText:
    """The lines of a function, and the values of its global names."""

    lines: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)

    def guard(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): return NotImplemented")

    def constant(self, value: Any) -> str:
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name


def caller_arrays(call: ObservedCall) -> tuple[dict[str, str], list[tuple[str, Any, bool]]] | None:
    """Names for the caller's arrays, and what :meth:`Adapter.guards` takes; None where kernels read copies of them."""
    arrays = [v for v in call.values.values() if isinstance(v, ArrayValue)] + [o for o in call.outs if o is not None]
    if not arrays or not all(a.adapter is call.adapter and a.array is a.original for a in arrays):
        return None
    written = {o.name for o in call.operands if o.writes}
    names = {a.name: f"x{i}" for i, a in enumerate(arrays)}
    return names, [(names[a.name], a.array, a.name in written) for a in arrays]


def unpack_arguments(text: FunctionText, call: ObservedCall, local: Mapping[str, str]) -> dict[str, str] | None:
    """Write lines that unpack the arguments.  Returns each scalar's expression, by name; None for unsupported forms."""
    if not call.has_plain_scalars():
        return None
    given = [a.name for a in call.engine.program.arguments][: len(call.args)]
    names = [local.get(name, f"s{i}") for i, name in enumerate(given)]
    text.guard(f"len(args) == {len(given)} and len(named) == {len(call.named)}")
    if names:
        text.lines.append(f"{', '.join(names)}, = args")
    sources = dict(zip(given, names, strict=True))
    if call.named:
        text.lines.append("try:")
        for i, name in enumerate(call.named):
            sources[name] = local.get(name, f"n{i}")
            text.lines.append(f"    {sources[name]} = named[{text.constant(name)}]")
        text.lines.append("except KeyError: return NotImplemented")
    passed = call.passed()
    scalars: dict[str, str] = {}
    for value in call.values.values():
        if not isinstance(value, ScalarValue):
            continue
        if value.name in passed:
            text.guard(f"type({sources[value.name]}) is {text.constant(type(passed[value.name]))}")
        scalars[value.name] = sources.get(value.name) or text.constant(value.value)
    return scalars if _given_outputs(text, call, local) else None


def _given_outputs(text: FunctionText, call: ObservedCall, local: Mapping[str, str]) -> bool:
    outs = [f"none{i}" if o is None else local[o.name] for i, o in enumerate(call.outs)]
    if call.out is None:
        text.guard("out is None")
    elif isinstance(call.out, tuple):
        text.guard(f"type(out) is tuple and len(out) == {len(outs)}")
        text.lines.append(f"{', '.join(outs)}, = out")
        for out in outs:
            if out.startswith("none"):
                text.guard(f"{out} is None")
    elif isinstance(call.out, list):
        return False
    else:
        text.lines.append(f"{outs[0]} = out")
    return True


def write_guards(text: FunctionText, guards: Guards, arrays: Sequence[tuple[str, Any, bool]]) -> None:
    """Write the guards for arrays like these."""
    for name, x, _ in arrays:
        text.guard(f"type({name}) is {text.constant(type(x))}")
    for name, other in guards.same:
        text.guard(f"{name} is {other}")
    if guards.alike is not None:
        check, names = guards.alike
        text.guard(f"{text.constant(check)}({', '.join(names)})")
    for one in guards.attributes:
        start = one.array if isinstance(one.array, str) else text.constant(one.array)
        found = ".".join((start, *one.path)) + ("()" if one.call else "")
        text.guard(f"{found} == {text.constant(one.expected)}")
    if guards.unless is not None:
        text.guard(f"not {text.constant(guards.unless)}()")


def address_expression(text: FunctionText, guards: Guards, name: str) -> str:
    """The expression for the address of an array."""
    if callable(guards.pointer):
        return f"{text.constant(guards.pointer)}({name})"
    return ".".join((name, *guards.pointer)) + ("()" if guards.pointer_call else "")


def write_launches(
    text: FunctionText,
    launcher: Launcher,
    pointers: Sequence[str],
    scalars: Mapping[str, str],
    guards: Guards,
    written: Sequence[str],
    adjust: Callable[[str, int], list[str]] | None = None,
) -> None:
    """Write lines that launch the kernels, which change the arrays of ``written``.

    ``adjust`` returns lines that modify a launch, given by its name and number, before it starts.
    """
    module = launcher.module
    if not launcher.names:
        return
    text.names |= {
        "ready": launcher.ready, "new_parameters": launcher.new_parameters, "start": module.start,
        "recover": module.recover, "pack_into": launcher.signature.packer.pack_into, "stream_handle": stream_handle,
    }  # fmt: skip
    if guards.stream is not None:
        current = text.constant(guards.stream)
        text.lines.append(f"at = {current}() if stream is None else stream_handle(stream)")
    else:
        text.guard("stream is None")
        text.lines.append("at = 0")
    if launcher.has_scratch:
        text.guard(f"at != {PER_THREAD_STREAM} and not {text.constant(module.is_capturing)}(at)")
    text.lines += [
        "try: parameters = ready[at].pop()",
        "except (KeyError, IndexError): parameters = new_parameters(at)",
    ]
    values = [_value(text, v, pointers, scalars) for v in launcher.signature.variables]
    write = f"pack_into(parameters[0], 0, {', '.join(values)})"
    if any(v.operand is None for v in launcher.signature.variables):
        # For a scalar that does not fit, the full path raises the diagnostic.
        text.names["Unfit"] = (struct.error, OverflowError)
        text.lines += [
            f"try: {write}",
            "except Unfit:",
            "    ready[at].append(parameters)",
            "    return NotImplemented",
        ]
    else:
        text.lines.append(write)
    if guards.mark_written is not None and written:
        text.lines.append(f"{text.constant(guards.mark_written)}(({', '.join(written)},))")
    names = [f"a{i}" for i in range(len(launcher.names))]
    text.lines.append(f"{', '.join(names)}, = parameters[1]")
    for number, (launch, kernel) in enumerate(zip(names, launcher.names, strict=True)):
        if adjust is not None:
            text.lines += adjust(launch, number)
        text.lines += [
            f"status = {module.status_source.format(result=f'start(*{launch})')}",
            f"if status: recover({text.constant(kernel)}, {launch}, status)",
        ]
    text.lines.append("ready[at].append(parameters)")


def _value(text: FunctionText, variable: Variable, pointers: Sequence[str], scalars: Mapping[str, str]) -> str:
    """A variable's value, as an argument of ``pack_into``."""
    if variable.operand is not None:
        return pointers[variable.operand]
    assert variable.scalar is not None
    assert variable.dtype is not None
    value = scalars[variable.scalar]
    if variable.is_raw:
        return f"{text.constant(pack)}({text.constant(variable.scalar)}, {value}, {text.constant(variable.dtype)})"
    return f"{value}.real, {value}.imag" if variable.dtype.is_complex else value


def build_function(text: FunctionText, call: ObservedCall, local: Mapping[str, str]) -> FastCall:
    """Write the return of the outputs (the caller's own, or the allocated y0, y1, ...), and compile the function."""
    text.names |= {"fast": call.engine.fast, "here": call.engine.fast.ran_on}
    text.lines.append("fast.ran_on = here")
    fresh = [o.name for o in call.operands if o.fresh]
    results = [local.get(o.name) or f"y{fresh.index(o.name)}" for o in call.engine.program.outputs]
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})" if results else "None"
    text.lines.append(f"return {returned}")
    scope = dict(text.names)
    exec(_compiled(tuple(text.lines)), scope)
    made: FastCall = scope["fast_call"]
    made.__code__ = made.__code__.replace()  # a copy: torch.compile attaches data to code objects
    mark(made.__code__)
    return made


@lru_cache(maxsize=256)
def _compiled(lines: tuple[str, ...]) -> CodeType:
    """The code object, which functions of the same lines share: only their global values differ."""
    return compile("\n    ".join(("def fast_call(args, out, stream, named):", *lines)), "<kgen call>", "exec")
