"""The walk over an expression: operands first, one typing rule a node, nothing recursing on depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from kgen.check import operators
from kgen.check.calls import call
from kgen.check.casts import bitcast, cast
from kgen.check.context import Context
from kgen.check.values import Literal, Typed, Value
from kgen.functions import CONSTANTS, FUNCTIONS
from kgen.ir.kernel import Shape
from kgen.prelude import prelude_def
from kgen.source import Span
from kgen.syntax.tree import (
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Conditional,
    Def,
    Expr,
    Name,
    Number,
    Unary,
    children,
)

MAX_NESTED_CALLS = 64  # a def that calls a def that calls a def ...


@dataclass(frozen=True, slots=True)
class Scope:
    """What names mean at one place.

    ``place`` is the shape that ``index`` and ``size`` refer to; None while that shape is still being found, when
    they stand for a scalar.  ``depth`` counts the defs being inlined.
    """

    names: Mapping[str, Value | None]
    defs: Mapping[str, Def]
    place: Shape | None
    depth: int = 0
    inlined: dict[tuple[object, ...], tuple[Value | None, tuple[Value, ...]]] = field(default_factory=dict)


def lower(ctx: Context, scope: Scope, root: Expr) -> Value | None:
    """The value of an expression, or None after errors were reported."""
    done: dict[int, Value | None] = {}
    for node in _operands_first(scope, root):
        done[id(node)] = _value(ctx, scope, node, done)
    return done[id(root)]


def _operands_first(scope: Scope, root: Expr) -> Iterator[Expr]:
    """Like ``postorder``, but the argument of a reduction is a place of its own and is lowered by the reduction."""
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        below = () if ready or is_reduction(scope, node) else children(node)
        if not below:
            yield node
            continue
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(below))


def is_reduction(scope: Scope, node: Expr) -> bool:
    if not isinstance(node, Call) or node.function in scope.defs:
        return False
    function = FUNCTIONS.get(node.function)
    return function is not None and function.rule == "reduction" and len(node.args) == 1


def _value(ctx: Context, scope: Scope, node: Expr, done: Mapping[int, Value | None]) -> Value | None:
    def of(*nodes: Expr) -> list[Value] | None:
        """The operands' values, or None where one of them is in error already."""
        values = [done[id(n)] for n in nodes]
        return None if any(v is None for v in values) else [v for v in values if v is not None]

    match node:
        case Number():
            return Literal(node.value, node.span)
        case Name():
            return _name(scope, node)
        case Unary():
            args = of(node.operand)
            return (
                None
                if args is None
                else operators.unary(
                    ctx, node.op, args[0], Span(node.span.start, node.span.start + len(node.op)), node.span
                )
            )
        case Binary():
            args = of(node.left, node.right)
            return None if args is None else operators.binary(ctx, node.op, args[0], args[1], node.op_span, node.span)
        case Compare():
            args = of(*node.operands)
            return None if args is None else _chain(ctx, node, args)
        case Conditional():
            args = of(node.condition, node.then, node.otherwise)
            return None if args is None else operators.select(ctx, args[0], args[1], args[2], node.span, node.span)
        case Cast():
            args = of(node.operand)
            return None if args is None else cast(ctx, scope, node, args[0])
        case Bitcast():
            args = of(node.operand)
            return None if args is None else bitcast(ctx, scope, node, args[0])
        case Call():
            if is_reduction(scope, node):
                return call(ctx, scope, node, [])
            args = of(*node.args)
            if args is None:
                return None
            if node.function in scope.defs:
                return inline(ctx, scope, scope.defs[node.function], args, node.span)
            return call(ctx, scope, node, args)
        case _:
            assert_never(node)


def _name(scope: Scope, node: Name) -> Value | None:
    if node.id in scope.names:
        value = scope.names[node.id]
        if value is None:
            return None
        # The value as it is read here: messages point at this mention of it.
        return _at(value, node.span)
    return Literal(CONSTANTS[node.id], node.span)


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


def inline(ctx: Context, scope: Scope, function: Def, args: list[Value], span: Span) -> Value | None:
    """The body of a def with its parameters bound; equal calls are lowered once."""
    key = (function.name, id(function), scope.place, *(_key(a) for a in args))
    if key in scope.inlined:
        return scope.inlined[key][0]
    if scope.depth >= MAX_NESTED_CALLS:
        ctx.error("nested-too-deeply", f"defs call each other more than {MAX_NESTED_CALLS} deep", span)
        return None
    # Arguments keep the place of the call, so that an error inside the def marks what was passed.
    bound = {p.name: a for p, a in zip(function.params, args, strict=True)}
    inner = Scope({**scope.names, **bound}, scope.defs, scope.place, scope.depth + 1, scope.inlined)
    before = len(ctx.builder.ops)
    value = lower(ctx, inner, function.body)
    result = None if value is None else _at(value, span)
    if isinstance(value, Typed) and value.id >= before:
        # What the def gives belongs to the statement that calls it.
        ctx.builder.ops[value.id] = replace(ctx.builder.ops[value.id], span=span)
    scope.inlined[key] = (result, tuple(args))
    return result


def _key(value: Value) -> object:
    if isinstance(value, Typed):
        return (value.dtype, value.id, value.imag, value.shape)
    if isinstance(value, Literal):
        return (type(value.value), repr(value.value))
    return id(value)


def inline_prelude(ctx: Context, name: str, args: list[Typed] | list[Value], span: Span) -> Value | None:
    """A prelude function; errors inside it are reported at the call."""
    function = prelude_def(name)
    assert function is not None, name
    outer, ctx.site = ctx.site, ctx.site or span
    try:
        names: dict[str, Value | None] = {p.name: a for p, a in zip(function.params, args, strict=True)}
        value = lower(ctx, Scope(names, {}, ()), function.body)
    finally:
        ctx.site = outer
    return None if value is None else _at(value, span)


def uses_place(scope_defs: Mapping[str, Def], deferred: frozenset[str] | set[str], root: Expr) -> bool:
    """Whether an expression reads ``index``, ``size`` of its place, or a name that does."""
    stack: list[Expr] = [root]
    seen: set[str] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, Name) and node.id in deferred:
            return True
        if isinstance(node, Call):
            if node.function in scope_defs:
                if node.function not in seen:
                    seen.add(node.function)
                    stack.append(scope_defs[node.function].body)
            elif node.function == "index" or (node.function == "size" and len(node.args) == 1):
                return True
        stack.extend(children(node))
    return False


def place_of(ctx: Context, scope: Scope, root: Expr) -> Shape | None:
    """The shape of an expression, found by lowering it once with ``index`` and ``size`` as scalars."""
    value = lower(ctx, Scope(scope.names, scope.defs, None, scope.depth), root)
    if value is None:
        return None
    return value.shape if isinstance(value, Typed) else ()
