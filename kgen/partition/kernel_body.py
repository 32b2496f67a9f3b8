"""What one kernel computes: its sinks and all values that they depend on, each with its place in the space.

A kernel walks a space.  A sink is a store, or a value that later kernels read from a buffer; it has all axes of the
space (*whole*), only the kept ones (*narrow*), or those of a segment (``nesting.py``).  A value's place maps its axes
to those of the space.  The places of an op's arguments follow from its own: broadcasting aligns the last axes,
``expand`` inserts axes of size 1, and the argument of a reduction has the axes that it reduces as well.  Axes of size 1
map to None.  A value that is needed at two places is computed twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from heapq import heappop, heappush

from kgen.ir.graph import Gather, Graph, IndexMap, Op, Reduction, Scatter, Shape
from kgen.records import dataclass

AxisMap = tuple[
    int | None, ...
]  #: for each axis of a value, the axis of the space that it walks; None for one of size 1


@dataclass(frozen=True, slots=True)
class KernelSpace:
    """What a kernel walks.

    ``reduced``: the axes that all its reductions reduce; None without reductions: all stores then have shape ``dims``.
    With reductions, ``dims`` is the shape of their arguments, in the order of the program, without axes of size 1.
    ``inner``: those of the reduced axes that nested reductions reduce, to one result for each segment of a row.
    """

    dims: Shape
    reduced: frozenset[int] | None = None
    inner: frozenset[int] = frozenset()

    @property
    def kept(self) -> tuple[int, ...]:
        """The axes that the result of a reduction has."""
        reduced = self.reduced or frozenset()
        return tuple(i for i in range(len(self.dims)) if i not in reduced)

    @property
    def of_segments(self) -> tuple[int, ...]:
        """The axes that the result of a nested reduction has."""
        return tuple(i for i in range(len(self.dims)) if i not in self.inner)

    def axes_of(self, rows: KernelSpace) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """The axes that the argument and the result of a reduction over ``rows`` have here; None where it is over
        others."""
        whole = tuple(range(len(self.dims)))
        nested = ((whole, self.of_segments), (self.of_segments, self.kept)) if self.inner else ()
        for argument, result in ((whole, self.kept), *nested):
            dims = tuple(self.dims[a] for a in argument)
            if rows.dims == dims and tuple(argument[i] for i in rows.kept) == result:
                return argument, result
        return None

    def varies_along_row(self, place: AxisMap) -> bool:
        """Whether a value varies along the row."""
        return self.reduced is not None and any(p in self.reduced for p in place if p is not None)

    def place(self, shape: Shape) -> AxisMap | None:
        """The place of a sink of this shape, None where it does not fit."""
        if self.reduced is None:
            return tuple(None if dim == 1 else i for i, dim in enumerate(shape)) if shape == self.dims else None
        dims = squeezed(shape)
        for axes in (tuple(range(len(self.dims))), self.kept, self.of_segments):
            if dims == tuple(self.dims[a] for a in axes):
                walked = iter(axes)
                return tuple(None if dim == 1 else next(walked) for dim in shape)
        return None


@dataclass(frozen=True, slots=True)
class Read:
    """``axes``: for each axis of the space, the operand's; None where it is read at computed places.  ``by_row``:
    whether all threads of a row may read it."""

    operand: int
    axes: AxisMap | None
    by_row: bool


@dataclass(slots=True)
class KernelBody:
    """What one kernel computes.

    ``values``: for each value, the places at which it is needed, and whether a reduction or a value that varies
    along the row uses it there.

    ``loaded``: the values that are read from a buffer; ``fused``: the reductions that the kernel computes.
    """

    space: KernelSpace
    values: dict[int, dict[AxisMap, bool]] = field(default_factory=dict)
    loaded: dict[tuple[int, AxisMap], None] = field(default_factory=dict)
    fused: set[int] = field(default_factory=set)
    reads: set[Read] = field(default_factory=set)
    writes: dict[int, AxisMap | None] = field(default_factory=dict)  # operand -> axes; None: at computed places

    def note(self, number: int, op: Op, place: AxisMap, by_row: bool) -> None:
        """Add what an op reads, writes or reduces."""
        rank = len(self.space.dims)
        match op.attr:
            case IndexMap(operand) if op.name == "load":
                self.reads.add(Read(operand, spread(op, place, rank), by_row))
            case IndexMap(operand):
                self.writes[operand] = spread(op, place, rank)
            case Gather(operand):
                self.reads.add(Read(operand, None, True))
            case Scatter(operand):
                self.writes[operand] = None
            case Reduction():
                self.fused.add(number)

    @property
    def buffers(self) -> set[int]:
        """The values that are read from buffers."""
        return {n for n, _ in self.loaded}


def squeezed(shape: Shape) -> Shape:
    """The dimensions that have more than one element."""
    return tuple(dim for dim in shape if dim != 1)


def below(op: Op, place: AxisMap, ops: Sequence[Op], space: KernelSpace) -> Iterator[AxisMap]:
    """The places of an op's arguments."""
    for a in op.args:
        shape = ops[a].shape
        if op.name in ("expand", "reduce"):
            found = space.axes_of(rows_of(op, ops)) if op.name == "reduce" else None
            axes = iter([p for p in place if p is not None] if found is None else found[0])
            yield tuple(None if dim == 1 else next(axes) for dim in shape)
        else:
            skipped = len(place) - len(shape)
            yield tuple(None if dim == 1 else place[skipped + i] for i, dim in enumerate(shape))


