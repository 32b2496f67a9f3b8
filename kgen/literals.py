"""Literal expressions: evaluated as Python would, with exact integers and float64.

Nothing recurses, and results are limited in size (``9 ** 9 ** 9`` is an error).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kgen.source import Span
from kgen.syntax.tree import Binary, Compare, Conditional, Expr, Name, Number, Unary, postorder

Weak = bool | int | float | complex
Operation = Callable[..., Any]

_MAX_BITS = 4096

BINARY: dict[str, Operation] = {
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
COMPARE: dict[str, Operation] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
UNARY: dict[str, Operation] = {
    "-": operator.neg,
    "+": operator.pos,
    # In Python `~True` is -2 and deprecated; here it keeps bools, like the other bit operators.
    "~": lambda a: not a if isinstance(a, bool) else ~a,
    "not": operator.not_,
}

#: Functions folded for real literals; others are evaluated in the dtype of the other operands.
FUNCTIONS: dict[str, Operation] = {
    "sqrt": math.sqrt, "exp": math.exp, "exp2": math.exp2, "expm1": math.expm1,
    "log": math.log, "log2": math.log2, "log10": math.log10, "log1p": math.log1p,
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan,
    "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "asinh": math.asinh, "acosh": math.acosh,
    "atanh": math.atanh, "erf": math.erf, "erfc": math.erfc, "lgamma": math.lgamma, "cbrt": math.cbrt,
    "atan2": math.atan2, "hypot": math.hypot, "copysign": math.copysign,
}  # fmt: skip


def fmod(a: Any, b: Any) -> Any:
    """C's remainder, which has the sign of ``a``; whole numbers stay whole."""
    if not isinstance(a, int) or not isinstance(b, int):
        return math.fmod(a, b)
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


class LiteralError(ValueError):
    """A literal expression without a value, such as ``1 / 0``; ``span`` is the part that fails."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.span = span


def compute(operation: Operation, values: Sequence[Weak], span: Span) -> Weak:
    """The value of an operation on literals.  Raises :class:`LiteralError` where Python would raise."""
    _limit(operation, values, span)
    try:
        value = operation(*values)
    except ZeroDivisionError:
        raise LiteralError("division by zero", span) from None
    except OverflowError:
        raise LiteralError("the result is too large", span) from None
    except (TypeError, ValueError) as problem:
        raise LiteralError(str(problem), span) from None
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise LiteralError("the result is too large", span)
    assert isinstance(value, bool | int | float | complex)
    return value


def fold(node: Expr, operands: Sequence[Weak]) -> Weak:
    """The value of an operator whose operands have these values."""
    match node:
        case Unary(op=op):
            return compute(UNARY[op], operands, node.span)
        case Binary(op=op):
            return compute(BINARY[op], operands, node.span)
        case Compare(ops=ops):
            pairs = zip(ops, operands, operands[1:], strict=False)
            return all(bool(compute(COMPARE[op], (a, b), node.span)) for op, a, b in pairs)
        case Conditional():
            return operands[1] if operands[0] else operands[2]
    raise LiteralError("this is not an operator", node.span)


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


def _limit(operation: Operation, values: Sequence[Weak], span: Span) -> None:
    """Raise for powers and shifts with a large result before computing them."""
    if operation not in (operator.pow, operator.lshift):
        return
    a, b = values
    if not (isinstance(a, int) and isinstance(b, int)) or b <= 0:
        return
    shift = operation is operator.lshift
    if abs(a) > 1 - shift and (a.bit_length() + b if shift else a.bit_length() * b) > _MAX_BITS:
        raise LiteralError("the result is too large", span)
