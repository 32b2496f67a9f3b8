"""Complex arithmetic, lowered to operations on real and imaginary parts while it is typed.

So the evaluator, the CPU and the GPU share one definition, and later stages have no complex arithmetic: they only load,
store and split complex values.  Longer functions are written in ``complex.k``.
"""

from __future__ import annotations

from kgen.check.context import Context
from kgen.check.values import Typed
from kgen.source import Span


def complex_binary(ctx: Context, name: str, a: Typed, b: Typed, at: Span, span: Span) -> Typed | None:
    """``add``, ``sub``, ``mul``, ``div`` or ``pow`` of two complex values of one dtype.

    One operand of ``mul`` or ``div`` may be real, of the parts' dtype. An imaginary part of 0 would give NaN when
    multiplied by infinity.
    """
    shape = ctx.shape_of([a, b], at)
    if shape is None:
        return None

    def op(name: str, *args: int) -> int:
        return ctx.builder.op(name, args, span=span)

    if name == "mul" and a.imag is None:
        a, b = b, a
    if a.imag is None:
        return complex_function(ctx, "rdiv", [a, b], span)
    if b.imag is None:
        return Typed(a.dtype, op(name, a.id, b.id), shape, span, op(name, a.imag, b.id))
    if name in ("add", "sub"):
        return Typed(a.dtype, op(name, a.id, b.id), shape, span, op(name, a.imag, b.imag))
    if name == "mul":
        real = op("sub", op("mul", a.id, b.id), op("mul", a.imag, b.imag))
        imag = op("add", op("mul", a.id, b.imag), op("mul", a.imag, b.id))
        return Typed(a.dtype, real, shape, span, imag)
    return complex_function(ctx, name, [a, b], span)


def complex_function(ctx: Context, name: str, args: list[Typed], span: Span) -> Typed:
    """The function ``_c<name>`` of ``complex.k``."""
    value = ctx.inline_prelude(ctx, f"_c{name}", args, span)
    assert isinstance(value, Typed)
    return value


def magnitude(ctx: Context, z: Typed, span: Span) -> Typed:
    """``|z|``, without intermediate overflow."""
    assert z.imag is not None
    return Typed(z.dtype.real, ctx.builder.op("hypot", (z.id, z.imag), span=span), z.shape, span)
