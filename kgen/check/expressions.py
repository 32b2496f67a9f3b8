"""Lowers expressions: operands first, one typing rule for each node, without recursion on depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import assert_never

from kgen.check import constants, operators
from kgen.check.calls import call
from kgen.check.casts import bitcast, cast
from kgen.check.context import Context
from kgen.check.scope import Late, Scope, is_reduction, is_view, uses_place
from kgen.check.values import Deferred, Literal, Typed, Value
from kgen.functions import CONSTANTS
from kgen.ir.graph import Shape
from kgen.prelude import prelude_def
from kgen.records import replace
from kgen.source import Span
from kgen.syntax.tree import (
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Conditional,
    Def,
    Ellipsis,
    Expr,
    Index,
    Name,
    NewAxis,
    Number,
    Slice,
    Unary,
    children,
    postorder,
)

MAX_NESTED_CALLS = 64  # of defs
MAX_NESTED = 90  # of expressions with a place of their own; each takes up to 8 of Python's 1,000 frames


def named(ctx: Context, value: Value | None, name: str) -> Value | None:
    """The value of a let, labelled with the name of the let."""
    if isinstance(value, Typed):
        return ctx.named(value, name)
    return replace(value, label=name) if isinstance(value, Deferred) and value.args else value


def _late_value(ctx: Context, late: Late, place: Shape | None) -> Value | None:
    """The value of a late expression at a place; None after errors were reported."""
    if place not in late.found:
        value = lower(ctx, replace(late.scope, place=place), late.value)
        late.found[place] = value if late.name is None else named(ctx, value, late.name)
    return late.found[place]


def lower(ctx: Context, scope: Scope, root: Expr) -> Value | None:
    """The value of an expression, or None after errors were reported."""
    if ctx.written_out.depth >= MAX_NESTED:
        message = f"indices, views, reductions and defs nest deeper than {MAX_NESTED}"
        ctx.error("nested-too-deeply", message, root.span, hint="give an inner part a name with `let`")
        return None
    ctx.written_out.depth += 1
    value = _lowered(ctx, scope, root)
    ctx.written_out.depth -= 1
    return value


def _lowered(ctx: Context, scope: Scope, root: Expr) -> Value | None:
    for late in _lets_of(scope, root):  # in program order, so that this does not recurse from let to let
        _late_value(ctx, late, scope.place)
    done: dict[int, Value | None] = {}
    for node in _operands_first(scope, root):
        if scope.depth:
            ctx.written_out.add()
        value = done[id(node)] = _value(ctx, scope, node, done)
        if value is not None:
            ctx.nodes[id(node)] = value
    return done[id(root)]


def _operands_first(scope: Scope, root: Expr) -> Iterator[Expr]:
    """Like ``postorder``, without operands that are lowered with a place of their own."""
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        below = () if ready else _here(scope, node)
        if not below:
            yield node
            continue
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(below))


def _here(scope: Scope, node: Expr) -> Sequence[Expr]:
    """The operands with the node's own place: not what is reduced or viewed, nor late arguments of a def."""
    if is_view(scope, node) or is_reduction(scope, node):
        return ()
    if isinstance(node, Call) and node.function in scope.defs:
        return [a for a in node.args if not uses_place(scope.defs, scope.late, a)]
    return children(node)


def _lets_of(scope: Scope, root: Expr) -> list[Late]:
    """The late lets without a value at this place that an expression reads, directly or through other lets."""
    if not scope.late:
        return []
    found: dict[int, Late] = {}
    stack: list[tuple[Scope, Expr]] = [(scope, root)]
    while stack:
        inside, node = stack.pop()
        late = inside.late.get(node.id) if isinstance(node, Name) else None
        if late is not None and id(late) not in found and scope.place not in late.found:
            found[id(late)] = late
            stack.append((late.scope, late.value))
        stack.extend((inside, below) for below in _here(inside, node))
    return sorted((late for late in found.values() if late.name is not None), key=lambda late: late.order)


def _value(ctx: Context, scope: Scope, node: Expr, done: Mapping[int, Value | None]) -> Value | None:
    if is_reduction(scope, node):
        assert isinstance(node, Call)
        return _reduction(ctx, scope, node)
    if is_view(scope, node):
        assert isinstance(node, Call | Index)
        return _view(ctx, scope, node)
    if isinstance(node, Call) and node.function in scope.defs:
        return _call_def(ctx, scope, node, done)
    args: list[Value] = []
    for child in children(node):
        value = done[id(child)]
        if value is None:  # its error is reported already
            return None
        args.append(value)
    return _typed(ctx, scope, node, args)


