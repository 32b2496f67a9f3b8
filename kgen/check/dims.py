"""Dimension symbols: broadcasting finds which extents must be equal."""

from __future__ import annotations

from kgen.ir.graph import Dim, Shape


class Dims:
    """Symbols with known or unknown extents, merged where one axis has both (union-find)."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}
        self._extent: dict[str, int | None] = {}

    def fresh(self, extent: int | None) -> Dim:
        """The dimension of one axis: 1, or a new symbol."""
        return 1 if extent == 1 else self.symbol(extent)

    def symbol(self, extent: int | None) -> str:
        """A new symbol."""
        symbol = f"s{len(self._parent)}"
        self._parent[symbol] = symbol
        self._extent[symbol] = extent
        return symbol

    def find(self, symbol: str) -> str:
        root = symbol
        while self._parent[root] != root:
            root = self._parent[root]
        while self._parent[symbol] != root:
            self._parent[symbol], symbol = root, self._parent[symbol]
        return root

    def extent(self, dim: Dim) -> int | None:
        return 1 if dim == 1 else self._extent[self.find(dim)]

    def get(self, symbol: str) -> int | None:
        """The extent of a symbol, for :mod:`kgen.ir.views`."""
        return self.extent(symbol)

    def unify(self, a: Dim, b: Dim) -> Dim | None:
        """The broadcast of two dimensions, or None where their extents are known to differ."""
        if a == 1:
            return b
        if b == 1:
            return a
        a, b = self.find(a), self.find(b)
        if a == b:
            return a
        x, y = self._extent[a], self._extent[b]
        if x is not None and y is not None and x != y:
            return None
        first, second = (a, b) if int(a[1:]) < int(b[1:]) else (b, a)
        self._parent[second] = first
        self._extent[first] = x if x is not None else y
        return first

    def broadcast(self, a: Shape, b: Shape) -> Shape | int:
        """NumPy's broadcast of two shapes, or the axis (negative, from the right) where they do not fit."""
        if len(a) < len(b):
            a, b = b, a
        out = list(a)
        for offset in range(1, len(b) + 1):
            dim = self.unify(a[-offset], b[-offset])
            if dim is None:
                return -offset
            out[-offset] = dim
        return tuple(out)

    def same(self, a: Shape, b: Shape) -> bool:
        """Whether two shapes are known to be equal."""
        one, other = (tuple(1 if dim == 1 else self.find(dim) for dim in shape) for shape in (a, b))
        return one == other

    def show(self, shape: Shape) -> str:
        """``(4, 3)``; an extent that is not known prints as ``?``."""
        extents = ["?" if (n := self.extent(d)) is None else str(n) for d in shape]
        return f"({extents[0]},)" if len(extents) == 1 else f"({', '.join(extents)})"
