"""Typing of reductions: shapes by NumPy's rules, dtypes by ``docs/language.md``."""

from __future__ import annotations

from kgen.check.context import Context
from kgen.check.indexed import concatenated
from kgen.check.operators import condition
from kgen.check.promotion import lift
from kgen.check.shapes import axes, keyword
from kgen.check.values import Typed, Value
from kgen.dtypes import BOOL, FLOAT32, INT64, UINT64, DType
from kgen.functions import CONSTANTS, FUNCTIONS
from kgen.ir.graph import COMPLEX_KINDS, Dim, Reduction, Shape, reduced_shape
from kgen.literals import evaluate
from kgen.records import dataclass, replace
from kgen.syntax.tree import Call, Keyword, Number, Tuple, TypeName

_MOST = 2**31
_SUMS = frozenset({"sum", "prod"})
_FLOATS = frozenset({"mean", "var", "std", "norm", "logsumexp"})
_TRUTHS = frozenset({"any", "all", "count_nonzero"})
#: Complex: the reduction of each part, and the ops that join both results to one real number (none: they stay parts).
_BY_PARTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sum": ("sum", ()),
    "mean": ("mean", ()),
    "var": ("var", ("add",)),
    "std": ("var", ("add", "sqrt")),
    "norm": ("norm", ("hypot",)),
}
_COUNTS = frozenset({"argmin", "argmax", "count_nonzero"})
#: The ops that join reductions of the parts of a concatenation.
_JOINS = {"sum": "add", "prod": "mul", "min": "min", "max": "max", "any": "or", "all": "and", "count_nonzero": "add"}


def reduction(ctx: Context, node: Call, operand: Value) -> Value | None:
    """One reduction of an operand."""
    kind = FUNCTIONS[node.function].target
    value = condition(ctx, operand) if kind in _TRUTHS else ctx.typed(operand)
    if value is None or not _ordered(ctx, node, kind, value):
        return None
    dtype = _result(ctx, node, kind, value.dtype)
    over = _axes(ctx, node, value.shape)
    keepdims = _flag(ctx, node, "keepdims")
    correction = keyword(node, "correction")
    degrees = 0 if correction is None else _correction(ctx, correction)
    if dtype is None or over is None or keepdims is None or degrees is None:
        return None
    if not _possible(ctx, node, kind, value, dtype, over):
        return None
    source = ctx.whole(value if _reads_unconverted(kind, value.dtype, dtype) else ctx.convert(value, dtype))
    attr = Reduction(kind, over, keepdims, degrees)
    reduced = _Reduced(ctx, node, attr, reduced_shape(value.shape, attr))
    if source.imag is None:
        return reduced.typed(dtype, reduced.op(source.id, kind, dtype))
    if kind in COMPLEX_KINDS:
        return reduced.whole(source, kind, dtype)
    return reduced.by_parts(source, kind, dtype)


def _ordered(ctx: Context, node: Call, kind: str, value: Typed) -> bool:
    """Whether an extremum is of ordered values; reports where it is not."""
    if value.imag is None or kind not in ("min", "max", "argmin", "argmax"):
        return True
    ctx.error(
        "no-function",
        f"`{node.function}` is not defined for complex numbers",
        node.function_span,
        marks=(node.args[0].span,),
        hint="complex numbers have no order; reduce abs(z) or real(z)",
    )
    return False