def _typed(ctx: Context, scope: Scope, node: Expr, args: list[Value]) -> Value | None:
    """The typing rule of one node, on the values of its operands."""
    match node:
        case Number():
            return Literal(node.value, node.span)
        case Name():
            return _name(ctx, scope, node)
        case Unary():
            at = Span(node.span.start, node.span.start + len(node.op))
            return operators.unary(ctx, node.op, args[0], at, node.span)
        case Binary():
            return operators.binary(ctx, node.op, args[0], args[1], node.op_span, node.span)
        case Compare():
            return _chain(ctx, node, args)
        case Conditional():
            return operators.select(ctx, args[0], args[1], args[2], node.span, node.span)
        case Cast():
            return cast(ctx, scope, node, args[0])
        case Bitcast():
            return bitcast(ctx, scope, node, args[0])
        case Call():
            return call(ctx, scope, node, args)
        case Index():  # lowered with its operand
            raise AssertionError
        case _:
            assert_never(node)


def _reduction(ctx: Context, scope: Scope, node: Call) -> Value | None:
    """One reduction; ``index`` and ``size`` in its argument refer to the argument's own shape."""
    if id(node) not in scope.reduced:
        from kgen.check.reduction_types import reduction

        argument = node.args[0]
        place = place_of(ctx, scope, argument) if uses_place(scope.defs, scope.late, argument) else ()
        operand = None if place is None else lower(ctx, replace(scope, place=place), argument)
        scope.reduced[id(node)] = None if operand is None else reduction(ctx, node, operand)
    return scope.reduced[id(node)]


def _view(ctx: Context, scope: Scope, node: Index | Call) -> Value | None:
    """``x[...]`` or ``flip(x)``; ``index`` and ``size`` in ``x`` refer to its own shape."""
    if isinstance(node, Call) and node.function == "take":
        return _take(ctx, scope, node)
    from kgen.check.indexing import Items, index
    from kgen.check.views import view

    common = _place_of_items(ctx, scope, node) if isinstance(node, Index) else ()
    is_late = common is None  # depends on the place
    if not is_late and id(node) in scope.reduced:
        return scope.reduced[id(node)]
    args = (node.of,) if isinstance(node, Index) else node.args
    values = [one for arg in args if (one := _in_its_place(ctx, scope, arg)) is not None]
    value: Value | None = None
    if len(values) == len(args):
        inside = scope if common is None else replace(scope, place=common)
        items = Items(lambda item: lower(ctx, inside, item), lambda item: uses_place(scope.defs, scope.late, item))
        value = index(ctx, node, values[0], items) if isinstance(node, Index) else view(ctx, node, values)
    if not is_late:
        scope.reduced[id(node)] = value
    return value


def _take(ctx: Context, scope: Scope, node: Call) -> Value | None:
    """``take(x, i)``, as the index that it is."""
    from kgen.check.shapes import one_axis
    from kgen.check.takes import as_index

    array = _in_its_place(ctx, scope, node.args[0])
    if array is None or one_axis(ctx, node, array.shape, 0) is None:
        return None
    key = id(node), len(array.shape)
    if key not in ctx.taken:
        found = as_index(node, len(array.shape))
        assert found is not None
        ctx.taken[key] = found
    return lower(ctx, scope, ctx.taken[key])


def _in_its_place(ctx: Context, scope: Scope, root: Expr) -> Value | None:
    """The value of an expression in which ``index`` and ``size`` refer to its own shape."""
    place = place_of(ctx, scope, root) if uses_place(scope.defs, scope.late, root) else ()
    return None if place is None else lower(ctx, replace(scope, place=place), root)


def _place_of_items(ctx: Context, scope: Scope, node: Index) -> Shape | None:
    """The shape that ``index`` and ``size`` in indices refer to: that of the indices; None for that of the place, where
    these are no arrays.
    """
    items = [item for item in node.items if not isinstance(item, Slice | Ellipsis | NewAxis)]
    if not any(uses_place(scope.defs, scope.late, item) for item in items):
        return ()
    values = [lower(ctx, replace(scope, place=None), item) for item in items]
    found = ctx.shape_of([value for value in values if value is not None], node.items_span)
    return found or None


def stored_at(ctx: Context, scope: Scope, node: Index, stored: Shape) -> Value | None:
    """The elements at which a value of the shape ``stored`` is stored.

    ``index`` and ``size`` in indices that come first refer to the value's first axes, those that the indices stand for.
    """
    items = [item for item in node.items if not isinstance(item, Slice | Ellipsis | NewAxis)]
    late = any(uses_place(scope.defs, scope.late, item) for item in items)
    if not late or node.items[0] is not items[0]:
        place = place_of(ctx, scope, node)
        return None if place is None else lower(ctx, replace(scope, place=place), node)
    value, common = _in_its_place(ctx, scope, node.of), _place_of_items(ctx, scope, node) or ()
    if value is None:
        return None
    from kgen.check.indexing import Items, index

    behind = len(value.shape) - len(items) + sum(isinstance(item, NewAxis) for item in node.items)
    joined = ctx.dims.broadcast(common, stored[: max(0, len(stored) - behind)])
    inside = replace(scope, place=common if isinstance(joined, int) else joined)
    given = Items(lambda item: lower(ctx, inside, item), lambda item: uses_place(scope.defs, scope.late, item))
    return index(ctx, node, value, given)


