"""Values that a kernel of its own could compute ahead of the reductions.

Where operands lie in several orders, one kernel cannot reduce rows and read all of them in whole sectors of memory.  An
elementwise kernel can, through boxes; it stores the value, in C order, that the reductions then read instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.ir.graph import Graph, Op, Reduction

_LEAVES = frozenset({"const", "scalar", "size", "index"})


def stored_value(kernel: Graph) -> int | None:
    """The last value that takes the place of everything before it: as large as what is reduced, and nothing later uses
    what it is computed from.  Before casts, where that takes fewer bytes: reductions repeat them.  None where there is
    no such value."""
    ops = kernel.ops
    last_use = list(range(len(ops)))
    for number, op in enumerate(ops):
        for a in op.args:
            last_use[a] = number
    reduced = {ops[op.args[0]].shape for op in ops if isinstance(op.attr, Reduction)}
    found, open_until = None, 0
    for number, op in enumerate(ops):
        if op.name in ("reduce", "store"):
            break
        if op.name not in _LEAVES and op.shape in reduced and open_until <= number:
            found = number
        if op.name not in ("const", "scalar", "size"):
            open_until = max(open_until, last_use[number])
    return None if found is None else _narrowest(ops, found)


def _narrowest(ops: Sequence[Op], value: int) -> int:
    """The value, or what it is cast from in fewer bytes."""
    while ops[value].name == "cast":
        (source,) = ops[value].args
        if ops[source].shape != ops[value].shape or ops[source].dtype.size >= ops[value].dtype.size:
            break
        value = source
    return value
