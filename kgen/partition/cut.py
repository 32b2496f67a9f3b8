"""Cuts a program into few kernels.

A kernel walks one space: kept axes, and one set of reduced axes that all its reductions share.  Its outputs have either
the kept axes (one element per row) or all of them.  Without reductions, all outputs have the same shape.  A value that
cannot be computed in the kernel that uses it goes through a buffer: another kernel writes it, and later ones read it
like an input.  This applies to reductions over other axes, and to chains of reductions that are too long
(``kernel_body.py``).  Every other value is computed wherever it is used, and again for each use.

The program is in SSA form: a load gives the element as it was before the call, and a read after an update uses the
stored value directly.  So kernels may run in any order in which none reads an element that an earlier kernel, or
another of its own threads, has updated.  A program may also have buffers, which it stores to and reads: a read follows
all stores.  ``fusion.py`` finds such an order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kgen.diagnostics import Reporter
from kgen.ir.graph import NO_IDENTITY, Graph, IndexMap, Op, Operand, Reduction, Scatter
from kgen.partition.fusion import FusedKernel, Fuser, Orders
from kgen.partition.kernel_body import AxisMap, BodyBuilder, KernelBody, KernelSpace, below, chain_cuts, spread
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Access, Step
from kgen.passes.dce import dce
from kgen.records import replace
from kgen.source import Source


def cut(
    kernel: Graph,
    *,
    chained: bool = True,
    stored: Collection[int] = (),
    spaces: Mapping[int, KernelSpace] | None = None,
) -> tuple[tuple[Operand, ...], tuple[Step, ...]]:
    """The operands with buffers added, and the steps in the order in which they have to run.

    ``chained``: whether one kernel may reduce a row and then use the result to reduce or write the whole row again.
    Then one block (or cluster) has to take the whole row, and to read long ones several times.  ``stored``: values that
    go through buffers as well.  ``spaces``: of the values that have another one than their own shape or reduction:
    reductions that share one with others, over more or fewer axes, and values that are computed along rows.
    """
    builder = BodyBuilder(kernel, chain_cuts(kernel).union(stored), spaces or {}, chained=chained)
    loads, stores = (
        {op.attr.operand for op in kernel.ops if op.name == name and isinstance(op.attr, IndexMap)}
        for name in ("load", "store")
    )
    loads, stores = loads | kernel.gathered, stores | kernel.scattered
    sinks = [n for n, op in enumerate(kernel.ops) if op.name == "store"]
    orders = Orders(
        frozenset(loads & stores) - kernel.stored_buffers,
        _other_views(kernel, stores, loads),
        _whole_stores(kernel, sinks),
        _fills(kernel, sinks),
    )
    fused_kernels = Fuser(builder, orders).kernels(sinks)
    buffers = {n: None for fused in fused_kernels for n in sorted(fused.sinks) if kernel.ops[n].name != "store"}
    operands = list(kernel.operands)
    for number in buffers:
        operands.append(_buffer(kernel.ops[number], {o.name for o in operands}))
    made = {n: len(kernel.operands) + i for i, n in enumerate(buffers)}
    whole = replace(kernel, operands=tuple(operands))
    return whole.operands, tuple(_step(whole, builder, fused, made) for fused in fused_kernels)


def _other_views(kernel: Graph, stores: Iterable[int], loads: Iterable[int]) -> dict[int, set[int]]:
    """By operand that is written, the others of its array that are read."""
    found: dict[int, set[int]] = {}
    for n in loads:
        found.setdefault(kernel.base(n), set()).add(n)
    return {n: others for n in stores if (others := found.get(kernel.base(n), set()) - {n})}


def _whole_stores(kernel: Graph, sinks: Iterable[int]) -> dict[int, set[int]]:
    """By operand that is written at computed places, the other stores to its array, or to views of that."""
    found: dict[int, set[int]] = {}
    for n in sinks:
        access = kernel.ops[n].attr
        if isinstance(access, IndexMap):
            found.setdefault(kernel.base(access.operand), set()).add(n)
    return {operand: found.get(kernel.base(operand), set()) for operand in kernel.scattered}


def _fills(kernel: Graph, sinks: Iterable[int]) -> dict[int, set[int]]:
    """By buffer of the program, the stores to it."""
    found: dict[int, set[int]] = {operand: set() for operand in kernel.stored_buffers}
    for n in sinks:
        access = kernel.ops[n].attr
        if isinstance(access, IndexMap | Scatter) and access.operand in found:
            found[access.operand].add(n)
    return found


def _buffer(op: Op, taken: set[str]) -> Operand:
    name = f"{op.label or getattr(op.attr, 'kind', 'value')}_buffer"
    while name in taken:
        name += "_"
    return Operand(name, op.dtype, op.shape, "buffer")


# --- steps ------------------------------------------------------------------------------------------------


def _step(kernel: Graph, builder: BodyBuilder, fused: FusedKernel, made: Mapping[int, int]) -> Step:
    sinks = sorted(fused.sinks)
    body = builder.build(fused.space, sinks)
    ops, places, moved = _ops(kernel, body, made)
    for number in (n for n in sinks if n in made):
        op, place = kernel.ops[number], body.space.place(kernel.ops[number].shape)
        assert place is not None
        ops.append(Op("store", (moved[number, place],), op.dtype, op.shape, _whole(op, made[number])))
        places.append(place)
    part = dce(replace(kernel, ops=tuple(ops)))
    if body.space.reduced is None:
        aligned = [op.attr.axes for op in part.ops if isinstance(op.attr, IndexMap)]
        return Step(part, body.space.dims, _accesses(part, aligned))
    inner = builder.nested_axes(body)
    order = [*body.space.kept, *sorted(body.space.reduced - inner), *sorted(inner)]
    axis = {walked: i for i, walked in enumerate(order)}
    found = [tuple(None if p is None else axis[p] for p in place) for place in places]
    maps = [spread(op, p, len(order)) for op, p in zip(part.ops, found, strict=True) if isinstance(op.attr, IndexMap)]
    shape = tuple(body.space.dims[a] for a in order)
    return ReductionStep(part, shape, _accesses(part, maps), len(body.space.kept), tuple(found), len(inner))


def _ops(
    kernel: Graph, body: KernelBody, made: Mapping[int, int]
) -> tuple[list[Op], list[AxisMap], dict[tuple[int, AxisMap], int]]:
    """The ops of a kernel, their places, and the op of each (value, place).  ``made``: the operands of buffers."""
    ops: list[Op] = []
    places: list[AxisMap] = []
    moved: dict[tuple[int, AxisMap], int] = {}
    known: dict[tuple[object, ...], int] = {}
    for number in sorted(body.values):
        op = kernel.ops[number]
        for place in body.values[number]:
            if (number, place) in body.loaded:
                here = Op("load", (), op.dtype, op.shape, _whole(op, made[number]), op.label, op.span)
            else:
                args = tuple(
                    moved[a, p] for a, p in zip(op.args, below(op, place, kernel.ops, body.space), strict=True)
                )
                if op.name == "expand":  # a place is in axes of the space, so expanding changes nothing
                    moved[number, place] = args[0]
                    continue
                here = Op(op.name, args, op.dtype, op.shape, op.attr, op.label, op.span)
            if body.space.reduced is None:
                here = _aligned(here, place, body.space)
                key: tuple[object, ...] = (here.name, here.args, here.dtype, here.shape, here.attr)
            else:
                key = _at_place(here, place)
            same = len(ops) if op.name == "store" else known.setdefault(key, len(ops))
            moved[number, place] = same
            if same == len(ops):
                ops.append(here)
                places.append(place)
    return ops, places, moved


def _at_place(op: Op, place: AxisMap) -> tuple[object, ...]:
    """What ops with equal values have in common: axes of size 1 make no difference, so ``keepdims`` does not."""
    attr = replace(op.attr, keepdims=False) if isinstance(op.attr, Reduction) else op.attr
    kept = tuple(p for p in place if p is not None)
    return op.name, op.args, op.dtype, attr, kept if op.args else (op.shape, place)


def _whole(op: Op, operand: int) -> IndexMap:
    return IndexMap(operand, tuple(range(len(op.shape))))


def _aligned(op: Op, place: AxisMap, space: KernelSpace) -> Op:
    """The op with its axes right-aligned to those of the space, as kernels without reductions expect."""
    rank = len(space.dims)
    if all(p is None or p == rank - len(place) + i for i, p in enumerate(place)):
        return op
    first = min(p for p in place if p is not None)
    shape = tuple(space.dims[p] if p in place else 1 for p in range(first, rank))
    attr = op.attr
    if isinstance(attr, IndexMap):
        attr = IndexMap(attr.operand, spread(op, place, rank)[first:])
    elif op.name == "index" and isinstance(attr, int):
        walked = place[attr]
        assert walked is not None
        attr = walked - rank
    return replace(op, shape=shape, attr=attr)


def _accesses(part: Graph, maps: Iterable[AxisMap]) -> tuple[Access, ...]:
    """A kernel's accesses, those that write first.  ``maps``: the axes of each load and store."""
    reads: dict[tuple[int, AxisMap], None] = {}
    writes: dict[tuple[int, AxisMap], None] = {}
    for op, axes in zip((o for o in part.ops if isinstance(o.attr, IndexMap)), maps, strict=True):
        assert isinstance(op.attr, IndexMap)
        (writes if op.name == "store" else reads)[op.attr.operand, axes] = None
    written = [Access(operand, axes, (operand, axes) in reads, True) for operand, axes in writes]
    read = [Access(operand, axes, True, False) for operand, axes in reads if (operand, axes) not in writes]
    return tuple(sorted(written, key=lambda t: t.operand) + sorted(read, key=lambda t: t.operand))


# --- checks that need extents ----------------------------------------------------------------------------


def refuse_empty(kernel: Graph, extents: Mapping[str, int], source: Source) -> None:
    """Raises :class:`~kgen.KgenError` (``nothing-to-reduce``) where ``min`` or the like reduces zero elements."""
    reporter = Reporter(source)
    for op in kernel.ops:
        if isinstance(op.attr, Reduction) and op.attr.kind in NO_IDENTITY:
            shape = kernel.ops[op.args[0]].shape
            if any(dim != 1 and extents[dim] == 0 for axis, dim in enumerate(shape) if axis in op.attr.axes):
                sizes = ", ".join(str(1 if dim == 1 else extents[dim]) for dim in shape)
                message = f"`{op.attr.kind}` over an axis without elements has no value: its argument is [{sizes}]"
                reporter.error("nothing-to-reduce", message, op.span, hint="`sum`, `prod`, `any` and `all` have one")
    reporter.raise_errors()
