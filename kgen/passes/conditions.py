"""What a condition says of integers and bools where it holds, and where it does not: ``x`` is 0 at least if not
``x < 0``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kgen.ir.graph import Op
from kgen.passes.comparisons import EXCHANGED

#: The least and the greatest value; None for floats that may be anything, NaN included.
Range = tuple[float, float] | None

#: The comparison that holds where another one does not.
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq"}
#: Parts of a condition that are looked at, so that long conditions take no more time than others.
_MOST_PARTS = 8


def ranges_where(ops: Sequence[Op], known: Sequence[Range], condition: int, holds: bool) -> Mapping[int, Range]:
    """The ranges of the condition, of what it consists of, and of the integers that are compared there, where it holds
    or does not.  ``known``: of every op."""
    found = dict[int, Range]()
    for part, is_true in _parts(ops, condition, holds):
        found[part] = (1, 1) if is_true else (0, 0)
        found.update(_of_comparison(ops, known, part, is_true))
    return found


def _parts(ops: Sequence[Op], condition: int, holds: bool) -> Iterator[tuple[int, bool]]:
    """The condition and what follows from it: what is negated, both sides of an ``and`` that holds, and of an ``or``
    that does not; and whether each is true."""
    left = [(condition, holds)]
    for _ in range(_MOST_PARTS):
        if not left:
            return
        part, is_true = left.pop()
        yield part, is_true
        op = ops[part]
        if op.name == "not" or op.name == ("and" if is_true else "or"):
            left += [(a, is_true != (op.name == "not")) for a in op.args]


def _of_comparison(
    ops: Sequence[Op], known: Sequence[Range], comparison: int, holds: bool
) -> Iterator[tuple[int, Range]]:
    """The ranges of the integers that are compared."""
    op = ops[comparison]
    name = op.name if holds else _OPPOSITE.get(op.name)
    if name == "ne" or name not in EXCHANGED:
        return
    left, right = op.args
    for a, b, compared in ((left, right, name), (right, left, EXCHANGED[name])):
        own, other = known[a], known[b]
        if ops[a].dtype.is_int and own is not None and other is not None:
            narrower = _compared(own, compared, other)
            if narrower[0] <= narrower[1]:  # else it never does
                yield a, narrower


def _compared(own: tuple[float, float], name: str, other: tuple[float, float]) -> tuple[float, float]:
    """The integers of a range that are less than one of the other, or greater, or equal to one."""
    least, greatest = own
    match name:
        case "eq":
            return max(least, other[0]), min(greatest, other[1])
        case "lt":
            return least, min(greatest, other[1] - 1)
        case "le":
            return least, min(greatest, other[1])
        case "gt":
            return max(least, other[0] + 1), greatest
        case _:
            return max(least, other[0]), greatest
