"""Typing of ``cast<T, sat, mode>(x)`` and ``bitcast<T>(x)``."""

from __future__ import annotations

from kgen.check.context import Context
from kgen.check.operators import condition
from kgen.check.scope import Scope
from kgen.check.values import Typed, Value
from kgen.check.weak import fits
from kgen.dtypes import BOOL, COMPLEX128, DEFAULT_OF_KIND, FLOAT64, INT64, UINT64, DType, Kind
from kgen.ir.graph import CastMode
from kgen.syntax.tree import Bitcast, Cast, TypeName


def named_dtype(scope: Scope, type: TypeName) -> DType | None:
    """The dtype that a type names; None for ``typeof(x)`` of an erroneous value."""
    if type.of is None:
        return type.dtype
    value = scope.names.get(type.of.id)
    if value is None:
        return None
    return value.dtype if isinstance(value, Typed) else DEFAULT_OF_KIND[value.kind]


def cast(ctx: Context, scope: Scope, node: Cast, operand: Value) -> Typed | None:
    """A cast, which rounds the operand's unrounded value once."""
    dtype = named_dtype(scope, node.type)
    value = _exact(ctx, operand, dtype)
    if dtype is None or value is None or not _possible(ctx, node, dtype, value):
        return None
    if dtype.is_complex:
        converted = ctx.convert(value, dtype)
        return Typed(dtype, converted.id, converted.shape, node.span, converted.imag)
    if dtype is BOOL:
        truth = condition(ctx, value)
        return None if truth is None else Typed(BOOL, truth.id, truth.shape, node.span)
    mode = CastMode(node.mode or ("rz" if dtype.is_int else "rne"), node.saturate)
    before = ctx.builder.ops[value.id].dtype
    number = value.id
    if before is not dtype or node.saturate:
        number = ctx.cast(number, dtype, node.span, mode)
    return ctx.unpack(number, dtype, value.shape, node.span)


def _possible(ctx: Context, node: Cast, dtype: DType, value: Typed) -> bool:
    """Whether such a cast exists; reports where it does not."""
    if node.mode is not None and dtype.kind < Kind.INT:
        message, hint = f"a cast to {dtype} does not round", "drop the rounding mode"
    elif dtype.is_complex and (node.saturate or node.mode is not None):
        message = "a cast to a complex dtype takes no saturation or rounding mode"
        hint = f"write complex(cast<{dtype.real}, ...>(x), 0)"
    elif value.imag is not None and dtype is not BOOL and not dtype.is_complex:
        message = f"{value.dtype} cannot be cast to {dtype}: it has a real and an imaginary part"
        hint = "write real(z), imag(z) or abs(z)"
        ctx.error("bad-cast", message, node.type.span, marks=(value.span,), hint=hint)
        return False
    else:
        return True
    ctx.error("bad-cast", message, node.type.span, hint=hint)
    return False


def _exact(ctx: Context, operand: Value, dtype: DType | None) -> Typed | None:
    """The operand unrounded: weak values in their widest dtype."""
    if isinstance(operand, Typed):
        return operand
    if operand.kind is Kind.INT:
        return ctx.typed(operand, UINT64 if fits(operand, UINT64) and not fits(operand, INT64) else INT64)
    if operand.kind is Kind.FLOAT:
        return ctx.typed(operand, FLOAT64)
    if operand.kind is Kind.COMPLEX:
        return ctx.typed(
            operand, COMPLEX128 if dtype is COMPLEX128 or dtype is None else dtype if dtype.is_complex else COMPLEX128
        )
    return ctx.typed(operand, BOOL)


def bitcast(ctx: Context, scope: Scope, node: Bitcast, operand: Value) -> Typed | None:
    """The operand's bits, as stored in memory, read as another dtype of the same width."""
    dtype = named_dtype(scope, node.type)
    value = ctx.typed(operand)
    if dtype is None or value is None:
        return None
    if dtype.size != value.dtype.size:
        ctx.error(
            "bad-cast",
            f"bitcast needs equal widths: {value.dtype} has {value.dtype.bits} bits and {dtype} has {dtype.bits}",
            node.type.span,
            marks=(operand.span,),
            hint="cast first, or name a dtype of the same width",
        )
        return None
    number = value.id
    if value.imag is not None:
        number = ctx.builder.op("complex", (value.id, value.imag), dtype=value.dtype, span=node.span)
    number = ctx.cast(number, value.dtype, node.span)
    if dtype is BOOL or value.dtype is BOOL:
        return ctx.unpack(ctx.cast(number, dtype, node.span), dtype, value.shape, node.span)
    if dtype is not value.dtype:
        number = ctx.builder.op("bitcast", (number,), dtype=dtype, span=node.span)
    return ctx.unpack(number, dtype, value.shape, node.span)
