"""The walk over an expression: operands first, one typing rule a node, nothing recursing on depth."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import assert_never

from kgen.check import constants, operators
from kgen.check.calls import call
from kgen.check.casts import bitcast, cast
from kgen.check.context import Context
from kgen.check.values import Deferred, Literal, Typed, Value
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
    postorder,
)

MAX_NESTED_CALLS = 64  # a def that calls a def that calls a def ...


@dataclass(frozen=True, slots=True)
class Scope:
    """What names mean at one place.

    ``place`` is the shape that ``index`` and ``size`` refer to; None while that shape is still being found, when
    they stand for a scalar.  ``depth`` counts the defs being inlined.  ``late``: names that mean what they mean at the
    place where they are read.  ``reduced``: what reductions gave, by the node, since their places are their own;
    ``passed``: what defs are given that is late, by the node.
    """

    names: Mapping[str, Value | None]
    defs: Mapping[str, Def]
    place: Shape | None
    depth: int = 0
    inlined: dict[tuple[object, ...], tuple[Value | None, tuple[Value | Late, ...]]] = field(default_factory=dict)
    late: Mapping[str, Late] = field(default_factory=dict)
    reduced: dict[int, Value | None] = field(default_factory=dict)
    passed: dict[int, Late] = field(default_factory=dict)


@dataclass(slots=True)
class Late:
    """An expression that reads ``index`` or ``size``, by a let's name or as the argument of a def.

    ``scope``: where it stands.  ``order``: lets read only those before them.  ``found``: its values, by place.
    """

    value: Expr
    scope: Scope
    name: str | None = None
    order: int = 0
    found: dict[Shape | None, Value | None] = field(default_factory=dict)

    def at(self, ctx: Context, place: Shape | None) -> Value | None:
        """Its value at a place; None after errors were reported."""
        if place not in self.found:
            value = lower(ctx, replace(self.scope, place=place), self.value)
            self.found[place] = value if self.name is None else named(ctx, value, self.name)
        return self.found[place]


def named(ctx: Context, value: Value | None, name: str) -> Value | None:
    """The value of a let, which takes the let's name."""
    if isinstance(value, Typed):
        return ctx.named(value, name)
    return replace(value, label=name) if isinstance(value, Deferred) and value.args else value


def lower(ctx: Context, scope: Scope, root: Expr) -> Value | None:
    """The value of an expression, or None after errors were reported."""
    for late in _lets_of(scope, root):  # first to last, so that none of them waits for another
        late.at(ctx, scope.place)
    done: dict[int, Value | None] = {}
    for node in _operands_first(scope, root):
        if scope.depth:
            ctx.written_out.add()
        done[id(node)] = _value(ctx, scope, node, done)
    return done[id(root)]


def _operands_first(scope: Scope, root: Expr) -> Iterator[Expr]:
    """Like ``postorder``, but without what has a place of its own, which is lowered there."""
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
    """What a node is made of at its own place: not the argument of a reduction, nor what a def may read elsewhere."""
    if is_reduction(scope, node):
        return ()
    if isinstance(node, Call) and node.function in scope.defs:
        return [a for a in node.args if not uses_place(scope.defs, scope.late, a)]
    return children(node)


def _lets_of(scope: Scope, root: Expr) -> list[Late]:
    """The late lets that an expression reads at its own place, directly or through others, and have no value yet."""
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
            return _name(ctx, scope, node)
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
            if node.function in scope.defs:
                passed = [_passed(scope, a) or done[id(a)] for a in node.args]
                known = [a for a in passed if a is not None]
                if len(known) < len(passed):
                    return None
                return inline(ctx, scope, scope.defs[node.function], known, node.span)
            args = of(*node.args)
            return None if args is None else call(ctx, scope, node, args)
        case _:
            assert_never(node)


def _passed(scope: Scope, argument: Expr) -> Late | None:
    """The argument of a def, where it reads its place."""
    if not uses_place(scope.defs, scope.late, argument):
        return None
    return scope.passed.setdefault(id(argument), Late(argument, scope))


def _name(ctx: Context, scope: Scope, node: Name) -> Value | None:
    if node.id in scope.late:
        value = scope.late[node.id].at(ctx, scope.place)
    elif node.id in scope.names:
        value = scope.names[node.id]
    else:
        return Literal(CONSTANTS[node.id], node.span)
    # The value as it is read here: messages point at this mention of it.
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
    # Arguments keep the place of the call, so that an error inside the def marks what was passed.
    pairs = [(p.name, a) for p, a in zip(function.params, args, strict=True)]
    bound = {name: a for name, a in pairs if not isinstance(a, Late)}
    late = {name: a for name, a in pairs if isinstance(a, Late)}
    inner = Scope({**scope.names, **bound}, scope.defs, scope.place, scope.depth + 1, scope.inlined, late)
    before = len(ctx.builder.ops)
    value = lower(ctx, inner, function.body)
    result = None if value is None else _at(value, span)
    if isinstance(value, Typed) and value.id >= before:
        # What the def gives belongs to the statement that calls it.
        ctx.builder.ops[value.id] = replace(ctx.builder.ops[value.id], span=span)
    scope.inlined[key] = (result, tuple(args))
    return result


def _key(value: Value | Late) -> object:
    if isinstance(value, Typed):
        return (value.dtype, value.id, value.imag, value.shape)
    if isinstance(value, Literal):
        return (type(value.value), repr(value.value))
    return id(value)


def inline_prelude(ctx: Context, name: str, args: list[Typed] | list[Value], span: Span) -> Value | None:
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


def uses_place(scope_defs: Mapping[str, Def], late: Container[str], root: Expr) -> bool:
    """Whether an expression reads ``index``, ``size`` of its place, or one of the names that do."""
    stack: list[Expr] = [root]
    seen: set[str] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, Name) and node.id in late:
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
    value = lower(ctx, replace(scope, place=None), root)
    if value is None:
        return None
    return value.shape
