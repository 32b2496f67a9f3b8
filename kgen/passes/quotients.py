"""Quotients by what may be the constant -0.0 become ``div_rn``, of whose sign the compiler assumes nothing.

%3 = where %2, %0, %1 : f32[n0]  # %1 is -0.0        %3 = where %2, %0, %1 : f32[n0]
%5 = div %4, %3 : f32[n0]                       ->    %5 = div_rn %4, %3 : f32[n0]

NVVM of CUDA 13.0 takes -0.0 for no negative number, and then (u / v) < 0 is false for a u that is not negative. It sees
the constant through choices and arithmetic, and not through functions, minima and maxima.
"""

from __future__ import annotations

import math

from kgen.ir.graph import Graph, Op
from kgen.passes.rewrite import constant
from kgen.records import replace

_SEEN_THROUGH = frozenset({"where", "add", "sub", "mul", "div", "fma", "neg", "cast"})


def quotients(kernel: Graph) -> Graph:
    if not any(map(_is_minus_zero, kernel.ops)):
        return kernel
    found: set[int] = set()  # what may be -0.0
    for number, op in enumerate(kernel.ops):
        if _is_minus_zero(op) or (op.name in _SEEN_THROUGH and not found.isdisjoint(op.args)):
            found.add(number)
    ops = (replace(op, name="div_rn") if op.name == "div" and op.args[1] in found else op for op in kernel.ops)
    return replace(kernel, ops=tuple(ops))


def _is_minus_zero(op: Op) -> bool:
    value = constant(op) if op.dtype.is_float else None
    return value == 0 and math.copysign(1, value) < 0
