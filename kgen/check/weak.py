"""Weak values and the dtypes that they meet."""

from __future__ import annotations

from kgen.check.values import Deferred, Literal, Weak
from kgen.dtypes import DEFAULT_OF_KIND, FLOAT64, INT16, INT32, INT64, UINT64, DType, Kind
from kgen.ir.kernel import odd_float
from kgen.program import Weak as Number

_INTEGERS = (INT16, INT32, INT64, UINT64)


def fits(value: Weak, dtype: DType) -> bool:
    """Whether an integer dtype is sure to hold a whole number: literals, and choices between them."""
    stack: list[Weak] = [value]
    seen: set[int] = set()
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if one.kind > Kind.INT:
            return False
        if isinstance(one, Literal):
            if not dtype.int_min <= int(one.value.real) <= dtype.int_max:
                return False
        elif one.whole or not one.args:
            return False
        else:
            stack.extend(one.args)
    return True


def held_in(node: Deferred, dtype: DType) -> DType:
    """The dtype in which a weak value is made that is to have this one."""
    if node.whole:
        return DEFAULT_OF_KIND[node.kind]
    return dtype if node.kind is Kind.COMPLEX else dtype.real


def operand_in(arg: Weak, dtype: DType) -> DType:
    """The dtype of an operand of a value in ``dtype``: a real one is real, a complex one complex."""
    return dtype.complex if arg.kind is Kind.COMPLEX else dtype.real


def as_float(value: Number, dtype: DType) -> float:
    """To be rounded to ``dtype``, once."""
    if isinstance(value, int) and dtype is not FLOAT64:
        return odd_float(value)
    return float(value.real)


def wider(number: int, dtype: DType) -> DType | None:
    """The smallest integer dtype that holds a literal and every value of ``dtype``."""
    low, high = min(number, dtype.int_min), max(number, dtype.int_max)
    return next((t for t in _INTEGERS if t.int_min <= low and high <= t.int_max), None)
