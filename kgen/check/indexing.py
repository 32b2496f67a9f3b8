"""Typing of ``x[...]``: the items of an index, by NumPy's rules for integers, slices, ``...``, ``None`` and arrays.

The index of an expression is the same expression of indexed operands: :mod:`kgen.check.indexed` rewrites it for slices,
and then :mod:`kgen.check.gathered` for arrays of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgen.check.context import Context
from kgen.check.gathered import gather
from kgen.check.indexed import taken
from kgen.check.own import Own
from kgen.check.places import Places, place
from kgen.check.values import Literal, Typed, Value
from kgen.dtypes import INT64, Kind
from kgen.ir.graph import Op, Shape, from_bits
from kgen.ir.views import OPS, Bound, Computed, Cut, Item, Pick, evaluate, picked
from kgen.records import dataclass, replace
from kgen.syntax.tree import Ellipsis, Expr, Index, NewAxis, Slice

_OPERATORS = {op: operator for operator, op in OPS.items()}
_WHAT = "the bound of a slice is a number, or computed from numbers and size(x, k)"


@dataclass(frozen=True, slots=True)
class Items:
    """``lower``: lowers an item.  ``is_late``: whether it reads ``index`` or ``size`` of its place."""

    lower: Callable[[Expr], Value | None]
    is_late: Callable[[Expr], bool]


class _BadIndexError(Exception):
    """Its error is reported."""


def index(ctx: Context, node: Index, value: Value, given: Items) -> Value | None:
    """``value[items]``."""
    try:
        own, arrays = _items(ctx, node, value, given)
        computed = _places(ctx, node, own.dims(ctx, value.shape), arrays)
    except _BadIndexError:
        return None
    found = taken(ctx, own, value, node.items_span, node.span)
    for places in computed:
        found = found and _gathered(ctx, node, places, found)
    return found


def _gathered(ctx: Context, node: Index, places: Places, value: Value) -> Value | None:
    """What places take of a value."""
    if isinstance(value, Typed):
        return gather(ctx, value, places, node.items_span)
    at = node.items_span
    weak = ctx.defer(value.kind, lambda _, values: gather(ctx, values[0], places, at), [value], at, node.span)
    return weak and replace(weak, shape=places.dims(value.shape))


def _places(ctx: Context, node: Index, shape: Shape, arrays: Sequence[tuple[int, Typed]]) -> list[Places]:
    """What computed indices take, each after the one before.  ``shape``: of what slices take."""
    if all(not value.shape for _, value in arrays):
        return [Places(axis, (place(ctx, value, shape[axis]),), (), node.outside) for axis, value in reversed(arrays)]
    axes = [axis for axis, _ in arrays]
    numbers = [n for n, item in enumerate(node.items) if not isinstance(item, Slice | Ellipsis | NewAxis)]
    if axes[-1] - axes[0] >= len(axes) or numbers[-1] - numbers[0] >= len(numbers):
        message = "integers and arrays as indices stand apart: NumPy would move their axes to the front"
        ctx.error("bad-index", message, node.items_span, hint="index in two steps, such as `x[0][:, i]`")
        raise _BadIndexError
    common = ctx.shape_of([value for _, value in arrays], node.items_span)
    if common is None:
        raise _BadIndexError
    places = tuple(place(ctx, value, shape[axis]) for axis, value in arrays)
    return [Places(axes[0], places, common, node.outside)]


def _items(ctx: Context, node: Index, value: Value, given: Items) -> tuple[Own, list[tuple[int, Typed]]]:
    """One item for each axis of the value, and which axes the result has; and of these, which have computed indices."""
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
    arrays: list[tuple[int, Typed]] = []

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
                items.append(_cut(ctx, item, given))
            case _:
                one = _index(ctx, item, given, ctx.dims.extent(shape[len(items)]))
                if isinstance(one, Pick):
                    items.append(one)
                else:
                    arrays.append((len(out), one))
                    whole(1)
    whole(rank - len(items))
    return Own(tuple(items), tuple(out)), arrays


def _cut(ctx: Context, item: Slice, given: Items) -> Cut:
    start, stop, step = (None if e is None else _bound(ctx, e, given) for e in (item.start, item.stop, item.step))
    if step is None:
        step = 1
    if not isinstance(step, int) or step == 0:
        assert item.step is not None
        message = "a step is not 0" if step == 0 else "a step is a literal integer"
        ctx.error("bad-index", message, item.step.span, hint="such as `x[::2]` or `x[::-1]`")
        raise _BadIndexError
    return Cut(None if start == 0 and step > 0 else start, stop, step)


def _index(ctx: Context, item: Expr, given: Items, extent: int | None) -> Pick | Typed:
    """A place that extents give, or an index that the program computes or reads."""
    value = given.lower(item)
    if value is None:
        raise _BadIndexError
    bound = None if given.is_late(item) else _bound_of(ctx, value)
    if bound is None:
        return _integers(ctx, item, value)
    pick = Pick(bound)
    try:
        picked(pick, extent, ctx.dims)
    except IndexError as problem:
        ctx.error("index-out-of-range", str(problem), item.span, hint="negative indices count from the end")
        raise _BadIndexError from None
    return pick


def _shown(value: Value) -> str:
    return str(value.dtype) if isinstance(value, Typed) else f"a {value.kind.name.lower()}"


def _integers(ctx: Context, node: Expr, value: Value) -> Typed:
    """An index as integers."""
    is_bool = value.dtype.is_bool if isinstance(value, Typed) else value.kind is Kind.BOOL
    if is_bool:
        message = "an index is an integer, not a bool: how many elements a mask takes depends on its values"
        hint = "write `mask ? x : 0`, which keeps the shape; of a target, `o = mask ? x : o`"
        ctx.error("bad-index", message, node.span, hint=hint)
        raise _BadIndexError
    if not (value.dtype.is_int if isinstance(value, Typed) else value.kind is Kind.INT):
        hint = "write cast<int>(...) around it, or pass integers (for files, `--dtype i=i64`)"
        ctx.error("bad-index", f"an index is an integer, not {_shown(value)}", node.span, hint=hint)
        raise _BadIndexError
    found = ctx.typed(value, None if isinstance(value, Typed) else INT64)
    if found is None:
        raise _BadIndexError
    return found


def _bound(ctx: Context, node: Expr, given: Items) -> Bound:
    value = given.lower(node)
    if value is None:
        raise _BadIndexError
    found = _bound_of(ctx, value)
    if found is None:
        hint = "write `x[:, : size(x, 1) // 2]`, or pass the view at the call; `x[index(0) + n]` is 0 beyond the end"
        ctx.error("bad-index", _WHAT, node.span, hint=hint)
        raise _BadIndexError
    return found


def _bound_of(ctx: Context, value: Value) -> Bound | None:
    """The bound that a value is; None where it depends on more than extents."""
    if isinstance(value, Literal) and type(value.value) is int:
        return value.value
    return _of_op(ctx.builder.ops, value.id) if isinstance(value, Typed) and value.dtype.is_int else None


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
