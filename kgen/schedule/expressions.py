"""Integer expressions over extents, strides and device properties, as data: launches are computed from them.

An expression is a frozen tree.  Python evaluates it (:func:`evaluate`, or :func:`python`: the text of a Python
expression), ``explain`` prints it, and :func:`c` gives the same as C.  Dividends are never negative.

    ceil_div(extent(0), 4) * extent(1)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, reduce
from types import CodeType
from typing import Any, Literal

from kgen.records import dataclass
from kgen.schedule.divisors import magic_number, signed_magic

#: magic, magic64, shift: see :mod:`kgen.schedule.divisors`; >: 1 or 0; if: the second argument where the first is not
#: 0, else the third
Operator = Literal["+", "-", "*", "ceil", "min", "max", ">", "!=", "if", "magic", "magic64", "shift"]


@dataclass(frozen=True, slots=True)
class Expr:
    """An expression; ``+``, ``-`` and ``*`` combine it with others and with integers."""

    def __add__(self, other: Expr | int) -> Expr:
        return _folded("+", self, _expr(other))

    def __sub__(self, other: Expr | int) -> Expr:
        return _folded("-", self, _expr(other))

    def __mul__(self, other: Expr | int) -> Expr:
        return _folded("*", self, _expr(other))


@dataclass(frozen=True, slots=True)
class Int(Expr):
    value: int


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """A number that is known at launch, such as ``shape[0]`` or ``strides[2][0]`` (``of`` and its indices), or one that
    the launch rule names."""

    of: str
    indices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Op(Expr):
    operator: Operator
    args: tuple[Expr, ...]


def extent(dimension: int) -> Name:
    """The extent of a dimension of the space; 0 is the fastest."""
    return Name("shape", (dimension,))


def stride(access: int, dimension: int) -> Name:
    """An access's stride along a dimension, in elements."""
    return Name("strides", (access, dimension))


def ceil_div(number: Expr | int, divisor: Expr | int) -> Expr:
    return _folded("ceil", _expr(number), _expr(divisor))


def minimum(one: Expr | int, other: Expr | int) -> Expr:
    return _folded("min", _expr(one), _expr(other))


def maximum(one: Expr | int, other: Expr | int) -> Expr:
    return _folded("max", _expr(one), _expr(other))


def where(test: Expr, then: Expr | int, otherwise: Expr | int) -> Expr:
    return Op("if", (test, _expr(then), _expr(otherwise)))


def product(factors: Iterable[Expr | int]) -> Expr:
    one: Expr = Int(1)
    return reduce(Expr.__mul__, factors, one)


def total(terms: Iterable[Expr | int]) -> Expr:
    none: Expr = Int(0)
    return reduce(Expr.__add__, terms, none)


def walked(access: int, dimension: int) -> Expr:
    """The stride along a dimension; 0 where the dimension has one element, because it is never walked."""
    return where(Op("!=", (extent(dimension), Int(1))), stride(access, dimension), 0)


def magic(divisor: Expr, *, is_64bit: bool = False) -> Expr:
    return Op("magic64" if is_64bit else "magic", (divisor,))


def shift(divisor: Expr) -> Expr:
    return Op("shift", (divisor,))


def renamed(expr: Expr, rename: Callable[[Name], Name]) -> Expr:
    """The same expression of other names."""
    if isinstance(expr, Name):
        return rename(expr)
    return Op(expr.operator, tuple(renamed(a, rename) for a in expr.args)) if isinstance(expr, Op) else expr


def _expr(value: Expr | int) -> Expr:
    return Int(value) if isinstance(value, int) else value


