"""How far apart the rows of a box of two sides lie in shared memory: such that the lanes of a warp meet few bank
conflicts.  Boxes of three sides gain nothing by that (*Rows of boxes in shared memory*).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kgen.schedule.elementwise.box_shapes import pitch
from kgen.schedule.target import WARP, WORD

BANKS = 32
#: How many more words a row may have, and the warps of a block that are looked at.
_PADDING, _WARPS = 8, (0, 3)


@lru_cache(maxsize=1024)
def row_pitch(box: tuple[int, ...], size: int, groups: tuple[int, ...], order: tuple[int, ...], spare: int) -> int:
    """Elements from one row to the next: an odd number of words, unless others take fewer accesses of banks.

    ``order``: of the sides, in which an operand is written.  ``spare``: elements that a row may be longer.
    """
    usual, unit = pitch(box[0], size), max(1, WORD // size)
    warps = [_lanes(box, groups, sides, warp) for sides in ((0, 1), order) for warp in _WARPS]
    ways = (-(-box[0] // unit) * unit + more * unit for more in range(_PADDING))
    found = [usual, *(way for way in ways if way <= usual + spare)]
    return min(found, key=lambda way: sum(_accesses([u + way * v for u, v in lanes], size) for lanes in warps))


def _lanes(box: Sequence[int], groups: Sequence[int], order: Sequence[int], warp: int) -> list[tuple[int, int]]:
    """The first elements of a warp's lanes, in an order of sides."""
    first, last = order
    lines = box[first] // groups[first]
    places = (divmod(thread, lines) for thread in range(warp * WARP, (warp + 1) * WARP))
    found = [(groups[first] * lane, line) for line, lane in places if line < box[last]]
    return found if first == 0 else [(u, v) for v, u in found]


def _accesses(places: Sequence[int], size: int) -> int:
    """How often the banks are accessed for elements at these places."""
    found, lanes = 0, WARP * WORD // max(size, WORD)
    for start in range(0, len(places), lanes):
        words = {
            place * size // WORD + n for place in places[start : start + lanes] for n in range(max(1, size // WORD))
        }
        banks = [word % BANKS for word in words]
        found += max(map(banks.count, banks))
    return found
