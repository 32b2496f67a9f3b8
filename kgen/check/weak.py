"""The dtypes in which weak values are computed."""

from __future__ import annotations

from kgen.check.values import Deferred, Literal, Weak
from kgen.dtypes import DEFAULT_OF_KIND, FLOAT64, INT16, INT32, INT64, UINT64, DType, Kind
from kgen.ir.graph import odd_float
from kgen.program import Weak as Number

_INTEGERS = (INT16, INT32, INT64, UINT64)


def fits(value: Weak, dtype: DType) -> bool:
    """Whether an integer dtype certainly holds a weak integer: a literal, or a choice between literals."""
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


def computed_in(node: Deferred, dtype: DType) -> DType:
    """The dtype in which a weak value is computed whose result is to have ``dtype``."""
    if node.whole:
        return DEFAULT_OF_KIND[node.kind]
    return dtype if node.kind is Kind.COMPLEX else dtype.real


def operand_in(arg: Weak, dtype: DType) -> DType:
    """The dtype of an operand of a value in ``dtype``: its complex or real form, by the kind of the operand."""
    return dtype.complex if arg.kind is Kind.COMPLEX else dtype.real


def as_float(value: Number, dtype: DType) -> float:
    """A float64 that rounds to ``dtype`` as the number itself does."""
    if isinstance(value, int) and dtype is not FLOAT64:
        return odd_float(value)
    return float(value.real)


def wider(number: int, dtype: DType) -> DType | None:
    """The smallest integer dtype that holds both the number and every value of ``dtype``."""
    low, high = min(number, dtype.int_min), max(number, dtype.int_max)
    return next((t for t in _INTEGERS if t.int_min <= low and high <= t.int_max), None)
