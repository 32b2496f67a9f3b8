"""A remainder beside the quotient of the same integers is computed from it: divisions take much longer than products.

%2 = floordiv %0, %1                 %2 = floordiv %0, %1
%3 = mod %0, %1               ->     %3 = where %1 == 0, 0, %0 - %2 * %1

Not where a constant divides: compilers multiply by its inverse.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.dtypes import BOOL
from kgen.ir.builder import Builder
from kgen.ir.graph import Graph, Op
from kgen.passes.rewrite import rewrite
from kgen.records import replace


def remainders(kernel: Graph) -> Graph:
    divided = {op.args for op in kernel.ops if op.name == "floordiv"}
    if not any(op.name == "mod" and op.args in divided for op in kernel.ops):
        return kernel
    # `rewrite` numbers ops anew, so those to replace are marked by an attribute, which a remainder has not.
    ops = (replace(op, attr="beside") if op.name == "mod" and op.args in divided else op for op in kernel.ops)
    return rewrite(replace(kernel, ops=tuple(ops)), _remainder)


def _remainder(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
    if op.attr != "beside":
        return None
    if not op.dtype.is_int or args[1].name == "const":
        return builder.add(replace(op, attr=None))
    zero = builder.const(0, op.dtype)
    quotient = builder.op("floordiv", op.args, dtype=op.dtype)
    product = builder.op("mul", (quotient, op.args[1]), dtype=op.dtype)
    rest = builder.op("sub", (op.args[0], product), dtype=op.dtype)
    divides = builder.op("eq", (op.args[1], zero), dtype=BOOL)
    return builder.op("where", (divides, zero, rest), dtype=op.dtype)
