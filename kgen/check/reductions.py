"""Typing of reductions: shapes by NumPy's rules, dtypes by the contract."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kgen.check.context import Context, lift
from kgen.check.operators import condition
from kgen.check.shapes import axes, keyword
from kgen.check.values import Typed, Value
from kgen.dtypes import BOOL, FLOAT32, INT64, UINT64, DType
from kgen.functions import CONSTANTS, FUNCTIONS
from kgen.ir.kernel import Dim, Reduction, Shape
from kgen.ir.reductions import COMPLEX_KINDS
from kgen.literals import evaluate
from kgen.syntax.tree import Call, Keyword, Number, Tuple, TypeName

if TYPE_CHECKING:
    from kgen.check.expressions import Scope

_MOST = 2**31
_SUMS = frozenset({"sum", "prod"})
_FLOATS = frozenset({"mean", "var", "std", "norm", "logsumexp"})
_TRUTHS = frozenset({"any", "all", "count_nonzero"})
#: Complex: how each part is reduced, and what joins the results to a real one (nothing: they are parts again).
_BY_PARTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sum": ("sum", ()),
    "mean": ("mean", ()),
    "var": ("var", ("add",)),
    "std": ("var", ("add", "sqrt")),
    "norm": ("norm", ("hypot",)),
}
_COUNTS = frozenset({"argmin", "argmax", "count_nonzero"})


def reduction(ctx: Context, scope: Scope, node: Call) -> Value | None:
    """One reduction; its argument is a place of its own for ``index`` and ``size``, wherever it stands itself."""
    if id(node) not in scope.reduced:
        scope.reduced[id(node)] = _reduction(ctx, scope, node)
    return scope.reduced[id(node)]


def _reduction(ctx: Context, scope: Scope, node: Call) -> Value | None:
    from kgen.check.expressions import lower, place_of, uses_place

    argument = node.args[0]
    place = place_of(ctx, scope, argument) if uses_place(scope.defs, scope.late, argument) else ()
    if place is None:
        return None
    operand = lower(ctx, replace(scope, place=place), argument)
    kind = FUNCTIONS[node.function].target
    value = None if operand is None else condition(ctx, operand) if kind in _TRUTHS else ctx.typed(operand)
    if value is None:
        return None
    if value.imag is not None and kind in ("min", "max", "argmin", "argmax"):
        ctx.error(
            "no-function",
            f"`{node.function}` is not defined for complex numbers",
            node.function_span,
            marks=(argument.span,),
            hint="complex numbers have no order; reduce abs(z) or real(z)",
        )
        return None
    dtype = _result(ctx, node, kind, value.dtype)
    over = _axes(ctx, node, value.shape)
    keepdims = _flag(ctx, node, "keepdims")
    correction = keyword(node, "correction")
    degrees = 0 if correction is None else _correction(ctx, correction)
    if dtype is None or over is None or keepdims is None or degrees is None:
        return None
    if kind in ("argmin", "argmax") and len(over) not in (1, len(value.shape)):
        hint = "reduce one axis after the other, or pass a view in which they are one"
        ctx.error("bad-axis", f"`{kind}` is over one axis or all", node.function_span, hint=hint)
        return None
    if value.imag is not None and not dtype.is_complex:
        ctx.error(
            "bad-keyword", f"`{kind}` of complex numbers is complex, not {dtype}", node.span, hint="dtype=c64 or c128"
        )
        return None
    as_it_is = kind in _TRUTHS or kind in _COUNTS or (kind == "sum" and _widens(value.dtype, dtype))
    source = value if as_it_is else ctx.convert(value, dtype)
    shape: Shape = tuple(dim if i not in over else 1 for i, dim in enumerate(value.shape) if keepdims or i not in over)

    def reduced(part: int, kind: str, dtype: DType) -> int:
        attr = Reduction(kind, over, keepdims, degrees)
        ctx.reduces = True
        return ctx.builder.op("reduce", (part,), dtype=dtype.compute, shape=shape, attr=attr, span=node.span)

    if source.imag is None:
        return Typed(dtype, reduced(source.id, kind, dtype), shape, node.span)
    if kind in COMPLEX_KINDS:
        whole = ctx.builder.op("complex", (source.id, source.imag), dtype=dtype, span=node.span)
        found = reduced(whole, kind, dtype)
        re, im = (ctx.builder.op(part, (found,), dtype=dtype.real, span=node.span) for part in ("real", "imag"))
        return Typed(dtype, re, shape, node.span, im)
    per_part, joined = _BY_PARTS[kind]
    own = [source.id, source.imag]
    if any(ctx.builder.ops[part].shape != value.shape for part in own):  # one of them is the same along some axes
        whole = ctx.builder.op("complex", own, dtype=dtype, span=node.span)
        own = [ctx.builder.op(part, (whole,), dtype=dtype.real, span=node.span) for part in ("real", "imag")]
    parts = [reduced(part, per_part, dtype.real) for part in own]
    if not joined:
        return Typed(dtype, parts[0], shape, node.span, parts[1])
    number = ctx.builder.op(joined[0], parts, span=node.span)
    for name in joined[1:]:
        number = ctx.builder.op(name, (number,), span=node.span)
    return Typed(dtype.real, number, shape, node.span)


def _result(ctx: Context, node: Call, kind: str, dtype: DType) -> DType | None:
    stated = keyword(node, "dtype")
    if stated is not None:
        if isinstance(stated.value, TypeName) and stated.value.dtype is not None:
            found = stated.value.dtype
            if kind in _FLOATS and not (found.is_float or found.is_complex):
                hint = f"{kind}(x, dtype=f32), and a cast of what it gives"
                ctx.error("bad-keyword", f"`{kind}` is computed in floats, not {found}", stated.span, hint=hint)
                return None
            return found
        ctx.error("bad-keyword", "dtype= takes a type name", stated.span, hint="sum(x, dtype=f64)")
        return None
    if kind in _SUMS and dtype.kind < lift(dtype).kind:
        return UINT64 if dtype is UINT64 else INT64
    if kind in _FLOATS:
        dtype = lift(dtype)
    if kind in ("any", "all"):
        return BOOL
    if kind in _COUNTS:
        return INT64
    return FLOAT32 if dtype.is_fp8 and kind in (_SUMS | _FLOATS) else dtype


def _widens(source: DType, target: DType) -> bool:
    """Whether what is added up as ``target`` needs no conversion before: narrow integers have a quicker way."""
    return source.size <= 2 < target.size and target.is_int and (source.is_int or source.is_bool)


def _axes(ctx: Context, node: Call, shape: tuple[Dim, ...]) -> tuple[int, ...] | None:
    word = keyword(node, "axis")
    if word is None:
        return tuple(range(len(shape)))
    return axes(ctx, word.value, len(shape), f"shape {ctx.dims.show(shape)}")


def _correction(ctx: Context, word: Keyword) -> int | float | None:
    """``correction=``: a literal number, which ``resolve`` has seen to."""
    assert not isinstance(word.value, Tuple | TypeName)
    value = evaluate(word.value, CONSTANTS)
    assert isinstance(value, int | float)
    if not abs(value) < _MOST:
        ctx.error("bad-keyword", "correction= is below 2^31", word.span, hint="0 or 1, as in NumPy's ddof")
        return None
    return int(value) if value == int(value) else value


def _flag(ctx: Context, node: Call, name: str) -> bool | None:
    word = keyword(node, name)
    if word is None:
        return False
    if isinstance(word.value, Number) and isinstance(word.value.value, bool):
        return word.value.value
    ctx.error("bad-keyword", f"{name}= takes true or false", word.span)
    return None
