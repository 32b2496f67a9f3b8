"""Values that only go into results of 16 bits or fewer: functions need not be more accurate than these.

What lies between a value and such a result keeps its relative error: products, quotients, choices, and sums that cannot
cancel.  So results of 16 bits see an error that is far below their own rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from kgen.codegen.expressions import Expr, Spelling, call, infix
from kgen.codegen.quotients import is_at_most_one, is_moderate, one_plus_exponential
from kgen.dtypes import FLOAT32, DType
from kgen.ir.graph import Op, from_bits
from kgen.ir.ops import EXACT
from kgen.records import dataclass

_BITS = 16
_SCALES = frozenset({"mul", "div", "neg", "abs", "min", "max", "fmin", "fmax"})
_SUMS = frozenset({"add", "sub"})


@dataclass(frozen=True, slots=True)
class ShortResults:
    """``values``: the float32 values whose relative error no result of more than 16 bits sees, and no sum that may
    cancel.  ``inexact``: all values that functions which are not exact go into.
    """

    values: frozenset[int] = frozenset()
    inexact: frozenset[int] = frozenset()


NO_SHORT_RESULTS = ShortResults()


def short_results(ops: Sequence[Op], sums: Set[int] = frozenset()) -> ShortResults:
    """``sums``: the stores of what is added up over rows, for results of 16 bits or fewer."""
    users: list[list[tuple[int, int]]] = [[] for _ in ops]
    for number, op in enumerate(ops):
        for place, arg in enumerate(op.args):
            users[arg].append((number, place))
    signs = _signs(ops)
    operands = _operands(ops)
    found: set[int] = set()

    def keeps(number: int, user: int, place: int) -> bool:
        """Whether a value's user is a short result, or keeps its relative error on the way to one."""
        op = ops[user]
        if op.name == "cast":
            return is_short(op.dtype)
        if user in sums:
            return _has_rounded_factor(ops, number)
        if user not in found:
            return False
        if op.name in _SUMS:
            other = op.args[1 - place]
            first, second = (signs[a] for a in op.args)
            return first * second * (1 if op.name == "add" else -1) > 0 or (
                _is_rounded_operand(ops, other) and not operands[other] & operands[number]
            )
        if op.name == "log1p":
            return signs[number] > 0
        return op.name in _SCALES or (op.name == "where" and place > 0)

    for number in reversed(range(len(ops))):
        uses = users[number]
        if ops[number].dtype is FLOAT32 and uses and all(keeps(number, *use) for use in uses):
            found.add(number)
    return ShortResults(frozenset(found), _inexact(ops))


def _inexact(ops: Sequence[Op]) -> frozenset[int]:
    found: set[int] = set()
    for number, op in enumerate(ops):
        if op.name not in EXACT or not found.isdisjoint(op.args):
            found.add(number)
    return frozenset(found)


def is_short(dtype: DType) -> bool:
    return dtype.is_float and dtype.bits <= _BITS


def _is_rounded_operand(ops: Sequence[Op], number: int) -> bool:
    """Whether a value is an operand of 16 bits or fewer: as it is rounded itself, a sum with it may cancel."""
    op = ops[number]
    return op.name == "cast" and ops[op.args[0]].name == "load" and is_short(ops[op.args[0]].dtype)


def _has_rounded_factor(ops: Sequence[Op], number: int) -> bool:
    """Whether a value is a product with an operand of 16 bits or fewer: as that is rounded, sums of it may cancel."""
    factors = ops[number].args if ops[number].name == "mul" else ()
    return any(_is_rounded_operand(ops, n) or _has_rounded_factor(ops, n) for n in factors)


def _operands(ops: Sequence[Op]) -> list[int]:
    """The loads that each value depends on, one bit each."""
    found: list[int] = []
    for number, op in enumerate(ops):
        mask = 1 << number if op.name == "load" else 0
        for arg in op.args:
            mask |= found[arg]
        found.append(mask)
    return found


def _signs(ops: Sequence[Op]) -> list[int]:
    """1 where a value is known not to be below 0, -1 where not above 0, else 0."""
    found: list[int] = []
    for op in ops:
        given = [found[a] for a in op.args]
        found.append(_SIGNS[op.name](op, given) if op.name in _SIGNS and op.dtype.is_float else 0)
    return found


def _same(op: Op, signs: Sequence[int]) -> int:
    return signs[0] if len(set(signs)) == 1 else 0


def _constant(op: Op, signs: Sequence[int]) -> int:
    assert isinstance(op.attr, int)
    return 1 if from_bits(op.attr, op.dtype) >= 0 else -1


_SIGNS: dict[str, Callable[[Op, Sequence[int]], int]] = {
    **dict.fromkeys(("exp", "exp2", "exp10", "abs", "normcdf", "erfc", "sqrt"), lambda op, signs: 1),
    "const": _constant,
    "max": lambda op, signs: max(signs),  # 1 where either is
    "min": lambda op, signs: min(signs),
    "neg": lambda op, signs: -signs[0],
    "log1p": lambda op, signs: max(signs[0], 0),
    "tanh": _same,
    "cast": _same,
    "add": _same,
    "sub": lambda op, signs: signs[0] if signs[0] == -signs[1] else 0,
    "mul": lambda op, signs: signs[0] * signs[1],
    "div": lambda op, signs: signs[0] * signs[1],
    "where": lambda op, signs: _same(op, signs[1:]),
}


# --- what short results take ------------------------------------------------------------------------


def spell_short(ops: Sequence[Op], op: Op, args: Sequence[Expr], inexact: Set[int]) -> Spelling | None:
    """A function, or a quotient that one goes into, within 2^-16 of its value; None where it is as exact as ever."""
    if op.name == "div":
        return None if inexact.isdisjoint(op.args) else _quotient(ops, op, *args)
    if op.name == "log1p" and not _is_fraction(ops, ops[op.args[0]]):
        return None
    helper = _HELPERS.get(op.name)
    return None if helper is None else Spelling(call(helper.removesuffix("_f32"), args), (helper,))


_HELPERS = {
    "normcdf": "normal_cdf_fast_f32",
    "gelu_derivative": "gelu_derivative_fast_f32",
    "exp": "exp_short",
    "log1p": "log1p_short",
    "tanh": "tanh_short",
}


def _is_fraction(ops: Sequence[Op], op: Op) -> bool:
    """Whether a value is ``exp(-abs(x))``."""
    return op.name == "exp" and is_at_most_one(ops, op)


def _quotient(ops: Sequence[Op], op: Op, dividend: Expr, divisor: Expr) -> Spelling:
    exponential = one_plus_exponential(ops, op.args[1])
    if is_moderate(ops, op.args[1]) or (exponential is not None and _is_fraction(ops, exponential)):
        reciprocal = call("reciprocal_approx", [divisor])
        return Spelling(infix("*", dividend, reciprocal), ("reciprocal_approx",))
    return Spelling(call("divide_approx", [dividend, divisor]), ("divide_approx",))