def _call_def(ctx: Context, scope: Scope, node: Call, done: Mapping[int, Value | None]) -> Value | None:
    args: list[Value | Late] = []
    for argument in node.args:
        value = _passed(scope, argument) or done[id(argument)]
        if value is None:
            return None
        args.append(value)
    return inline(ctx, scope, scope.defs[node.function], args, node.span)


def _passed(scope: Scope, argument: Expr) -> Late | None:
    """The late value of a def's argument that reads ``index`` or ``size``; None for other arguments."""
    if not uses_place(scope.defs, scope.late, argument):
        return None
    return scope.passed.setdefault(id(argument), Late(argument, scope))


def _name(ctx: Context, scope: Scope, node: Name) -> Value | None:
    if node.id in scope.late:
        value = _late_value(ctx, scope.late[node.id], scope.place)
    elif node.id in scope.names:
        value = scope.names[node.id]
    else:
        return Literal(CONSTANTS[node.id], node.span)
    # With the span of this use, so that messages point here.
    return None if value is None else _at(value, node.span)


def _at(value: Value, span: Span) -> Value:
    if isinstance(value, Typed):
        return Typed(value.dtype, value.id, value.shape, span, value.imag)
    if isinstance(value, Literal):
        return Literal(value.value, span)
    return value


def _chain(ctx: Context, node: Compare, args: list[Value]) -> Value | None:
    """``a < b <= c`` is ``a < b and b <= c`` with b evaluated once."""
    result: Value | None = None
    for position, (op, at) in enumerate(zip(node.ops, node.op_spans, strict=True)):
        a, b = args[position], args[position + 1]
        one = operators.compare(ctx, op, a, b, at, a.span.to(b.span))
        if one is None:
            return None
        result = one if result is None else operators.binary(ctx, "and", result, one, at, node.span)
        if result is None:
            return None
    return result


def inline(ctx: Context, scope: Scope, function: Def, args: list[Value | Late], span: Span) -> Value | None:
    """The body of a def with its parameters bound; equal calls are lowered once."""
    key = (function.name, id(function), scope.place, *(_key(a) for a in args))
    if key in scope.inlined:
        return scope.inlined[key][0]
    if scope.depth >= MAX_NESTED_CALLS:
        ctx.error("nested-too-deeply", f"defs call each other more than {MAX_NESTED_CALLS} deep", span)
        return None
    # Arguments keep their spans, so that an error inside the def marks what was passed.
    pairs = [(p.name, a) for p, a in zip(function.params, args, strict=True)]
    bound = {name: a for name, a in pairs if not isinstance(a, Late)}
    late = {name: a for name, a in pairs if isinstance(a, Late)}
    inner = Scope({**scope.names, **bound}, scope.defs, scope.place, scope.depth + 1, scope.inlined, late)
    before = len(ctx.builder.ops)
    value = lower(ctx, inner, function.body)
    result = None if value is None else _at(value, span)
    if isinstance(value, Typed) and value.id >= before:
        # The result has the span of the call.
        ctx.builder.ops[value.id] = replace(ctx.builder.ops[value.id], span=span)
    scope.inlined[key] = (result, tuple(args))
    return result


def _key(value: Value | Late) -> object:
    if isinstance(value, Typed):
        return (value.dtype, value.id, value.imag, value.shape)
    if isinstance(value, Literal):
        return (type(value.value), repr(value.value))
    return id(value)


def inline_prelude(ctx: Context, name: str, args: Sequence[Value], span: Span) -> Value | None:
    """A prelude function; errors inside it are reported at the call, and equal calls are lowered once."""
    function = prelude_def(name)
    assert function is not None, name
    key = (name, *(_key(a) for a in args))
    if key not in ctx.inlined:
        outer, ctx.site = ctx.site, ctx.site or span
        try:
            names: dict[str, Value | None] = {p.name: a for p, a in zip(function.params, args, strict=True)}
            for constant in _constants(name):
                real = next(a.dtype.real for a in args if isinstance(a, Typed))
                names[constant] = constants.constant(ctx, constant, real, span)
            ctx.inlined[key] = (lower(ctx, Scope(names, {}, ()), function.body), tuple(args))
        finally:
            ctx.site = outer
    value = ctx.inlined[key][0]
    return None if value is None else _at(value, span)


@cache
def _constants(name: str) -> tuple[str, ...]:
    """The constants of ``complex.k`` that a prelude function reads."""
    function = prelude_def(name)
    assert function is not None
    read = dict.fromkeys(node.id for node in postorder(function.body) if isinstance(node, Name))
    return tuple(name for name in read if name in constants.NAMES)


def place_of(ctx: Context, scope: Scope, root: Expr) -> Shape | None:
    """The shape of an expression, found by lowering it once with ``index`` and ``size`` as scalars."""
    value = lower(ctx, replace(scope, place=None), root)
    if value is None:
        return None
    return value.shape
