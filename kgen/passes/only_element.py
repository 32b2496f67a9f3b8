"""What reductions give for an only element.

max x, min x, prod x, over one       ->  x            (without the axis, where the result does not keep it)
argmax x, argmin x, over one         ->  0
norm x, over one element             ->  sqrt (x * x) (floats)
sum x, mean x, over one element      ->  x + 0.0      (floats: a sum begins at +0.0)
sum x, prod x, over one element      ->  x            (integers, as the result's dtype)
logsumexp x, over one element        ->  x + 0.0      (not of complex numbers: their angles are reduced)
any x, all x, over one element       ->  x as a bool  (count_nonzero: then as an integer)
var x, std x, over one element       ->  x - x        (floats; with a correction of 1 and more (x - x) / 0.0)
"""

from __future__ import annotations

from collections.abc import Callable

from kgen.dtypes import FLOAT32, FLOAT64
from kgen.ir.builder import Builder
from kgen.ir.graph import CastMode, Op, Reduction
from kgen.passes.rewrite import constant


def only_element(builder: Builder, op: Op, arg: Op) -> int | None:
    """The value of a reduction whose argument has its shape; None where the reduction does more than is known here."""
    assert isinstance(op.attr, Reduction)
    rule = _RULES.get(op.attr.kind)
    return None if rule is None else rule(builder, op, arg)


def _itself(builder: Builder, op: Op, arg: Op) -> int | None:
    return op.args[0] if op.dtype is arg.dtype else None


def _product(builder: Builder, op: Op, arg: Op) -> int | None:
    return _converted(builder, op, op.args[0]) if op.dtype.is_int else _itself(builder, op, arg)


def _sum(builder: Builder, op: Op, arg: Op) -> int | None:
    return _converted(builder, op, op.args[0]) if op.dtype.is_int else _mean(builder, op, arg)


def _mean(builder: Builder, op: Op, arg: Op) -> int | None:
    return op.args[0] if op.dtype is arg.dtype and is_one(builder, arg) else _added(builder, op, arg)


def _added(builder: Builder, op: Op, arg: Op) -> int | None:
    """The element after a sum's +0.0."""
    if op.dtype is not arg.dtype or not op.dtype.is_float:
        return None
    return builder.op("add", (op.args[0], builder.const(0.0, op.dtype)), shape=op.shape)


def _variance(builder: Builder, op: Op, arg: Op) -> int | None:
    if op.dtype is not arg.dtype or op.dtype not in (FLOAT32, FLOAT64):
        return None
    assert isinstance(op.attr, Reduction)
    zero = builder.op("sub", (op.args[0], op.args[0]), shape=op.shape)
    if op.attr.correction < 1:
        return zero
    return builder.op("div", (zero, builder.const(0.0, op.dtype)), shape=op.shape)


def _norm(builder: Builder, op: Op, arg: Op) -> int | None:
    if op.dtype is not arg.dtype or op.dtype not in (FLOAT32, FLOAT64):
        return None
    square = builder.op("mul", (op.args[0], op.args[0]), shape=op.shape)
    return builder.op("sqrt", (square,), shape=op.shape)


def _place(builder: Builder, op: Op, arg: Op) -> int:
    return builder.const(0, op.dtype)


def _truth(builder: Builder, op: Op, arg: Op) -> int | None:
    """Whether an element is not 0, as a bool or as an integer."""
    if arg.dtype.is_complex or arg.dtype.is_narrow:
        return None
    found = op.args[0]
    if not arg.dtype.is_bool:
        found = builder.op("ne", (found, builder.const(0, arg.dtype)), shape=op.shape)
    return _converted(builder, op, found)


def _converted(builder: Builder, op: Op, found: int) -> int:
    """A bool or an integer in the dtype of an op, which has all its values."""
    if builder.ops[found].dtype is op.dtype:
        return found
    return builder.op("cast", (found,), dtype=op.dtype, shape=op.shape, attr=CastMode("rz", False))


_RULES: dict[str, Callable[[Builder, Op, Op], int | None]] = {
    **dict.fromkeys(("min", "max"), _itself),
    **dict.fromkeys(("argmin", "argmax"), _place),
    **dict.fromkeys(("any", "all", "count_nonzero"), _truth),
    **dict.fromkeys(("var", "std"), _variance),
    "prod": _product,
    "sum": _sum,
    "mean": _mean,
    "logsumexp": _added,
    "norm": _norm,
}


def is_zero(builder: Builder, op: Op) -> bool:
    """Whether this is ``x - x``: zero, or NaN."""
    if op.name != "sub" or not op.dtype.is_float:
        return False
    a, b = (builder.ops[n] for n in op.args)
    cast_alike = a.name == b.name == "cast" and (a.args, a.attr, a.dtype) == (b.args, b.attr, b.dtype)
    return op.args[0] == op.args[1] or cast_alike


def is_one(builder: Builder, op: Op) -> bool:
    """Whether this is ``x - x + 1``: one, or NaN."""
    return op.name == "add" and constant(builder.ops[op.args[1]]) == 1 and is_zero(builder, builder.ops[op.args[0]])
