"""The arrays of a program while it is typed: arguments and outputs, and the views that indices take of them."""

from __future__ import annotations

from dataclasses import field

from kgen.check.dims import Dims
from kgen.ir.graph import Dim, Operand, Shape
from kgen.ir.views import REVERSED, WHOLE, Cut, Item, Pick, Split, View, groups, span
from kgen.records import dataclass


@dataclass(slots=True)
class Arrays:
    """``operands``: by number.  ``names``: those that the program has given."""

    dims: Dims
    operands: list[Operand] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    _views: dict[View, int] = field(default_factory=dict)  # the operand that is each of them
    _cuts: dict[tuple[Dim, Cut], Dim] = field(default_factory=dict)  # the dimension that a slice leaves of another

    _splits: dict[tuple[str, Split], Shape] = field(default_factory=dict)  # the two that a split makes of another

    def add(self, operand: Operand) -> int:
        """Returns its number."""
        self.operands.append(operand)
        return len(self.operands) - 1

    def cut(self, dim: Dim, item: Item) -> Dim:
        """The dimension that a slice leaves: equal slices of a dimension are one dimension."""
        assert isinstance(item, Cut)
        if item in (WHOLE, REVERSED):
            return dim
        part = span(item, self.dims.extent(dim), self.dims)
        if part is not None and part[1] == 1:
            return 1
        key: tuple[Dim, Cut] = (1 if dim == 1 else self.dims.find(dim), item)
        if key not in self._cuts:
            self._cuts[key] = self.dims.fresh(None if part is None else part[1])
        return self._cuts[key]

    def parts(self, dim: Dim, item: Item) -> Shape:
        """The dimensions that an item leaves of one."""
        if isinstance(item, Cut):
            return (self.cut(dim, item),)
        return () if isinstance(item, Pick) else self._split(dim, item)

    def _split(self, dim: Dim, item: Split) -> Shape:
        assert dim != 1
        key = self.dims.find(dim), item
        if key not in self._splits:
            self._splits[key] = tuple(map(self.dims.fresh, groups(item, self.dims.extent(dim), self.dims)))
        return self._splits[key]

    def view(self, view: View) -> int:
        """The number of the operand that is this view."""
        number = self._views.get(view)
        if number is None:
            base = self.operands[view.of]
            cut = zip(base.shape, view.items, strict=True)
            shape = tuple(part for dim, item in cut for part in self.parts(dim, item))
            number = self._views[view] = self.add(Operand(self._new_name(base.name), base.dtype, shape, "input", view))
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
            for axis, other in enumerate(operand.shape if operand.role != "output" else ()):
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
