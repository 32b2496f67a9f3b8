"""Typing of functions whose result is an integer for integers: ``min``, ``max``, ``fmin``, ``fmax`` and ``fmod``."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from kgen import literals
from kgen.check import operators
from kgen.check.context import Context
from kgen.check.promotion import lift
from kgen.check.scope import Scope
from kgen.check.values import Literal, Typed, Value, Weak
from kgen.dtypes import FLOAT32, Kind
from kgen.syntax.tree import Call

Args = list[Value]


def is_complex(value: Value) -> bool:
    return value.dtype.is_complex if isinstance(value, Typed) else value.kind is Kind.COMPLEX


def all_weak(args: Args) -> list[Weak] | None:
    weak = [a for a in args if not isinstance(a, Typed)]
    return weak if len(weak) == len(args) else None


def promoted(ctx: Context, node: Call, args: Args, *, to_float: bool) -> list[Typed] | None:
    dtype = ctx.common(args, node.function_span)
    if dtype is None:
        return None
    if to_float:
        dtype = lift(dtype)
    values = [ctx.typed(a, dtype) for a in args]
    return None if any(v is None for v in values) else [v for v in values if v is not None]


def _extremum_of(choose: Callable[..., Any]) -> Callable[..., Any]:
    """``min`` or ``max`` of Python numbers, in which NaN wins and -0.0 is below +0.0."""

    def extremum(*values: Any) -> Any:
        nan = next((v for v in values if v != v), None)
        return choose(values, key=lambda v: (v, math.copysign(1, v))) if nan is None else nan

    return extremum


def _ignoring_nan(extremum: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: extremum(*([v for v in values if v == v] or values))


_EXTREMUM = {"min": _extremum_of(min), "max": _extremum_of(max)}
_EXTREMUM |= {f"f{name}": _ignoring_nan(extremum) for name, extremum in _EXTREMUM.items()}


def extremum(ctx: Context, node: Call, name: str, args: Args) -> Value | None:
    if all(isinstance(a, Literal) for a in args):
        return operators.literal(ctx, _EXTREMUM[name], [a for a in args if isinstance(a, Literal)], node.span)
    weak = all_weak(args)
    if weak is not None and not any(map(is_complex, weak)):
        rule, kind = partial(_extremum_typed, ctx, node, name), max(a.kind for a in weak)
        return operators.deferred(ctx, kind, rule, weak, node.function_span, node.span)
    values = promoted(ctx, node, args, to_float=False)
    return None if values is None else _extremum_typed(ctx, node, name, *values)


def _extremum_typed(ctx: Context, node: Call, name: str, *values: Typed) -> Typed | None:
    dtype = values[0].dtype
    if dtype.is_complex:
        ctx.error(
            "no-function",
            f"`{node.function}` is not defined for complex numbers",
            node.function_span,
            marks=[v.span for v in values],
            hint="complex numbers have no order",
        )
        return None
    if ctx.shape_of(values, node.function_span) is None:
        return None
    op = name if dtype.is_float else name.removeprefix("f")
    op = {"min": "and", "max": "or"}[op] if dtype.is_bool else op
    result: Typed | None = values[0]
    for value in values[1:]:
        result = result and ctx.op(op, [result, value], dtype, node.function_span, span=node.span)
    return result


def fmod(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    """Integers stay integers; bools become float32."""
    known = [a for a in args if isinstance(a, Literal)]
    if len(known) == len(args):
        return operators.literal(ctx, literals.fmod, known, node.span)
    dtype = ctx.common(args, node.function_span)
    if dtype is None:
        return None
    dtype = FLOAT32 if dtype.is_bool else dtype
    weak = all_weak(args)
    if weak is not None:
        rule = partial(_fmod_typed, ctx, node)
        return operators.deferred(ctx, dtype.kind, rule, weak, node.function_span, node.span)
    left, right = (ctx.typed(a, dtype) for a in args)
    return left and right and _fmod_typed(ctx, node, left, right)


def _fmod_typed(ctx: Context, node: Call, left: Typed, right: Typed) -> Typed | None:
    return ctx.op("fmod", [left, right], left.dtype, node.function_span, span=node.span)
