"""``f(x)`` and ``f(-x)`` from one value, where one is a constant less the other.

erfc x, erfc (-x)        ->  e = erfc |x|:         x < 0 ? 2 - e : e    and    x < 0 ? e : 2 - e
normcdf x, normcdf (-x)  ->  c = normcdf (-|x|):   x < 0 ? c : 1 - c    and    x < 0 ? 1 - c : c

The value that is computed is the small one, so both keep the bounds of ``kgen/ir/ops.py``: 2 - erfc |x| is within 2.5
units in the last place in float32, 1 - normcdf (-|x|) within 3.5.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.ir.builder import Builder
from kgen.ir.graph import Graph, Op
from kgen.passes.rewrite import rewrite

#: ``f(x) + f(-x)``, and whether the small value is that of a negative argument.
_FUNCTIONS: dict[str, tuple[float, bool]] = {"erfc": (2.0, False), "normcdf": (1.0, True)}
_ODD = frozenset({"mul", "div"})  # the sign of either operand is that of the result

Magnitude = tuple[int, bool]  # a number that values and their negatives share, and whether this is the negative


def reflections(kernel: Graph) -> Graph:
    magnitudes = _magnitudes(kernel.ops)
    wanted = {(op.name, magnitudes[op.args[0]]) for op in kernel.ops if op.name in _FUNCTIONS}
    both = {(name, value) for name, (value, negative) in wanted if (name, (value, not negative)) in wanted}
    if not both:
        return kernel
    originals = iter(kernel.ops)
    first: dict[int, tuple[int, bool]] = {}  # of each magnitude, the argument that came first

    def rule(builder: Builder, op: Op, args: Sequence[Op]) -> int | None:
        original = next(o for o in originals if o.name != "store")
        if op.name not in _FUNCTIONS:
            return None
        value, negative = magnitudes[original.args[0]]
        if (op.name, value) not in both:
            return None
        argument, is_negative = first.setdefault(value, (op.args[0], negative))
        return _reflected(builder, op, argument, negative != is_negative)

    return rewrite(kernel, rule)


def _reflected(builder: Builder, op: Op, argument: int, negated: bool) -> int:
    """``op`` of the argument, or of its negative."""

    def add(name: str, *args: int) -> int:
        return builder.op(name, args, shape=op.shape)

    total, of_negative = _FUNCTIONS[op.name]
    magnitude = add("abs", argument)
    small = add(op.name, add("neg", magnitude) if of_negative else magnitude)
    large = add("sub", builder.const(total, op.dtype), small)
    is_negative = add("lt", argument, builder.const(0.0, op.dtype))
    return add("where", is_negative, *((small, large) if of_negative != negated else (large, small)))


def _magnitudes(ops: Sequence[Op]) -> list[Magnitude]:
    """Of each op, a number that it shares with its negative."""
    found: list[Magnitude] = []
    numbers: dict[tuple[object, ...], int] = {}
    for number, op in enumerate(ops):
        if op.name == "neg":
            value, negative = found[op.args[0]]
            found.append((value, not negative))
        elif op.name in _ODD and op.dtype.is_float:
            (a, minus_a), (b, minus_b) = (found[n] for n in op.args)
            key = (op.name, op.dtype, op.shape, a, b)
            found.append((numbers.setdefault(key, number), minus_a != minus_b))
        else:
            found.append((number, False))
    return found
