"""The ranges of what is computed of floats whose ranges are known, and that are no NaN: those of integers and bools."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

from kgen.dtypes import FLOAT32, DType
from kgen.ir.graph import from_bits, to_bits
from kgen.passes.conditions import Range

#: Operations whose least and greatest results are those of the ends.
ARITHMETIC: dict[str, Callable[..., float]] = {
    "min": min, "max": max, "add": operator.add, "sub": operator.sub, "mul": operator.mul,
}  # fmt: skip
#: Roundings to whole numbers, whose results grow with their argument.
WHOLE: dict[str, Callable[[float], int]] = {
    "round": round, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc,
}  # fmt: skip


def of_floats(dtype: DType, name: str, args: Sequence[Range]) -> Range:
    """The range of an op of floats; None where nothing is known."""
    known = [ends for ends in args if ends is not None]
    if len(known) < len(args):
        return None
    if name == "floordiv":
        return _by_infinity(*known)
    if not all(math.isfinite(end) for ends in known for end in ends):
        return None
    if name in WHOLE:
        return WHOLE[name](known[0][0]), WHOLE[name](known[0][1])
    if name == "div":
        return _quotient(dtype, *known)
    return _arithmetic(name, *known) if name in ARITHMETIC else None


def _arithmetic(name: str, one: tuple[float, float], other: tuple[float, float]) -> Range:
    """A product may be added to without being rounded first, and so may have another range than rounded ones."""
    ends = [ARITHMETIC[name](x, y) for x in one for y in other]
    chosen = name in ("min", "max")
    return (min(ends), max(ends)) if chosen or all(is_exact(n, FLOAT32) for n in (*one, *other, *ends)) else None


def is_exact(value: float, dtype: DType) -> bool:
    """Whether a value and all integers up to it are exact in a dtype."""
    return math.isfinite(value) and value == int(value) and abs(value) <= 2 << dtype.mantissa


def _quotient(dtype: DType, of: tuple[float, float], by: tuple[float, float]) -> Range:
    """Rounding keeps the order of quotients, so that the ends are rounded ones."""
    if by[0] <= 0 <= by[1]:
        return None
    ends = [float(from_bits(to_bits(x / y, dtype), dtype)) for x in of for y in by]
    return (min(ends), max(ends)) if all(map(math.isfinite, ends)) else None


def _by_infinity(of: tuple[float, float], by: tuple[float, float]) -> Range:
    """A finite value divided by infinity, and rounded down: -1 if it is negative, else 0."""
    if by != (math.inf, math.inf) or not all(map(math.isfinite, of)):
        return None
    return -1 if of[0] < 0 else 0, -1 if of[1] < 0 else 0
