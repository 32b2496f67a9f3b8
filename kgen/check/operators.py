"""Typing of operators: their dtypes, and the ops that they lower to.

Each function implements one rule of ``docs/language.md``.  All return None after an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgen import literals
from kgen.check.complex import complex_binary, complex_function
from kgen.check.context import Context
from kgen.check.promotion import lift, promote
from kgen.check.values import Deferred, Literal, Typed, Value, Weak
from kgen.check.weak import fits
from kgen.dtypes import BOOL, INT64, UINT64, DType, Kind
from kgen.source import Span

_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod"}
_BITS = {"&": "and", "|": "or", "^": "xor", "<<": "shl", ">>": "shr"}
_ON_BOOLS = {"+": "or", "*": "and", "&": "and", "|": "or", "^": "xor"}
COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_BOOL_HINTS = {
    "-": "bools cannot be subtracted; write `a ^ b`, or cast<int>(a) - cast<int>(b)",
    "**": "cast one of them first: cast<int>(a) ** b",
}
MAX_POWER = 8  # larger literal exponents go through pow()


def binary(ctx: Context, op: str, a: Value, b: Value, at: Span, span: Span) -> Value | None:
    """``a op b`` for every operator that is not a comparison."""
    if isinstance(a, Literal) and isinstance(b, Literal):
        return literal(ctx, literals.BINARY[op], [a, b], span)
    if op in ("and", "or"):
        return _logical(ctx, op, a, b, at, span)
    if op == "**":
        return power(ctx, a, b, at, span)
    dtype = ctx.common([a, b], at)
    if dtype is None:
        return None
    name, dtype = _binary_op(op, dtype)
    if name is None:
        _no_operator(ctx, op, dtype, a, b, at)
        return None
    if not isinstance(a, Typed) and not isinstance(b, Typed):
        return deferred(ctx, dtype.kind, lambda x, y: binary(ctx, op, x, y, at, span), [a, b], at, span)
    if dtype.is_complex:
        return _complex_binary(ctx, name, a, b, dtype, at, span)
    left, right = ctx.typed(a, dtype), ctx.typed(b, dtype)
    if left is None or right is None:
        return None
    return ctx.op(name, [left, right], dtype, at, span=span)


def _complex_binary(ctx: Context, name: str, a: Value, b: Value, dtype: DType, at: Span, span: Span) -> Typed | None:
    if name == "mul" and _is_real(a):
        a, b = b, a
    keep = name in ("mul", "div")  # their operands may be real
    left = ctx.typed(a, dtype.real if keep and _is_real(a) else dtype)
    right = ctx.typed(b, dtype.real if keep and _is_real(b) else dtype)
    if left is None or right is None:
        return None
    return complex_binary(ctx, name, left, right, at, span)


def _is_real(value: Value) -> bool:
    return not value.dtype.is_complex if isinstance(value, Typed) else value.kind is not Kind.COMPLEX


def _binary_op(op: str, dtype: DType) -> tuple[str | None, DType]:
    """The op of an operator on operands of a common dtype, None if there is none, and the dtype it runs in."""
    if op in _BITS:
        if dtype.is_bool:
            return _ON_BOOLS.get(op), dtype
        return (_BITS[op] if dtype.is_int else None), dtype
    if op == "/":
        return "div", lift(dtype)
    if dtype.is_bool:
        return _ON_BOOLS.get(op), dtype
    if dtype.is_complex and op in ("//", "%"):
        return None, dtype
    return _ARITHMETIC[op], dtype


def _no_operator(ctx: Context, op: str, dtype: DType, a: Value, b: Value, at: Span) -> None:
    if op in _BITS:
        hint = (
            "`**` is the power: x ** 2"
            if op == "^"
            else "bit operators need integers: combine conditions with `and`, `or`; "
            "bitcast<uint32>(x) gives the bits of a float"
        )
        if dtype.is_bool:
            hint = "cast one of them first: cast<int>(a) << b"
    elif dtype.is_bool:
        hint = _BOOL_HINTS.get(op, f"cast one of them first: cast<int>(a) {op} b")
    else:
        hint = "complex numbers have no floor; take real(z) and imag(z)"
    ctx.error("no-operator", f"`{op}` is not defined for {dtype}", at, marks=(a.span, b.span), hint=hint)


def deferred(
    ctx: Context, kind: Kind, rule: Callable[..., Value | None], args: Sequence[Weak], at: Span, span: Span
) -> Deferred | None:
    """The weak result of an operator on weak values: exact for integers, else computed in its later dtype."""
    return ctx.defer(kind, lambda _, values: rule(*values), args, at, span, whole=kind <= Kind.INT)


def literal(ctx: Context, operation: literals.Operation, args: Sequence[Literal], span: Span) -> Literal | None:
    """The value of an operation on literals; reports an operation without a value."""
    try:
        return Literal(literals.compute(operation, [a.value for a in args], span), span)
    except literals.LiteralError as problem:
        ctx.error("bad-literal", str(problem), span, hint="write the value itself, such as inf or nan")
        return None


def unary(ctx: Context, op: str, a: Value, at: Span, span: Span) -> Value | None:
    """``-a``, ``+a``, ``~a``, ``not a``."""
    if isinstance(a, Literal):
        return literal(ctx, literals.UNARY[op], [a], span)
    if op == "not":
        truth = condition(ctx, a)
        return None if truth is None else ctx.op("not", [truth], BOOL, at, span=span)
    if isinstance(a, Deferred) and (a.kind <= Kind.INT if op == "~" else a.kind > Kind.BOOL):
        return deferred(ctx, a.kind, lambda x: _unary_typed(ctx, op, x, at, span), [a], at, span)
    value = ctx.typed(a)
    return None if value is None else _unary_typed(ctx, op, value, at, span)


def _unary_typed(ctx: Context, op: str, value: Typed, at: Span, span: Span) -> Typed | None:
    dtype = value.dtype
    if op == "~":
        if dtype.kind > Kind.INT:
            hint = "it needs integers or bools"
            ctx.error("no-operator", f"`~` is not defined for {dtype}", at, marks=(value.span,), hint=hint)
            return None
        return ctx.op("not", [value], dtype, at, span=span)
    if dtype.is_bool:
        hint = _unary_bool(ctx, op, value.span)
        ctx.error("no-operator", f"unary `{op}` is not defined for bool", at, marks=(value.span,), hint=hint)
        return None
    if op == "+":
        return value
    if value.imag is not None:
        parts = [ctx.builder.op("neg", (part,), span=span) for part in (value.id, value.imag)]
        return Typed(dtype, parts[0], value.shape, span, parts[1])
    return ctx.op("neg", [value], dtype, at, span=span)


def _unary_bool(ctx: Context, op: str, span: Span) -> str:
    name = _named(ctx, span, "a")
    return f"write `not {name}` or `~{name}`" if op == "-" else f"write `{name}`, or `cast<int>({name})` for a number"


def _negative_power(ctx: Context, span: Span, exponent: int) -> str:
    name = _named(ctx, span, "x")
    inverse = f"1 / {name}" if exponent == -1 else f"1 / {name} ** {-exponent}"
    return f"write `{inverse}` or `cast<float>({name}) ** {exponent}`"


def _named(ctx: Context, span: Span, otherwise: str) -> str:
    """The operand's text for a hint if it is a name, else ``otherwise``."""
    text = ctx.reporter.source.text[span.start : span.end]
    return text if text.isidentifier() and len(text) < 40 else otherwise


