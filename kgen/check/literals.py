"""Expressions of literals only: evaluated as Python would, exactly."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from kgen.check.values import Literal
from kgen.program import Weak
from kgen.source import Span

MAX_BITS = 4096  # an exact integer larger than this fits no dtype, and `10 ** 10 ** 10` must not hang

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "and": lambda a, b: bool(a) and bool(b), "or": lambda a, b: bool(a) or bool(b),
}  # fmt: skip

UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_,
}  # fmt: skip

#: Functions of real literals; any other function of a literal is evaluated in the dtype it meets.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": math.sqrt, "exp": math.exp, "expm1": math.expm1, "log": math.log, "log2": math.log2,
    "log10": math.log10, "log1p": math.log1p, "sin": math.sin, "cos": math.cos, "tan": math.tan,
    "asin": math.asin, "acos": math.acos, "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh,
    "tanh": math.tanh, "asinh": math.asinh, "acosh": math.acosh, "atanh": math.atanh,
    "erf": math.erf, "erfc": math.erfc, "lgamma": math.lgamma, "tgamma": math.gamma,
    "atan2": math.atan2, "hypot": math.hypot, "copysign": math.copysign, "fmod": math.fmod,
    "exp2": lambda x: 2.0**x, "cbrt": math.cbrt,
}  # fmt: skip


class LiteralError(Exception):
    """A literal expression that has no value; the text says why."""


def apply(function: Callable[..., Any], args: list[Literal], span: Span) -> Literal:
    """The literal that ``function`` of literals is.

    Raises :class:`LiteralError` where Python would raise, or the result is too large.
    """
    values = [a.value for a in args]
    if function in (operator.pow, operator.lshift) and all(isinstance(v, int) for v in values):
        base, amount = int(values[0].real), int(values[1].real)
        size = max(base.bit_length(), 1) * amount if function is operator.pow else base.bit_length() + amount
        if size > MAX_BITS and abs(base) > 1:
            raise LiteralError("the result is too large for any dtype")
    try:
        value: Weak = function(*values)
    except ZeroDivisionError:
        raise LiteralError("a literal is divided by zero; write inf or nan if that is meant") from None
    except OverflowError:
        raise LiteralError("the result is too large for float64") from None
    except ValueError:
        raise LiteralError("the literal is outside the function's domain; write nan if that is meant") from None
    except TypeError:
        raise LiteralError("these literals do not support this operation") from None
    return Literal(value, span)
