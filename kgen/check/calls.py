"""Typing of function calls: one function for each rule of ``functions.py``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kgen import literals
from kgen.check import operators
from kgen.check.complex import complex_function, magnitude
from kgen.check.context import Context
from kgen.check.numbers import all_weak, extremum, fmod, is_complex, promoted
from kgen.check.scope import Scope
from kgen.check.shapes import expand, index, size
from kgen.check.values import Literal, Typed, Value
from kgen.check.weak import fits
from kgen.dtypes import BOOL, COMPLEX128, FLOAT32, FLOAT64, INT32, INT64, UINT32, Kind
from kgen.functions import FUNCTIONS, Function
from kgen.ir.graph import CastMode
from kgen.prelude import prelude_def
from kgen.syntax.tree import Call

Args = list[Value]


def call(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    """A call of a built-in function."""
    function = (
        FUNCTIONS[node.function]
        if node.function in FUNCTIONS
        else Function("prelude", node.function, (len(args),), True)
    )
    if not function.is_complex and any(map(is_complex, args)):
        ctx.error(
            "no-function",
            f"`{node.function}` is not defined for complex numbers",
            node.function_span,
            marks=[a.span for a in args],
            hint="take real(z), imag(z) or abs(z)",
        )
        return None
    return _RULES[function.rule](ctx, scope, node, function, args)


def _float(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """Promote; integers and bool become float32."""
    fold = literals.FUNCTIONS.get(function.target)
    if fold is not None and all(isinstance(a, Literal) and not isinstance(a.value, complex) for a in args):
        return operators.literal(ctx, fold, [a for a in args if isinstance(a, Literal)], node.span)
    weak = all_weak(args)
    if weak is not None and function.target != "ilogb":
        kind = max(Kind.FLOAT, *(a.kind for a in weak))
        rule = partial(_float_typed, ctx, node, function)
        return operators.deferred(ctx, kind, rule, weak, node.function_span, node.span)
    values = promoted(ctx, node, args, to_float=True)
    return None if values is None else _float_typed(ctx, node, function, *values)


def _float_typed(ctx: Context, node: Call, function: Function, *values: Typed) -> Typed | None:
    if values[0].dtype.is_complex:
        return complex_function(ctx, function.target, list(values), node.span)
    if function.target == "nextafter" and values[0].dtype.is_narrow:
        from kgen.check.nextafter import narrow_nextafter

        return narrow_nextafter(ctx, values[0], values[1], node)
    result = ctx.op(function.target, values, values[0].dtype, node.function_span, span=node.span)
    if result is not None and function.target == "ilogb":
        return Typed(INT32, result.id, result.shape, node.span)
    return result


def _keep(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """``abs sign floor ceil trunc round``: integers stay integers."""
    first = args[0]
    if not isinstance(first, Typed) and first.kind > Kind.BOOL:
        kind = Kind.FLOAT if function.target == "abs" and first.kind is Kind.COMPLEX else first.kind
        rule = partial(_keep_typed, ctx, node, function)
        return operators.deferred(ctx, kind, rule, [first], node.function_span, node.span)
    value = ctx.typed(first)
    return None if value is None else _keep_typed(ctx, node, function, value)


def _keep_typed(ctx: Context, node: Call, function: Function, value: Typed) -> Typed | None:
    name = function.target
    dtype = value.dtype
    if dtype.is_bool:
        ctx.error(
            "no-function",
            f"`{node.function}` is not defined for bool",
            node.function_span,
            marks=(value.span,),
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
                "abs-of-unsigned", f"`abs` of {dtype} changes nothing", node.function_span, marks=(value.span,)
            )
        return value
    return ctx.op(name, [value], dtype, node.function_span, span=node.span)


def _predicate(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """``isnan`` and its kin: a bool."""
    values = promoted(ctx, node, args, to_float=True)
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
            marks=(args[0].span,), hint="bitcast<uint32>(x) gives the bits of a float",
        )  # fmt: skip
        return None
    return ctx.op(function.target, [value], INT32, node.function_span, span=node.span)


def _ordered(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """``jn(n, x)``, ``yn(n, x)``, ``ldexp(x, n)``: an integer beside a float."""
    order, other = (1, 0) if function.target == "ldexp" else (0, 1)
    given = args[order]
    if not isinstance(given, Typed) and given.kind <= Kind.INT:
        n = ctx.typed(given, INT32 if fits(given, INT32) else INT64)
    else:
        n = ctx.typed(given)
    if n is None:
        return None
    if not n.dtype.is_int:
        ctx.error(
            "no-function",
            f"`{node.function}` needs an integer {'order' if order == 0 else 'exponent'}, not {n.dtype}",
            node.function_span,
            marks=(args[order].span,),
            hint="write cast<int>(n)",
        )
        return None
    if n.dtype.size > 4 or n.dtype is UINT32:  # beyond int32 the result equals that at its limits
        n = Typed(INT32, ctx.cast(n.id, INT32, n.span, CastMode("rz", True)), n.shape, n.span)
    number = ctx.convert(n, INT32)

    def rule(_: object, values: list[Typed]) -> Typed | None:
        pair = [number, values[0]] if order == 0 else [values[0], number]
        return ctx.op(function.target, pair, values[0].dtype, node.function_span, span=node.span)

    x = args[other]
    if not isinstance(x, Typed):
        return ctx.defer(Kind.FLOAT, rule, [x], node.function_span, node.span, beside=[number])
    values = promoted(ctx, node, [x], to_float=True)
    return None if values is None else rule(None, values)


def _operator(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """A function spelling of an operator."""
    if len(args) == 1:
        return operators.unary(ctx, function.target, args[0], node.function_span, node.span)
    rule = operators.compare if function.target in operators.COMPARISONS else operators.binary
    return rule(ctx, function.target, args[0], args[1], node.function_span, node.span)


def _prelude(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    of_complex = f"_c{function.target}"  # for functions that need another definition for complex numbers
    name = of_complex if any(map(is_complex, args)) and prelude_def(of_complex) else function.target
    return ctx.inline_prelude(ctx, name, args, node.span)


def _lifted(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    """A prelude function of floats: arrays of integers and bool are first converted to floats."""
    doubles = any(isinstance(a, Typed) and a.dtype in (FLOAT64, COMPLEX128) for a in args)
    whole = FLOAT64 if doubles else FLOAT32  # as in promotion
    lifted = [ctx.convert(a, whole) if isinstance(a, Typed) and a.dtype.kind < Kind.FLOAT else a for a in args]
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
    return extremum(ctx, node, node.function, args)


def _special(ctx: Context, scope: Scope, node: Call, function: Function, args: Args) -> Value | None:
    return _SPECIAL[function.target](ctx, scope, node, args)


def _where(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    return operators.select(ctx, args[0], args[1], args[2], node.function_span, node.span)


def _logical_xor(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    left, right = operators.condition(ctx, args[0]), operators.condition(ctx, args[1])
    return left and right and ctx.op("xor", [left, right], BOOL, node.function_span, span=node.span)


def _complex(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    rule = partial(_complex_typed, ctx, node)
    weak = all_weak(args)
    if weak is not None:
        return operators.deferred(ctx, Kind.COMPLEX, rule, weak, node.function_span, node.span)
    values = promoted(ctx, node, args, to_float=True)
    return None if values is None else rule(*values)


def _complex_typed(ctx: Context, node: Call, real: Typed, imag: Typed) -> Typed | None:
    shape = ctx.shape_of([real, imag], node.function_span)
    return None if shape is None else Typed(real.dtype.complex, real.id, shape, node.span, imag.id)


def _part(name: str) -> Callable[[Context, Scope, Call, Args], Value | None]:
    def part(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
        value, rule = args[0], partial(_part_typed, ctx, node, name)
        if isinstance(value, Typed):
            return rule(value)
        kind = value.kind if name == "conj" else min(value.kind, Kind.FLOAT)
        return operators.deferred(ctx, kind, rule, [value], node.function_span, node.span)

    return part


def _part_typed(ctx: Context, node: Call, name: str, value: Typed) -> Typed:
    if value.imag is None:
        if name in ("real", "conj"):
            return value
        return ctx.const(0 if value.dtype.kind < Kind.FLOAT else 0.0, value.dtype, node.span, value.shape)
    if name == "conj":
        imag = ctx.builder.op("neg", (value.imag,), span=node.span)
        return Typed(value.dtype, value.id, value.shape, node.span, imag)
    number = value.id if name == "real" else value.imag
    if ctx.builder.ops[number].shape != value.shape:  # the other part has more axes
        whole = ctx.builder.op("complex", (value.id, value.imag), dtype=value.dtype, span=node.span)
        number = ctx.builder.op(name, (whole,), dtype=value.dtype.real, span=node.span)
    return Typed(value.dtype.real, number, value.shape, node.span)


def _angle(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    rule = partial(_angle_typed, ctx, node)
    weak = all_weak(args)
    if weak is not None:
        return operators.deferred(ctx, Kind.FLOAT, rule, weak, node.function_span, node.span)
    values = promoted(ctx, node, args, to_float=True)
    return None if values is None else rule(values[0])


def _angle_typed(ctx: Context, node: Call, value: Typed) -> Typed | None:
    """``atan2(im, re)``; of a real number, 0 or pi, and NaN of NaN."""
    if value.imag is not None:
        return Typed(
            value.dtype.real, ctx.builder.op("atan2", (value.imag, value.id), span=node.span), value.shape, node.span
        )
    zero = ctx.const(0.0, value.dtype, node.span)
    return ctx.op("atan2", [zero, value], value.dtype, node.function_span, span=node.span)


def _elementwise_extremum(name: str) -> Callable[[Context, Scope, Call, Args], Value | None]:
    return lambda ctx, scope, node, args: extremum(ctx, node, name, args)


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
    "fmax": _elementwise_extremum("fmax"),
    "fmin": _elementwise_extremum("fmin"),
    "fmod": fmod,
    "real": _part("real"),
    "imag": _part("imag"),
    "conj": _part("conj"),
    "angle": _angle,
    "complex": _complex,
    "index": index,
    "size": size,
    "expand": expand,
}
