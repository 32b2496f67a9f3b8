"""Identities that hold for every value of the dtype, signed zeros and NaN included.

x * 1, x / 1, x - 0.0, x + -0.0      ->  x
x / 2^k                              ->  x * 2^-k     (both are the correctly rounded quotient)
x / 0.0, x // -0.0                   ->  x * inf, x * -inf
x + 0, x | 0, x << 0, x & -1         ->  x            (integers)
x - x, x ^ x                         ->  0            (integers; for bools, false)
x & x, x | x, min(x, x), max(x, x)   ->  x            (integers and bools)
x < x, x > x                         ->  false
x <= y && y < x, x < y || x == y     ->  false, x <= y (likewise c && !c, c || !c; see comparisons.py)
x + nan, x * nan, max(x, nan)        ->  nan          (floats; likewise - / // % min, on either side; and x % 0.0)
x < nan, x == nan, x != nan          ->  false, false, true
not not b, neg neg x                 ->  b, x
0 - x, x * -1                        ->  neg x        (signed integers)
where(c, x, x), where(true, x, y)    ->  x            (as a cast to its dtype where it is broadcast)
cast to f16 of the widened f16 x     ->  x            (likewise bf16, fp8, and integers widened and narrowed again)
cast to i64 of the float of i16 x    ->  cast x       (and bools, integers that both float and result can hold)
round x, floor x, ceil x, trunc x    ->  x            (of a bool or integer as a float)
complex(real z, imag z)              ->  z
a reduction over one element         ->  as in only_element.py
exp(x - x)                           ->  x - x + 1    (floats: 1 or NaN; softmax over one element)
e + 0.0, e / e, where e is x - x + 1 ->  e
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kgen.dtypes import DType
from kgen.ir.builder import Builder
from kgen.ir.graph import CastMode, Graph, Op, Reduction
from kgen.passes.comparisons import combined
from kgen.passes.dropped_axes import without_axes
from kgen.passes.only_element import is_one, is_zero, only_element
from kgen.passes.rewrite import constant, rewrite
from kgen.records import replace

_INT_RIGHT_ZERO = frozenset({"add", "sub", "or", "xor", "shl", "shr"})
_COMMUTES = frozenset({"add", "mul", "or", "xor", "and"})
_IDEMPOTENT = frozenset({"and", "or", "min", "max"})
_PROPAGATE_NAN = frozenset({"add", "sub", "mul", "div", "floordiv", "mod", "fmod", "min", "max"})
_SAME = CastMode("rne", False)
_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


def identities(kernel: Graph) -> Graph:
    def rule(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
        return _of_one(kernel, builder, op, args[0]) if op.name == "reduce" else _identity(builder, op, args)

    return rewrite(kernel, rule)


def _identity(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
    found = _of_nan(builder, op, args)
    return _by_name(builder, op, args) if found is None else found


def _of_nan(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
    """An op of two floats that has NaN as its result, or compares it."""
    if len(args) != 2 or not args[0].dtype.is_float:
        return None
    left, right = map(constant, args)
    if op.name in ("mod", "fmod") and right == 0:
        return builder.const(math.nan, op.dtype)
    if not any(value is not None and math.isnan(value) for value in (left, right)):
        return None
    if op.name in _COMPARISONS:
        return builder.const(op.name == "ne", op.dtype)
    return builder.const(math.nan, op.dtype) if op.name in _PROPAGATE_NAN else None


def _by_name(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
    match op.name:
        case "cast":
            return _cast(builder, op, args[0])
        case "where":
            return _where(builder, op, args)
        case "complex" if args[0].name == "real" and args[1].name == "imag" and args[0].args == args[1].args:
            return args[0].args[0]
        case "neg" | "not" if args[0].name == op.name:
            return args[0].args[0]
        case "div" if op.args[0] == op.args[1] and is_one(builder, args[0]):
            return op.args[0]
        case "div" | "floordiv" if op.dtype.is_float:
            return _division(builder, op, constant(args[1]))
        case "mod" if op.dtype.is_int:
            return _remainder(builder, op, constant(args[1]))
        case "exp" | "round" | "floor" | "ceil" | "trunc":
            return _function(builder, op, args[0])
    return _of_two(builder, op, args) if len(op.args) == 2 else None


def _function(builder: Builder, op: Op, arg: Op) -> int | None:
    """``exp`` of zero, or the rounding of what is an integer."""
    if op.name == "exp":
        if not is_zero(builder, arg):
            return None
        return builder.op("add", (op.args[0], builder.const(1.0, op.dtype)), shape=op.shape)
    return op.args[0] if arg.name == "cast" and _is_whole(builder.ops[arg.args[0]].dtype) else None


def _of_two(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
    """An op of two values: equal ones, or a constant and another."""
    if op.args[0] == op.args[1]:
        return _of_equals(builder, op, args[0].dtype)
    if (found := combined(builder, op, args)) is not None:
        return found
    negated = _negated(op, constant(args[0]), constant(args[1]))
    if negated is not None:
        return builder.op("neg", (negated,), shape=op.shape)
    return _neutral_operand(op, args)


def _of_equals(builder: Builder, op: Op, dtype: DType) -> int | None:
    """An op of a value and itself."""
    if op.name in ("lt", "gt"):
        return builder.const(False, op.dtype)
    if not (dtype.is_int or dtype.is_bool):
        return None
    if op.name in _IDEMPOTENT:
        return op.args[0]
    return builder.const(False if dtype.is_bool else 0, dtype) if op.name in ("sub", "xor") else None


def _neutral_operand(op: Op, args: Sequence[Op]) -> int | None:
    """The other operand of ``x + -0.0``, ``x * 1`` and the like."""
    if _is_neutral(op.name, op.dtype, constant(args[1])):
        return op.args[0]
    if op.name in _COMMUTES and _is_neutral(op.name, op.dtype, constant(args[0])):
        return op.args[1]
    return None


def _is_neutral(name: str, dtype: DType, value: bool | int | float | None) -> bool:
    """Whether a right operand of this value leaves the left one as it is."""
    if value is None:
        return False
    if dtype.is_float:
        if name == "mul":
            return value == 1
        sign = math.copysign(1, value)
        return value == 0 and ((name == "sub" and sign > 0) or (name == "add" and sign < 0))
    if name == "mul":
        return value == 1
    if name == "and":
        return value is True if dtype.is_bool else value in (-1, dtype.int_max if not dtype.signed else -1)
    if dtype.is_bool:
        return name in ("or", "xor") and value is False
    return name in _INT_RIGHT_ZERO and value == 0


def _negated(op: Op, left: bool | int | float | None, right: bool | int | float | None) -> int | None:
    """The ``x`` of ``0 - x`` and ``x * -1``."""
    if not op.dtype.signed or not op.dtype.is_int:
        return None
    if op.name == "sub" and left == 0:
        return op.args[1]
    return None if op.name != "mul" else op.args[0] if right == -1 else op.args[1] if left == -1 else None


def _division(builder: Builder, op: Op, divisor: bool | int | float | None) -> int | None:
    if divisor is None or math.isinf(divisor) or math.isnan(divisor):
        return None
    if divisor == 0:
        # NVVM 13.0 takes -0.0 for no negative number, and then (u / -0.0) < 0 is false for a u >= 0.
        infinity = builder.const(math.copysign(math.inf, divisor), op.dtype)
        return builder.op("mul", (op.args[0], infinity), shape=op.shape)
    if op.name == "floordiv":
        return None
    if divisor == 1:
        return op.args[0]
    mantissa, exponent = math.frexp(divisor)
    smallest = op.dtype.least_exponent + op.dtype.mantissa + 1  # frexp's exponent of the smallest normal number
    if abs(mantissa) != 0.5 or not smallest <= 2 - exponent <= -smallest:
        return None
    reciprocal = builder.const(1 / divisor, op.dtype)
    return builder.op("mul", (op.args[0], reciprocal), shape=op.shape)


def _of_one(kernel: Graph, builder: Builder, op: Op, arg: Op) -> int | None:
    """A reduction over axes of one element."""
    attr = op.attr
    assert isinstance(attr, Reduction)
    if any(arg.shape[axis] != 1 for axis in attr.axes):
        return None
    value = op.args[0] if op.shape == arg.shape else without_axes(kernel, builder, op.args[0], attr.axes)
    return None if value is None else only_element(builder, replace(op, args=(value,)), builder.ops[value])


def _remainder(builder: Builder, op: Op, divisor: bool | int | float | None) -> int | None:
    """The remainder by a power of two has the lowest bits: also of negative numbers, as it is not negative."""
    if not isinstance(divisor, int) or divisor <= 0 or divisor & (divisor - 1):
        return None
    return builder.op("and", (op.args[0], builder.const(divisor - 1, op.dtype)), shape=op.shape)


def _where(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
    if op.args[1] == op.args[2]:
        return op.args[1]
    condition = constant(args[0])
    if condition is None:
        return None
    chosen = op.args[1 if condition else 2]
    if builder.ops[chosen].name == "const" or builder.ops[chosen].shape == op.shape:
        return chosen
    return builder.op("cast", (chosen,), dtype=op.dtype, shape=op.shape, attr=_SAME, span=op.span)


def _cast(builder: Builder, op: Op, source: Op) -> int | None:
    """A cast back to the dtype that the value was widened from."""
    if source.name != "cast" or not isinstance(op.attr, CastMode) or op.attr.saturate:
        return None  # a saturating cast changes infinities
    original = builder.ops[source.args[0]]
    if not _is_exact(original.dtype, source.dtype):
        return None
    if original.dtype is op.dtype:
        return source.args[0]
    if _is_whole(original.dtype) and source.dtype.is_float and op.dtype.is_int and _is_exact(original.dtype, op.dtype):
        mode = CastMode("rz", False)
        return builder.op("cast", source.args, dtype=op.dtype, shape=op.shape, attr=mode)
    return None


def _is_whole(dtype: DType) -> bool:
    return dtype.is_int or dtype.is_bool


def _is_exact(narrow: DType, wide: DType) -> bool:
    """Every value of ``narrow`` is one of ``wide``; of bools, as 0 and 1."""
    if narrow.is_float and wide.is_float:
        return narrow.mantissa <= wide.mantissa and narrow.exponent <= wide.exponent
    if narrow.is_int and wide.is_float:
        return max(-narrow.int_min, narrow.int_max) <= 1 << wide.mantissa + 1
    if narrow.is_int and wide.is_int:
        return narrow.int_min >= wide.int_min and narrow.int_max <= wide.int_max
    return narrow.is_bool and (wide.is_int or wide.is_float)
