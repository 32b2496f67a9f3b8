"""Conditions on integers, as C text: where two of them cover a range together, they become one."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.launcher.context import ClassContext

_MOST = 1 << 62  # no bound


def merged(classes: Sequence[ClassContext]) -> list[ClassContext]:
    """The classes; of those with the same choices, two are one where a single number's bounds differ and adjoin."""
    found: list[ClassContext] = []
    for one in classes:
        for place, other in enumerate(found):
            conditions = _together(one, other) if one.choices == other.choices else None
            if conditions is not None:
                found[place] = ClassContext(conditions, one.choices)
                break
        else:
            found.append(one)
    return found if len(found) == len(classes) else merged(found)


def _together(one: ClassContext, other: ClassContext) -> tuple[str, ...] | None:
    """The conditions under which one of two classes applies; None where these are not plain."""
    common = set(one.conditions) & set(other.conditions)
    mine, others = ([c for c in of.conditions if c not in common] for of in (one, other))
    if _are_opposite(mine, others):
        return tuple(c for c in one.conditions if c in common)
    subjects = {c.rsplit(" ", 2)[0] for c in (*mine, *others)}
    first, second = _range(mine), _range(others)
    if len(subjects) != 1 or first is None or second is None:
        return None
    if max(first[0], second[0]) > min(first[1], second[1]) + 1:
        return None
    bounds = _bounds(subjects.pop(), min(first[0], second[0]), max(first[1], second[1]))
    return (*(c for c in one.conditions if c in common), *bounds)


def _bounds(name: str, lowest: int, highest: int) -> list[str]:
    found = [f"{name} >= {lowest}"] if lowest > -_MOST else []
    return [*found, f"{name} <= {highest}"] if highest < _MOST else found


def _are_opposite(mine: Sequence[str], others: Sequence[str]) -> bool:
    """Whether one says that two numbers are equal, and the other that they are not."""
    if len(mine) != 1 or len(others) != 1:
        return False
    one, other = mine[0], others[0]
    return one != other and one.replace(" != ", " == ") == other.replace(" != ", " == ")


def _range(conditions: Sequence[str]) -> tuple[int, int] | None:
    """The least and the greatest number for which conditions hold; None for others than bounds by numbers."""
    lowest, highest = -_MOST, _MOST
    for condition in conditions:
        _, relation, right = condition.rsplit(" ", 2)
        if relation not in ("==", "<=", ">=") or not right.isdecimal():
            return None
        lowest = max(lowest, int(right)) if relation != "<=" else lowest
        highest = min(highest, int(right)) if relation != ">=" else highest
    return lowest, highest
