"""The gradient of one element of each row: each element of the row compares its place with that of the index.

out = x[index(0), y]   ->   x_grad = index(-1) == expand(y, axis=1) ? expand(out_grad, axis=1) : 0
"""

from __future__ import annotations

from collections.abc import Collection

from kgen.check.scope import uses_place
from kgen.gradients.facts import Facts, dtype_of, literal_of
from kgen.gradients.forward import Forward
from kgen.gradients.reduced import reduced_axes
from kgen.gradients.terms import Term, inserted, unreduced
from kgen.gradients.walk import has_rule, is_reduction
from kgen.syntax.tree import Call, Ellipsis, Expr, Index, Name, NewAxis, Slice, postorder
from kgen.syntax.trees import call, filled, number


def picked(facts: Facts, forward: Forward, node: Index, gradient: Term) -> Term | None:
    """A gradient of the index's own shape as one of what is indexed; None of other indices."""
    whole, own = facts.shape(facts.value(node.of)), facts.shape(facts.value(node))
    axis = _picked_axis(facts, node)
    if axis is None or own != whole[:axis] + whole[axis + 1 :]:
        return None
    item = node.items[axis]
    assert isinstance(item, Expr)
    value = facts.value(item)
    if facts.shape(value) != own or uses_place({}, (), item):
        return None
    place = forward.read(item).expr
    dtype = dtype_of(value)
    if dtype is not None and dtype.signed:
        extent = call("size", forward.read(node.of).expr, number(axis))
        place = filled("a < 0 ? a + n : a", {"a": place, "n": extent})
    right = call("index", number(axis - len(whole)))
    here = filled("a == b", {"a": right, "b": inserted(Term(place, own), [axis]).expr})
    like = facts.shaped(whole, dtype_of(facts.value(node.of))) or forward.read(node.of).expr
    spread = call("where", number(True), unreduced(gradient, [axis], len(whole)).expr, like)
    return Term(filled("a ? b : 0", {"a": here, "b": spread}), whole)


def _picked_axis(facts: Facts, node: Index) -> int | None:
    """The axis at which an array picks, where the indices of the others are their coordinates."""
    found: list[int] = []
    for axis, item in enumerate(node.items):
        if isinstance(item, Slice | Ellipsis | NewAxis):
            return None
        if not _is_coordinate(facts, item, axis - len(found), len(node.items) - 1):
            found.append(axis)
    return found[0] if len(found) == 1 and len(node.items) == len(facts.value(node.of).shape) else None


def _is_coordinate(facts: Facts, item: Expr, axis: int, rank: int) -> bool:
    if not isinstance(item, Call) or item.function != "index":
        return False
    number = literal_of(facts.value(item.args[0]))
    return isinstance(number, int) and number in (axis, axis - rank)


def keeps_axes(facts: Facts, forward: Forward, node: Expr, arguments: Collection[str]) -> bool:
    """Whether the gradient of a node reaches the arguments without new axes, within which no index() may stand."""
    todo, seen = [node], set[str]()
    values = {s.name: s.value for s in facts.program.statements}
    while todo:
        for part in postorder(todo.pop()):
            if isinstance(part, Name):
                if part.id in values and part.id not in seen and part.id not in arguments:
                    seen.add(part.id)
                    todo.append(values[part.id])
            elif forward.is_active(part) and not _keeps_axes(facts, part):
                return False
    return True


def _keeps_axes(facts: Facts, node: Expr) -> bool:
    if isinstance(node, Index) or has_rule(node, "view") or (isinstance(node, Call) and node.function == "expand"):
        return False
    if not is_reduction(node):
        return True
    assert isinstance(node, Call)
    shape = facts.shape(facts.value(node.args[0]))
    over, kept = reduced_axes(node, len(shape))
    return kept or len(over) == len(shape)
