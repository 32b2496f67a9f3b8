"""Typing of function calls: one method a rule of ``functions.py``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kgen import literals
from kgen.check import operators
from kgen.check.complex import complex_function, magnitude
from kgen.check.context import Context, lift
from kgen.check.shapes import expand, index, size
from kgen.check.values import Literal, Typed, Value, WeakScalar
from kgen.dtypes import BOOL, COMPLEX64, COMPLEX128, FLOAT64, INT32, Kind
from kgen.functions import FUNCTIONS, Function
from kgen.syntax.tree import Call

if TYPE_CHECKING:
    from kgen.check.expressions import Scope

Args = list[Value]


def call(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    """A call of a built-in function."""
    function = (
        FUNCTIONS[node.function]
        if node.function in FUNCTIONS
        else Function("prelude", node.function, (len(args),), True)
    )
    if function.rule == "reduction" and not args:
        from kgen.check.reductions import reduction

        return reduction(ctx, scope, node)
    if not function.is_complex and any(map(_is_complex, args)):
        ctx.error(
            "no-function",
            f"`{node.function}` is not defined for complex numbers",
            node.function_span,
            marks=[a.span for a in args],
            hint="take real(z), imag(z) or abs(z)",
        )
        return None
    return _RULES[function.rule](ctx, scope, node, function, args)


def _is_complex(value: Value) -> bool:
    return value.dtype.is_complex if isinstance(value, Typed) else value.kind is Kind.COMPLEX


def _float(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """Promote; integers and bool become float32."""
    fold = literals.FUNCTIONS.get(function.target)
    if fold is not None and all(isinstance(a, Literal) and not isinstance(a.value, complex) for a in args):
        return operators.literal(ctx, fold, [a for a in args if isinstance(a, Literal)], node.span)
    weak = [a for a in args if not isinstance(a, Typed)]
    if len(weak) == len(args) and all(a.kind in (Kind.INT, Kind.FLOAT) for a in weak):
        return WeakScalar(Kind.FLOAT, function.target, node.span, args=tuple(weak))
    values = _promoted(ctx, node, args, to_float=True)
    if values is None:
        return None
    if values[0].dtype.is_complex:
        return complex_function(ctx, function.target, values, node.span)
    result = ctx.op(function.target, values, values[0].dtype, node.function_span, span=node.span)
    if result is not None and function.target == "ilogb":
        return Typed(INT32, result.id, result.shape, node.span)
    return result


def _promoted(ctx: Context, node: Call, args: Args, *, to_float: bool) -> list[Typed] | None:
    dtype = ctx.common(args, node.function_span)
    if dtype is None:
        return None
    if to_float:
        dtype = lift(dtype)
    values = [ctx.typed(a, dtype) for a in args]
    return None if any(v is None for v in values) else [v for v in values if v is not None]


def _keep(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """``abs sign floor ceil trunc round``: integers stay integers."""
    first = args[0]
    if isinstance(first, WeakScalar) and first.kind in (Kind.INT, Kind.FLOAT):
        if first.kind is Kind.INT and function.target not in ("abs", "sign"):
            return first
        return WeakScalar(first.kind, function.target, node.span, args=(first,))
    value = ctx.typed(args[0])
    if value is None:
        return None
    name = function.target
    dtype = value.dtype
    if dtype.is_bool:
        ctx.error(
            "no-function",
            f"`{node.function}` is not defined for bool",
            node.function_span,
            marks=(args[0].span,),
            hint="cast it: cast<int>(b)",
        )
        return None
    if dtype.is_complex:
        if name == "abs":
            return magnitude(ctx, value, node.span)
        if name == "sign":
            return complex_function(ctx, "sign", [value], node.span)
        if name == "round" and value.imag is not None:
            parts = [ctx.builder.op(name, (part,), span=node.span) for part in (value.id, value.imag)]
            return Typed(dtype, parts[0], value.shape, node.span, parts[1])
        ctx.error(
            "no-function",
            f"`{node.function}` is not defined for complex numbers",
            node.function_span,
            hint="take real(z) and imag(z)",
        )
        return None
    if dtype.is_int and name not in ("abs", "sign"):
        return value
    if name == "abs" and dtype.is_int and not dtype.signed:
        if ctx.site is None:
            ctx.reporter.lint(
                "abs-of-unsigned", f"`abs` of {dtype} changes nothing", node.function_span, marks=(args[0].span,)
            )
        return value
    return ctx.op(name, [value], dtype, node.function_span, span=node.span)


def _predicate(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """``isnan`` and its kin: a bool."""
    values = _promoted(ctx, node, args, to_float=True)
    if values is None:
        return None
    value = values[0]
    number = ctx.builder.op(function.target, (value.id,), span=node.span)
    if value.imag is not None:
        other = ctx.builder.op(function.target, (value.imag,), span=node.span)
        number = ctx.builder.op("and" if function.target == "isfinite" else "or", (number, other), span=node.span)
    return Typed(BOOL, number, value.shape, node.span)


def _integer(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """``popcount clz ffs``: the bits of an integer."""
    value = ctx.typed(args[0])
    if value is None:
        return None
    if not value.dtype.is_int:
        ctx.error(
            "no-function", f"`{node.function}` needs an integer, not {value.dtype}", node.function_span,
            marks=(args[0].span,), hint="bitcast<uint32>(x) has a float's bits",
        )  # fmt: skip
        return None
    return ctx.op(function.target, [value], INT32, node.function_span, span=node.span)


def _ordered(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """``jn(n, x)``, ``yn(n, x)``, ``ldexp(x, n)``: an int32 beside a float."""
    order, other = (1, 0) if function.target == "ldexp" else (0, 1)
    given = args[order]
    n = ctx.typed(given, INT32 if not isinstance(given, Typed) and given.kind <= Kind.INT else None)
    values = _promoted(ctx, node, [args[other]], to_float=True)
    if n is None or values is None:
        return None
    if not n.dtype.is_int or n.dtype.size > 4 or n.dtype.name == "uint32":
        ctx.error(
            "no-function",
            f"`{node.function}` needs an int32 {'order' if order == 0 else 'exponent'}, not {n.dtype}",
            node.function_span,
            marks=(args[order].span,),
            hint="write cast<int>(n)",
        )
        return None
    pair = [ctx.convert(n, INT32), values[0]]
    if order == 1:
        pair.reverse()
    return ctx.op(function.target, pair, values[0].dtype, node.function_span, span=node.span)


def _operator(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """A function spelling of an operator."""
    if len(args) == 1:
        return operators.unary(ctx, function.target, args[0], node.function_span, node.span)
    rule = operators.compare if function.target in operators.COMPARISONS else operators.binary
    return rule(ctx, function.target, args[0], args[1], node.function_span, node.span)


def _prelude(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    from kgen.check.expressions import inline_prelude

    return inline_prelude(ctx, function.target, args, node.span)


def _lifted(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """A prelude function of floats: arrays of integers and bool become float32 before anything is done to them."""
    lifted = [ctx.convert(a, lift(a.dtype)) if isinstance(a, Typed) else a for a in args]
    return _prelude(ctx, scope, node, function, lifted)


def _reduction(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """``min(a, b, ...)`` and ``max(a, b, ...)``: two or more arguments are elementwise."""
    if node.keywords:
        ctx.error(
            "bad-keyword",
            f"`{node.function}` of several arguments is elementwise and takes no `{node.keywords[0].name}`",
            node.keywords[0].span, hint=f"reduce one array: {node.function}(x, axis=0)",
        )  # fmt: skip
        return None
    return _extremum(ctx, node, node.function, args)


def _extremum_of(choose: Callable[..., Any]) -> Callable[..., Any]:
    """``min`` or ``max`` of Python numbers, in which NaN wins and -0.0 is below +0.0."""

    def extremum(*values: Any) -> Any:
        nan = next((v for v in values if v != v), None)
        return choose(values, key=lambda v: (v, math.copysign(1, v))) if nan is None else nan

    return extremum


_EXTREMUM = {"min": _extremum_of(min), "max": _extremum_of(max)}


def _extremum(ctx: Context, node: Call, name: str, args: Args) -> Value | None:
    if all(isinstance(a, Literal) for a in args):
        return operators.literal(ctx, _EXTREMUM[name], [a for a in args if isinstance(a, Literal)], node.span)
    weak = [a for a in args if not isinstance(a, Typed)]
    if len(weak) == len(args) and all(a.kind in (Kind.INT, Kind.FLOAT) for a in weak):
        folded = weak[0]
        for other in weak[1:]:
            folded = WeakScalar(max(folded.kind, other.kind), name, node.span, args=(folded, other))
        return folded
    values = _promoted(ctx, node, args, to_float=False)
    if values is None:
        return None
    dtype = values[0].dtype
    if dtype.is_complex:
        ctx.error(
            "no-function",
            f"`{node.function}` is not defined for complex numbers",
            node.function_span,
            marks=[a.span for a in args],
            hint="complex numbers have no order",
        )
        return None
    if ctx.shape_of(values, node.function_span) is None:
        return None
    op = name if not dtype.is_bool else {"min": "and", "max": "or"}[name]
    result: Typed | None = values[0]
    for value in values[1:]:
        result = result and ctx.op(op, [result, value], dtype, node.function_span, span=node.span)
    return result


def _special(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    return _SPECIAL[function.target](ctx, scope, node, args)


def _where(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    return operators.select(ctx, args[0], args[1], args[2], node.function_span, node.span)


def _logical_xor(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    left, right = operators.condition(ctx, args[0]), operators.condition(ctx, args[1])
    return left and right and ctx.op("xor", [left, right], BOOL, node.function_span, span=node.span)


def _complex(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    values = _promoted(ctx, node, args, to_float=True)
    shape = None if values is None else ctx.shape_of(values, node.function_span)
    if values is None or shape is None:
        return None
    dtype = COMPLEX128 if values[0].dtype is FLOAT64 else COMPLEX64
    return Typed(dtype, values[0].id, shape, node.span, values[1].id)


def _part(name: str) -> Callable[[Context, Scope, Call, Args], Value | None]:
    def rule(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
        value = ctx.typed(args[0])
        if value is None:
            return None
        if value.imag is None:
            if name in ("real", "conj"):
                return value
            zero = ctx.const(0 if value.dtype.kind < Kind.FLOAT else 0.0, value.dtype, node.span)
            return Typed(value.dtype, zero.id, value.shape, node.span)
        if name == "conj":
            return Typed(
                value.dtype, value.id, value.shape, node.span, ctx.builder.op("neg", (value.imag,), span=node.span)
            )
        return Typed(value.dtype.real, value.id if name == "real" else value.imag, value.shape, node.span)

    return rule


def _angle(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    """``atan2(im, re)``; of a real number, 0 or pi, and NaN of NaN."""
    values = _promoted(ctx, node, args, to_float=True)
    if values is None:
        return None
    value = values[0]
    if value.imag is not None:
        return Typed(
            value.dtype.real, ctx.builder.op("atan2", (value.imag, value.id), span=node.span), value.shape, node.span
        )
    zero = ctx.const(0.0, value.dtype, node.span)
    return ctx.op("atan2", [zero, value], value.dtype, node.function_span, span=node.span)


def _elementwise_extremum(name: str) -> Callable[[Context, Scope, Call, Args], Value | None]:
    return lambda ctx, scope, node, args: _extremum(ctx, node, name, args)


_RULES: dict[str, Callable[[Context, Scope, Call, Function, Args], Value | None]] = {
    "float": _float,
    "keep": _keep,
    "predicate": _predicate,
    "integer": _integer,
    "ordered": _ordered,
    "operator": _operator,
    "prelude": _prelude,
    "lifted": _lifted,
    "special": _special,
    "reduction": _reduction,
}

_SPECIAL: dict[str, Callable[[Context, Scope, Call, Args], Value | None]] = {
    "where": _where,
    "logical_xor": _logical_xor,
    "maximum": _elementwise_extremum("max"),
    "minimum": _elementwise_extremum("min"),
    "real": _part("real"),
    "imag": _part("imag"),
    "conj": _part("conj"),
    "angle": _angle,
    "complex": _complex,
    "index": index,
    "size": size,
    "expand": expand,
}
