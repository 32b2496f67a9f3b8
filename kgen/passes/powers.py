"""Small integer powers become multiplications, by repeated squaring in a fixed order.

%1 = powi<3> %0 : f32[n0]    ->    %1 = mul %0, %0 : f32[n0]
                                   %2 = mul %1, %0 : f32[n0]
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.ir.builder import Builder
from kgen.ir.graph import Graph, Op
from kgen.passes.rewrite import rewrite


def powers(kernel: Graph) -> Graph:
    return rewrite(kernel, _multiply)


def _multiply(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
    if op.name != "powi" or not isinstance(op.attr, int):
        return None
    square, n = op.args[0], op.attr
    factors: list[int] = []
    while n:
        if n & 1:
            factors.append(square)
        n >>= 1
        if n:
            square = builder.op("mul", (square, square), shape=op.shape)
    result: int | None = None
    for factor in reversed(factors):  # the largest power first: x**7 is ((x**4)*(x**2))*x
        result = factor if result is None else builder.op("mul", (result, factor), shape=op.shape)
    if result is None:
        return builder.const(1 if op.dtype.is_int else 1.0, op.dtype)
    return result
