"""Typing of ``x[...]``: the items of an index, by NumPy's rules for integers, slices, ``...`` and ``None``.

The index of an expression is the same expression of indexed operands: :mod:`kgen.check.indexed` rewrites it.
"""

from __future__ import annotations

from collections.abc import Callable

from kgen.check.context import Context
from kgen.check.indexed import Own, taken
from kgen.check.values import Literal, Typed, Value
from kgen.dtypes import INT64
from kgen.ir.graph import Op, from_bits
from kgen.ir.views import OPS, Bound, Computed, Cut, Item, Pick, evaluate, picked
from kgen.syntax.tree import Ellipsis, Expr, Index, NewAxis, Slice

_OPERATORS = {op: operator for operator, op in OPS.items()}
_WHAT = "an index is a number, or computed from numbers and size(x, k)"

Lower = Callable[[Expr], Value | None]  #: lowers a bound


class _BadIndexError(Exception):
    """Its error is reported."""


def index(ctx: Context, node: Index, value: Value, lower: Lower) -> Value | None:
    """``value[items]``."""
    try:
        own = _items(ctx, node, value, lower)
    except _BadIndexError:
        return None
    return taken(ctx, own, value, node.items_span, node.span)


def _items(ctx: Context, node: Index, value: Value, lower: Lower) -> Own:
    """One item for each axis of the value, and which axes the result has."""
    rank, shape = len(value.shape), value.shape
    dots = [item for item in node.items if isinstance(item, Ellipsis)]
    if len(dots) > 1:
        ctx.error("bad-index", "`...` stands twice", dots[1].span, marks=(dots[0].span,), hint="keep one of them")
        raise _BadIndexError
    count = sum(not isinstance(item, Ellipsis | NewAxis) for item in node.items)
    if count > rank:
        has = "it is a scalar" if rank == 0 else f"its shape is {ctx.dims.show(shape)}"
        ctx.error("bad-index", f"{count} indices for {rank} axes: {has}", node.items_span, hint="index fewer axes")
        raise _BadIndexError
    items: list[Item] = []
    out: list[int | None] = []

    def whole(axes: int) -> None:
        for _ in range(axes):
            out.append(len(items))
            items.append(Cut())

    for item in node.items:
        match item:
            case Ellipsis():
                whole(rank - count)
            case NewAxis():
                out.append(None)
            case Slice():
                out.append(len(items))
                items.append(_cut(ctx, item, lower))
            case _:
                items.append(_pick(ctx, item, lower, ctx.dims.extent(shape[len(items)])))
    whole(rank - len(items))
    return Own(tuple(items), tuple(out))


def _cut(ctx: Context, item: Slice, lower: Lower) -> Cut:
    start, stop, step = (None if e is None else _bound(ctx, e, lower) for e in (item.start, item.stop, item.step))
    if step is None:
        step = 1
    if not isinstance(step, int) or step == 0:
        assert item.step is not None
        message = "a step is not 0" if step == 0 else "a step is a literal integer"
        ctx.error("bad-index", message, item.step.span, hint="such as `x[::2]` or `x[::-1]`")
        raise _BadIndexError
    return Cut(None if start == 0 and step > 0 else start, stop, step)


def _pick(ctx: Context, item: Expr, lower: Lower, extent: int | None) -> Pick:
    pick = Pick(_bound(ctx, item, lower))
    try:
        picked(pick, extent, ctx.dims)
    except IndexError as problem:
        ctx.error("index-out-of-range", str(problem), item.span, hint="negative indices count from the end")
        raise _BadIndexError from None
    return pick


def _bound(ctx: Context, node: Expr, lower: Lower) -> Bound:
    value = lower(node)
    if value is None:
        raise _BadIndexError
    if isinstance(value, Literal) and type(value.value) is int:
        return value.value
    found = _of_op(ctx.builder.ops, value.id) if isinstance(value, Typed) and value.dtype.is_int else None
    if found is None:
        array = isinstance(value, Typed) and (value.dtype.is_int or value.dtype.is_bool) and bool(value.shape)
        what = "an index that is an array is not supported yet" if array else _WHAT
        hint = (
            "`sum(index(-1) == expand(i, axis=1) ? x : 0, axis=-1)` picks one element of each row"
            if array
            else "write `x[:, : size(x, 1) // 2]`; pass other views at the call"
        )
        ctx.error("not-yet" if array else "bad-index", what, node.span, hint=hint)
        raise _BadIndexError
    return found


def _of_op(ops: list[Op], root: int) -> Bound | None:
    """The bound that an op computes; None where it depends on more than extents."""
    needed: set[int] = set()
    stack = [root]
    while stack:
        number = stack.pop()
        if number not in needed:
            needed.add(number)
            stack.extend(ops[number].args)
    found: dict[int, Bound] = {}
    for number in sorted(needed):
        bound = _of_one(ops[number], [found[a] for a in ops[number].args])
        if bound is None:
            return None
        found[number] = bound
    known = None if isinstance(found[root], str) else evaluate(found[root], {})
    return found[root] if known is None else int(known)


def _of_one(op: Op, args: list[Bound]) -> Bound | None:
    """The bound that an op computes from those of its arguments; None for other ops."""
    if op.name == "const" and op.dtype.is_int and isinstance(op.attr, int):
        return int(from_bits(op.attr, op.dtype))
    if op.name == "size" and isinstance(op.attr, str):
        return op.attr
    if op.name in _OPERATORS:
        return Computed(_OPERATORS[op.name], *args)
    if op.name == "neg":
        return Computed("-", 0, *args)
    return args[0] if op.name == "cast" and op.dtype is INT64 else None
