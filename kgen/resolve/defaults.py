"""Defaults of params: literal expressions that fit the declared dtype."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from kgen.diagnostics import Reporter, shown
from kgen.dtypes import DType, Kind
from kgen.literals import LiteralError, evaluate
from kgen.program import Parameter, Weak
from kgen.source import Span
from kgen.syntax.tree import Parameter as Declared


def parameter(declared: Declared, constants: Mapping[str, float], reporter: Reporter) -> Parameter:
    """One parameter of a ``param`` line."""
    name, default = declared.name, declared.default
    dtype = name.type.dtype if name.type is not None else None
    value: Weak | None = None
    if default is not None:
        try:
            value = evaluate(default, constants)
        except LiteralError as problem:
            message, hint = f"this has no value: {problem}", "write the value itself"
            reporter.error("bad-literal", message, problem.span, hint=hint)
            value = 0
        else:
            if value is None:
                hint = f"remove it and pass `{name.name}=` at the call"
                reporter.error("bad-default", "a default consists of literals only", default.span, hint=hint)
            elif dtype is not None:
                value = _fit(value, dtype, default.span, reporter)
    return Parameter(name.name, dtype, value, name.span)


def _fit(value: Weak, dtype: DType, span: Span, reporter: Reporter) -> Weak:
    """The default of a typed param as a value of its dtype; reports one that does not fit."""
    kind = Kind.BOOL if isinstance(value, bool) else Kind.INT if isinstance(value, int) else None
    kind = kind if kind is not None else Kind.FLOAT if isinstance(value, float) else Kind.COMPLEX
    report = reporter.error
    text = shown(value).lower() if isinstance(value, bool) else shown(value)
    if dtype.is_bool and kind is not Kind.BOOL:
        report("bad-default", f"the default {text} is not a bool", span, hint="write `true` or `false`")
    elif kind > dtype.kind:
        hint = f"write a default of type {dtype}, or declare a wider type"
        report("bad-default", f"the default {text} does not fit {dtype}", span, hint=hint)
    elif dtype.is_int and not dtype.int_min <= int(value.real) <= dtype.int_max:
        hint = f"{dtype} holds {dtype.int_min} to {dtype.int_max}"
        report("bad-default", f"the default {text} does not fit {dtype}", span, hint=hint)
    elif dtype.kind >= Kind.FLOAT and any(dtype.real.overflow <= abs(x) != inf for x in (value.real, value.imag)):
        hint = f"{dtype.real} holds up to {dtype.real.largest:g}"
        report("bad-default", f"the default {text} does not fit {dtype}", span, hint=hint)
    else:
        return _convert(value, dtype)
    return value


def _convert(value: Weak, dtype: DType) -> Weak:
    if dtype.is_complex:
        return complex(value)
    if dtype.is_bool:
        return bool(value)
    return int(value.real) if dtype.is_int else float(value.real)
