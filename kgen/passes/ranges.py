"""Values that can only be one number become that constant: ``3 + (b ? 1 : 0) != 0`` is true for every ``b``.  Small
integers of 64 bits become floats by way of 32 bits, which is faster: ``cast<float>(x >> s & 15)``.

Each bool and integer has a range; so has a float that such a value was cast to, and what is computed of such floats.
Constants, and what an operation makes of the ranges of its arguments, narrow the range of the dtype.  Where that
decides a comparison, the operands of both sides may need no loads.

    %2 = cast %1 : f32         # of a bool: 0 to 1
    %3 = const inf : f32
    %4 = gt %3, %2 : bool      ->    %4 = const true : bool

A quotient or remainder by what is 0 or 1 becomes a choice, as divisions by 0 take several times as long as others; and
0 or 1 times itself is that.

    %3 = div %0, %2 : f32      ->    %5 = div %0, %3 : f32    # %3 = const 1.0
                                     %6 = div %0, %4 : f32    # %4 = const 0.0
                                     %7 = where %1, %5, %6 : f32
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kgen.dtypes import BOOL, FLOAT32, FLOAT64, INT32, DType
from kgen.ir.builder import Builder
from kgen.ir.graph import CastMode, Graph, Op
from kgen.passes.conditions import Range, ranges_where
from kgen.passes.float_ranges import ARITHMETIC, WHOLE, is_exact, of_floats
from kgen.passes.rewrite import constant, rewrite
from kgen.records import replace

_FALSE: tuple[float, float] = (0, 0)
_TRUE: tuple[float, float] = (1, 1)

_ROUNDINGS = {"rne": "round", "rd": "floor", "ru": "ceil", "rz": "trunc"}

_QUOTIENTS = frozenset({"div", "floordiv", "mod", "fmod"})
_SWAPPED = {"gt": "lt", "ge": "le"}


def ranges(kernel: Graph) -> Graph:
    known: list[Range] = []  # of each op of the builder
    # Where one of these is 0, nothing is stored.
    never_empty = set.intersection(*({*store.shape} for store in kernel.stores)) if kernel.stores else set()

    def range_of(builder: Builder, made: Op) -> Range:
        if made.name == "size" and made.attr in never_empty:
            return 1, made.dtype.int_max
        return _range(made, _of_arguments(builder.ops, known, made))

    def rule(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
        while len(known) < len(builder.ops):
            known.append(range_of(builder, builder.ops[len(known)]))
        if op.name == "cast" and op.dtype in (FLOAT32, FLOAT64) and args[0].dtype.is_int:
            return _by_32_bits(builder, op, args[0], known[op.args[0]])
        chosen = _by_zero_or_one(builder, op, args[1]) if len(args) == 2 and known[op.args[1]] == (0, 1) else None
        if chosen is not None:
            return chosen
        if op.name in ("const", "load", "expand") or op.dtype.is_float or op.dtype.is_complex:
            return None
        found = range_of(builder, op)
        if found is None or found[0] != found[1]:
            return None
        return builder.const(bool(found[0]) if op.dtype.is_bool else int(found[0]), op.dtype)

    return rewrite(kernel, rule)


def _of_arguments(ops: Sequence[Op], known: Sequence[Range], op: Op) -> list[Range]:
    """The ranges of an op's arguments; of those of a ``where``, each where it is chosen."""
    if op.name != "where":
        return [known[a] for a in op.args]
    condition, *chosen = op.args
    found = (_where(ops, known, condition, a, holds=n == 0) for n, a in enumerate(chosen))
    return [known[condition], *found]


def _where(ops: Sequence[Op], known: Sequence[Range], condition: int, number: int, *, holds: bool) -> Range:
    """The range of a value where a condition holds, or where it does not."""
    given, op = ranges_where(ops, known, condition, holds), ops[number]
    if number in given:
        return given[number]
    return _range(op, [given.get(a, known[a]) for a in op.args]) if given.keys() & {*op.args} else known[number]


