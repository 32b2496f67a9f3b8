"""Sums over many rows, in the kernel that reads these rows for something else.

A gradient of a weight is a sum over the rows of which the same program computes the gradient.  Here, the kernel that
goes along rows adds up its elements as well: each of its blocks takes several rows, and keeps a sum for each column.
It stores these partial sums, one row for each block, and a second kernel adds them up, always in the same order.

    x_grad      = f(x, g, sum(x * g, axis=1))        kernel 1: x_grad, and partials[b] = sum of g * x over the rows of b
    weight_grad = sum(g * x, axis=0)                 kernel 2: weight_grad = sum(partials, axis=0)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from kgen.dtypes import FLOAT32, FLOAT64
from kgen.ir.graph import Graph, IndexMap, Op, Operand, Reduction
from kgen.ir.views import Bound, Computed
from kgen.partition.cut import cut
from kgen.partition.kernel_body import KernelSpace, rows_of, squeezed
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Access, Step
from kgen.records import replace

#: The dimension of partial sums that blocks have.
BLOCKS = "blocks"

#: Blocks of rows of ``WIDE`` elements that a device holds at once; of shorter rows more.  Measured on an H200, but the
#: same for every device, so that sums have the same bits on all.
RESIDENT_BLOCKS = 132
WIDE = 8192

#: Rows that a block adds up one by one, at most: as accurate as pairwise summation.
MOST_ROWS = 64

#: Blocks take a multiple of so many rows, as partial sums of single rows are larger than the rows; but a row each where
#: there are no more than ``FEW_ROWS``.
ROWS_MULTIPLE = 2
FEW_ROWS = 128


def with_column_sums(kernel: Graph) -> tuple[Graph, tuple[Step, ...]] | None:
    """The program with partial sums, and its steps; None where no kernel that goes along rows could sum over them."""
    doubled, rows = _doubled(kernel)
    if not rows:
        return None
    operands, steps = cut(doubled, stored=rows, spaces=rows)
    dims = next(iter(rows.values())).dims
    made = range(len(kernel.operands), len(operands))
    buffers = frozenset(n for n in made if squeezed(operands[n].shape) == dims)
    writers = [s for s in steps if buffers & s.written]
    totals = [s for s in steps if buffers & s.read]
    one = len(buffers) == len(rows) and len(writers) == 1
    if not one or not _is_worth_it(writers[0], buffers) or not _come_last(totals, steps, buffers):
        return None
    named = _named(operands, buffers, totals)
    count = block_count(_product(dims[:-1]), dims[-1])
    graph = replace(kernel, operands=named, derived=(*kernel.derived, (BLOCKS, count)))
    return graph, tuple(replace(s, graph=replace(s.graph, operands=named)) for s in _with_sums(steps, buffers))


def _with_sums(steps: Sequence[Step], buffers: frozenset[int]) -> tuple[Step, ...]:
    """The steps where ``buffers`` take partial sums; those that add these up are one, the last."""
    totals = [_total(s, buffers) for s in steps if buffers & s.read]
    short = frozenset(n for n in buffers if all(_is_short(total.graph, n) for total in totals))
    others = (_partial(s, buffers, short) if buffers & s.written else s for s in steps if not buffers & s.read)
    return (*others, reduce(_joined, totals))


def _named(operands: Sequence[Operand], buffers: frozenset[int], totals: Sequence[Step]) -> tuple[Operand, ...]:
    """The operands with partial sums in place of the buffers of whole values."""
    found = list(operands)
    for number in sorted(buffers):
        name = _name(number, totals, {o.name for o in found})
        found[number] = Operand(name, found[number].dtype, (BLOCKS, squeezed(found[number].shape)[-1]), "buffer")
    return tuple(found)


def block_count(rows: Bound, width: Bound) -> Bound:
    """How many blocks take so many rows: as many as fit a device, each with as many rows, or a multiple of these."""
    resident = Computed("*", RESIDENT_BLOCKS, _ceil(WIDE, width))
    waves = _ceil(rows, Computed("*", resident, MOST_ROWS))
    multiple = Computed("-", ROWS_MULTIPLE, Computed("//", ROWS_MULTIPLE - 1, _ceil(rows, FEW_ROWS)))
    each = _ceil(rows, Computed("*", resident, Computed("*", waves, multiple)))
    return _ceil(rows, Computed("*", each, multiple))


def _product(dims: Sequence[Bound]) -> Bound:
    first, *others = dims
    for dim in others:
        first = Computed("*", first, dim)
    return first


def _ceil(number: Bound, divisor: Bound) -> Bound:
    above = number + divisor if isinstance(number, int) and isinstance(divisor, int) else Computed("+", number, divisor)
    return Computed("//", Computed("-", above, 1), divisor)


def _doubled(kernel: Graph) -> tuple[Graph, dict[int, KernelSpace]]:
    """The program with a second op for each value that is summed over rows, which nothing else uses; the rows of each.

    So the value may go through memory while others compute it where they use it.
    """
    ops: list[Op] = []
    moved: list[int] = []
    found: dict[int, KernelSpace] = {}
    for op in kernel.ops:
        args = tuple(moved[a] for a in op.args)
        rows = _rows(op, kernel.ops)
        if rows is not None and all(rows == other for other in found.values()):
            (value,) = args
            args = (len(ops),)
            found[len(ops)] = rows
            ops.append(replace(ops[value], label=None))
        moved.append(len(ops))
        ops.append(replace(op, args=args))
    return replace(kernel, ops=tuple(ops)), found


def _rows(op: Op, ops: Sequence[Op]) -> KernelSpace | None:
    """The rows that a sum goes over; None for other ops, sums over the fastest axis, and sums of reductions."""
    if not isinstance(op.attr, Reduction) or op.attr.kind != "sum" or ops[op.args[0]].name == "reduce":
        return None
    over, value = rows_of(op, ops), ops[op.args[0]]
    last = len(over.dims) - 1
    if last < 1 or value.dtype not in (FLOAT32, FLOAT64) or value.dtype is not op.dtype or over.kept != (last,):
        return None
    return KernelSpace(over.dims, frozenset({last}))


def _is_worth_it(step: Step, buffers: frozenset[int]) -> bool:
    """Whether a kernel does something else with the elements that it sums over rows."""
    reduces = any(op.name == "reduce" for op in step.graph.ops)
    return isinstance(step, ReductionStep) and not step.inner and (reduces or bool(step.written - buffers))


def _only_sums(step: Step, buffers: frozenset[int]) -> bool:
    """Whether all elements of columns that a kernel reads are what it sums."""
    if not isinstance(step, ReductionStep):
        return False
    along = [op for n, op in enumerate(step.graph.ops) if step.varies_along_row(n)]
    return all(op.name == "load" and isinstance(op.attr, IndexMap) and op.attr.operand in buffers for op in along)


def _come_last(totals: Sequence[Step], steps: Sequence[Step], buffers: frozenset[int]) -> bool:
    """Whether ``totals`` only add up ``buffers``, and no other kernel reads or writes what they write."""
    pairs = ((total, step) for total in totals for step in steps if step is not total)
    apart = not any(total.written & set(step.operands) for total, step in pairs)
    return apart and all(_only_sums(total, buffers) for total in totals)


def _name(buffer: int, readers: Sequence[Step], taken: set[str]) -> str:
    """The name of partial sums: after the first output that is computed from them."""
    step = next(s for s in readers if any(t.operand == buffer for t in s.accesses))
    name = f"{step.graph.operands[min(step.written)].name}_partials"
    while name in taken:
        name += "_"
    return name


def _is_short(total: Graph, buffer: int) -> bool:
    """Whether what is added up of a buffer is only rounded to 16 bits or fewer."""

    def users(number: int) -> list[Op]:
        return [op for op in total.ops if number in op.args]

    loads = [n for n, op in enumerate(total.ops) if op.name == "load" and _operand(op) == buffer]
    sums = [n for n, op in enumerate(total.ops) if not {*loads}.isdisjoint(op.args)]
    casts = [op for n in sums for op in users(n)]
    return all(op.name == "cast" and op.dtype.is_float and op.dtype.bits <= 16 for op in casts)


def _operand(op: Op) -> int | None:
    return op.attr.operand if isinstance(op.attr, IndexMap) else None


def _partial(step: Step, buffers: frozenset[int], short: frozenset[int]) -> ReductionStep:
    """The kernel along rows, whose stores to ``buffers`` are sums over its rows."""
    assert isinstance(step, ReductionStep)
    last = len(step.shape) - 1
    ops = [
        replace(op, attr=IndexMap(op.attr.operand, tuple(1 if p == last else None for p in step.places[n])))
        if isinstance(op.attr, IndexMap) and op.attr.operand in buffers
        else op
        for n, op in enumerate(step.graph.ops)
    ]
    column = (*(None for _ in range(last)), 1)
    accesses = tuple(replace(t, axes=column) if t.operand in buffers else t for t in step.accesses)
    return ReductionStep(
        replace(step.graph, ops=tuple(ops)), step.shape, accesses, step.kept, step.places,
        sums=buffers & step.written, short_sums=short & step.written,
    )  # fmt: skip


def _joined(one: ReductionStep, other: ReductionStep) -> ReductionStep:
    """One kernel for the work of two that add up partial sums."""
    ops, places = list(one.graph.ops), list(one.places)
    known = {(op, place): n for n, (op, place) in enumerate(zip(ops, places, strict=True)) if op.name != "store"}
    moved: list[int] = []
    for op, place in zip(other.graph.ops, other.places, strict=True):
        here = replace(op, args=tuple(moved[a] for a in op.args))
        moved.append(known.get((here, place), len(ops)))
        if moved[-1] == len(ops):
            ops.append(here)
            places.append(place)
    accesses = sorted(dict.fromkeys((*one.accesses, *other.accesses)), key=lambda t: (not t.writes, t.operand))
    return replace(one, graph=replace(one.graph, ops=tuple(ops)), accesses=tuple(accesses), places=tuple(places))


def _total(step: Step, buffers: frozenset[int]) -> ReductionStep:
    """The kernel that adds up the partial sums of all blocks."""
    assert isinstance(step, ReductionStep)
    ops, places = list(step.graph.ops), list(step.places)
    for n, op in enumerate(ops):
        if op.name == "load" and isinstance(op.attr, IndexMap) and op.attr.operand in buffers:
            ops[n] = replace(op, shape=(BLOCKS, step.shape[0]), attr=IndexMap(op.attr.operand, (0, 1)))
            places[n] = (1, 0)
        elif isinstance(op.attr, Reduction):
            ops[n] = replace(op, attr=replace(op.attr, axes=(0,)))
    accesses = tuple(
        Access(t.operand, (1, 0), t.reads, t.writes) if t.operand in buffers else replace(t, axes=(t.axes[0], None))
        for t in step.accesses
    )
    shape = (step.shape[0], BLOCKS)
    return ReductionStep(replace(step.graph, ops=tuple(ops)), shape, accesses, 1, tuple(places))
