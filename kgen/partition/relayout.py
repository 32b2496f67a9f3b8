"""Copies of operands in another order of their axes.

Operands that are consecutive along different axes cannot all be read in whole sectors by one kernel that reduces rows.
A kernel ahead of it then copies some of them, each into a buffer in the order in which the others lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.ir.graph import Graph, IndexMap, Op, Operand
from kgen.partition.step import Access, Step
from kgen.records import replace

Order = tuple[int, ...]  #: an operand's axes as its copy has them in memory, the slowest first


def with_copies(graph: Graph, steps: Sequence[Step], orders: Mapping[int, Order]) -> tuple[Graph, tuple[Step, ...]]:
    """The program with more operands, and the steps: those that make the copies, then the others, which read them.

    ``orders``: for each operand that is copied, which no step may write.
    """
    operands, copies = list(graph.operands), dict[int, int]()
    for operand, order in orders.items():
        original = operands[operand]
        copies[operand] = len(operands)
        name = f"{original.name}_copy"
        while any(o.name == name for o in operands):
            name += "_"
        operands.append(Operand(name, original.dtype, tuple(original.shape[a] for a in order), "buffer"))
    whole = tuple(operands)
    made = [_copy(graph, whole, operand, copies[operand], order) for operand, order in orders.items()]
    moved = [_moved(step, whole, copies, orders) for step in steps]
    return replace(graph, operands=whole), (*made, *moved)


def _copy(graph: Graph, operands: tuple[Operand, ...], operand: int, copy: int, order: Order) -> Step:
    """The step that copies an operand."""
    first = next(op for op in graph.ops if isinstance(op.attr, IndexMap) and op.attr.operand == operand)
    shape = operands[operand].shape
    axes = tuple(range(len(shape)))
    moved = tuple(order.index(a) for a in axes)
    load = Op("load", (), first.dtype, shape, IndexMap(operand, axes), first.label, first.span)
    store = Op("store", (0,), first.dtype, shape, IndexMap(copy, moved))
    accesses = (Access(copy, moved, False, True), Access(operand, axes, True, False))
    return Step(Graph(operands, (), (load, store)), shape, accesses)


def _moved(step: Step, operands: tuple[Operand, ...], copies: Mapping[int, int], orders: Mapping[int, Order]) -> Step:
    """A step that reads the copies."""

    def axes_of(operand: int, axes: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return tuple(None if a is None else orders[operand].index(a) for a in axes)

    ops: list[Op] = []
    for op in step.graph.ops:
        attr = op.attr
        if isinstance(attr, IndexMap) and attr.operand in copies:
            attr = IndexMap(copies[attr.operand], axes_of(attr.operand, attr.axes))
        ops.append(replace(op, attr=attr))
    accesses = [
        replace(t, operand=copies[t.operand], axes=axes_of(t.operand, t.axes)) if t.operand in copies else t
        for t in step.accesses
    ]
    ordered = sorted(accesses, key=lambda t: (not t.writes, t.operand))
    return replace(step, graph=replace(step.graph, operands=operands, ops=tuple(ops)), accesses=tuple(ordered))
