"""Random indices of what programs compute: slices, integers, ``None`` and ``...``, transposed, flipped and split."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from random import Random

MOST_AXES = 8
MOST_ELEMENTS = 1 << 14  # an array of more is not made larger


def source(rng: Random, shape: Sequence[int], extent_of: str | None = None) -> tuple[tuple[int, ...], str]:
    """The shape of an array, and a view of it that has the given shape: ``transpose({0}[1:, ::2])``.

    ``extent_of``: the name of an array of that shape; some bounds are then computed from its extents.
    """
    at = rng.randrange(len(shape) - 1) if len(shape) > 1 and rng.random() < 0.2 else None
    if at is not None and shape[at + 1]:
        by = shape[at + 1]
        inner, form = source(rng, (*shape[:at], shape[at] * by, *shape[at + 2 :]), extent_of)
        return inner, f"split({form}, axis={at}, by={by})"
    order = list(range(len(shape)))
    if rng.random() < 0.3:
        rng.shuffle(order)
    inner, items = _source(rng, [shape[order.index(axis)] for axis in range(len(shape))], extent_of)
    form = f"{{0}}{items}"
    if order != sorted(order):
        form = f"transpose({form}, ({', '.join(map(str, order))}))"
    if shape and rng.random() < 0.15:
        form = f"flip({form}, axis={rng.randrange(-len(shape), len(shape))})"
    return inner, form


def _source(rng: Random, shape: Sequence[int], extent_of: str | None) -> tuple[tuple[int, ...], str]:
    """The shape of an array, and an index of it that has the given shape."""
    large = prod(shape) > MOST_ELEMENTS
    extents: list[int] = []
    items: list[str] = []
    for n in shape:
        if len(extents) + len(shape) < MOST_AXES and not large and rng.random() < 0.15:
            extents.append(rng.choice((1, 2, 3)))
            items.append(str(rng.randrange(-extents[-1], extents[-1])))
        if n == 1 and rng.random() < 0.25:
            items.append("None")
        elif rng.random() < 0.4:
            extents.append(n)
            items.append(":")
        else:
            extent, item = _slice(rng, n, large, f"size({extent_of}, {len(extents)})" if extent_of else None)
            extents.append(extent)
            items.append(item)
    return tuple(extents), f"[{', '.join(_shortened(rng, items)) or '...'}]"


def _slice(rng: Random, n: int, large: bool, size: str | None) -> tuple[int, str]:
    """An extent, and a slice of it with so many elements."""
    step = rng.choice((1, -1)) if large else rng.choice((1, 1, 1, 2, 3, -1, -1, -2))
    first, behind = rng.choice((0, 0, 1, 2, 4)), rng.choice((0, 0, 1, 3))
    span = (n - 1) * abs(step) + 1 if n else 0
    extent = first + span + behind

    def place(at: int) -> str:
        """A place of the axis as a program may spell it."""
        spellings = [str(at)]
        if at < extent:
            spellings.append(str(at - extent))
        if size is not None:
            spellings.append(f"{size} - {extent - at}")
        return rng.choice(spellings)

    if n == 0:
        return extent, f"{first}:{first}"
    if step > 0:
        start = "" if first == 0 and rng.random() < 0.5 else place(first)
        to_end = behind < step and rng.random() < 0.5
        stop = rng.choice(("", str(extent + 3))) if to_end else place(first + span)
    else:
        start = "" if behind == 0 and rng.random() < 0.5 else place(first + span - 1)
        stop = "" if first < -step and rng.random() < 0.5 else place(first - 1) if first else ""
    return extent, f"{start}:{stop}" + ("" if step == 1 else f":{step}")


def part(rng: Random, shape: Sequence[int], *, like: bool) -> tuple[tuple[int, ...], str]:
    """The shape of an index of something of the given shape, and the index.  ``like``: so that both broadcast."""
    items: list[str] = []
    found: list[int] = []
    for n in shape:
        roll = rng.random()
        if n > 0 and roll < 0.15 and (not like or not found):
            items.append(str(rng.randrange(-n, n)))
        elif n > 0 and roll < 0.3:
            place = rng.randrange(n)
            items.append(f"{place}:{place + 1}")
            found.append(1)
        elif not like and n > 1 and roll < 0.7:
            start, stop, step = rng.randrange(-n, n), rng.choice((-1, n // 2, n, n + 2)), rng.choice((1, 1, 2, -1))
            items.append(f"{start}:{stop}" + f":{step}" * (step != 1))
            found.append(len(range(n)[start:stop:step]))
        else:
            items.append(rng.choice((":", "::-1")))
            found.append(n)
        if not like and len(shape) < MOST_AXES - 1 and rng.random() < 0.05:
            items.append("None")
            found.append(1)
    return tuple(found), f"[{', '.join(_shortened(rng, items)) or '...'}]"


def _shortened(rng: Random, items: list[str]) -> list[str]:
    """The same index, with ``...`` in place of whole axes or without those at its end."""
    whole = [i for i, item in enumerate(items) if item == ":"]
    if whole and rng.random() < 0.5:
        start = stop = rng.choice(whole)
        while stop < len(items) and items[stop] == ":":
            stop += 1
        while start > 0 and items[start - 1] == ":":
            start -= 1
        return [*items[:start], "...", *items[stop:]]
    if rng.random() < 0.3:
        at = rng.randrange(len(items) + 1)
        return [*items[:at], "...", *items[at:]]
    while items and items[-1] == ":" and rng.random() < 0.5:
        items = items[:-1]
    return items
