"""Stores at computed places: ``out[slot] = value``, where an index of the same text would read.

out[slot] += value if condition   ->  out[condition ? slot : -1 from 0] += value, which is dropped where it is outside
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.check.arranged import NotYetError
from kgen.check.context import Context
from kgen.check.expressions import lower, stored_at
from kgen.check.operators import condition
from kgen.check.scattered_parts import parts_of
from kgen.check.scope import Scope
from kgen.check.stored import met, same_kind, stored_op
from kgen.check.values import Typed, Value
from kgen.dtypes import INT64, DType
from kgen.ir.graph import Dim, Gather, IndexMap, Op, Scatter, Shape, combines
from kgen.records import replace
from kgen.syntax.tree import Assign

_MANY_TO_ONE = frozenset({"floordiv", "mod", "shr", "and"})  #: several numbers to one


def scatter(ctx: Context, scope: Scope, statement: Assign, number: int, value: Value) -> list[Op]:
    """The store of a value to an operand, or nothing after an error."""
    at, operand = statement.at, ctx.arrays.operands[number]
    assert at is not None
    target = stored_at(ctx, scope, at, value.shape)
    typed = ctx.typed(value, met(value, operand.dtype))
    if not isinstance(target, Typed) or typed is None or not _combines(ctx, statement, operand.dtype):
        return []
    target = _with_axes_of(target, typed)
    where = _condition(ctx, replace(scope, place=target.shape), statement)
    if where is None or not same_kind(ctx, typed.dtype, operand.dtype, f"`{statement.name}`", statement):
        return []
    found = replace(typed, id=stored_op(ctx, typed, operand.dtype, statement.value.span))
    if not all(_fits(ctx, statement, target.shape, one) for one in (found, *where)):
        return []
    try:
        parts = parts_of(ctx, [target, found, *where])
    except NotYetError as problem:
        ctx.error("not-yet", str(problem), found.span, marks=(at.span,), hint=NotYetError.hint)
        return []
    return [_store(ctx, statement, number, part) for part in parts]


def _with_axes_of(target: Typed, value: Typed) -> Typed:
    """The target with the axes of one element that a value has ahead of it.

    NumPy drops these, and ``index()`` along one is a scalar.
    """
    ahead = value.shape[: max(0, len(value.shape) - len(target.shape))]
    return replace(target, shape=(*ahead, *target.shape)) if all(dim == 1 for dim in ahead) else target


def _store(ctx: Context, statement: Assign, number: int, part: Sequence[Typed]) -> Op:
    """The store of a value to an operand, where conditions hold."""
    assert statement.at is not None
    target, value, *where = part
    written, places = _places(ctx, number, target)
    if statement.combine == "set" and ctx.builder.ops[value.id].name != "const":
        _lint_repeated(ctx, statement, places)
    for one in where:
        places = _where(ctx, one, places)
    attr, dtype = Scatter(written, statement.combine), ctx.arrays.operands[number].dtype
    return Op("store", (value.id, *places), dtype, target.shape, attr, span=statement.at.span)


def _where(ctx: Context, condition: Typed, places: tuple[int, ...]) -> tuple[int, ...]:
    """The places where a condition holds, and -1 elsewhere."""
    if not places:
        hint = "write `c ? new : old`"
        ctx.error("not-yet", "one element is updated without a condition", condition.span, hint=hint)
        return ()
    outside = ctx.builder.const(-1, INT64)
    return ctx.builder.op("where", (condition.id, places[0], outside), span=condition.span), *places[1:]


def _combines(ctx: Context, statement: Assign, dtype: DType) -> bool:
    """Whether elements of this dtype are added and compared."""
    if combines(statement.combine, dtype):
        return True
    sign = {"add": "+=", "min": "min=", "max": "max="}[statement.combine]
    hint = "use an array of numbers" if dtype.is_bool else "write the elements by `=`"
    ctx.error("no-operator", f"`{sign}` at computed places is not for {dtype}", statement.name_span, hint=hint)
    return False


def _condition(ctx: Context, scope: Scope, statement: Assign) -> tuple[Typed, ...] | None:
    """The condition, if there is one; None after an error."""
    if statement.condition is None:
        return ()
    value = lower(ctx, scope, statement.condition)
    truth = None if value is None else condition(ctx, value)
    return None if truth is None else (truth,)


def _places(ctx: Context, operand: int, target: Typed) -> tuple[int, tuple[int, ...]]:
    """The array, or the view of it, that an index of the same text would read, and the places."""
    number, ops = target.id, ctx.builder.ops
    while ops[number].args and ops[number].name != "gather":
        number = ops[number].args[0]
    op = ops[number]
    if isinstance(op.attr, Gather):
        return _written(ctx, op.attr.operand, operand), op.args
    if isinstance(op.attr, IndexMap):
        return _written(ctx, op.attr.operand, operand), _coordinates(ctx, op, op.attr)
    raise AssertionError(f"an index of an array is a {op.name}")


def _written(ctx: Context, number: int, base: int) -> int:
    """The array, or the view of it, that a statement writes to."""
    view, role = ctx.arrays.operands[number].view, ctx.arrays.operands[base].role
    return number if view is None else ctx.arrays.view(view, role)


def _coordinates(ctx: Context, op: Op, access: IndexMap) -> tuple[int, ...]:
    """The places of all elements of a load."""
    places = [ctx.builder.const(0, INT64)] * len(ctx.arrays.operands[access.operand].shape)
    for axis, own in enumerate(access.axes):
        if own is not None and op.shape[axis] != 1:
            right = axis - len(op.shape)
            ones: list[Dim] = [1] * (-right - 1)
            places[own] = ctx.builder.op("index", (), dtype=INT64, shape=(op.shape[axis], *ones), attr=right)
    return tuple(places)


def _lint_repeated(ctx: Context, statement: Assign, places: tuple[int, ...]) -> None:
    """Lint an only place at which several elements surely or probably meet: ``x // 8``, a truncated float."""
    ops, seen = ctx.builder.ops, set[int]()
    computed = [number for number in places if ops[number].name not in ("index", "const")]
    stack = computed if len(computed) == 1 else []
    while stack:
        op = ops[number := stack.pop()]
        seen.add(number)
        is_rounded = op.name == "cast" and op.dtype.is_int and not ops[op.args[0]].dtype.is_int
        if op.name in _MANY_TO_ONE or is_rounded:
            hint = "`+=`, `min=` and `max=` take all of them"
            message = "several elements may be written to one place, and one of them wins"
            ctx.reporter.lint("repeated-place", message, statement.name_span, hint=hint)
            return
        stack += [a for a in op.args if a not in seen and not ops[a].dtype.is_bool]


def _fits(ctx: Context, statement: Assign, shape: Shape, value: Typed) -> bool:
    """Whether a value or a condition broadcasts to what is written."""
    assert statement.at is not None
    joined = ctx.dims.broadcast(shape, value.shape)
    pairs = zip(reversed(shape), reversed(value.shape), strict=False)
    if isinstance(joined, int) or len(joined) > len(shape) or any(o == 1 != new for o, new in pairs):
        message = f"{ctx.dims.show(value.shape)} is written to {ctx.dims.show(shape)}"
        hint = "the value is broadcast to what is written, not the reverse"
        if value.dtype.is_bool and statement.condition is not None:
            message = f"the condition is {ctx.dims.show(value.shape)}, and what is written {ctx.dims.show(shape)}"
            index = ", ".join([":", *["None"] * max(1, len(shape) - len(value.shape))])
            hint = f"the condition is broadcast to what is written: `c[{index}]` is one for each row"
        ctx.error("inout-shape", message, statement.at.span, marks=(value.span,), hint=hint)
        return False
    return True