def condition(ctx: Context, a: Value) -> Typed | None:
    """``a != 0`` as a bool, for conditions and logical operators.  NaN is true."""
    if isinstance(a, Literal):
        return ctx.const(bool(a.value), BOOL, a.span)
    value = ctx.typed(a)
    if value is None:
        return None
    if value.dtype.is_bool:
        return value
    zero = ctx.builder.const(0 if value.dtype.is_int else 0.0, value.dtype.real.compute)
    truth = ctx.builder.op("ne", (value.id, zero), span=a.span)
    if value.imag is not None:
        truth = ctx.builder.op("or", (truth, ctx.builder.op("ne", (value.imag, zero), span=a.span)), span=a.span)
    return Typed(BOOL, truth, value.shape, a.span)


def _logical(ctx: Context, op: str, a: Value, b: Value, at: Span, span: Span) -> Typed | None:
    left, right = condition(ctx, a), condition(ctx, b)
    if left is None or right is None:
        return None
    return ctx.op(op, [left, right], BOOL, at, span=span)


def compare(ctx: Context, op: str, a: Value, b: Value, at: Span, span: Span) -> Value | None:
    """One comparison; integers compare by value whatever their signs."""
    if isinstance(a, Literal) and isinstance(b, Literal):
        return literal(ctx, literals.COMPARE[op], [a, b], span)
    beyond = _beyond(ctx, op, a, b, span)
    if beyond is not None:
        return beyond
    a, b = _by_value(ctx, a, b), _by_value(ctx, b, a)
    if isinstance(a, Typed) and isinstance(b, Typed) and _signs_differ(a.dtype, b.dtype):
        return _compare_mixed_signs(ctx, op, a, b, at, span)
    dtype = ctx.common([a, b], at)
    if dtype is None:
        return None
    left, right = ctx.typed(a, dtype), ctx.typed(b, dtype)
    if left is None or right is None:
        return None
    if dtype.is_complex:
        return _compare_complex(ctx, op, left, right, at, span)
    return ctx.op(COMPARISONS[op], [left, right], BOOL, at, span=span)


