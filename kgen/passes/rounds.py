"""Joins rounds of reductions, for rows that are better read once than exactly as written.

A sum of exponentials below the row's own maximum needs no maximum beforehand: threads sum relative to the greatest
element that they have seen, and rescale (M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax",
2018).  Both are then known after one round.

    %1 = reduce<max> %0               %1 = reduce<max> %0
    %2 = sub %0, %1             ->    %2 = reduce<exp_sum> %0
    %3 = exp %2
    %4 = reduce<sum> %3
"""

from __future__ import annotations

from dataclasses import replace

from kgen.ir.kernel import Kernel, Op, Reduction
from kgen.passes.dce import dce


def join_rounds(kernel: Kernel) -> Kernel:
    """Not exact, as a sum is not: the sum's terms are rounded otherwise.  The same kernel where nothing joins."""
    ops = list(kernel.ops)
    for number, op in enumerate(ops):
        source = _joins(kernel, op)
        if source is not None and isinstance(op.attr, Reduction):
            ops[number] = replace(op, args=(source,), attr=replace(op.attr, kind="exp_sum"))
    return kernel if ops == list(kernel.ops) else dce(replace(kernel, ops=tuple(ops)))


def _joins(kernel: Kernel, op: Op) -> int | None:
    """The ``x`` of ``sum(exp(x - max(x)))``."""
    if not (isinstance(op.attr, Reduction) and op.attr.kind == "sum" and op.dtype.is_float):
        return None
    term = kernel.ops[op.args[0]]
    if term.name != "exp" or term.dtype is not op.dtype:
        return None
    source = shifted_by_peak(kernel, term.args[0], op.attr.axes)
    return source if source is not None and kernel.ops[source].shape == term.shape else None


def shifted_by_peak(kernel: Kernel, number: int, axes: tuple[int, ...]) -> int | None:
    """The ``x`` of ``x - max(x)`` over these axes; never above 0, and 0 somewhere in each row."""
    op = kernel.ops[number]
    if op.name != "sub":
        return None
    x, peak = op.args[0], kernel.ops[op.args[1]]
    attr = peak.attr
    if not (isinstance(attr, Reduction) and attr.kind == "max" and peak.args == (x,) and attr.axes == axes):
        return None
    # Without keepdims the maximum broadcasts along the leading axes only.
    aligned = attr.keepdims or axes == tuple(range(len(axes)))
    return x if aligned else None


def is_share(kernel: Kernel, op: Op) -> bool:
    """Whether this divides ``exp(x - max(x))`` by its sum: a number up to 1 by one that is at least 1."""
    if op.name != "div":
        return False
    above, below = kernel.ops[op.args[0]], kernel.ops[op.args[1]]
    if above.name != "exp" or not isinstance(below.attr, Reduction):
        return False
    x = shifted_by_peak(kernel, above.args[0], below.attr.axes)
    whole = {"sum": op.args[0], "exp_sum": x}
    return x is not None and below.args == (whole.get(below.attr.kind),)
