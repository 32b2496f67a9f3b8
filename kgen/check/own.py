"""An index of a value: slices, integers, new axes, axes in another order, and split ones."""

from __future__ import annotations

from collections.abc import Mapping

from kgen.check.context import Context
from kgen.ir.graph import Dim, Shape
from kgen.ir.views import REVERSED, WHOLE, Cut, Item, Pick, Split, View
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class Own:
    """An index of a value: an item for each of its axes, and for each axis of the result the value's (None: new).

    Axes that are not in ascending order are transposed.  An axis that is split stands twice: its groups, then the
    elements of a group.
    """

    items: tuple[Item, ...]
    axes: tuple[int | None, ...]

    @property
    def is_whole(self) -> bool:
        """Whether there are only new axes."""
        return all(item == WHOLE for item in self.items) and not self.is_transposed

    @property
    def is_transposed(self) -> bool:
        kept = [axis for axis in self.axes if axis is not None]
        return kept != sorted(kept)

    def dims(self, ctx: Context, shape: Shape) -> Shape:
        """The shape of the result."""
        found: list[Dim] = []
        for place, axis in enumerate(self.axes):
            parts = (1,) if axis is None else ctx.arrays.parts(shape[axis], self.items[axis])
            found.append(parts[self.axes[:place].count(axis) if len(parts) > 1 else 0])
        return tuple(found)

    def has_extents(self, ctx: Context, shape: Shape) -> bool:
        """Whether operands have the extent of each axis that is 1 in the value and 0 in the result."""
        pairs = zip(shape, self.items, strict=True)
        empty = {ctx.arrays.cut(1, item) for dim, item in pairs if dim == 1 and is_empty(ctx, item)}
        return empty <= {dim for operand in ctx.arrays.operands for dim in operand.shape}

    def add_views(self, ctx: Context, shape: Shape) -> bool:
        """Adds views of what the index takes where no operand of the value has it; False where no array can.

        They are not read, but calls know extents by them.  The ops of a value may be scalars where its shape is an
        array's: ``x ** 0`` is 1.
        """
        for dim, item in zip(shape, self.items, strict=True):
            if dim == 1 or item in (WHOLE, REVERSED) or ctx.arrays.has_view(dim, item):
                continue
            if ctx.arrays.is_made(dim):
                if all(ctx.arrays.is_known(part) for part in ctx.arrays.parts(dim, item)):
                    continue
                return False
            base = ctx.arrays.axis_with(dim)
            if base is None and isinstance(item, Pick):
                continue  # of an axis that only shape= gives
            if base is None:
                return False
            number, axis = base
            rank = len(ctx.arrays.operands[number].shape)
            ctx.arrays.view(View(number, tuple(item if a == axis else WHOLE for a in range(rank))))
        return True

    def of(self, value: Shape, operand: Shape) -> Own:
        """The index of an operand that broadcasts to a value: what is broadcast is neither cut nor picked."""
        missing = len(value) - len(operand)
        items: list[Item] = []
        axes = [None if axis is None or axis < missing else axis - missing for axis in self.axes]
        for axis, dim in enumerate(operand, missing):
            item = self.items[axis]
            spread = dim == 1 and value[axis] != 1
            items.append((Pick(0) if isinstance(item, Pick) else WHOLE) if spread else item)
            if spread and isinstance(item, Split):
                axes[axes.index(axis - missing)] = None
        while axes and axes[0] is None and (missing or not operand):
            axes.pop(0)
        return Own(tuple(items), tuple(axes))

    @staticmethod
    def at(axis: int, item: Item, rank: int) -> Own:
        """The index with one item that is not whole."""
        items = tuple(item if place == axis else WHOLE for place in range(rank))
        return Own(items, tuple(place for place in range(rank) for _ in range(AXES[type(items[place])])))


AXES: Mapping[type[Item], int] = {Pick: 0, Cut: 1, Split: 2}  #: how many axes of a view an axis of its base becomes


def is_empty(ctx: Context, item: Item) -> bool:
    """Whether an item takes no elements of an axis of extent 1."""
    return isinstance(item, Cut) and ctx.arrays.cut(1, item) != 1