def _signs_differ(a: DType, b: DType) -> bool:
    """Whether one is uint64 and the other a signed integer: no integer dtype holds both."""
    return a.is_int and b.is_int and promote(a, b) is None


def _compare_complex(ctx: Context, op: str, a: Typed, b: Typed, at: Span, span: Span) -> Typed | None:
    """Complex numbers are equal or not; they have no order."""
    if op not in ("==", "!="):
        hint = "compare abs(z) or real(z)"
        ctx.error("no-operator", "complex numbers have no order", at, marks=(a.span, b.span), hint=hint)
        return None
    real = ctx.op(COMPARISONS[op], [a, b], BOOL, at, span=span)
    if real is None or a.imag is None or b.imag is None:
        return real
    imag = ctx.builder.op(COMPARISONS[op], (a.imag, b.imag), shape=real.shape, span=span)
    both = ctx.builder.op("and" if op == "==" else "or", (real.id, imag), span=span)
    return Typed(BOOL, both, real.shape, span)


def _beyond(ctx: Context, op: str, a: Value, b: Value, span: Span) -> Typed | None:
    """An integer array compared with a literal outside its dtype's range: the same result for every element."""
    for array, other in ((a, b), (b, a)):
        if isinstance(array, Typed) and array.dtype.is_int and isinstance(other, Literal) and other.kind is Kind.INT:
            if fits(other, array.dtype):
                return None
            element = array.dtype.int_min  # any element gives the same result
            values = (element, other.value) if array is a else (other.value, element)
            return ctx.const(literals.COMPARE[op](*values), BOOL, span, array.shape)
    return None


def _by_value(ctx: Context, a: Value, other: Value) -> Value:
    """A weak integer compared with an integer array: int64 unless it certainly fits the array's dtype."""
    if not isinstance(a, Deferred) or a.kind is not Kind.INT or not isinstance(other, Typed) or not other.dtype.is_int:
        return a
    # A Python number compared with uint64 becomes uint64: no dtype holds both.
    scalar = not a.args and other.dtype is UINT64
    return a if scalar or fits(a, other.dtype) else ctx.typed(a, INT64) or a


def _compare_mixed_signs(ctx: Context, op: str, a: Typed, b: Typed, at: Span, span: Span) -> Typed | None:
    """uint64 against a signed integer: a negative number is below every unsigned one, the rest compare unsigned."""
    left, right = ctx.convert(a, UINT64), ctx.convert(b, UINT64)
    unsigned = ctx.op(COMPARISONS[op], [left, right], BOOL, at, span=span)
    if unsigned is None:
        return None
    signed = a if a.dtype.signed else b
    negative = ctx.builder.op("lt", (signed.id, ctx.builder.const(0, signed.dtype)), span=span)
    if_negative = op == "!=" or ((op in ("<", "<=")) == (signed is a) and op != "==")
    answer = ctx.builder.op(
        "where", (negative, ctx.builder.const(if_negative, BOOL), unsigned.id), shape=unsigned.shape, span=span
    )
    return Typed(BOOL, answer, unsigned.shape, span)


def select(ctx: Context, c: Value, a: Value, b: Value, at: Span, span: Span) -> Value | None:
    """``c ? a : b`` and ``where(c, a, b)``."""
    if isinstance(c, Literal) and isinstance(a, Literal) and isinstance(b, Literal):
        chosen = a if c.value else b
        return Literal(chosen.value, span)
    truth = condition(ctx, c)
    dtype = ctx.common([a, b], at)
    if truth is None or dtype is None:
        return None
    if not isinstance(a, Typed) and not isinstance(b, Typed):
        kind = max(a.kind, b.kind)

        def rule(dtype: DType, values: list[Typed]) -> Typed | None:
            left, right = (ctx.convert(value, dtype) for value in values)
            return _choose(ctx, truth, left, right, at, span)

        return ctx.defer(kind, rule, [a, b], at, span, beside=[truth])
    left, right = ctx.typed(a, dtype), ctx.typed(b, dtype)
    return None if left is None or right is None else _choose(ctx, truth, left, right, at, span)


