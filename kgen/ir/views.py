"""Views: operands that are parts of other operands, as an index such as ``x[:, :64]`` takes them.

A view has the memory of its base: what it costs is what the same view costs where a caller passes it.  Its extents,
strides and address follow from those of its base, by NumPy's rules; extents may be traced numbers
(:mod:`kgen.schedule.trace`), so they are only computed with and compared.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class Computed:
    """``left op right``, of integers; ``op`` is one of ``+ - * //``, and ``x // 0`` is 0 as in programs."""

    op: str
    left: Bound
    right: Bound


Bound = int | str | Computed  #: an integer, the extent of a dimension symbol, or what is computed of these


class Extents(Protocol):
    """The extent of each dimension symbol, such as a mapping."""

    def get(self, dim: str, /) -> Any:
        """None where it is not known."""


#: The op of the IR for each operator of a bound.
OPS: Mapping[str, str] = {"+": "add", "-": "sub", "*": "mul", "//": "floordiv"}

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": lambda a, b: a // b if b != 0 else 0,
}


@dataclass(frozen=True, slots=True)
class Pick:
    """An integer: the element at this place, from the end where it is negative.  The view lacks the axis."""

    place: Bound


@dataclass(frozen=True, slots=True)
class Cut:
    """``start:stop:step``, as in NumPy.  ``step`` is not 0."""

    start: Bound | None = None
    stop: Bound | None = None
    step: int = 1


WHOLE = Cut()
REVERSED = Cut(step=-1)


@dataclass(frozen=True, slots=True)
class Split:
    """Two axes in place of one: groups of ``by`` elements, and the elements of a group.  ``by`` divides the extent.

    ``count``: the number of groups, where it does not follow from the extent: groups of no elements.
    """

    by: Bound
    count: Bound | None = None


Item = Pick | Cut | Split


@dataclass(frozen=True, slots=True)
class View:
    """``of``: the number of the base, an operand before this one.  ``items``: one for each axis of the base.

    Where one is a :class:`Split`, the others are whole.
    """

    of: int
    items: tuple[Item, ...]


def evaluate(bound: Bound, extents: Extents) -> Any:
    """The value of a bound; None where it depends on an extent that is not known."""
    if isinstance(bound, int):
        return bound
    if isinstance(bound, str):
        return extents.get(bound)
    left, right = evaluate(bound.left, extents), evaluate(bound.right, extents)
    return None if left is None or right is None else _OPERATORS[bound.op](left, right)


def picked(pick: Pick, extent: Any, extents: Extents) -> Any:
    """The place, from 0.  Raises IndexError where there is no such element."""
    place = evaluate(pick.place, extents)
    if place is None or extent is None:
        return None
    if place < 0:
        place = place + extent
    if place < 0 or place >= extent:
        raise IndexError(f"index {evaluate(pick.place, extents)} is out of range for an axis of {extent}")
    return place


def span(cut: Cut, extent: Any, extents: Extents) -> tuple[Any, Any] | None:
    """The first element and the number of elements; None where they are not known."""
    if cut == WHOLE:
        return None if extent is None else (0, extent)
    given = [None if b is None else evaluate(b, extents) for b in (cut.start, cut.stop)]
    if extent is None or any(b is not None and v is None for b, v in zip((cut.start, cut.stop), given, strict=True)):
        return None
    low, high = (0, extent) if cut.step > 0 else (-1, extent - 1)
    ends = [low, high] if cut.step > 0 else [high, low]
    first, last = (end if v is None else _within(v, extent, low, high) for v, end in zip(given, ends, strict=True))
    distance = last - first if cut.step > 0 else first - last
    if distance <= 0:
        return 0, 0
    return first, (distance + (abs(cut.step) - 1)) // abs(cut.step)


def groups(split: Split, extent: Any, extents: Extents) -> tuple[Any, Any]:
    """The number of groups and the elements of each; None where they are not known.  Raises IndexError."""
    by = evaluate(split.by, extents)
    if split.count is not None:
        count = evaluate(split.count, extents)
        if extent is not None and count is not None and by is not None and extent != count * by:
            raise IndexError(f"an axis of {extent} does not split into {count} groups of {by}")
        return count, by
    if by is None:
        return None, None
    if by <= 0 or (extent is not None and extent % by != 0):
        raise IndexError(f"an axis{'' if extent is None else f' of {extent}'} does not split into groups of {by}")
    return None if extent is None else extent // by, by


def _within(place: Any, extent: Any, low: Any, high: Any) -> Any:
    if place < 0:
        place = place + extent
    return low if place < low else high if place > high else place


def shape_of(view: View, shape: Sequence[Any], extents: Extents) -> tuple[Any, ...]:
    """The extents of a view.  ``shape``: of its base.  Raises IndexError."""
    found: list[Any] = []
    for item, extent in zip(view.items, shape, strict=True):
        if isinstance(item, Pick):
            picked(item, extent, extents)
            continue
        if isinstance(item, Split):
            found += groups(item, extent, extents)
            continue
        part = span(item, extent, extents)
        found.append(None if part is None else part[1])
    return tuple(found)


def strides_of(
    view: View, shape: Sequence[Any], strides: Sequence[Any], extents: Extents
) -> tuple[tuple[Any, ...], Any]:
    """The strides of a view and its offset from its base, in elements."""
    offset: Any = 0
    found: list[Any] = []
    for item, extent, stride in zip(view.items, shape, strides, strict=True):
        if isinstance(item, Pick):
            offset = offset + picked(item, extent, extents) * stride
        elif isinstance(item, Split):
            found += [stride * groups(item, extent, extents)[1], stride]
        elif (part := span(item, extent, extents)) is not None:
            offset = offset + part[0] * stride
            found.append(stride * item.step)
    return tuple(found), offset


def show(view: View, base: str, names: Mapping[str, str] | None = None) -> str:
    """``x[:, n1 // 2:]``: a view as text.  ``names``: what extents are called, by dimension symbol."""
    for axis, item in enumerate(view.items):
        if isinstance(item, Split):
            count = "" if names is not None or item.count is None else f", count={show_bound(item.count, names or {})}"
            return f"split({base}, axis={axis}, by={show_bound(item.by, names or {})}{count})"
    return f"{base}[{', '.join(_show_item(item, names or {}) for item in view.items)}]"


def _show_item(item: Item, names: Mapping[str, str]) -> str:
    if isinstance(item, Pick):
        return show_bound(item.place, names)
    assert isinstance(item, Cut)
    ends = ":".join("" if b is None else show_bound(b, names) for b in (item.start, item.stop))
    return ends if item.step == 1 else f"{ends}:{item.step}"


def show_bound(bound: Bound, names: Mapping[str, str] = {}) -> str:
    """An extent as text."""
    if isinstance(bound, Computed):
        sides = (
            f"({show_bound(b, names)})" if isinstance(b, Computed) else show_bound(b, names)
            for b in (bound.left, bound.right)
        )
        return f" {bound.op} ".join(sides)
    return names.get(bound, bound) if isinstance(bound, str) else str(bound)
