"""C++ expressions with their precedence, so that only needed parentheses are written.

Some are written though the grammar does not need them: where C's precedence misleads readers, and ``-Wparentheses``
warns (bit operators, shifts, ``&&`` inside ``||``, comparisons of comparisons).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from kgen.records import dataclass


class Level(IntEnum):
    """C++ operator precedence; a higher level binds tighter."""

    CONDITIONAL = 10
    LOGICAL_OR = 20
    LOGICAL_AND = 25
    BIT_OR = 30
    BIT_XOR = 35
    BIT_AND = 40
    EQUALITY = 45
    RELATION = 50
    SHIFT = 55
    SUM = 60
    PRODUCT = 70
    UNARY = 80
    POSTFIX = 90
    PRIMARY = 100


class Expr(NamedTuple):
    """C++ text, and the level of its outermost operator."""

    code: str
    level: int


@dataclass(frozen=True, slots=True)
class Spelling:
    """How an op is written, and the device helpers and headers that the text uses."""

    expr: Expr
    helpers: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()


class Infix(NamedTuple):
    """A binary operator.  Operands below ``least`` get parentheses; chains such as ``a + b + c`` get none."""

    symbol: str
    level: Level
    least: Level
    chains: bool = True


INFIX: dict[str, Infix] = {
    row.symbol: row
    for row in (
        Infix("||", Level.LOGICAL_OR, Level.BIT_OR),
        Infix("&&", Level.LOGICAL_AND, Level.BIT_OR),
        Infix("|", Level.BIT_OR, Level.UNARY),
        Infix("^", Level.BIT_XOR, Level.UNARY),
        Infix("&", Level.BIT_AND, Level.UNARY),
        Infix("==", Level.EQUALITY, Level.SUM, chains=False),
        Infix("!=", Level.EQUALITY, Level.SUM, chains=False),
        Infix("<", Level.RELATION, Level.SUM, chains=False),
        Infix("<=", Level.RELATION, Level.SUM, chains=False),
        Infix(">", Level.RELATION, Level.SUM, chains=False),
        Infix(">=", Level.RELATION, Level.SUM, chains=False),
        Infix("<<", Level.SHIFT, Level.UNARY, chains=False),
        Infix(">>", Level.SHIFT, Level.UNARY, chains=False),
        Infix("+", Level.SUM, Level.PRODUCT),
        Infix("-", Level.SUM, Level.PRODUCT),
        Infix("*", Level.PRODUCT, Level.UNARY),
        Infix("/", Level.PRODUCT, Level.UNARY),
        Infix("%", Level.PRODUCT, Level.UNARY, chains=False),
    )
}


def at_least(operand: Expr, level: int) -> str:
    """The operand's text, in parentheses if it binds looser than ``level``."""
    return operand.code if operand.level >= level else f"({operand.code})"


def infix(symbol: str, a: Expr, b: Expr) -> Expr:
    row = INFIX[symbol]
    left = row.level if row.chains and a.level == row.level else row.least
    return Expr(f"{at_least(a, left)} {symbol} {at_least(b, row.least)}", row.level)


def prefix(symbol: str, a: Expr) -> Expr:
    """``-x``; never ``--x``."""
    code = at_least(a, Level.UNARY)
    return Expr(f"{symbol}({code})" if code.startswith(symbol) else f"{symbol}{code}", Level.UNARY)


def convert(c_type: str, a: Expr) -> Expr:
    """``(float)x``"""
    return Expr(f"({c_type}){at_least(a, Level.UNARY)}", Level.UNARY)


def call(function: str, args: Sequence[Expr]) -> Expr:
    return Expr(f"{function}({', '.join(a.code for a in args)})", Level.POSTFIX)


def member(a: Expr, name: str) -> Expr:
    return Expr(f"{at_least(a, Level.POSTFIX)}.{name}", Level.POSTFIX)


def conditional(condition: Expr, yes: Expr, no: Expr) -> Expr:
    """``c ? a : b``; a conditional as the last operand needs no parentheses."""
    above = Level.CONDITIONAL + 1
    code = f"{at_least(condition, above)} ? {at_least(yes, above)} : {no.code}"
    return Expr(code, Level.CONDITIONAL)
