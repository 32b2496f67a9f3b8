"""What a generated call is made from, and the parts that all of them share.

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
from typing import TYPE_CHECKING, Any, Protocol

from kgen.arrays.base import Adapter, Guards
from kgen.call.arguments import ArrayValue, ScalarValue, Value
from kgen.dynamo import mark
from kgen.program import Program
from kgen.runtime.launcher import PER_THREAD_STREAM
from kgen.runtime.parameters import Variable
from kgen.runtime.scalars import pack
from kgen.runtime.stream import stream_handle

if TYPE_CHECKING:
    from kgen.runtime.launcher import Launcher
    from kgen.schedule.bind import Array

#: ``(args, out, stream, named)`` -> the result, or NotImplemented for another kind of call; nothing has run then.
FastCall = Callable[[tuple[Any, ...], Any, Any, Mapping[str, Any]], Any]


class Caller(Protocol):
    """Whose calls these are.  A recognised call says where it ran."""

    program: Program
    ran_on: str | None


@dataclass(frozen=True, slots=True)
class ObservedCall:
    """A call as it was made, and what was decided for it.

    ``args``, ``named`` and ``out`` are the caller's own; ``values`` and ``outs`` what they were found to be.
    """

    engine: Caller
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    out: Any
    values: Mapping[str, Value]
    outs: Sequence[ArrayValue | None]
    operands: tuple[Operand, ...]
    adapter: Adapter
    like: Any
    launcher: Launcher

    def passed(self) -> dict[str, Any]:
        """The arguments and params of the call, by name."""
        names = (a.name for a in self.engine.program.arguments)
        return {**dict(zip(names, self.args, strict=False)), **self.named}

    def has_plain_scalars(self) -> bool:
        """Whether what is passed by value is Python's own numbers, whose type tells all that was decided from them."""
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


NULL = -1  #: the place of an array without memory, which has no elements


def alignment_of(pointer: int) -> int:
    """What of an address has to be the same again: its place within 16 bytes."""
    return pointer % 16 if pointer else NULL


@dataclass(slots=True)
class FunctionText:
    """Lines of a function, and the values that its names stand for."""

    lines: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)

    def guard(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): return NotImplemented")

    def constant(self, value: Any) -> str:
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name


def caller_arrays(call: ObservedCall) -> tuple[dict[str, str], list[tuple[str, Any, bool]]] | None:
    """Names for the caller's arrays, and these as adapters look at them; None where copies stand in for them."""
    arrays = [v for v in call.values.values() if isinstance(v, ArrayValue)] + [o for o in call.outs if o is not None]
    if not arrays or not all(a.adapter is call.adapter and a.array is a.original for a in arrays):
        return None
    written = {o.name for o in call.operands if o.writes}
    names = {a.name: f"x{i}" for i, a in enumerate(arrays)}
    return names, [(names[a.name], a.array, a.name in written) for a in arrays]


def unpack_arguments(text: FunctionText, call: ObservedCall, local: Mapping[str, str]) -> dict[str, str] | None:
    """Take the arguments apart; the expression of every scalar, by name.  None for a form that this cannot read."""
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
    """Give up on arrays that are not like these."""
    for name, x, _ in arrays:
        text.guard(f"type({name}) is {text.constant(type(x))}")
    for name, other in guards.same:
        text.guard(f"{name} is {other}")
    if guards.alike is not None:
        check, names = guards.alike
        text.guard(f"{text.constant(check)}({', '.join(names)})")
    for fact in guards.attributes:
        start = fact.array if isinstance(fact.array, str) else text.constant(fact.array)
        found = ".".join((start, *fact.path)) + ("()" if fact.call else "")
        text.guard(f"{found} == {text.constant(fact.expected)}")
    if guards.unless is not None:
        text.guard(f"not {text.constant(guards.unless)}()")


def address_expression(text: FunctionText, guards: Guards, name: str) -> str:
    """Where an array is."""
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
    """Queue the kernels, which change the arrays of ``written``.

    ``adjust`` gives lines that change a launch (its name, its number) before it starts.
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
        # A scalar that does not fit is looked at again, for a proper diagnostic.
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
    """A variable's value as ``struct`` takes it."""
    if variable.operand is not None:
        return pointers[variable.operand]
    assert variable.scalar is not None
    assert variable.dtype is not None
    value = scalars[variable.scalar]
    if variable.is_raw:
        return f"{text.constant(pack)}({text.constant(variable.scalar)}, {value}, {text.constant(variable.dtype)})"
    return f"{value}.real, {value}.imag" if variable.dtype.is_complex else value


def build_function(text: FunctionText, call: ObservedCall, local: Mapping[str, str]) -> FastCall:
    """Return the outputs: the caller's own, or y0, y1, ... as they were allocated."""
    text.names |= {"engine": call.engine, "here": call.engine.ran_on}
    text.lines.append("engine.ran_on = here")
    fresh = [o.name for o in call.operands if o.fresh]
    results = [local.get(o.name) or f"y{fresh.index(o.name)}" for o in call.engine.program.outputs]
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})" if results else "None"
    text.lines.append(f"return {returned}")
    scope = dict(text.names)
    exec(_compiled(tuple(text.lines)), scope)
    made: FastCall = scope["fast_call"]
    made.__code__ = made.__code__.replace()  # its own: torch.compile attaches to code what it knows of one function
    mark(made.__code__)
    return made


@lru_cache(maxsize=256)
def _compiled(lines: tuple[str, ...]) -> CodeType:
    """Kernels of one arity share what is compiled: only the values behind its names differ."""
    return compile("\n    ".join(("def fast_call(args, out, stream, named):", *lines)), "<kgen call>", "exec")