def _choose(ctx: Context, truth: Typed, left: Typed, right: Typed, at: Span, span: Span) -> Typed | None:
    """A selection between two values of one dtype."""
    chosen = ctx.op("where", [truth, left, right], left.dtype, at, span=span)
    if chosen is None or left.imag is None or right.imag is None:
        return chosen
    imag = ctx.builder.op("where", (truth.id, left.imag, right.imag), shape=chosen.shape, span=span)
    return Typed(left.dtype, chosen.id, chosen.shape, span, imag)


def power(ctx: Context, a: Value, b: Value, at: Span, span: Span) -> Value | None:
    """``a ** b``: small literal whole exponents multiply, 0.5 is sqrt, the rest is pow."""
    if isinstance(a, Literal) and isinstance(b, Literal):
        return literal(ctx, literals.BINARY["**"], [a, b], span)
    dtype = ctx.common([a, b], at)
    if dtype is None:
        return None
    if dtype.is_bool:
        ctx.error("no-operator", "`**` is not defined for bool", at, marks=(a.span, b.span), hint=_BOOL_HINTS["**"])
        return None
    exponent = _whole(b)
    if dtype.is_int and exponent is not None and exponent < 0:
        message, hint = f"an integer to the power {exponent} is not an integer", _negative_power(ctx, a.span, exponent)
        ctx.error("negative-power", message, at, marks=(a.span, b.span), hint=hint)
        return None
    if not isinstance(a, Typed) and not isinstance(b, Typed):
        # A literal exponent selects the rule, so the rule keeps it as it is.
        args = [a] if isinstance(b, Literal) else [a, b]
        return deferred(ctx, dtype.kind, lambda x, y=b: power(ctx, x, y, at, span), args, at, span)
    base = ctx.typed(a, dtype)
    return None if base is None else _power_typed(ctx, base, b, at, span)


def _power_typed(ctx: Context, base: Typed, b: Value, at: Span, span: Span) -> Typed | None:
    exponent = _whole(b)
    if exponent is not None and abs(exponent) <= MAX_POWER:
        return _whole_power(ctx, base, exponent, at, span)
    if isinstance(b, Literal) and b.value == 0.5:
        if base.dtype.is_complex:
            return complex_function(ctx, "sqrt", [base], span)
        return ctx.op("sqrt", [base], base.dtype, at, span=span)
    raised = ctx.typed(b, base.dtype)
    if raised is None:
        return None
    if base.dtype.is_complex:
        return complex_binary(ctx, "pow", base, raised, at, span)
    return ctx.op("pow", [base, raised], base.dtype, at, span=span)


def _whole(b: Value) -> int | None:
    if not isinstance(b, Literal) or isinstance(b.value, complex):
        return None
    return int(b.value) if abs(b.value) < 2**31 and b.value == int(b.value) else None


def _whole_power(ctx: Context, base: Typed, exponent: int, at: Span, span: Span) -> Typed | None:
    if base.imag is not None:
        return _complex_whole_power(ctx, base, exponent, at, span)
    raised = ctx.op("powi", [base], base.dtype, at, span=span, attr=abs(exponent))
    if exponent >= 0 or raised is None:
        return raised
    return ctx.op("div", [ctx.const(1.0, base.dtype, span), raised], base.dtype, at, span=span)


def _complex_whole_power(ctx: Context, base: Typed, exponent: int, at: Span, span: Span) -> Typed | None:
    """By squaring, as ``powi`` does it on real numbers."""
    one = Typed(
        base.dtype, ctx.builder.const(1.0, base.dtype.real), base.shape, span, ctx.builder.const(0.0, base.dtype.real)
    )
    result: Typed | None = None
    square: Typed | None = base
    n = abs(exponent)
    while n:
        if n & 1 and square is not None:
            result = square if result is None else complex_binary(ctx, "mul", square, result, at, span)
        n >>= 1
        if n and square is not None:
            square = complex_binary(ctx, "mul", square, square, at, span)
    if result is None:
        result = one
    return complex_binary(ctx, "div", one, result, at, span) if exponent < 0 else result
