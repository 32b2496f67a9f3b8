"""The IR of a program after its last statement: only what is computed, operands in the order of the call.

Views come behind arrays, those of outputs behind the others, and buffers last.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence

from kgen.check.context import Context
from kgen.ir.graph import Dim, Gather, Graph, IndexMap, Op, Operand, Scatter, Shape
from kgen.ir.views import Bound, Computed, Cut, Item, Pick, Split, View
from kgen.records import replace


def finished(ctx: Context, ops: Sequence[Op], left_out: Collection[int]) -> Graph:
    """``left_out``: ops that only said what is written."""
    found = ctx.arrays.operands
    reads = {n for n, op in enumerate(ops) if op.name in ("load", "gather") and _operand(op, found).role == "output"}
    ops = _without(ops, reads.union(left_out, ctx.arrays.arranged, _without_operand(ctx, ops)))
    order = sorted(
        range(len(found)),
        key=lambda n: (found[n].role == "buffer", found[n].view is not None, _base(found, n).role == "output"),
    )
    rename = _Renamer(ctx, {number: place for place, number in enumerate(order)})
    operands = tuple(rename.operand(found[number]) for number in order)
    return Graph(operands, tuple(ctx.scalars), tuple(rename.op(op) for op in ops), rename.derived())


def _without_operand(ctx: Context, ops: Sequence[Op]) -> set[int]:
    """Ops that nothing stored needs, with a dimension that only a merged or joined value had before its index."""
    find = ctx.dims.find
    known = {find(dim) for operand in ctx.arrays.operands for dim in operand.shape if dim != 1}
    needed: set[int] = set()
    for number in reversed(range(len(ops))):
        if ops[number].name == "store" or number in needed:
            needed.update((number, *ops[number].args))
    return {
        number
        for number, op in enumerate(ops)
        if number not in needed and not known.issuperset(find(dim) for dim in op.shape if dim != 1)
    }


def _base(operands: Sequence[Operand], number: int) -> Operand:
    """The array that an operand is, or a view of."""
    while (view := operands[number].view) is not None:
        number = view.of
    return operands[number]


def _operand(op: Op, operands: Sequence[Operand]) -> Operand:
    """What an op reads."""
    assert isinstance(op.attr, IndexMap | Gather)
    return operands[op.attr.operand]


def _without(ops: Sequence[Op], left_out: Container[int]) -> list[Op]:
    """The ops without some, and without all that is computed from these: no store is."""
    moved: dict[int, int] = {}
    found: list[Op] = []
    for number, op in enumerate(ops):
        if number not in left_out and all(a in moved for a in op.args):
            moved[number] = len(found)
            found.append(replace(op, args=tuple(moved[a] for a in op.args)))
        else:
            assert op.name != "store" or number in left_out
    return found


class _Renamer:
    """Renames the merged dimension symbols n0, n1, ... in the order of the arguments, and numbers operands anew."""

    def __init__(self, ctx: Context, numbers: Mapping[int, int]) -> None:
        self.ctx = ctx
        self.numbers = numbers
        self.names: dict[str, str] = {}

    def dim(self, dim: Dim) -> Dim:
        if dim == 1:
            return 1
        root = self.ctx.dims.find(dim)
        return self.names.setdefault(root, f"n{len(self.names)}")

    def shape(self, shape: Shape) -> Shape:
        return tuple(self.dim(d) for d in shape)

    def operand(self, operand: Operand) -> Operand:
        view = operand.view and View(self.numbers[operand.view.of], tuple(map(self._item, operand.view.items)))
        return Operand(operand.name, operand.dtype, self.shape(operand.shape), operand.role, view)

    def _item(self, item: Item) -> Item:
        if isinstance(item, Pick):
            return Pick(self._bound(item.place))
        if isinstance(item, Split):
            return Split(self._bound(item.by), None if item.count is None else self._bound(item.count))
        start, stop = (None if b is None else self._bound(b) for b in (item.start, item.stop))
        return Cut(start, stop, item.step)

    def _bound(self, bound: Bound) -> Bound:
        if isinstance(bound, Computed):
            return Computed(bound.op, self._bound(bound.left), self._bound(bound.right))
        return bound if isinstance(bound, int) else self.dim(bound)

    def derived(self) -> tuple[tuple[str, Bound], ...]:
        """The dimensions of operands whose extents follow from others."""
        made = ((self.ctx.dims.find(symbol), bound) for symbol, bound in self.ctx.arrays.made.items())
        return tuple((self.names[root], self._bound(bound)) for root, bound in made if root in self.names)

    def op(self, op: Op) -> Op:
        attr = op.attr
        if op.name == "size" and isinstance(attr, str):
            attr = self.dim(attr)
        elif isinstance(attr, IndexMap):
            attr = IndexMap(self.numbers[attr.operand], attr.axes)
        elif isinstance(attr, Gather | Scatter):
            attr = replace(attr, operand=self.numbers[attr.operand])
        return Op(op.name, op.args, op.dtype, self.shape(op.shape), attr, op.label, op.span)