def rows_of(op: Op, ops: Sequence[Op]) -> KernelSpace:
    """The space of a reduction alone."""
    assert isinstance(op.attr, Reduction)
    walked = [(axis, dim) for axis, dim in enumerate(ops[op.args[0]].shape) if dim != 1]
    reduced = frozenset(i for i, (axis, _) in enumerate(walked) if axis in op.attr.axes)
    return KernelSpace(tuple(dim for _, dim in walked), reduced)


def spread(op: Op, place: AxisMap, rank: int) -> AxisMap:
    """The operand's axis that each axis of the space walks, for a load or store."""
    assert isinstance(op.attr, IndexMap)
    axes: list[int | None] = [None] * rank
    for where, axis in zip(place, op.attr.axes, strict=True):
        if where is not None:
            axes[where] = axis
    return tuple(axes)


class BodyBuilder:
    """Finds what kernels compute.

    ``chained``: whether a kernel may reduce a row and then use the result to reduce or write the whole row again.
    ``chain_cuts``: values that are read from buffers wherever they are used.  ``spaces``: of values that
    have another one than their own shape or reduction."""

    def __init__(
        self, kernel: Graph, chain_cuts: Iterable[int], spaces: Mapping[int, KernelSpace], *, chained: bool
    ) -> None:
        self.ops = kernel.ops
        self.chain_cuts = frozenset(chain_cuts)
        self.spaces = spaces
        self.chained = chained
        self.names = [kernel.operands[kernel.base(number)].name for number in range(len(kernel.operands))]

    def space_of(self, number: int) -> KernelSpace | None:
        """The space in which a reduction is computed, or another value that has one of its own."""
        op = self.ops[number]
        return self.spaces.get(number) or (rows_of(op, self.ops) if op.name == "reduce" else None)

    def nested_axes(self, body: KernelBody) -> frozenset[int]:
        """The axes of segments; none where all reductions are of whole rows."""
        space, ops = body.space, self.ops
        rows = tuple(range(len(space.dims))), space.kept
        nested = any(space.axes_of(rows_of(ops[n], ops)) != rows for n in body.fused)
        return space.inner if nested else frozenset()

    def alone(self, sink: int, *, separate: bool = False) -> KernelBody:
        """The body of a kernel for one sink.  ``separate``: with all its reductions in other kernels."""
        op = self.ops[sink]
        if (space := self.space_of(sink)) is not None:
            return self.build(space, [sink])
        flat = self.build(KernelSpace(op.shape), [sink])
        if separate:
            return flat
        mine = tuple(i for i, dim in enumerate(op.shape) if dim != 1)
        for number, place in flat.loaded:  # the space of the last reduction that the sink fits
            if number in self.chain_cuts or self.ops[number].name != "reduce":
                continue
            space = self.space_of(number)
            assert space is not None
            axes = space.axes_of(rows_of(self.ops[number], self.ops))
            assert axes is not None
            kept = tuple(p for p in place if p is not None)
            whole = space.dims == squeezed(op.shape) and kept == tuple(mine[a] for a in axes[1])
            if kept == mine or (whole and self.chained):
                return self.build(space, [sink])
        return flat

    def build(self, space: KernelSpace, sinks: Iterable[int]) -> KernelBody:
        """Everything that these sinks depend on.  Ops are visited last to first: each after its users."""
        found = KernelBody(space)
        queue: list[int] = []
        ends: set[tuple[int, AxisMap]] = set()

        def want(number: int, place: AxisMap, by_row: bool) -> None:
            if number not in found.values:
                found.values[number] = {}
                heappush(queue, -number)
            found.values[number][place] = by_row or found.values[number].get(place, False)

        for sink in sinks:
            own = space.place(self.ops[sink].shape)
            assert own is not None, "a sink lies along all axes or along those that are kept"
            ends.add((sink, own))
            want(sink, own, False)
        while queue:
            number = -heappop(queue)
            op = self.ops[number]
            for place, by_row in found.values[number].items():
                if (number, place) not in ends and self._is_loaded(number, place, by_row, space):
                    found.loaded[number, place] = None
                    continue
                found.note(number, op, place, by_row)
                varies = by_row or op.name == "reduce" or space.varies_along_row(place)
                for a, where in zip(op.args, below(op, place, self.ops, space), strict=True):
                    want(a, where, varies)
        return found

    def _is_loaded(self, number: int, place: AxisMap, by_row: bool, space: KernelSpace) -> bool:
        if number in self.chain_cuts:
            return True
        if self.ops[number].name != "reduce":
            return False
        if space.reduced is None or (by_row and not self.chained):
            return True
        axes = space.axes_of(rows_of(self.ops[number], self.ops))
        return axes is None or tuple(p for p in place if p is not None) != axes[1]


