"""The arguments of one call: objects bound to the program's arguments, with their dtypes, shapes and devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import Any

from kgen.argument_types import ScalarArg, WeakArg
from kgen.arrays import adapter_of
from kgen.arrays.base import Adapter, Device
from kgen.diagnostics import Diagnostic, KgenError, error, nearest, shown
from kgen.dtypes import Kind
from kgen.functions import CONSTANTS
from kgen.operands import ArrayOperand, Operands
from kgen.program import Program
from kgen.records import dataclass
from kgen.runtime.scalars import kind_of_value
from kgen.spec import OpenSpec, Shape, Spec, as_shape


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """An array argument.  ``adapter`` is None for a :class:`~kgen.Spec`, which has no data."""

    name: str
    array: Any
    spec: Spec
    adapter: Adapter | None
    device: Device | None  # None: NumPy and specs, which have no device of their own
    original: Any = None  # the caller's object, where ``array`` stands in for it


@dataclass(frozen=True, slots=True)
class ScalarValue:
    """An argument passed by value."""

    name: str
    value: Any
    type: ScalarArg | WeakArg


Value = ArrayValue | ScalarValue


# branches: one error for each way in which arguments do not fit
def bind(program: Program, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Bind objects to arguments and params: inputs by position or name, params by name.

    Raises :class:`~kgen.KgenError`: ``too-many-arguments``, ``missing-argument``, ``repeated-argument``,
    ``unknown-argument``.
    """
    arrays = [a.name for a in program.arguments]
    params = {p.name: p for p in program.parameters}
    if len(args) > len(arrays):
        taken = f"{len(arrays)}: {', '.join(arrays) or 'none'}"
        hint = "an array to write to is given as `out=...`"
        if any(lint.code == "letter-e" for lint in program.lints):
            hint = argument_hint("e", arrays)
        elif params:
            hint = f"params are given by keyword, such as `{next(iter(params))}=...`"
        raise error("too-many-arguments", f"{len(args)} positional arguments, and this kernel takes {taken}", hint)
    found: dict[str, Any] = dict(zip(arrays, args, strict=False))
    for name, value in named.items():
        if name in found:
            raise error(
                "repeated-argument",
                f"`{name}` is given by position and by name",
                f"give it once; by position the inputs are ({', '.join(arrays)})",
            )
        if name not in params and name not in arrays:
            raise error("unknown-argument", f"no argument is called `{name}`", argument_hint(name, [*arrays, *params]))
        found[name] = value
    missing = [n for n in arrays if n not in found] + [
        n for n, p in params.items() if n not in found and p.default is None
    ]
    if missing:
        if missing[0] in params:
            hint = f"pass `{missing[0]}=...` by keyword"
        else:
            hint = f"the inputs in order are ({', '.join(arrays)})"
        raise missing_arguments(program, missing, hint)
    for name, parameter in params.items():
        found.setdefault(name, parameter.default)
    return found


def signature_of(program: Program) -> Signature:
    """The signature of a kernel: inputs by position or name, params by name, and the options of every call."""
    inputs = [a.name for a in program.arguments]
    by_position = Parameter.POSITIONAL_ONLY if any(map(iskeyword, inputs)) else Parameter.POSITIONAL_OR_KEYWORD
    found = [Parameter(name, by_position) for name in inputs]
    for param in program.parameters:
        if not iskeyword(param.name):
            default = Parameter.empty if param.default is None else param.default
            found.append(Parameter(param.name, Parameter.KEYWORD_ONLY, default=default))
    found += [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in ("out", "stream", "shape")]
    found.append(Parameter("check_indices", Parameter.KEYWORD_ONLY, default=False))
    if any(iskeyword(p.name) for p in program.parameters):  # such as `lambda`, which `**{"lambda": 0.5}` passes
        found.append(Parameter("named", Parameter.VAR_KEYWORD))
    return Signature(found)


def argument_hint(name: str, known: Sequence[str]) -> str:
    """The hint for a name that is none of the ``known`` arguments."""
    if name in CONSTANTS:
        return f"`{name}` is the number {CONSTANTS[name]:.4g} in a program; for an array write `input {name}`"
    if name in ("device", "fmad", "fast", "deterministic", "pdl", "tuning"):
        return f"`{name}=` belongs to the kernel: `kgen.jit(text, {name}=...)`"
    near = nearest(name, known)
    return f"did you mean `{near}`?" if near else f"known here: {', '.join(known) or 'none'}"


def missing_arguments(program: Program, missing: Sequence[str], hint: str) -> KgenError:
    """``missing-argument``, at the first of these names; the hint suggests a similar name."""
    spans = {a.name: a.span for a in program.arguments} | {p.name: p.span for p in program.parameters}
    names = [*spans, *(o.name for o in program.outputs), *(s.name for s in program.statements), *program.defs]
    gone = set(missing)
    near = nearest(missing[0], (n for n in names if n not in gone))
    message = f"`{'`, `'.join(missing[:10])}` {'is' if len(missing) == 1 else 'are'} not given"
    if near and missing[0] not in {p.name for p in program.parameters}:
        hint = f"did you mean `{near}`? A name that nothing assigns is an input; {hint}"
    elif program.source.text[: spans[missing[0]].start].rstrip().endswith("//"):
        hint = f"`//` divides and rounds down; comments start with `#`; {hint}"
    marks = tuple(spans[name] for name in missing[1:])
    return KgenError([Diagnostic("missing-argument", message, hint, spans[missing[0]], marks, program.source)])


