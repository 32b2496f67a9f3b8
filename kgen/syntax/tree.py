"""The syntax tree: frozen nodes, each with the span it came from.

Node classes share their names with the rules of ``grammar/kgen.lark``.  Nesting is not limited
by Python's stack, so no code may recurse on it: use :func:`postorder`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal

from kgen.dtypes import DType
from kgen.records import dataclass
from kgen.source import Span

RoundingMode = Literal["rne", "rz", "ru", "rd"]
Combine = Literal["set", "add", "min", "max"]
Outside = Literal["zero", "fill", "promise"]  #: see :class:`kgen.ir.graph.Gather`


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Node:
    span: Span


# --- expressions --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Number(Node):
    """A literal: ``true``, ``3``, ``0xff``, ``2.5``, ``2j``."""

    value: bool | int | float | complex


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Name(Node):
    """A name that is read."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Unary(Node):
    """``-x``, ``+x``, ``~x``, ``not x`` (``!x`` is spelt ``not`` here)."""

    op: Literal["-", "+", "~", "not"]
    operand: Expr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Binary(Node):
    """``left op right``; ``op`` is one of ``+ - * / // % ** << >> & | ^ and or`` (``&&``, ``||`` become words)."""

    op: str
    op_span: Span
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Compare(Node):
    """A chain ``a < b <= c``: one more operand than operators."""

    ops: tuple[str, ...]
    op_spans: tuple[Span, ...]
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Conditional(Node):
    """``condition ? then : otherwise``."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Tuple(Node):
    """``(1, 2)``: only as the value of a keyword such as ``axis=``."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TypeName(Node):
    """A type inside ``<>``, after ``:`` or as ``dtype=``; ``of`` names an operand for ``typeof(x)``."""

    dtype: DType | None
    of: Name | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Keyword(Node):
    """``name=value`` in a call.  ``value`` is a literal expression, a :class:`Tuple` or a :class:`TypeName`."""

    name: str
    value: Expr | Tuple | TypeName


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Call(Node):
    """``function(args, keywords)``."""

    function: str
    function_span: Span
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Cast(Node):
    """``cast<type, sat, mode>(operand)``; ``mode`` is None when not written."""

    type: TypeName
    saturate: bool
    mode: RoundingMode | None
    operand: Expr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Bitcast(Node):
    """``bitcast<type>(operand)``."""

    type: TypeName
    operand: Expr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Slice(Node):
    """``start:stop:step`` in an index; None where it is not written."""

    start: Expr | None
    stop: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Ellipsis(Node):
    """``...`` in an index: a full slice of every axis that no other item is for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NewAxis(Node):
    """``None`` in an index: a new axis of extent 1."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Index(Node):
    """``of[items]``.  ``items_span``: the brackets; ``outside``: see :class:`kgen.ir.graph.Gather`."""

    of: Expr
    items: tuple[Expr | Slice | Ellipsis | NewAxis, ...]
    items_span: Span
    outside: Outside = "zero"


Expr = Number | Name | Unary | Binary | Compare | Conditional | Call | Cast | Bitcast | Index


# --- statements ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Declared(Node):
    """One name of a declaration, with the dtype where one is given."""

    name: str
    type: TypeName | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Input(Node):
    """``input a: half, b``."""

    names: tuple[Declared, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Inout(Node):
    """``inout p: float, m``."""

    names: tuple[Declared, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Parameter(Node):
    """One scalar of a ``param`` line; ``default`` is a literal expression."""

    name: Declared
    default: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Param(Node):
    """``param alpha: float = 1.0, beta``."""

    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Def(Node):
    """``def f(x, k) = body``."""

    name: str
    name_span: Span
    params: tuple[Declared, ...]
    body: Expr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Let(Node):
    """``let name = value``."""

    name: str
    name_span: Span
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Assign(Node):
    """``name = value`` or ``name: type = value``: an output, or the update of an ``inout``.

    ``at``: what is written of it, in ``name[items] = value``.  ``combine``: what becomes of what is there, and
    ``condition``: where this is done, in ``name[items] += value if condition``.
    """

    name: str
    name_span: Span
    type: TypeName | None
    value: Expr
    at: Index | None = None
    combine: Combine = "set"
    condition: Expr | None = None


Statement = Input | Inout | Param | Def | Let | Assign


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """All statements of a program in order.

    ``broken`` are the names that statements with a syntax error would have defined: uses of them are not errors.
    """

    statements: tuple[Statement, ...] = field(default=())
    broken: frozenset[str] = frozenset()


def children(node: Expr) -> tuple[Expr, ...]:
    """The sub-expressions of a node that are evaluated, in source order."""
    match node:
        case Unary() | Cast() | Bitcast():
            return (node.operand,)
        case Binary():
            return (node.left, node.right)
        case Compare():
            return node.operands
        case Conditional():
            return (node.condition, node.then, node.otherwise)
        case Call():
            return node.args
        case Index():
            return (node.of, *(e for item in node.items for e in bounds(item)))
        case Number() | Name():
            return ()


def bounds(item: Expr | Slice | Ellipsis | NewAxis) -> tuple[Expr, ...]:
    """The expressions of one item of an index, in source order."""
    match item:
        case Slice():
            return tuple(e for e in (item.start, item.stop, item.step) if e is not None)
        case Ellipsis() | NewAxis():
            return ()
        case _:
            return (item,)


def postorder(root: Expr) -> Iterator[Expr]:
    """Every node below and including ``root``, operands before what uses them."""
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        below = () if ready else children(node)
        if not below:
            yield node
            continue
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(below))