# --- chains -----------------------------------------------------------------------------------------------

#: Rounds of reductions after which a chain's values are written to memory.  Later rounds read them, instead of
#: computing the whole chain again.
LONGEST_CHAIN = 16


def chain_cuts(kernel: Graph) -> set[int]:
    """Values at which chains of more than :data:`LONGEST_CHAIN` rounds are cut.

    These are values that need a multiple of that many rounds and that the next round uses.  Such a value goes to
    memory itself where it also depends on values of earlier rounds; else its reductions do, which are smaller.
    """
    ops = kernel.ops
    rounds: list[int] = []  # for each op, how many it needs
    mixed: list[bool] = []
    for op in ops:
        before = max((rounds[a] for a in op.args), default=0)
        rounds.append(before + (op.name == "reduce"))
        mixed.append(op.name != "reduce" and any(mixed[a] or 0 < rounds[a] < before for a in op.args))
    ends = [
        a
        for number, op in enumerate(ops)
        for a in op.args
        if rounds[a] and rounds[a] % LONGEST_CHAIN == 0 and rounds[number] > rounds[a]
    ]
    found, small = {a for a in ends if mixed[a]}, [a for a in ends if not mixed[a]]
    return found | _reductions(kernel, small, rounds, found)


def _reductions(kernel: Graph, small: list[int], rounds: Sequence[int], cut: Set[int]) -> set[int]:
    """The reductions that values depend on, as far back as the existing cuts.  ``rounds``: how many each op needs."""
    ops, found = kernel.ops, set[int]()
    seen: set[int] = set()
    while small:
        number = small.pop()
        if number in seen or not rounds[number] or number in cut or number in found:
            continue
        seen.add(number)
        if ops[number].name == "reduce":
            found.add(number)
        else:
            small.extend(ops[number].args)
    return found
