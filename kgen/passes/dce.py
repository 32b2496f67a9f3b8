"""Dead code elimination: removes ops that no store needs, and by-value scalars that no op reads.

Operands are kept, since they are the signature of the call; the emitter leaves out those that are never accessed.

    %0 = load a : f32[n0]            %0 = load a : f32[n0]
    %1 = exp %0 : f32[n0]      ->    store %0, out
    store %0, out
"""

from __future__ import annotations

from kgen.ir.graph import Graph, Op
from kgen.records import replace


def dce(kernel: Graph) -> Graph:
    live = [op.name == "store" for op in kernel.ops]
    for number in range(len(kernel.ops) - 1, -1, -1):
        if live[number]:
            for arg in kernel.ops[number].args:
                live[arg] = True
    kept = sorted(
        {
            op.attr
            for op, alive in zip(kernel.ops, live, strict=True)
            if alive and op.name == "scalar" and isinstance(op.attr, int)
        }
    )
    moved: dict[int, int] = {}
    ops: list[Op] = []
    for number, op in enumerate(kernel.ops):
        if live[number]:
            moved[number] = len(ops)
            attr = kept.index(op.attr) if op.name == "scalar" and isinstance(op.attr, int) else op.attr
            ops.append(Op(op.name, tuple(moved[a] for a in op.args), op.dtype, op.shape, attr, op.label, op.span))
    return replace(kernel, scalars=tuple(kernel.scalars[i] for i in kept), ops=tuple(ops))
