"""Expressions made from others: copies with parts replaced, and expressions parsed from the text of a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from kgen.diagnostics import Reporter
from kgen.records import replace
from kgen.source import Source, Span
from kgen.syntax.parser import parse
from kgen.syntax.tree import (
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Conditional,
    Ellipsis,
    Expr,
    Index,
    Keyword,
    Let,
    Name,
    NewAxis,
    Number,
    Slice,
    Tuple,
    TypeName,
    Unary,
    postorder,
)

NOWHERE = Span(0, 0)  # of nodes that no text has

Item = Expr | Slice | Ellipsis | NewAxis
Change = Callable[[Expr], Expr | None]


def name(id: str) -> Name:
    return Name(span=NOWHERE, id=id)


def number(value: bool | int | float) -> Number:
    return Number(span=NOWHERE, value=value)


def binary(op: str, left: Expr, right: Expr) -> Binary:
    return Binary(span=NOWHERE, op=op, op_span=NOWHERE, left=left, right=right)


def call(function: str, *args: Expr, **keywords: Expr | Tuple) -> Call:
    words = tuple(Keyword(span=NOWHERE, name=n, value=value) for n, value in keywords.items())
    return Call(span=NOWHERE, function=function, function_span=NOWHERE, args=args, keywords=words)


def axes(places: Sequence[int]) -> Expr | Tuple:
    """The value of ``axis=``: a number, or a tuple of several."""
    items = tuple(number(place) for place in places)
    return items[0] if len(items) == 1 else Tuple(span=NOWHERE, items=items)


def is_atom(node: Expr) -> bool:
    """Whether a second copy of an expression costs nothing: a name, or a literal."""
    while isinstance(node, Unary) and node.op in "+-":
        node = node.operand
    return isinstance(node, Name | Number)


def copied(root: Expr, change: Change) -> Expr:
    """A copy of an expression, in which a node that ``change`` gives another for is replaced, with all below it.

    ``change`` sees operands before what uses them, with operands changed already.
    """
    made: dict[int, Expr] = {}
    for node in postorder(root):
        fresh = _with_children(node, made)
        made[id(node)] = change(fresh) or fresh
    return made[id(root)]


# branches: one for each kind of node
def _with_children(node: Expr, made: Mapping[int, Expr]) -> Expr:
    match node:
        case Unary() | Cast() | Bitcast():
            return replace(node, operand=made[id(node.operand)])
        case Binary():
            return replace(node, left=made[id(node.left)], right=made[id(node.right)])
        case Compare():
            return replace(node, operands=tuple(made[id(o)] for o in node.operands))
        case Conditional():
            condition, then, otherwise = (made[id(part)] for part in (node.condition, node.then, node.otherwise))
            return replace(node, condition=condition, then=then, otherwise=otherwise)
        case Call():
            return replace(node, args=tuple(made[id(a)] for a in node.args))
        case Index():
            items = tuple(_item(item, made) for item in node.items)
            return replace(node, of=made[id(node.of)], items=items)
        case Number() | Name():
            return replace(node)


def _item(item: Item, made: Mapping[int, Expr]) -> Item:
    match item:
        case Slice():
            start, stop, step = (None if e is None else made[id(e)] for e in (item.start, item.stop, item.step))
            return replace(item, start=start, stop=stop, step=step)
        case Ellipsis() | NewAxis():
            return item
        case _:
            return made[id(item)]


def names_in(root: Expr) -> set[str]:
    """The names that an expression reads, also in ``typeof(x)``."""
    found: set[str] = set()
    for node in postorder(root):
        if isinstance(node, Name):
            found.add(node.id)
        elif isinstance(node, Cast | Bitcast) and node.type.of is not None:
            found.add(node.type.of.id)
    return found


@cache
def parsed(text: str) -> Expr:
    """The expression that a text is."""
    source = Source.of(f"let rule = {text}")
    reporter = Reporter(source)
    (statement,) = parse(source, reporter).statements
    reporter.raise_errors()
    assert isinstance(statement, Let)
    return statement.value


def filled(text: str, values: Mapping[str, Expr]) -> Expr:
    """The expression of a rule with its names replaced."""
    return copied(parsed(text), lambda node: values.get(node.id) if isinstance(node, Name) else None)


def cast_to(type_name: TypeName, operand: Expr) -> Cast:
    return Cast(span=NOWHERE, type=type_name, saturate=False, mode=None, operand=operand)
