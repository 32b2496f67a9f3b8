"""The arrays of a program while it is typed: arguments and outputs, and the views that indices take of them."""

from __future__ import annotations

from dataclasses import field

from kgen.check.dims import Dims
from kgen.dtypes import DType
from kgen.ir.graph import Dim, Operand, Role, Shape
from kgen.ir.views import REVERSED, WHOLE, Bound, Computed, Cut, Item, Pick, Split, View, evaluate, groups, span
from kgen.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Arranged:
    """A value whose parts lie along one axis: an item of ``items`` takes each part.  ``shapes``: of the parts."""

    axis: int
    items: tuple[Item, ...]
    shapes: tuple[Shape, ...]


@dataclass(slots=True)
class Arrays:
    """``operands``: by number.  ``names``: those that the program has given.

    ``arranged``: ops that stand for their parts.  ``made``: the dimensions that follow from others.
    """

    dims: Dims
    operands: list[Operand] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    arranged: dict[int, Arranged] = field(default_factory=dict)
    made: dict[str, Bound] = field(default_factory=dict)
    _buffers: dict[int, int] = field(default_factory=dict)  # the operand that each of these ops is stored to
    _views: dict[View, int] = field(default_factory=dict)  # the operand that is each of them
    _cuts: dict[tuple[Dim, Cut], Dim] = field(default_factory=dict)  # the dimension that a slice leaves of another

    _splits: dict[tuple[Dim, Bound], Shape] = field(default_factory=dict)  # the two that a split makes of another
    _products: dict[str, Shape] = field(default_factory=dict)  # merged dimensions
    _totals: dict[str, Shape] = field(default_factory=dict)  # concatenated dimensions

    def add(self, operand: Operand) -> int:
        """Returns its number."""
        self.operands.append(operand)
        return len(self.operands) - 1

    def cut(self, dim: Dim, item: Item) -> Dim:
        """The dimension that a slice leaves: equal slices of a dimension are one dimension."""
        assert isinstance(item, Cut)
        if item in (WHOLE, REVERSED):
            return dim
        known = next((part for (d, i), part in self._cuts.items() if i == item and self.same(d, dim)), None)
        if known is not None:
            return known
        part = span(item, self.dims.extent(dim), self.dims)
        if part is not None and part[1] == 1:
            return 1
        found = self._cuts[dim, item] = self.dims.fresh(None if part is None else part[1])
        return found

    def parts(self, dim: Dim, item: Item) -> Shape:
        """The dimensions that an item leaves of one."""
        if isinstance(item, Cut):
            return (self.cut(dim, item),)
        return () if isinstance(item, Pick) else self._split(dim, item)

    def _split(self, dim: Dim, item: Split) -> Shape:
        known = [parts for (d, by), parts in self._splits.items() if by == item.by and self.same(d, dim)]
        if not known:
            known = [tuple(map(self.dims.fresh, groups(item, self.dims.extent(dim), self.dims)))]
            self._splits[dim, item.by] = known[0]
        for parts in known[1:]:  # of dimensions that are equal since
            self.dims.broadcast(known[0], parts)
        return known[0]

    # --- dimensions that follow from others -------------------------------------------------------

    def product(self, outer: str, inner: str) -> tuple[str, Split]:
        """The dimension of two merged axes, and the item that splits it again."""
        count, by = self.bound(outer), self.bound(inner)
        for symbol, parts in self._products.items():
            if self.dims.same(parts, (outer, inner)):
                return symbol, Split(by, count)
        symbol = self._make(Computed("*", count, by))
        self._products[symbol] = outer, inner
        self._splits[symbol, by] = outer, inner
        return symbol, Split(by, count)

    def total(self, dims: Shape) -> tuple[str, tuple[Cut, ...]]:
        """The dimension of concatenated axes, and the item that takes each of them."""
        ends: list[Bound] = []
        for dim in dims:
            ends.append(_sum(ends[-1], self.bound(dim)) if ends else self.bound(dim))
        starts: list[Bound | None] = [None, *ends[:-1]]
        items = tuple(Cut(start, end) for start, end in zip(starts, [*ends[:-1], None], strict=True))
        symbol = next((s for s, parts in self._totals.items() if self.dims.same(parts, dims)), None)
        if symbol is None:
            symbol = self._make(ends[-1])
            self._totals[symbol] = dims
            self._cuts.update(((symbol, item), dim) for item, dim in zip(items, dims, strict=True))
        return symbol, items

    def part_of_total(self, dim: Dim, item: Item, parts: Shape) -> int | None:
        """The number of the part that an item takes of other concatenated axes; its parts are then as long as these."""
        for symbol, dims in list(self._totals.items()):
            items = self.total(dims)[1]
            if self.same(symbol, dim) and item in items and len(dims) == len(parts):
                alike = all(
                    (a == 1) == (b == 1) and self.dims.unify(a, b) is not None for a, b in zip(dims, parts, strict=True)
                )
                return items.index(item) if alike else None
        return None

    def count(self, number: int) -> str:
        """The dimension with so many elements; ``number`` is not 1."""
        symbol = next((symbol for symbol, bound in self.made.items() if bound == number), None)
        return self._make(number) if symbol is None else symbol

    def _make(self, bound: Bound) -> str:
        symbol = self.dims.symbol(evaluate(bound, self.dims))
        self.made[symbol] = bound
        return symbol

    def is_made(self, dim: Dim) -> bool:
        return dim != 1 and any(self.same(symbol, dim) for symbol in self.made)

    def is_known(self, dim: Dim) -> bool:
        """Whether an array has this dimension, or it follows from those of arrays."""
        return dim == 1 or self.is_made(dim) or self.axis_with(dim) is not None

    def bound(self, dim: Dim) -> Bound:
        """The extent of a dimension, from those of arrays."""
        if dim == 1:
            return 1
        known = next((bound for symbol, bound in self.made.items() if self.same(symbol, dim)), None)
        by = next(
            (by for (_, by), parts in self._splits.items() if isinstance(by, int) and self.same(parts[1], dim)), dim
        )
        return by if known is None else known

    def same(self, a: Dim, b: Dim) -> bool:
        return self.dims.same((a,), (b,))

    def same_bound(self, a: Bound, b: Bound) -> bool:
        """Whether two extents are equal; where that is not known, it becomes a condition of the program."""
        if a == b:
            return True
        if isinstance(a, str) and isinstance(b, str):
            return self.dims.unify(a, b) is not None
        symbol, number = (a, b) if isinstance(a, str) else (b, a)
        if not isinstance(symbol, str) or not isinstance(number, int) or self.dims.extent(symbol) not in (None, number):
            return False
        self.made[symbol] = number
        return True

    def buffered(self, number: int) -> int | None:
        """The number of the buffer to which the program stores an op, if there is one."""
        return self._buffers.get(number)

    def add_buffer(self, name: str, dtype: DType, shape: Shape) -> int:
        """The number of a new buffer."""
        while (own := f"{name}_buffer") in self.names:
            name += "_"
        self.names.add(own)
        return self.add(Operand(own, dtype, shape, "buffer"))

    def buffer_of(self, number: int, name: str, dtype: DType, shape: Shape) -> int:
        """The number of a new buffer, to which the program stores an op."""
        self._buffers[number] = self.add_buffer(name, dtype, shape)
        return self._buffers[number]

    # --- views ------------------------------------------------------------------------------------

    def view(self, view: View, role: Role = "input") -> int:
        """The number of the operand that is this view.  ``role``: what the program does with it."""
        number = self._views.get(view)
        if number is None:
            base = self.operands[view.of]
            cut = zip(base.shape, view.items, strict=True)
            shape = tuple(part for dim, item in cut for part in self.parts(dim, item))
            number = self._views[view] = self.add(Operand(self._new_name(base.name), base.dtype, shape, role, view))
        elif role != "input":
            self.operands[number] = replace(self.operands[number], role=role)
        return number

    def has_view(self, dim: str, item: Item) -> bool:
        """Whether a view takes this item of an axis with this dimension."""
        return any(
            found == item and other != 1 and self.dims.find(other) == self.dims.find(dim)
            for view in self._views
            for found, other in zip(view.items, self.operands[view.of].shape, strict=True)
        )

    def axis_with(self, dim: str) -> tuple[int, int] | None:
        """The number of an argument or view, and an axis of it that has this dimension."""
        for number, operand in enumerate(self.operands):
            for axis, other in enumerate(operand.shape if operand.role not in ("output", "buffer") else ()):
                if other != 1 and self.dims.find(other) == self.dims.find(dim):
                    return number, axis
        return None

    def _new_name(self, base: str) -> str:
        """A name for a view: ``x_1``, or the next that nothing has."""
        number = 1
        while (name := f"{base}_{number}") in self.names:
            number += 1
        self.names.add(name)
        return name


def _sum(a: Bound, b: Bound) -> Bound:
    return a + b if isinstance(a, int) and isinstance(b, int) else Computed("+", a, b)
