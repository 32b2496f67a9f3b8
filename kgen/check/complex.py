"""Complex arithmetic, lowered to operations on real and imaginary parts while it is typed.

So evaluator, CPU, GPU and (later) gradients share one definition, and nothing behind the checker knows complex
arithmetic: complex values are only loaded, stored and taken apart.
"""

from __future__ import annotations

from kgen.check.context import Context
from kgen.check.values import Typed
from kgen.dtypes import BOOL
from kgen.source import Span


def complex_binary(ctx: Context, name: str, a: Typed, b: Typed, at: Span, span: Span) -> Typed | None:
    """``add``, ``sub``, ``mul`` or ``div`` of two complex values of one dtype."""
    shape = ctx.shape_of([a, b], at)
    if shape is None:
        return None
    assert a.imag is not None
    assert b.imag is not None

    def op(name: str, *args: int) -> int:
        return ctx.builder.op(name, args, span=span)

    if name in ("add", "sub"):
        return Typed(a.dtype, op(name, a.id, b.id), shape, span, op(name, a.imag, b.imag))
    if name == "mul":
        real = op("sub", op("mul", a.id, b.id), op("mul", a.imag, b.imag))
        imag = op("add", op("mul", a.id, b.imag), op("mul", a.imag, b.id))
        return Typed(a.dtype, real, shape, span, imag)
    assert name == "div"
    # Smith's method: scale by the larger part of the divisor, so that nothing overflows on the way.
    wide = op("ge", op("abs", b.id), op("abs", b.imag))
    large, small = op("where", wide, b.id, b.imag), op("where", wide, b.imag, b.id)
    # By zero, as NumPy does it: each part divided by +0.
    at_zero = op("eq", large, ctx.builder.const(0.0, a.dtype.real))
    ratio = op("where", at_zero, ctx.builder.const(0.0, a.dtype.real), op("div", small, large))
    scale = op("where", at_zero, op("abs", large), op("add", large, op("mul", small, ratio)))
    # With |re b| >= |im b|: (ar + ai*r) / s, (ai - ar*r) / s.  Otherwise: (ar*r + ai) / s, (ai*r - ar) / s.
    first, second = op("where", wide, a.id, a.imag), op("where", wide, a.imag, a.id)
    real = op("div", op("add", first, op("mul", second, ratio)), scale)
    cross = op("sub", second, op("mul", first, ratio))
    imag = op("div", op("where", wide, cross, op("neg", cross)), scale)
    return Typed(a.dtype, real, shape, span, imag)


def complex_power(ctx: Context, a: Typed, b: Typed, at: Span, span: Span) -> Typed | None:
    """``exp(b * log(a))``; ``0 ** b`` is 1 for b = 0, else 0."""
    logarithm = complex_function(ctx, "log", a, span)
    product = complex_binary(ctx, "mul", b, logarithm, at, span)
    if product is None:
        return None
    power = complex_function(ctx, "exp", product, span)
    assert power.imag is not None
    real = a.dtype.real
    zero, one = ctx.builder.const(0.0, real), ctx.builder.const(1.0, real)
    a_zero, b_zero = is_zero(ctx, a, span), is_zero(ctx, b, span)
    of_zero = ctx.builder.op("where", (b_zero, one, zero), span=span)
    return Typed(
        a.dtype,
        ctx.builder.op("where", (a_zero, of_zero, power.id), span=span),
        product.shape,
        span,
        ctx.builder.op("where", (a_zero, zero, power.imag), span=span),
    )


def is_zero(ctx: Context, z: Typed, span: Span) -> int:
    assert z.imag is not None
    zero = ctx.builder.const(0.0, z.dtype.real)
    parts = [ctx.builder.op("eq", (part, zero), dtype=BOOL, span=span) for part in (z.id, z.imag)]
    return ctx.builder.op("and", parts, span=span)


def complex_function(ctx: Context, name: str, z: Typed, span: Span) -> Typed:
    """``exp log sqrt sin cos tan sinh cosh tanh`` through the prelude's ``_c<name>_re`` and ``_c<name>_im``."""
    from kgen.check.expressions import inline_prelude  # the prelude is lowered by the same walk that calls this

    assert z.imag is not None
    real = z.dtype.real
    parts = [Typed(real, part, z.shape, span) for part in (z.id, z.imag)]
    values = [inline_prelude(ctx, f"_c{name}_{part}", parts, span) for part in ("re", "im")]
    re, im = (ctx.typed(v, real) if v is not None else None for v in values)
    assert re is not None
    assert im is not None
    return Typed(z.dtype, re.id, z.shape, span, im.id)


def magnitude(ctx: Context, z: Typed, span: Span) -> Typed:
    """``|z|``, without overflow on the way."""
    assert z.imag is not None
    return Typed(z.dtype.real, ctx.builder.op("hypot", (z.id, z.imag), span=span), z.shape, span)
