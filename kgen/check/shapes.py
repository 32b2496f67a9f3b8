"""Typing of ``index``, ``size`` and ``expand``, and the literal keywords that name axes."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.check.arranged import outermost
from kgen.check.context import Context
from kgen.check.own import Own
from kgen.check.scope import Scope
from kgen.check.values import Typed, Value
from kgen.dtypes import INT64
from kgen.ir.graph import Attr, Dim, IndexMap, Op, Reduction, Shape
from kgen.ir.views import WHOLE
from kgen.records import replace
from kgen.source import Span
from kgen.syntax.tree import Call, Expr, Keyword, Number, Tuple, TypeName, Unary

Args = list[Value]


def integer(ctx: Context, node: Expr | Tuple | TypeName, what: str) -> int | None:
    """A literal integer, negative allowed."""
    sign = 1
    while isinstance(node, Unary) and node.op in "+-":
        sign = -sign if node.op == "-" else sign
        node = node.operand
    if isinstance(node, Number) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return sign * node.value
    ctx.error(
        "not-a-literal",
        f"{what} has to be a literal integer",
        node.span,
        hint="write a number: axes are part of the program, not data",
    )
    return None


def keyword(node: Call, name: str) -> Keyword | None:
    return next((k for k in node.keywords if k.name == name), None)


def axes(ctx: Context, value: Expr | Tuple | TypeName, rank: int, shown: str) -> tuple[int, ...] | None:
    """``axis=``: a literal int or tuple, normalised to non-negative, ascending.

    A scalar counts as one axis of one element, as in NumPy: 0 and -1 name it, and nothing is reduced.
    """
    found = ordered_axes(ctx, value, rank, shown)
    return found and tuple(sorted(found))


def ordered_axes(ctx: Context, value: Expr | Tuple | TypeName, rank: int, shown: str) -> tuple[int, ...] | None:
    """:func:`axes`, in the order in which they are named."""
    count = max(rank, 1)
    items = value.items if isinstance(value, Tuple) else (value,)
    found: list[int] = []
    for item in items:
        axis = integer(ctx, item, "an axis")
        if axis is None:
            return None
        if not -count <= axis < count:
            ctx.error("bad-axis", f"axis {axis} is out of range for {shown}", item.span, hint=_range_hint(rank))
            return None
        if axis % count in found:
            ctx.error("bad-axis", f"axis {axis} is named twice", item.span, hint="name each axis once; -1 is the last")
            return None
        found.append(axis % count)
    return tuple(found) if rank else ()


def _range_hint(rank: int) -> str:
    return "it is a scalar and has no axes" if rank == 0 else f"axes are {-rank} to {rank - 1}"


def one_axis(ctx: Context, node: Call, shape: Shape, default: int) -> int | None:
    """``axis=``: one axis."""
    word = keyword(node, "axis")
    at, rank = node.function_span if word is None else word.span, len(shape)
    axis = default if word is None or isinstance(word.value, TypeName) else integer(ctx, word.value, "an axis")
    if axis is None:
        return None
    if not -rank <= axis < rank:
        message = f"axis {axis} is out of range for shape {ctx.dims.show(shape)}"
        ctx.error("bad-axis", message, at, hint=_range_hint(rank))
        return None
    return axis % rank


def _dimension(ctx: Context, node: Call, shape: Shape, axis: int | None, at: Span) -> int | None:
    """A valid axis of ``shape`` counted from the right (negative), or None after an error."""
    if axis is None:
        return None
    rank = len(shape)
    if not -rank <= axis < rank:
        hint = _range_hint(rank)
        if rank == 0 and len(node.args) == 1:
            around = f"{node.function}() refers to the shape around it, here a scalar"
            hint = f"{around}; `where(true, value, x)` has the shape of `x`"
        ctx.error("bad-axis", f"axis {axis} is out of range for shape {ctx.dims.show(shape)}", at, hint=hint)
        return None
    return axis if axis < 0 else axis - rank


def index(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    """``index(k)``: the coordinate of the element along axis k of its place."""
    axis = integer(ctx, node.args[0], "the axis of index()")
    if axis is None or scope.place is None:
        return None if axis is None else ctx.const(0, INT64, node.span)
    right = _dimension(ctx, node, scope.place, axis, node.args[0].span)
    if right is None:
        return None
    if scope.place[right] == 1:
        return ctx.const(0, INT64, node.span)
    ones: list[Dim] = [1] * (-right - 1)
    shape: Shape = (scope.place[right], *ones)
    return Typed(
        INT64, ctx.builder.op("index", (), dtype=INT64, shape=shape, attr=right, span=node.span), shape, node.span
    )


def size(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    """``size(k)`` of the place, ``size(x, k)`` of an array."""
    axis = integer(ctx, node.args[-1], "the axis of size()")
    if axis is None:
        return None
    shape = scope.place
    if len(node.args) == 2:
        shape = args[0].shape
    if shape is None:
        return ctx.const(1, INT64, node.span)
    right = _dimension(ctx, node, shape, axis, node.args[-1].span)
    if right is None:
        return None
    dim = shape[right]
    if dim == 1:
        return ctx.const(1, INT64, node.span)
    return Typed(
        INT64, ctx.builder.op("size", (), dtype=INT64, shape=(), attr=ctx.dims.find(dim), span=node.span), (), node.span
    )


def expand(ctx: Context, scope: Scope, node: Call, args: Args) -> Value | None:
    """``expand(w, axis=(1, 2))``: axes of size 1 at those places of the result."""
    word, value = keyword(node, "axis"), args[0]
    if word is None:
        ctx.error("missing-keyword", "expand() needs axis=", node.function_span, hint="expand(w, axis=(1, 2))")
        return None
    count = len(word.value.items) if isinstance(word.value, Tuple) else 1
    rank = len(value.shape) + count
    places = axes(ctx, word.value, rank, f"a result of {rank} dimensions")
    if places is None:
        return None
    if isinstance(value, Typed):
        return _expand_typed(ctx, node, places, value)
    weak = ctx.defer(
        value.kind, lambda _, values: _expand_typed(ctx, node, places, *values), [value], node.function_span, node.span
    )
    return weak and replace(weak, shape=_insert(value.shape, places))


def _expand_typed(ctx: Context, node: Call, places: tuple[int, ...], value: Typed) -> Typed | None:
    numbers = [value.id] if value.imag is None else [value.id, value.imag]
    shape = _insert(value.shape, places)
    if any(outermost(ctx, number) is not None for number in numbers):
        kept = iter(range(len(value.shape)))
        own = Own((WHOLE,) * len(value.shape), tuple(None if i in places else next(kept) for i in range(len(shape))))
        from kgen.check.indexed import taken

        found = taken(ctx, own, value, node.function_span, node.span)
        assert found is None or isinstance(found, Typed)
        return found
    moved = [_moved(ctx, number, value.shape, shape, places) for number in numbers]
    if None in moved:
        ctx.error(
            "not-yet",
            "expand() of index() is not supported yet",
            node.function_span,
            hint="write index() outside of expand(), with an axis of the result",
        )
        return None
    return Typed(value.dtype, moved[0] or 0, shape, node.span, moved[1] if len(moved) > 1 else None)


def _insert(shape: tuple[Dim, ...], places: tuple[int, ...]) -> Shape:
    out = list(shape)
    for place in places:  # ascending places of the result
        out.insert(place, 1)
    return tuple(out)


def _moved(ctx: Context, root: int, old: Shape, new: Shape, places: tuple[int, ...]) -> int | None:
    """The same computation with shape ``new``: the new axes go into its loads.

    Reductions keep their axes; their results are expanded.  None if it reads index(): its axes refer to another shape,
    but for those of the coordinates of gathered axes.
    """
    ops = ctx.builder.ops
    needed = _needed(ops, root)
    if needed is None:
        return None
    moved: dict[int, int] = {}
    for number in sorted(needed):
        op = ops[number]
        if not op.shape:  # broadcasting does the rest
            moved[number] = number
            continue
        shape, attr = _through(op, len(old), places)
        if shape == op.shape:
            moved[number] = number
        elif op.name in ("reduce", "expand"):
            moved[number] = _expanded(ctx, number, shape)
        else:
            args = tuple(moved[a] for a in op.args)
            moved[number] = ctx.builder.add(Op(op.name, args, op.dtype, shape, attr, op.label, op.span))
    found = moved[root]
    # One part of a complex number may have fewer axes than the number.
    bare = ops[found].shape != new and not any(dim != 1 for dim in new)
    return _expanded(ctx, found, new) if bare else found


def _needed(ops: Sequence[Op], root: int) -> set[int] | None:
    """The ops that take part in :func:`_moved`; None if one is index()."""
    needed: set[int] = set()
    coordinates: set[int] = set()
    stack = [root]
    while stack:
        number = stack.pop()
        if number not in needed:
            needed.add(number)
            if ops[number].name == "index":
                return None
            args = ops[number].args if ops[number].name not in ("reduce", "expand") else ()
            own = {a for a in args if ops[number].name == "gather" and ops[a].name == "index"}
            coordinates |= own
            stack.extend(a for a in args if a not in own)
    return needed | coordinates


def _through(op: Op, rank: int, places: tuple[int, ...]) -> tuple[Shape, Attr]:
    """An op's shape and attribute with inserted axes.  ``rank``: of the value that ``places`` refer to.

    Where the op has fewer axes, new axes before its own are left out: broadcasting adds them.
    """
    pad = rank - len(op.shape)
    shape: list[Dim] = [*_ones(pad), *op.shape]
    own: list[int | None] = [*[None] * pad, *range(len(op.shape))]  # the op's axis for each
    for place in places:  # ascending places of the result
        shape.insert(place, 1)
        own.insert(place, None)
    first = own.index(0) if pad or op.name == "index" else 0
    attr = op.attr
    if isinstance(attr, IndexMap):
        attr = IndexMap(attr.operand, tuple(None if axis is None else attr.axes[axis] for axis in own[first:]))
    elif op.name == "index":
        attr = -len(own[first:])  # its first axis
    return tuple(shape[first:]), attr


def _ones(count: int) -> list[Dim]:
    return [1] * count


def _expanded(ctx: Context, number: int, shape: Shape) -> int:
    """An unchanged value with inserted axes of size 1."""
    op = ctx.builder.ops[number]
    source = op.args[0] if op.name == "expand" else number
    attr = ctx.builder.ops[source].attr
    if isinstance(attr, Reduction) and not attr.keepdims:
        whole = ctx.builder.ops[ctx.builder.ops[source].args[0]].shape
        if shape == tuple(1 if axis in attr.axes else dim for axis, dim in enumerate(whole)):
            kept = ctx.builder.ops[source]
            return ctx.builder.add(
                Op("reduce", kept.args, kept.dtype, shape, replace(attr, keepdims=True), span=op.span)
            )
    return ctx.builder.add(Op("expand", (source,), op.dtype, shape, None, op.label, op.span))
