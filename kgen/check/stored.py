"""Values as they are stored: in the dtype of an array, if that holds them."""

from __future__ import annotations

from kgen.check.context import Context
from kgen.check.values import Typed, Value
from kgen.dtypes import DType
from kgen.ir.graph import Shape
from kgen.source import Span
from kgen.syntax.tree import Assign


def met(value: Value, dtype: DType | None) -> DType | None:
    """The dtype that a weak value takes from the array that it is stored to, if its kind fits."""
    return None if dtype is None or isinstance(value, Typed) or value.kind > dtype.kind else dtype


def fits(own: Shape, value: Shape, joined: Shape) -> bool:
    """Whether both broadcast to the argument's own shape."""
    return len(joined) == len(own) and all(d == o or (d != 1 and o != 1) for d, o in zip(joined, own, strict=True))


def same_kind(ctx: Context, dtype: DType, target: DType, what: str, statement: Assign) -> bool:
    """The cast rule of ``out=`` and ``inout``: never to a lower kind (PyTorch's ``canCast``)."""
    if dtype.kind <= target.kind:
        return True
    ctx.error(
        "lossy-cast",
        f"{what} is {target} and the value is {dtype}",
        statement.name_span,
        marks=(statement.value.span,),
        hint=f"write cast<{target}>(...) to convert it"
        if not dtype.is_complex
        else "write real(...) to drop the imaginary part",
    )
    return False


def stored_op(ctx: Context, value: Typed, dtype: DType, span: Span) -> int:
    """The op of a value as it is stored."""
    value = ctx.convert(value, dtype)
    if value.imag is not None:
        return ctx.builder.op("complex", (value.id, value.imag), dtype=dtype, span=span)
    return ctx.cast(value.id, dtype, span)