_VALUES: Mapping[str, Callable[[int, int], int]] = {
    "+": int.__add__, "-": int.__sub__, "*": int.__mul__, "ceil": lambda a, b: -(-a // b), "min": min, "max": max,
}  # fmt: skip
_NEUTRAL = {("+", 0), ("-", 0), ("*", 1), ("ceil", 1)}  # as the right argument
_NEUTRAL_LEFT = {("+", 0), ("*", 1)}


def _folded(operator: Operator, one: Expr, other: Expr) -> Expr:
    """An operation, after constant folding and removal of neutral elements."""
    if isinstance(one, Int) and isinstance(other, Int):
        return Int(_VALUES[operator](one.value, other.value))
    if isinstance(other, Int) and (operator, other.value) in _NEUTRAL:
        return one
    if isinstance(one, Int) and (operator, one.value) in _NEUTRAL_LEFT:
        return other
    return Op(operator, (one, other))


# --- as text ------------------------------------------------------------------------------------------

_PYTHON = {
    "+": "({} + {})", "-": "({} - {})", "*": "({} * {})", "ceil": "-(-{} // {})", "min": "min({}, {})",
    "max": "max({}, {})", ">": "({} > {})", "!=": "({} != {})", "if": "({1} if {0} else {2})",
    "magic": "magic({})", "magic64": "magic64({})", "shift": "shift({})",
}  # fmt: skip

_C = {
    **_PYTHON, "ceil": "kgen_ceil_div({}, {})", "min": "kgen_min({}, {})", "max": "kgen_max({}, {})",
    "if": "({} ? {} : {})", "magic": "kgen_magic({})", "magic64": "kgen_magic64({})",
    "shift": "kgen_shift({})",
}  # fmt: skip

_CALL = re.compile(r"\w+\({}(, {})*\)")  #: of a function, whose arguments need no parentheses

_SHOWN = {**_PYTHON, "ceil": "ceil({} / {})"}

#: The functions that C expressions call, each after those that it calls.  Dividends may be negative in ``floor_div``.
C_FUNCTIONS: Mapping[str, str] = {
    "kgen_ceil_div": """\
static long long kgen_ceil_div(long long a, long long b) { return (a + b - 1) / b; }
""",
    "kgen_floor_div": """\
static long long kgen_floor_div(long long a, long long b) { return a / b - (a % b < 0 ? 1 : 0); }
""",
    "kgen_min": """\
static long long kgen_min(long long a, long long b) { return a < b ? a : b; }
""",
    "kgen_max": """\
static long long kgen_max(long long a, long long b) { return a > b ? a : b; }
""",
    "kgen_shift": """\
static long long kgen_shift(long long d)
{
    long long bits = 0;
    for (long long rest = d > 1 ? d - 1 : 0; rest > 0; rest /= 2) ++bits;
    return bits;
}
""",
    "kgen_magic": """\
static long long kgen_magic(long long d)
{
    const unsigned long long divisor = d > 1 ? d : 1, power = 1ull << kgen_shift(d);
    return (long long)((((power - divisor) << 32) / divisor + 1) & 0xffffffffull);
}
""",
    "kgen_magic64": """\
static long long kgen_magic64(long long d)
{
    const unsigned long long divisor = d > 1 ? d : 1;
    unsigned long long rest = (1ull << kgen_shift(d)) - divisor, quotient = 0;
    for (int bit = 0; bit < 64; ++bit) {
        rest *= 2;
        quotient = 2 * quotient + (rest >= divisor ? 1 : 0);
        rest -= rest >= divisor ? divisor : 0;
    }
    return (long long)(quotient + 1);
}
""",
}


#: The functions that Python expressions call, besides ``min`` and ``max``.
PYTHON_FUNCTIONS: Mapping[str, Callable[[int], int]] = {
    "magic": lambda d: magic_number(d)[0],
    "magic64": signed_magic,
    "shift": lambda d: magic_number(d)[1],
}


def python(expr: Expr) -> str:
    """The text of a Python expression, which may call :data:`PYTHON_FUNCTIONS`."""
    return _text(expr, _PYTHON)


def evaluate(expr: Expr, names: Mapping[str, Any]) -> int:
    """The value of an expression.  ``names``: what its names stand for."""
    return int(eval(_code(expr), {**PYTHON_FUNCTIONS, **names}))


@lru_cache(maxsize=1024)
def _code(expr: Expr) -> CodeType:
    return compile(python(expr), "<launch rule>", "eval")


def c(expr: Expr) -> str:
    """A C expression of type ``long long``, which calls :data:`C_FUNCTIONS`."""
    return _text(expr, _C)


def bare(text: str) -> str:
    """An expression without the parentheses around all of it."""
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and i < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") and not text.startswith("(-") else text


def shown(expr: Expr) -> str:
    """The text that ``explain`` prints."""
    text = _text(expr, _SHOWN)
    return text[1:-1] if isinstance(expr, Op) and expr.operator in ("+", "-", "*") else text


def _text(expr: Expr, spelled: Mapping[str, str]) -> str:
    if isinstance(expr, Int):
        return f"({expr.value})" if expr.value < 0 else str(expr.value)
    if isinstance(expr, Name):
        return expr.of + "".join(f"[{i}]" for i in expr.indices)
    assert isinstance(expr, Op)
    form, args = spelled[expr.operator], [_text(a, spelled) for a in expr.args]
    return form.format(*(map(bare, args) if _CALL.fullmatch(form) else args))
