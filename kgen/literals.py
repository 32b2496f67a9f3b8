"""Literal expressions: evaluated as Python would, with exact integers and float64.

Nothing here recurses, and nothing grows without bound (``9 ** 9 ** 9`` is an error, not a wait).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kgen.syntax.tree import Binary, Compare, Conditional, Expr, Name, Number, Unary, postorder

Weak = bool | int | float | complex

_MAX_BITS = 4096

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    # Python has `~True` be -2, and is about to refuse it; like the other bit operators it keeps bools here.
    "~": lambda a: not a if isinstance(a, bool) else ~a,
    "not": operator.not_,
}


class LiteralError(ValueError):
    """A literal expression without a value, such as ``1 / 0``; ``node`` is the part that fails."""

    def __init__(self, message: str, node: Expr) -> None:
        super().__init__(message)
        self.node = node


def fold(node: Expr, operands: Sequence[Weak]) -> Weak:
    """The value of an operator whose operands have these values."""
    try:
        match node:
            case Unary(op=op):
                return _checked(_UNARY[op](operands[0]), node)
            case Binary(op=op):
                _limit(op, operands[0], operands[1], node)
                return _checked(_BINARY[op](operands[0], operands[1]), node)
            case Compare(ops=ops):
                pairs = zip(ops, operands, operands[1:], strict=False)
                return all(bool(_COMPARE[op](a, b)) for op, a, b in pairs)
            case Conditional():
                return operands[1] if operands[0] else operands[2]
    except ZeroDivisionError:
        raise LiteralError("division by zero", node) from None
    except OverflowError:
        raise LiteralError("the result is too large", node) from None
    except (TypeError, ValueError) as problem:
        raise LiteralError(str(problem), node) from None
    raise LiteralError("this is not an operator", node)


def evaluate(root: Expr, constants: Mapping[str, float]) -> Weak | None:
    """The value of an expression of literals and predefined values, or None when it holds anything else."""
    values: dict[int, Weak] = {}
    for node in postorder(root):
        match node:
            case Number(value=value):
                values[id(node)] = value
            case Name(id=name) if name in constants:
                values[id(node)] = constants[name]
            case Unary():
                values[id(node)] = fold(node, (values[id(node.operand)],))
            case Binary():
                values[id(node)] = fold(node, (values[id(node.left)], values[id(node.right)]))
            case Compare():
                values[id(node)] = fold(node, [values[id(operand)] for operand in node.operands])
            case Conditional():
                parts = (node.condition, node.then, node.otherwise)
                values[id(node)] = fold(node, [values[id(part)] for part in parts])
            case _:
                return None
    return values[id(root)]


def _limit(op: str, a: Weak, b: Weak, node: Expr) -> None:
    """Refuse what would take long, before computing it."""
    if not (isinstance(a, int) and isinstance(b, int)) or b <= 0 or abs(a) <= 1 - (op == "<<"):
        return
    bits = a.bit_length() * b if op == "**" else a.bit_length() + b if op == "<<" else 0
    if bits > _MAX_BITS:
        raise LiteralError("the result is too large", node)


def _checked(value: Any, node: Expr) -> Weak:
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise LiteralError("the result is too large", node)
    assert isinstance(value, bool | int | float | complex)
    return value
