"""Values that can only be one number become that constant: ``3 + (b ? 1 : 0) != 0`` is true for every ``b``.

Each bool and integer has a range; so has a float that such a value was cast to.  Constants, and what an operation makes
of the ranges of its arguments, narrow the range of the dtype.  Where that decides a comparison, the operands of both
sides may need no loads.

    %2 = cast %1 : f32         # of a bool: 0 to 1
    %3 = const inf : f32
    %4 = gt %3, %2 : bool      ->    %4 = const true : bool
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

from kgen.dtypes import DType
from kgen.ir.builder import Builder
from kgen.ir.graph import Graph, Op
from kgen.passes.rewrite import constant, rewrite

#: The least and the greatest value; None for floats that may be anything, NaN included.
Range = tuple[float, float] | None

#: Integers up to this are the same in float32 and in Python.
_EXACT = 1 << 24

_FALSE: tuple[float, float] = (0, 0)
_TRUE: tuple[float, float] = (1, 1)

#: Operations of integers whose least and greatest results are those of the ends.
_ARITHMETIC: dict[str, Callable[..., float]] = {"min": min, "max": max, "add": operator.add, "mul": operator.mul}

_SWAPPED = {"gt": "lt", "ge": "le"}


def ranges(kernel: Graph) -> Graph:
    known: list[Range] = []  # of each op of the builder

    def only_value(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
        for made in builder.ops[len(known) :]:
            known.append(_range(made, [known[a] for a in made.args]))
        if op.name in ("const", "load", "expand") or op.dtype.is_float or op.dtype.is_complex:
            return None
        found = _range(op, [known[a] for a in op.args])
        if found is None or found[0] != found[1]:
            return None
        return builder.const(bool(found[0]) if op.dtype.is_bool else int(found[0]), op.dtype)

    return rewrite(kernel, only_value)


def _range(op: Op, args: Sequence[Range]) -> Range:
    """The range of an op's value, for those of its arguments."""
    found = _narrowed(op, args)
    return _of_dtype(op.dtype) if found is None else found


def _of_dtype(dtype: DType) -> Range:
    if dtype.is_bool:
        return 0, 1
    return (dtype.int_min, dtype.int_max) if dtype.is_int else None


def _narrowed(op: Op, args: Sequence[Range]) -> Range:
    """What the op makes of the ranges; None where it says nothing."""
    match op.name:
        case "const":
            value = constant(op)
            return None if value is None or value != value else (value, value)
        case "size" | "index" | "popcount" | "clz" | "ffs":
            return 0, op.dtype.int_max
        case "expand":
            return args[0]
        case "cast":
            return _cast(op, args[0])
        case "where":
            return _hull(args[1], args[2])
        case "lt" | "le" | "gt" | "ge" | "eq" | "ne":
            return _comparison(op, args)
        case "and" | "or" | "not" if op.dtype.is_bool:
            return _logic(op.name, args)
        case "min" | "max" | "add" | "mul" if op.dtype.is_int:
            a, b = args
            function = _ARITHMETIC[op.name]
            return None if a is None or b is None else _inside(op.dtype, [function(x, y) for x in a for y in b])
    return None


def _inside(dtype: DType, ends: Sequence[float]) -> Range:
    """From the least to the greatest of the ends; None where the value might wrap."""
    least, greatest = min(ends), max(ends)
    return (least, greatest) if dtype.int_min <= least and greatest <= dtype.int_max else None


def _cast(op: Op, of: Range) -> Range:
    if of is None or op.dtype.is_complex or op.dtype.is_narrow:
        return None
    least, greatest = of
    if op.dtype.is_bool:
        return _TRUE if least > 0 or greatest < 0 else _FALSE if least == greatest == 0 else None
    if not all(math.isfinite(end) and end == int(end) for end in of):
        return None  # an end might be rounded
    if op.dtype.is_float:
        return of if max(-least, greatest) <= _EXACT else None
    return _inside(op.dtype, of)


def _hull(one: Range, other: Range) -> Range:
    return None if one is None or other is None else (min(one[0], other[0]), max(one[1], other[1]))


def _logic(name: str, args: Sequence[Range]) -> Range:
    if name == "not":
        return {_FALSE: _TRUE, _TRUE: _FALSE}.get(args[0] or (0, 1))
    decided = _FALSE if name == "and" else _TRUE
    return decided if decided in args else None


def _comparison(op: Op, args: Sequence[Range]) -> Range:
    """Whether all values of one side are below, or all above, those of the other, or both are one value."""
    name, (a, b) = op.name, args
    if name in _SWAPPED:
        name, a, b = _SWAPPED[name], b, a
    if a is None or b is None:
        return None
    same = op.args[0] == op.args[1]
    match name:
        case "lt":
            always, never = a[1] < b[0], a[0] >= b[1] or same
        case "le":
            always, never = a[1] <= b[0] or same, a[0] > b[1]
        case _:
            always, never = same or (a == b and a[0] == a[1]), a[1] < b[0] or b[1] < a[0]
    if name == "ne":
        always, never = never, always
    return _TRUE if always else _FALSE if never else None
