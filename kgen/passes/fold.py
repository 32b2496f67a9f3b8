"""Constant folding in Python numbers, of exact ops only.

float32 arithmetic runs in float64 and is rounded once, which gives the correctly rounded result for
``+ - * /`` (float64 has more than twice the digits of float32).

    %0 = const 2.0 : f32
    %1 = const 3.0 : f32      ->    %0 = const 5.0 : f32
    %2 = add %0, %1 : f32
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from kgen.dtypes import INT64, DType
from kgen.ir.builder import Builder
from kgen.ir.graph import CastMode, Graph, Op
from kgen.literals import fmod
from kgen.passes.rewrite import constant, rewrite

_INTS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg, "abs": abs,
    "floordiv": lambda a, b: a // b if b else 0, "mod": lambda a, b: a % b if b else 0,
    "fmod": lambda a, b: fmod(a, b) if b else 0,
    "min": min, "max": max, "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.invert,
}  # fmt: skip

_FLOATS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg, "abs": abs,
    "div": operator.truediv,
}  # fmt: skip

_BOOLS: dict[str, Callable[..., Any]] = {
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.not_,
}  # fmt: skip

_COMPARE: dict[str, Callable[..., Any]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip


def fold(kernel: Graph) -> Graph:
    return rewrite(kernel, _fold)


def _fold(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
    if op.name == "index" and op.shape[0] == 1:
        return builder.const(0, INT64)
    values = [constant(a) for a in args]
    if not values or any(v is None for v in values):
        return None
    if op.name == "cast":
        return _fold_cast(builder, op, args[0].dtype, values[0])
    kind = args[0].dtype
    table = _BOOLS if kind.is_bool else _INTS if kind.is_int else _FLOATS
    function = _COMPARE.get(op.name) or table.get(op.name)
    if function is None:
        return None
    try:
        result = function(*values)
    except (ZeroDivisionError, OverflowError):
        return None
    return _constant(builder, result, op.dtype)


def _constant(builder: Builder, value: Any, dtype: DType) -> int:
    if dtype.is_int:
        value &= (1 << dtype.bits) - 1  # two's complement
        if dtype.signed and value > dtype.int_max:
            value -= 1 << dtype.bits
    return builder.const(value, dtype)


def _fold_cast(builder: Builder, op: Op, source: DType, value: Any) -> int | None:
    mode = op.attr
    if not isinstance(mode, CastMode) or op.dtype.is_narrow or op.dtype.is_complex:
        return None
    if op.dtype.is_bool:
        return builder.const(value != 0, op.dtype)
    if op.dtype.is_float:
        # An integer beyond 2^53 would be rounded twice on its way to float32: first to float64.
        twice = source.kind < op.dtype.kind and abs(value) > 2**53 and op.dtype.size == 4
        exact = mode.rounding == "rne" and not mode.saturate and not twice
        return builder.const(float(value), op.dtype) if exact else None
    if source.is_float:
        return builder.const(_truncated(value, op.dtype), op.dtype) if mode.rounding == "rz" else None
    if mode.saturate:
        return builder.const(_clamped(value, op.dtype), op.dtype)
    return _constant(builder, int(value), op.dtype)


def _truncated(value: float, dtype: DType) -> int:
    """A float towards zero and clamped to the range of an integer dtype; NaN gives 0."""
    if math.isnan(value):
        return 0
    return _clamped(value if math.isinf(value) else math.trunc(value), dtype)


def _clamped(value: float, dtype: DType) -> int:
    return int(max(dtype.int_min, min(dtype.int_max, value)))
