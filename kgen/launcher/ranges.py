"""Conditions on integers, as C text: where two of them cover a range together, they become one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgen.launcher.context import ClassContext

_MOST = 1 << 62  # no bound


def merged(classes: Sequence[ClassContext]) -> list[ClassContext]:
    """The classes; of those with the same choices, two are one where a single number's bounds differ and adjoin."""
    found: list[ClassContext] = []
    for one in classes:
        for place, other in enumerate(found):
            choices = _general(one, other) or _general(other, one)
            conditions = _together(one, other) if choices is not None else None
            if choices is not None and conditions is not None:
                found[place] = ClassContext(conditions, choices)
                break
        else:
            found.append(one)
    return found if len(found) == len(classes) else merged(found)


def _general(one: ClassContext, other: ClassContext) -> tuple[str, ...] | None:
    """The choices of one class, if they are also those of another, for which some numbers are constants."""
    equal = (re.fullmatch(r"(\w+) == (\d+)", c) for c in other.conditions)
    constants = {found[1]: found[2] for found in equal if found is not None}

    def with_constants(text: str) -> str:
        return re.sub(r"\w+", lambda word: constants.get(word[0], word[0]), text)

    same = [*map(with_constants, one.choices)] == [*map(with_constants, other.choices)]
    return one.choices if same else None


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
    least = 1 if name.isidentifier() else -_MOST  # of an extent
    found = [f"{name} >= {lowest}"] if lowest > least else []
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
