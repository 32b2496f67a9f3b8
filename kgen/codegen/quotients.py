"""Divisions as multiplications, where divisors are shared or their range is known.  Each result is the correctly
rounded quotient as before; only those by ``1 + exp(x)`` may be two off in the last place where they are below 2^-100.

CUDA's division takes eleven instructions, two of them on the unit for special functions, and a branch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set

from kgen.codegen.expressions import Expr, Level, Spelling, call
from kgen.codegen.literals import constant
from kgen.dtypes import FLOAT32, DType
from kgen.ir.graph import IndexMap, Op, from_bits, to_bits
from kgen.partition.step import Step
from kgen.records import dataclass, replace

#: The divisors that ``templates/device/divide.cu`` is right for.
_SMALLEST, _LARGEST = 1e-10, 1e12
#: Significant bits of a divisor for which ``divide_constant.cu`` and ``divide_short.cu`` are right.
_FEW_BITS = 20
_EXPONENTIALS = frozenset({"exp", "exp2", "exp10"})


def by_known(
    ops: Sequence[Op], op: Op, args: Sequence[Expr], ranges: Ranges, *, is_shared: bool, is_moderate: bool
) -> Spelling | None:
    """A division by what is known of the divisor; None where nothing is.

    ``args``: the dividend and the divisor.  ``ranges``: those of the first ops, to which this adds others.
    ``is_shared``: whether all elements of a thread share the divisor.  ``is_moderate``: whether the division is one of
    :func:`moderate_quotients`.
    """
    if op.dtype is not FLOAT32:
        return None
    dividend, divisor = args
    quotient = _by_constant(ops, op, dividend) or _by_range(ops, op, dividend, divisor)
    if quotient is None and not is_moderate and _is_in_range(ops, op, ranges):
        quotient = Spelling(call("divide_in_range", [dividend, divisor]), ("divide_in_range",))
    return _by_shared(dividend, divisor, is_moderate=is_moderate) if quotient is None and is_shared else quotient


def _by_constant(ops: Sequence[Op], op: Op, dividend: Expr) -> Spelling | None:
    """``a / c`` for a constant ``c``; None where it takes a division."""
    divisor = _constant(ops[op.args[1]])
    if not _SMALLEST < abs(divisor) < _LARGEST:
        return None
    if _significant_bits(divisor) <= _FEW_BITS and is_moderate(ops, op.args[0]):
        high, low = _inverse(divisor)
        low_and_why = Expr(f"{_literal(low).code} /* 1 / {_literal(divisor).code} */", Level.PRIMARY)
        return Spelling(call("divide_constant", [dividend, _literal(high), low_and_why]), ("divide_constant",))
    helper = "divide_by_integer" if _never_ties(ops, op.args[0], divisor) else "divide"
    return Spelling(call(helper, [dividend, _literal(divisor), _literal(1 / divisor)]), (helper,))


def _by_shared(dividend: Expr, divisor: Expr, *, is_moderate: bool) -> Spelling:
    """``a / b`` where all elements of a thread share ``b``: the compiler computes the reciprocal once."""
    if is_moderate:
        return Spelling(call("divide_moderate<UseReciprocal>", [dividend, divisor]), ("divide_moderate",))
    reciprocal = call("reciprocal", [divisor])
    return Spelling(call("divide", [dividend, divisor, reciprocal]), ("divide_reciprocal", "divide"))


def _by_range(ops: Sequence[Op], op: Op, dividend: Expr, divisor: Expr) -> Spelling | None:
    """``a / b`` where the range of ``b`` is known: a converted narrow number, or ``1 + exp(x)``."""
    fits = is_moderate(ops, op.args[0]) or (_is_narrow(ops, op.args[0]) and _is_integer(ops, op.args[1]))
    if fits and _is_short(ops, op.args[1]):
        return Spelling(call("divide_short", [dividend, divisor]), ("divide_short",))
    exponential = one_plus_exponential(ops, op.args[1])
    if exponential is None:
        return None
    name = "divide_by_one_plus" if is_at_most_one(ops, exponential) else "divide_by_large"
    return Spelling(call(name, [dividend, divisor]), (name,))


@dataclass(frozen=True, slots=True)
class Moderate:
    """``quotients``: the divisions that are exact as multiplications by a reciprocal where all ``leaves`` are moderate
    (0, or from 2^-24 to 2^24, as ``templates/device/is_moderate.cu`` tests) and no ``divisors`` are 0.
    """

    quotients: frozenset[int] = frozenset()
    leaves: tuple[int, ...] = ()
    divisors: tuple[int, ...] = ()


NOTHING_MODERATE = Moderate()


def moderate_quotients(ops: Sequence[Op], shared: Set[int]) -> Moderate:
    """The divisions of integers and what is made of them by values that all elements of a thread share."""
    ranges: Ranges = []
    for number, op in enumerate(ops):
        ranges.append(_leaf(number) if number in shared and _is_leaf(op) else _range(ops, op, ranges))
    quotients: set[int] = set()
    leaves: set[int] = set()
    for number, op in enumerate(ops):
        if op.name == "div" and op.args[1] in shared and _is_leaf(ops[op.args[1]]):
            dividend, divisor = (ranges[a] for a in op.args)
            if dividend is None or divisor is None or not dividend.keeps_its_sign_over(divisor):
                continue
            quotients.add(number)
            leaves |= dividend.leaves | divisor.leaves
    divisors = {ops[number].args[1] for number in quotients}
    return Moderate(frozenset(quotients), tuple(sorted(leaves)), tuple(sorted(divisors)))


def _is_in_range(ops: Sequence[Op], op: Op, ranges: Ranges) -> bool:
    """Whether a division is one of integers, of floats of few exponent bits, or of what is made of them."""
    for earlier in ops[len(ranges) : 1 + max(op.args)]:
        ranges.append(_range(ops, earlier, ranges))
    dividend, divisor = (ranges[a] for a in op.args)
    return dividend is not None and divisor is not None and dividend.is_exact_over(divisor)


@dataclass(frozen=True, slots=True)
class _Range:
    """A float32 that is 0, or at least ``2**low`` and less than ``2**high``.

    ``positive_zero``: whether it is never -0.  ``leaves``: the values that have to be moderate for that.  ``positive``:
    whether it is above 0.  ``finite``: whether it is never an infinity or NaN, too.
    """

    low: int
    high: int
    positive_zero: bool
    leaves: frozenset[int] = frozenset()
    positive: bool = False
    finite: bool = True

    def is_exact_over(self, divisor: _Range) -> bool:
        """Whether no step of the quotient loses bits to underflow, or overflows."""
        quotient = self.low - divisor.high, self.high - divisor.low
        return min(self.low, divisor.low, *quotient) >= -100 and max(divisor.high, *quotient) <= 120

    def keeps_its_sign_over(self, divisor: _Range) -> bool:
        """Whether no quotient is -0, nor that of an infinity or NaN, too."""
        return self.is_exact_over(divisor) and self.positive_zero and self.finite and divisor.finite


Ranges = list[_Range | None]  #: of ops, in order; None where nothing is known


def _is_leaf(op: Op) -> bool:
    return op.name in ("load", "scalar") and op.dtype is FLOAT32


def _leaf(number: int) -> _Range:
    return _Range(-24, 24, False, frozenset({number}))


def _range(ops: Sequence[Op], op: Op, ranges: Ranges) -> _Range | None:
    """The range of a value, None where nothing is known."""
    if op.dtype is not FLOAT32:
        return None
    if op.name == "const":
        value = _constant(op)
        exponent = math.frexp(value)[1]
        return _Range(exponent - 1, exponent, True, positive=value > 0) if value and math.isfinite(value) else None
    if op.name == "cast":
        return _converted(ops[op.args[0]].dtype)
    if op.name in _UNARY:
        found = ranges[op.args[0]]
        return None if found is None else _UNARY[op.name](found)
    known = [found for a in op.args if (found := ranges[a]) is not None]
    return _COMBINED[op.name](*known) if op.name in _COMBINED and len(known) == 2 else None


def _converted(source: DType) -> _Range | None:
    if not source.is_float:
        return _Range(0, source.bits, True)
    bias = (1 << (source.exponent - 1)) - 1
    return _Range(1 - bias - source.mantissa, bias + 2, False, finite=False) if bias < 64 else None


def _product(a: _Range, b: _Range) -> _Range:
    keeps = (a.positive_zero and b.positive) or (a.positive and b.positive_zero)
    return _made_of(a, b, a.low + b.low, a.high + b.high, keeps)


def _quotient(a: _Range, b: _Range) -> _Range:
    return _made_of(a, b, a.low - b.high, a.high - b.low + 1, a.positive_zero and b.positive)


def _difference(a: _Range, b: _Range) -> _Range:
    """What is not 0 is no less than the last bit of an operand, which may be a product of 48 bits."""
    return _made_of(a, b, min(a.low, b.low) - 48, max(a.high, b.high) + 1, a.positive_zero)


def _sum(a: _Range, b: _Range) -> _Range:
    return replace(_difference(a, b), positive_zero=a.positive_zero or b.positive_zero)


def _made_of(a: _Range, b: _Range, low: int, high: int, positive_zero: bool) -> _Range:
    return _Range(low, high, positive_zero, a.leaves | b.leaves, finite=a.finite and b.finite)


def _negated(a: _Range) -> _Range:
    return replace(a, positive_zero=False, positive=False)


def _magnitude(a: _Range) -> _Range:
    return replace(a, positive_zero=True)


def _tanh(a: _Range) -> _Range:
    return _Range(min(a.low, 0) - 1, 1, False, a.leaves, finite=False)


_COMBINED = {"add": _sum, "sub": _difference, "mul": _product, "div": _quotient}
_UNARY = {"neg": _negated, "abs": _magnitude, "tanh": _tanh}


def _constant(op: Op) -> float:
    """The value of a ``const`` op; NaN for any other."""
    return float(from_bits(op.attr, op.dtype)) if op.name == "const" and isinstance(op.attr, int) else math.nan


def is_moderate(ops: Sequence[Op], number: int) -> bool:
    """Whether no quotient of the value is subnormal: converted integers and floats of few exponent bits."""
    op = ops[number]
    return op.name == "cast" and ops[op.args[0]].dtype.exponent < FLOAT32.exponent


def _is_short(ops: Sequence[Op], number: int) -> bool:
    """Whether the value is converted from at most 16 bits, and has fewer exponent bits than a float."""
    op = ops[number]
    return is_moderate(ops, number) and ops[op.args[0]].dtype.bits <= 16


def _is_narrow(ops: Sequence[Op], number: int) -> bool:
    """Whether the value is converted from a float of at most 16 bits."""
    op = ops[number]
    source = ops[op.args[0]].dtype if op.name == "cast" else FLOAT32
    return source.is_float and source.bits <= 16


def _is_integer(ops: Sequence[Op], number: int) -> bool:
    return ops[number].name == "cast" and not ops[ops[number].args[0]].dtype.is_float


def _never_ties(ops: Sequence[Op], number: int, divisor: float) -> bool:
    """Whether a subnormal quotient by this constant never lies halfway between two floats.

    Subnormals are integers in units of 2^-149, and so is what is left of a division by an integer: half the divisor,
    if that is even.  Floats of 16 bits are multiples of 2^16 such units.
    """
    if divisor < 0 or not divisor.is_integer() or _significant_bits(divisor) > _FEW_BITS:
        return False
    return int(divisor) % (1 << 17 if _is_narrow(ops, number) else 2) != 0


def one_plus_exponential(ops: Sequence[Op], number: int) -> Op | None:
    """``exp(x)``, if the value is ``1 + exp(x)``."""
    op = ops[number]
    if op.name != "add":
        return None
    one, other = sorted((ops[a] for a in op.args), key=lambda a: a.name != "const")
    return other if _constant(one) == 1 and other.name in _EXPONENTIALS else None


def is_at_most_one(ops: Sequence[Op], exponential: Op) -> bool:
    """Whether the exponent is ``-abs(x)``."""
    exponent = ops[exponential.args[0]]
    return exponent.name == "neg" and ops[exponent.args[0]].name == "abs"


def _significant_bits(value: float) -> int:
    numerator = abs(value.as_integer_ratio()[0])
    return (numerator // (numerator & -numerator)).bit_length()


def _inverse(divisor: float) -> tuple[float, float]:
    """Two float32 whose sum is ``1 / divisor`` to 46 bits, of one sign, so that zeros and infinities keep theirs."""
    inverse = 1 / divisor
    bits = to_bits(inverse, FLOAT32)
    high = float(from_bits(bits, FLOAT32))
    if abs(high) > abs(inverse):
        high = float(from_bits(bits - 1, FLOAT32))
    return high, inverse - high


def _literal(value: float) -> Expr:
    return constant(to_bits(value, FLOAT32), FLOAT32)


def shared_values(step: Step, accesses: Set[int]) -> frozenset[int]:
    """The ops whose values all elements of a thread share, if these accesses' elements are shared."""
    shared: set[int] = set()
    places = {(step.accesses[i].operand, step.accesses[i].axes) for i in accesses}
    for number, op in enumerate(step.graph.ops):
        if isinstance(op.attr, IndexMap):
            is_shared = op.name == "load" and (op.attr.operand, op.attr.axes) in places
        else:
            is_shared = op.name != "index" and shared.issuperset(op.args)
        if is_shared:
            shared.add(number)
    return frozenset(shared)