def describe(program: Program, bound: Mapping[str, Any]) -> dict[str, Value]:
    """The dtype, shape and device of each argument.

    Raises :class:`~kgen.KgenError` for objects that are neither arrays nor scalars.
    """
    values: dict[str, Value] = {}
    for argument in program.arguments:
        values[argument.name] = _argument(argument.name, bound[argument.name], argument.role == "inout")
    for parameter in program.parameters:
        values[parameter.name] = _parameter(parameter.name, bound[parameter.name], parameter.dtype)
    return values


def _argument(name: str, value: Any, inout: bool) -> Value:
    if isinstance(value, Spec):
        return ArrayValue(name, value, value, None, None)
    if isinstance(value, OpenSpec):
        hint = "give every extent; source(), cubin() and ptx() take `?`"
        raise error("not-an-array", f"`{name}` is {value}, whose open extents belong to no array", hint)
    kind = kind_of_value(value)
    if kind is not None:
        if inout:
            raise error(
                "not-an-array", f"`{name}` is updated in place, so it cannot be a Python scalar", "pass an array"
            )
        return ScalarValue(name, value, WeakArg(kind))
    try:
        adapter = adapter_of(value)
        if adapter is None:
            raise error("not-an-array", f"`{name}` is a {type(value).__name__}", "pass an array or a Python scalar")
        array = adapter.normalise(value)
        return ArrayValue(name, array, adapter.spec(array), adapter, adapter.device(array), value)
    except KgenError as problem:
        raise _named(problem, name) from None


def _named(problem: KgenError, name: str) -> KgenError:
    """The same error with the argument's name in its message."""
    return KgenError(
        Diagnostic(
            d.code, d.message if f"`{name}`" in d.message else f"`{name}`: {d.message}", d.hint, d.at, d.marks, d.source
        )
        for d in problem.diagnostics
    )


def _parameter(name: str, value: Any, dtype: Any) -> ScalarValue:
    kind = kind_of_value(value)
    if kind is None:
        try:
            adapter = adapter_of(value) if not isinstance(value, Spec) else None
        except KgenError:  # neither an array nor a number
            adapter = None
        value = value if adapter is None else adapter.normalise(value)
        if adapter is None or adapter.spec(value).shape != ():
            what = f"a {type(value).__name__}" if adapter is None and not isinstance(value, Spec) else "an array"
            raise error(
                "bad-value",
                f"`{name}` is passed by value and has to be a scalar, not {what}",
                "arrays are inputs; a param is a Python number",
            )
        value = adapter.item(value)
        kind = kind_of_value(value)
        assert kind is not None
    if dtype is not None:
        if kind > max(dtype.kind, Kind.INT if dtype.kind is Kind.BOOL else dtype.kind):
            raise error(
                "bad-value",
                f"`{name}` is declared {dtype} and the value is {shown(value)}",
                f"pass a value that {dtype} holds",
            )
        return ScalarValue(name, value, ScalarArg(dtype))
    return ScalarValue(name, value, WeakArg(kind))


def by_value(
    program: Program, values: Mapping[str, Value], outs: Sequence[ArrayValue | None], device: Device
) -> dict[str, Value]:
    """Pass 0-d host arrays by value in a call with other arrays on a GPU; without others they stay arrays."""
    read_only = {a.name for a in program.arguments if a.role == "input"}
    small = {n: v for n, v in values.items() if n in read_only and isinstance(v, ArrayValue) and _is_host_scalar(v)}
    has_others = any(isinstance(v, ArrayValue) and n not in small for n, v in values.items())
    has_others = has_others or any(o is not None and not _on_host(o) for o in outs)
    if device.kind != "cuda" or not has_others:
        return dict(values)
    return {**values, **{n: _as_scalar(v) for n, v in small.items()}}


def _is_host_scalar(value: ArrayValue) -> bool:
    return value.adapter is not None and value.spec.shape == () and _on_host(value)


def _on_host(value: ArrayValue) -> bool:
    return value.device is None or value.device.kind == "cpu"


def _as_scalar(value: ArrayValue) -> ScalarValue:
    assert value.adapter is not None
    return ScalarValue(value.name, value.adapter.item(value.array), ScalarArg(value.spec.dtype))


def operands_of(
    values: Mapping[str, Value],
    outs: Sequence[ArrayValue | None],
    shape: Shape | None,
    address: Callable[[ArrayValue], int] = lambda value: 0,
) -> Operands:
    """The operands of a call, for lowering.  ``address``: by default 0; a call reads addresses when it allocates."""

    def array(value: ArrayValue) -> ArrayOperand:
        return ArrayOperand(value.spec.dtype, value.spec.shape, value.spec.strides, address(value))

    return Operands(
        {n: array(v) if isinstance(v, ArrayValue) else v.type for n, v in values.items()},
        {o.name: array(o) for o in outs if o is not None},
        _program_shape(values, outs, shape),
    )


def _program_shape(
    values: Mapping[str, Value], outs: Sequence[ArrayValue | None], shape: Shape | None
) -> tuple[int, ...]:
    """The shape of a program without array arguments: ``shape=``, or that of an array given with ``out=``."""
    if any(isinstance(v, ArrayValue) for v in values.values()):
        if shape is not None:
            raise shape_beside_arrays()
        return ()
    if shape is not None:
        return as_shape(shape)
    given = [o for o in outs if o is not None]
    if given:
        return given[0].spec.shape
    raise error(
        "shape-needed", "no argument is an array, so nothing gives the output's shape", "pass shape=(...) or out="
    )


def shape_beside_arrays() -> KgenError:
    hint = "the shape follows from the arrays; for an axis of another length pass an array along it, such as an arange"
    return error("bad-call", "shape= is for programs without array arguments", hint)