def _by_32_bits(builder: Builder, op: Op, argument: Op, found: Range) -> int | None:
    """The cast of an integer of 64 bits to a float, by way of 32 bits where it fits these."""
    if argument.dtype.size < 8 or found is None or _inside(INT32, found) is None:
        return None
    narrow = builder.op("cast", op.args, dtype=INT32, attr=CastMode("rz", False))
    return builder.add(replace(op, args=(narrow,)))


def _by_zero_or_one(builder: Builder, op: Op, second: Op) -> int | None:
    """A quotient or remainder by an integer that is 0 or 1, or by the float of one, as one by each; and such an integer
    times itself.  Of integers, those by 0 are 0.
    """
    if op.name == "mul" and op.dtype.is_int:
        return op.args[0] if op.args[1] == op.args[0] else None
    if op.name in _QUOTIENTS and op.dtype.is_int:
        zero = builder.const(0, op.dtype)
        if op.name != "floordiv":
            return zero
        is_one = builder.op("ne", (op.args[1], zero), dtype=BOOL)
        return builder.op("where", (is_one, op.args[0], zero), dtype=op.dtype, shape=op.shape)
    if op.name not in _QUOTIENTS or not op.dtype.is_float:
        return None
    divisor = second.args[0] if second.name == "cast" else op.args[1]
    dtype = builder.ops[divisor].dtype
    if dtype.is_float:
        return None
    is_one = divisor if dtype.is_bool else builder.op("ne", (divisor, builder.const(0, dtype)), dtype=BOOL)
    by_one, by_zero = (
        builder.op(op.name, (op.args[0], builder.const(value, op.dtype)), dtype=op.dtype) for value in (1.0, 0.0)
    )
    return builder.op("where", (is_one, by_one, by_zero), dtype=op.dtype, shape=op.shape)


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
        case name if op.dtype.is_int:
            return _integers(op.dtype, name, args)
        case name if op.dtype.is_float:
            return of_floats(op.dtype, name, args)
    return None


def _integers(dtype: DType, name: str, args: Sequence[Range]) -> Range:
    """The range of bitwise and arithmetic operations."""
    if name == "and":
        highest = [end[1] for end in args if end is not None and end[0] >= 0]
        return (0, min(highest)) if highest else None
    if name in ("floordiv", "mod"):
        return _division(name, *args)
    function = ARITHMETIC.get(name)
    if function is None or args[0] is None or args[1] is None:
        return None
    return _inside(dtype, [function(x, y) for x in args[0] for y in args[1]])


def _division(name: str, of: Range, by: Range) -> Range:
    """The range of a quotient that is rounded down, or of its remainder; both are 0 where 0 divides."""
    if of is None or by is None or by[0] < 0:
        return None
    if name == "mod":
        return 0, max(by[1] - 1, 0)
    return (0, of[1]) if of[0] >= 0 else None


def _inside(dtype: DType, ends: Sequence[float]) -> Range:
    """From the least to the greatest of the ends; None where the value might wrap."""
    least, greatest = min(ends), max(ends)
    return (least, greatest) if dtype.int_min <= least and greatest <= dtype.int_max else None


def _cast(op: Op, of: Range) -> Range:
    if of is None or op.dtype.is_complex:
        return None
    least, greatest = of
    if op.dtype.is_bool:
        return _TRUE if least > 0 or greatest < 0 else _FALSE if least == greatest == 0 else None
    assert isinstance(op.attr, CastMode)
    if op.dtype.is_float:
        return _rounded(op.dtype, op.attr, of)
    if not all(map(math.isfinite, of)):
        return None
    return _inside(op.dtype, [WHOLE[_ROUNDINGS[op.attr.rounding]](end) for end in of])


def _rounded(dtype: DType, mode: CastMode, of: tuple[float, float]) -> Range:
    """The range as floats: where an end might be rounded, all that can be said is that none is NaN."""
    if all(is_exact(end, dtype) for end in of):
        return of
    overflows = dtype.infinity or (mode.saturate and all(map(math.isfinite, of)))
    return (-math.inf, math.inf) if overflows else None


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
