"""The gradients of functions that take elements in other places: each element's goes back to where it was."""

from __future__ import annotations

from collections.abc import Callable

from kgen.gradients.facts import Facts
from kgen.gradients.forward import Forward
from kgen.gradients.padded import WHOLE
from kgen.gradients.reduced import named_axes
from kgen.gradients.terms import Term
from kgen.ir.graph import Shape
from kgen.records import replace
from kgen.syntax.tree import Call, Expr, Index, Slice, Tuple
from kgen.syntax.trees import NOWHERE, axes, binary, call, number

Part = tuple[Expr, Expr]  # an operand, and its gradient


def view_parts(facts: Facts, forward: Forward, node: Call, gradient: Expr) -> list[tuple[Expr, Term]] | None:
    """The gradient of each operand, from one of all elements of the result; None where that is not supported."""
    rule = RULES.get(node.function)
    found = None if rule is None else rule(facts, forward, node, gradient)
    return None if found is None else [(child, Term(expr, _shape(facts, child))) for child, expr in found]


def _shape(facts: Facts, node: Expr) -> Shape:
    return facts.shape(facts.value(node))


def _transpose(facts: Facts, forward: Forward, node: Call, gradient: Expr) -> list[Part]:
    rank = len(_shape(facts, node))
    order = named_axes(node, "axes", rank) or list(reversed(range(rank)))
    back = Tuple(span=NOWHERE, items=tuple(number(order.index(axis)) for axis in range(rank)))
    return [(node.args[0], call("transpose", gradient, axes=back))]


def _flip(facts: Facts, forward: Forward, node: Call, gradient: Expr) -> list[Part]:
    return [(node.args[0], replace(node, args=(gradient,)))]


def _split(facts: Facts, forward: Forward, node: Call, gradient: Expr) -> list[Part]:
    rank = len(_shape(facts, node))
    (axis,) = named_axes(node, "axis", rank - 1) or [rank - 2]
    return [(node.args[0], call("merge", gradient, axis=axes((axis, axis + 1))))]


def _merge(facts: Facts, forward: Forward, node: Call, gradient: Expr) -> list[Part] | None:
    """Of axes whose extents the text has, but for the first: those of a split and of a stack."""
    (operand,) = node.args
    shape = _shape(facts, operand)
    first, *others = named_axes(node, "axis", len(shape)) or [len(shape) - 2, len(shape) - 1]
    for axis in reversed(others):
        by = facts.written_extent(shape[axis])
        if isinstance(operand, Call) and operand.function == "stack":
            by = len(operand.args) if (named_axes(operand, "axis", len(shape)) or [0]) == [axis] else by
        if by is None:
            return None
        gradient = call("split", gradient, axis=number(first), by=number(by))
    return [(operand, gradient)]


def _concat(facts: Facts, forward: Forward, node: Call, gradient: Expr) -> list[Part]:
    rank = len(_shape(facts, node))
    (axis,) = named_axes(node, "axis", rank) or [0]
    found: list[Part] = []
    start: Expr | None = None
    for place, child in enumerate(node.args):
        size = call("size", forward.read(child).expr, number(axis))
        stop = size if start is None else binary("+", start, size)
        last = None if place == len(node.args) - 1 else stop
        own = Slice(span=NOWHERE, start=start, stop=last, step=None)
        found.append((child, _indexed(gradient, axis, own)))
        start = stop
    return found


def _stack(facts: Facts, forward: Forward, node: Call, gradient: Expr) -> list[Part]:
    (axis,) = named_axes(node, "axis", len(_shape(facts, node))) or [0]
    return [(child, _indexed(gradient, axis, number(place))) for place, child in enumerate(node.args)]


def _indexed(gradient: Expr, axis: int, item: Expr | Slice) -> Expr:
    return Index(span=NOWHERE, of=gradient, items=(*[WHOLE] * axis, item), items_span=NOWHERE)


def _repeat(facts: Facts, forward: Forward, node: Call, gradient: Expr) -> list[Part]:
    (axis,) = named_axes(node, "axis", len(_shape(facts, node))) or [0]
    parts = call("split", gradient, axis=number(axis), by=node.args[1])
    return [(node.args[0], call("sum", parts, axis=number(axis + 1)))]


RULES: dict[str, Callable[[Facts, Forward, Call, Expr], list[Part] | None]] = {
    "transpose": _transpose,
    "flip": _flip,
    "split": _split,
    "merge": _merge,
    "concat": _concat,
    "stack": _stack,
    "repeat": _repeat,
}
