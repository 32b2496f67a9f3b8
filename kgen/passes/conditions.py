"""What a condition says of integers and bools where it holds, and where it does not: ``x`` is 0 at least if not
``x < 0``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.ir.graph import Op

#: The least and the greatest value; None for floats that may be anything, NaN included.
Range = tuple[float, float] | None

#: The same comparison with its sides exchanged, and the comparison that holds where it does not.
_EXCHANGED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq"}


def ranges_where(ops: Sequence[Op], known: Sequence[Range], condition: int, holds: bool) -> Mapping[int, Range]:
    """The ranges of the condition, of what it consists of, and of the integers that are compared there, where it holds
    or does not.  ``known``: of every op."""
    op, found = ops[condition], dict[int, Range]()
    if op.dtype.is_bool:
        if op.name == "not" or op.name == ("and" if holds else "or"):
            for part in op.args:
                found.update(ranges_where(ops, known, part, holds != (op.name == "not")))
        found[condition] = (1, 1) if holds else (0, 0)
    name = op.name if holds else _OPPOSITE.get(op.name)
    if name not in _EXCHANGED:
        return found
    left, right = op.args
    for a, b, compared in ((left, right, name), (right, left, _EXCHANGED[name])):
        own, other = known[a], known[b]
        if ops[a].dtype.is_int and own is not None and other is not None:
            narrower = _compared(own, compared, other)
            if narrower[0] <= narrower[1]:  # else it never does
                found[a] = narrower
    return found


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
