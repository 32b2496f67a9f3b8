"""The gradient of an index: that of its result, with zeros for the elements that it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf

from kgen.gradients.facts import Facts, literal_of
from kgen.gradients.forward import Forward
from kgen.gradients.terms import Term, contracted, inserted
from kgen.records import dataclass, replace
from kgen.syntax.text import text_of
from kgen.syntax.tree import Ellipsis, Expr, Index, NewAxis, Number, Slice
from kgen.syntax.trees import NOWHERE, axes, binary, call, number

Item = Expr | Slice | Ellipsis | NewAxis
WHOLE = Slice(span=NOWHERE, start=None, stop=None, step=None)


Zeros = Callable[["Expr | None", "Expr | None"], Expr]


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """``parts``: along ``axis`` of ``base``, from cut to cut; None for zeros, which ``zeros`` makes."""

    base: str
    axis: int
    cuts: tuple[Expr, ...]
    parts: tuple[Expr | None, ...]
    zeros: Zeros

    @property
    def expr(self) -> Expr:
        bounds = pairwise((None, *self.cuts, None))
        parts = [self.zeros(*own) if part is None else part for part, own in zip(self.parts, bounds, strict=True)]
        return call("concat", *parts, axis=number(self.axis))

    def plus(self, other: Padded) -> Padded | None:
        """The sum of two; None where a cut of one may be within a part of the other."""
        if (self.base, self.axis) != (other.base, other.axis):
            return None
        one, two = self._cut_as(other), other._cut_as(self)
        if one is None or two is None:
            return None
        pairs = zip(one.parts, two.parts, strict=True)
        parts = tuple(b if a is None else a if b is None else binary("+", a, b) for a, b in pairs)
        return replace(one, parts=parts)

    def _cut_as(self, other: Padded) -> Padded | None:
        """The same, with the cuts of another, too."""
        if list(map(text_of, self.cuts)) == list(map(text_of, other.cuts)):
            return self
        own, others = _literals(self.cuts), _literals(other.cuts)
        if own is None or others is None:
            return None
        starts, ends = [0, *own], [*own, inf]
        cuts = sorted({*own, *others})
        parts: list[Expr | None] = []
        for first, last in pairwise((0, *cuts, inf)):
            place = max(place for place, start in enumerate(starts) if start <= first)
            part = self.parts[place]
            if part is not None and (starts[place], ends[place]) != (first, last):
                return None
            parts.append(part)
        return replace(self, cuts=tuple(map(number, cuts)), parts=tuple(parts))


def _aligned(items: Sequence[Expr | Slice | NewAxis], term: Term) -> Term:
    """A gradient of the result of an index without its new axes, and with an axis for each integer."""
    result = [item for item in items if isinstance(item, Slice | NewAxis)]
    added = [place for place, item in enumerate(result) if isinstance(item, NewAxis)]
    if added:
        term = contracted(term, added, len(result))
    along = [item for item in items if not isinstance(item, NewAxis)]
    return inserted(term, [axis for axis, item in enumerate(along) if not isinstance(item, Slice)])


def _ascending(item: Expr | Slice) -> Expr | Slice:
    """A whole axis for one from the last element to the first."""
    return item if not isinstance(item, Slice) or item.step is None else WHOLE


def _literals(cuts: Sequence[Expr]) -> list[int] | None:
    """The cuts as numbers; None where one is computed, or counted from the end."""
    found = [cut.value for cut in cuts if isinstance(cut, Number) and isinstance(cut.value, int)]
    return found if len(found) == len(cuts) else None


class Padder:
    """The gradients of indices.  ``made``: what their expressions are, to add those that are cut alike.

    It holds the expressions, too, so that no other one gets the id of one that is gone.
    """

    def __init__(self, facts: Facts, forward: Forward) -> None:
        self.facts = facts
        self.forward = forward
        self.made: dict[int, tuple[Expr, Padded]] = {}

    def padded(self, node: Index, gradient: Term) -> Term | None:
        """A gradient of the index's own shape as one of what is indexed; None where that is not supported."""
        whole = self.facts.shape(self.facts.value(node.of))
        items = self._items(node, len(whole))
        if items is None:
            return None
        along = [item for item in items if not isinstance(item, NewAxis)]
        expr = _aligned(items, gradient).expr
        reversed_axes = [axis for axis, item in enumerate(along) if isinstance(item, Slice) and item.step is not None]
        if reversed_axes:
            expr, along = call("flip", expr, axis=axes(reversed_axes)), [*map(_ascending, along)]
        slices = [item if isinstance(item, Slice) else self._slice(item) for item in along]
        for axis in reversed(range(len(whole))):
            expr = self._along(node, slices, axis, expr)
        return Term(expr, whole)

    def _items(self, node: Index, rank: int) -> list[Expr | Slice | NewAxis] | None:
        """An item for each axis of what is indexed, and the new ones; None for other steps, and for arrays."""
        taken = sum(not isinstance(item, Ellipsis | NewAxis) for item in node.items)
        items: list[Expr | Slice | NewAxis] = []
        for item in node.items:
            match item:
                case Ellipsis():
                    items += [WHOLE] * (rank - taken)
                case Slice(start=None, stop=None) if self._step(item) == -1:
                    items.append(item)
                case Slice() if self._step(item) == 1:
                    items.append(replace(item, step=None))
                case Slice():
                    return None
                case NewAxis():
                    items.append(item)
                case _:
                    if self.facts.value(item).shape:
                        return None
                    items.append(item)
        return items + [WHOLE] * (rank - sum(not isinstance(item, NewAxis) for item in items))

    def _step(self, item: Slice) -> object:
        return 1 if item.step is None else literal_of(self.facts.value(item.step))

    def _slice(self, place: Expr) -> Slice:
        """The slice of one element."""
        start = literal_of(self.facts.value(place))
        stop: Expr | None = number(start + 1) if isinstance(start, int) else binary("+", place, number(1))
        return Slice(span=NOWHERE, start=place, stop=None if start == -1 else stop, step=None)

    def _along(self, node: Index, slices: Sequence[Slice], axis: int, expr: Expr) -> Expr:
        """The gradient with zeros before and after what the index takes of one axis."""
        start, stop = slices[axis].start, slices[axis].stop
        if start is not None and literal_of(self.facts.value(start)) == 0:
            start = None
        if start is None and stop is None:
            return expr
        base = self.forward.read(node.of).expr

        def zeros(first: Expr | None, last: Expr | None) -> Expr:
            own = Slice(span=NOWHERE, start=first, stop=last, step=None)
            items = (*slices[:axis], own, *[WHOLE] * (len(slices) - axis - 1))
            part = Index(span=NOWHERE, of=base, items=items, items_span=NOWHERE)
            return call("where", number(True), number(0), part)

        cuts = tuple(cut for cut in (start, stop) if cut is not None)
        own = 0 if start is None else 1
        parts = tuple(expr if place == own else None for place in range(len(cuts) + 1))
        padded = Padded(text_of(base), axis, cuts, parts, zeros)
        made = padded.expr
        self.made[id(made)] = (made, padded)
        return made

    def is_padded(self, expr: Expr) -> bool:
        return id(expr) in self.made

    def fits(self, terms: Sequence[Term], term: Term) -> bool:
        """Whether a padded gradient is one `concat` with the sum of others."""
        total = terms[0].expr
        for one in (*terms[1:], term):
            total = self.plus(total, one.expr)
        return self.is_padded(total)

    def plus(self, first: Expr, second: Expr) -> Expr:
        """The sum of two gradients."""
        one, other = self.made.get(id(first)), self.made.get(id(second))
        both = None if one is None or other is None else one[1].plus(other[1])
        if both is None:
            return binary("+", first, second)
        made = both.expr
        self.made[id(made)] = (made, both)
        return made
