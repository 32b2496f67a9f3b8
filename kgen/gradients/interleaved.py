"""Updates of every other element: those of the even and of the odd ones are one value of all elements.

x_grad[..., ::2] += a and x_grad[..., 1::2] += b   ->   x_grad = merge(stack(a, b, axis=-1))
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from kgen.gradients.facts import Facts, literal_of
from kgen.gradients.walk import Line
from kgen.syntax.tree import Ellipsis, Expr, Index, Slice
from kgen.syntax.trees import axes, binary, call, number


def interleaved(facts: Facts, updates: Sequence[Line]) -> tuple[list[Expr], list[Line]]:
    """The values of all elements, and the updates that are left."""
    halves: dict[int, tuple[list[Line], list[Line]]] = {}  # by axis
    for update in updates:
        assert update.at is not None
        found = _half(facts, update.at)
        if found is not None:
            halves.setdefault(found[0], ([], []))[found[1]].append(update)
    whole = {axis: both for axis, both in halves.items() if _fit(facts, axis, both)}
    taken = {id(update) for both in whole.values() for half in both for update in half}
    return [_merged(axis, both) for axis, both in whole.items()], [u for u in updates if id(u) not in taken]


def _half(facts: Facts, node: Index) -> tuple[int, int] | None:
    """The axis of which an index takes every other element, and its first one; None of other indices."""
    rank = len(facts.value(node.of).shape)
    found: list[tuple[int, int]] = []
    axis = 0
    for item in node.items:
        if isinstance(item, Ellipsis):
            axis += rank - len(node.items) + 1
        elif not isinstance(item, Slice) or item.stop is not None:
            return None
        else:
            start, step = (
                literal_of(facts.value(e)) if e is not None else n for e, n in ((item.start, 0), (item.step, 1))
            )
            if step == 2 and start in (0, 1):
                found.append((axis, int(start == 1)))
            elif (start, step) != (0, 1):
                return None
            axis += 1
    return found[0] if len(found) == 1 else None


def _fit(facts: Facts, axis: int, both: tuple[list[Line], list[Line]]) -> bool:
    """Whether there are as many even as odd elements."""
    even, odd = ({facts.shape(facts.value(u.at))[axis] for u in half if u.at is not None} for half in both)
    return len(even) == 1 and even == odd


def _merged(axis: int, both: tuple[list[Line], list[Line]]) -> Expr:
    even, odd = (reduce(lambda a, b: binary("+", a, b), [u.value for u in half]) for half in both)
    return call("merge", call("stack", even, odd, axis=number(axis + 1)), axis=axes((axis, axis + 1)))
