"""Rebuilds a kernel op by op; a rule sees the rewritten arguments of each op."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgen.ir.builder import Builder
from kgen.ir.graph import Graph, Op, from_bits
from kgen.records import replace

#: Given the builder, an op and its rewritten arguments, the number of its replacement, or None to keep it.
Rule = Callable[[Builder, Op, Sequence[Op]], int | None]


def rewrite(kernel: Graph, rule: Rule) -> Graph:
    """Apply ``rule`` to every op, operands first.  Equal ops become one; the user's names are kept.

    Ops that a rule makes get the span of the op that they replace.
    """
    builder = Builder()
    moved: list[int] = []
    for op in kernel.ops:
        here = Op(op.name, tuple(moved[a] for a in op.args), op.dtype, op.shape, op.attr, op.label, op.span)
        if op.name == "store":
            builder.ops.append(here)
            moved.append(len(builder.ops) - 1)
            continue
        builder.site = op.span
        number = rule(builder, here, [builder.ops[a] for a in here.args])
        if number is not None:
            number = _of_shape(builder, number, here)
        if number is None:
            number = builder.add(here)
        if op.label is not None and builder.ops[number].label is None and builder.ops[number].args:
            new = builder.ops[number]
            builder.ops[number] = Op(new.name, new.args, new.dtype, new.shape, new.attr, op.label, new.span)
        moved.append(number)
    return replace(kernel, ops=tuple(builder.ops))


def _of_shape(builder: Builder, number: int, op: Op) -> int | None:
    """The replacement if it has the shape of the op, which a reduction may depend on; a constant gets that shape."""
    found = builder.ops[number]
    if found.shape == op.shape:
        return number
    return builder.add(Op("const", (), op.dtype, op.shape, found.attr)) if found.name == "const" else None


def constant(op: Op) -> bool | int | float | None:
    """The value of a ``const`` op, None for any other."""
    return from_bits(op.attr, op.dtype) if op.name == "const" and isinstance(op.attr, int) else None
