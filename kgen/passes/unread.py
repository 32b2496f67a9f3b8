"""Removes stores to buffers of the program that nothing reads, as a `let` that is indexed and not used leaves them.

%1 = reduce<sum, axes=1> %0 : f32[n0]
store %1, sum_1                             ->
%3 = gather sum_1 %2 : f32[n1]
"""

from __future__ import annotations

from kgen.ir.graph import Gather, Graph, IndexMap, Op, Scatter
from kgen.passes.dce import dce
from kgen.records import replace


def unread(kernel: Graph) -> Graph:
    if not kernel.stored_buffers:
        return kernel
    live, read = [False] * len(kernel.ops), set[int]()
    for number in range(len(kernel.ops) - 1, -1, -1):
        op = kernel.ops[number]
        if op.name == "store":
            assert isinstance(op.attr, IndexMap | Scatter)
            live[number] = kernel.operands[op.attr.operand].role != "buffer" or op.attr.operand in read
        elif live[number] and isinstance(op.attr, IndexMap | Gather):
            read.add(op.attr.operand)
        for a in op.args if live[number] else ():
            live[a] = True
    return dce(replace(kernel, ops=_kept(kernel.ops, live)))


def _kept(ops: tuple[Op, ...], live: list[bool]) -> tuple[Op, ...]:
    moved: dict[int, int] = {}
    found: list[Op] = []
    for number, op in enumerate(ops):
        if live[number]:
            moved[number] = len(found)
            found.append(replace(op, args=tuple(moved[a] for a in op.args)))
    return tuple(found)