def _possible(ctx: Context, node: Call, kind: str, value: Typed, dtype: DType, over: tuple[int, ...]) -> bool:
    """Whether the axes and the result's dtype suit the reduction; reports where they do not."""
    if kind in ("argmin", "argmax") and len(over) not in (1, len(value.shape)):
        hint = "reduce the axes one after the other, or pass a view that merges them"
        ctx.error("bad-axis", f"`{kind}` reduces one axis or all axes", node.function_span, hint=hint)
        return False
    if value.imag is not None and not dtype.is_complex:
        ctx.error(
            "bad-keyword", f"`{kind}` of complex numbers is complex, not {dtype}", node.span, hint="dtype=c64 or c128"
        )
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Reduced:
    """Adds the ops of one reduction. ``attr.kind`` is the function; its parts may need another kind."""

    ctx: Context
    node: Call
    attr: Reduction
    shape: Shape

    def op(self, part: int, kind: str, dtype: DType) -> int:
        """One reduction of real or complex elements; of each part of a concatenation, where that can be joined."""
        attr, builder = replace(self.attr, kind=kind), self.ctx.builder
        self.ctx.reduces = True
        pieces = concatenated(self.ctx, part, attr.axes) if kind in _JOINS else [part]
        first, *others = (
            builder.op("reduce", (x,), dtype=dtype.compute, shape=self.shape, attr=attr, span=self.node.span)
            for x in pieces
        )
        for other in others:
            first = builder.op(_JOINS[kind], (first, other), span=self.node.span)
        return first

    def typed(self, dtype: DType, number: int, imag: int | None = None) -> Typed:
        return Typed(dtype, number, self.shape, self.node.span, imag)

    def joined(self, source: Typed, dtype: DType) -> int:
        """Both parts of a complex value as one."""
        assert source.imag is not None
        return self.ctx.builder.op("complex", (source.id, source.imag), dtype=dtype, span=self.node.span)

    def parts(self, number: int, dtype: DType) -> list[int]:
        return [self.ctx.builder.op(p, (number,), dtype=dtype.real, span=self.node.span) for p in ("real", "imag")]

    def whole(self, source: Typed, kind: str, dtype: DType) -> Typed:
        """A reduction whose accumulator is complex."""
        return self.typed(dtype, *self.parts(self.op(self.joined(source, dtype), kind, dtype), dtype))

    def by_parts(self, source: Typed, kind: str, dtype: DType) -> Typed:
        """The real and imaginary parts reduced each on its own."""
        assert source.imag is not None
        per_part, joins = _BY_PARTS[kind]
        parts = [self.op(part, per_part, dtype.real) for part in (source.id, source.imag)]
        if not joins:
            return self.typed(dtype, *parts)
        number = self.ctx.builder.op(joins[0], parts, span=self.node.span)
        for name in joins[1:]:
            number = self.ctx.builder.op(name, (number,), span=self.node.span)
        return self.typed(dtype.real, number)


def _result(ctx: Context, node: Call, kind: str, dtype: DType) -> DType | None:
    stated = keyword(node, "dtype")
    if stated is not None:
        if isinstance(stated.value, TypeName) and stated.value.dtype is not None:
            found = stated.value.dtype
            if kind in _FLOATS and not (found.is_float or found.is_complex):
                hint = f"write {kind}(x, dtype=f32) and cast the result"
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


def _reads_unconverted(kind: str, source: DType, target: DType) -> bool:
    """Whether a reduction takes its elements in their own dtype: sums of narrow integers have a faster accumulator."""
    if kind in _TRUTHS or kind in _COUNTS:
        return True
    narrow = source.size <= 2 < target.size and (source.is_int or source.is_bool)
    return kind == "sum" and narrow and target.is_int


def _axes(ctx: Context, node: Call, shape: tuple[Dim, ...]) -> tuple[int, ...] | None:
    word = keyword(node, "axis")
    if word is None:
        return tuple(range(len(shape)))
    return axes(ctx, word.value, len(shape), f"shape {ctx.dims.show(shape)}")


def _correction(ctx: Context, word: Keyword) -> int | float | None:
    """``correction=``: a literal number; ``resolve`` has checked that it is one."""
    assert not isinstance(word.value, Tuple | TypeName)
    value = evaluate(word.value, CONSTANTS)
    assert isinstance(value, int | float)
    if not abs(value) < _MOST:
        ctx.error("bad-keyword", "correction= must be below 2^31", word.span, hint="0 or 1, as in NumPy's ddof")
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
