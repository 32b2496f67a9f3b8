"""Values without some of their axes of one element, computed without these from the start.

%0 = load x : f32[n0, 1, n1]         ->     %0 = load x[0, 2] : f32[n0, n1]
%1 = neg %0 : f32[n0, 1, n1]                %1 = neg %0 : f32[n0, n1]
"""

from __future__ import annotations

from collections.abc import Collection

from kgen.ir.builder import Builder
from kgen.ir.graph import Gather, Graph, IndexMap, Op, Shape
from kgen.records import replace


def without_axes(kernel: Graph, builder: Builder, number: int, axes: Collection[int]) -> int | None:
    """The number of a value without ``axes``, each of one element.

    None where a reduction below it has them, or it is read from an array that the program writes: updates are ordered
    by the elements that they read.
    """
    rank = len(builder.ops[number].shape)
    dropped = frozenset(axis - rank for axis in axes)  # from the right, where the shapes of arguments are aligned
    moved: dict[int, int] = {}
    for one in sorted(_with_these(builder, number, dropped)):
        op = builder.ops[one]
        if isinstance(op.attr, IndexMap | Gather) and kernel.operands[kernel.base(op.attr.operand)].role != "input":
            return None
        new = _without(op, dropped, tuple(moved.get(a, a) for a in op.args), builder)
        if new is None:
            return None
        moved[one] = new if isinstance(new, int) else builder.add(new)
    return moved[number]


def _with_these(builder: Builder, number: int, dropped: frozenset[int]) -> set[int]:
    """The value, and those below it that have one of these axes."""
    found: set[int] = set()
    stack = [number]
    while stack:
        one = stack.pop()
        op = builder.ops[one]
        if one in found or all(axis < -len(op.shape) for axis in dropped):
            continue
        found.add(one)
        if op.name not in ("reduce", "expand"):
            stack.extend(op.args)
    return found


def _without(op: Op, dropped: frozenset[int], args: tuple[int, ...], builder: Builder) -> Op | int | None:
    """The op, or the number of what has its value."""
    rank = len(op.shape)
    shape = tuple(dim for axis, dim in enumerate(op.shape, -rank) if axis not in dropped)
    if op.name == "reduce":
        return None
    if op.name == "expand":
        return _expanded(op, shape, args[0], builder.ops[args[0]].shape)
    if isinstance(op.attr, IndexMap):
        kept = tuple(axis for place, axis in enumerate(op.attr.axes, -rank) if place not in dropped)
        return replace(op, shape=shape, attr=replace(op.attr, axes=kept))
    if op.name == "index":
        assert isinstance(op.attr, int)
        if op.attr in dropped:
            return builder.const(0, op.dtype)
        return replace(op, shape=shape, attr=op.attr + sum(axis > op.attr for axis in dropped))
    return replace(op, shape=shape, args=args)


def _expanded(op: Op, shape: Shape, arg: int, own: Shape) -> Op | int | None:
    """An argument with fewer inserted axes."""
    if shape == own:
        return arg
    return replace(op, shape=shape) if len(shape) > len(own) else None
