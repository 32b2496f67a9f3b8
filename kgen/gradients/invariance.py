"""Maxima that are only subtracted before ``exp`` and cancel in the result, so that no gradient flows through them.

For one maximum ``m`` it is found how each value depends on it: as ``f + k * m`` or as ``f * exp(k * m)``, where ``f``
does not.  Where ``k`` is 0 for all outputs, their derivative by ``m`` is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set as AbstractSet
from typing import Literal

from kgen.dtypes import Kind
from kgen.functions import FUNCTIONS
from kgen.gradients.facts import Facts, kind_of, literal_of
from kgen.gradients.local import target_of
from kgen.gradients.reduced import expanded_axes, reduced_axes
from kgen.ir.graph import Dim, Shape
from kgen.records import dataclass, replace
from kgen.syntax.text import text_of
from kgen.syntax.tree import Call, Expr, Name, children, postorder

_MOST = 8  # maxima of one program; each is followed through all of it


@dataclass(frozen=True, slots=True)
class Weight:
    """``f + k * m`` or ``f * exp(k * m)``.  ``along``: the shape of ``m`` beside that of the value."""

    form: Literal["sum", "product"]
    k: float
    along: Shape


class _Unknown(Exception):
    """The dependence has neither of the two forms."""


def cancelled(facts: Facts, outputs: Collection[str]) -> frozenset[int]:
    """The ids of those reductions by ``max`` or ``min`` on which these outputs do not depend."""
    maxima: dict[str, set[int]] = {}  # by their text: those that are written alike are one
    for node in (node for s in facts.program.statements for node in postorder(s.value) if _is_maximum(node)):
        maxima.setdefault(text_of(node), set()).add(id(node))
    some = list(maxima.values())[:_MOST]
    return frozenset().union(*(nodes for nodes in some if _cancels(facts, nodes, outputs)))


def _is_maximum(node: Expr) -> bool:
    return isinstance(node, Call) and len(node.args) == 1 and FUNCTIONS[node.function].target in ("max", "min")


def _cancels(facts: Facts, maximum: AbstractSet[int], outputs: Collection[str]) -> bool:
    names: dict[str, Weight | None] = {}
    try:
        for statement in facts.program.statements:
            names[statement.name] = _of_expression(facts, statement.value, maximum, names)
    except _Unknown:
        return False
    found = [names[name] for name in outputs]
    return all(weight is None or weight.k == 0 for weight in found)


def _of_expression(
    facts: Facts, root: Expr, maximum: AbstractSet[int], names: Mapping[str, Weight | None]
) -> Weight | None:
    """How an expression depends on the maximum; None if it does not."""
    found: dict[int, Weight | None] = {}
    for node in postorder(root):
        if id(node) in maximum:
            found[id(node)] = Weight("sum", 1, facts.shape(facts.value(node)))
        elif isinstance(node, Name):
            found[id(node)] = names.get(node.id)
        else:
            below = [found[id(child)] for child in children(node)]
            depends = any(below) and kind_of(facts.value(node)) >= Kind.FLOAT
            found[id(node)] = _of_node(facts, node, below) if depends else None
    return found[id(root)]


def _of_node(facts: Facts, node: Expr, below: list[Weight | None]) -> Weight | None:
    if isinstance(node, Call) and len(node.args) == 1 and FUNCTIONS[node.function].rule == "reduction":
        return _reduced(facts, node, _known(below[0]))
    if isinstance(node, Call) and node.function == "expand":
        weight = _known(below[0])
        return replace(weight, along=_expanded(facts, node, weight.along))
    rule = _RULES.get(target_of(node))
    if rule is None:
        raise _Unknown
    along = max((w.along for w in below if w is not None), key=len)
    literals = [literal_of(facts.value(child)) for child in children(node)]
    form, k = rule(below, literals)
    return None if k == 0 else Weight(form, k, along)


def _known(weight: Weight | None) -> Weight:
    assert weight is not None
    return weight


def _reduced(facts: Facts, node: Call, weight: Weight) -> Weight:
    """Along axes on which the maximum is one value."""
    rank = len(facts.value(node.args[0]).shape)
    over, kept = reduced_axes(node, rank)
    missing = rank - len(weight.along)
    if any(axis >= missing and weight.along[axis - missing] != 1 for axis in over):
        raise _Unknown
    if FUNCTIONS[node.function].target not in _KEPT_BY[weight.form]:
        raise _Unknown
    along = tuple(dim for axis, dim in enumerate(weight.along) if kept or axis + missing not in over)
    return Weight(weight.form, weight.k, along)


def _expanded(facts: Facts, node: Call, along: Shape) -> Shape:
    rank = len(facts.value(node).shape)
    places = expanded_axes(node, rank)
    shape: list[Dim] = list(along)
    shape[:0] = [1] * (rank - len(places) - len(along))
    for place in places:
        shape.insert(place, 1)
    return tuple(shape)


#: The reductions that leave ``+ k * m`` and ``* exp(k * m)`` as they are.
_KEPT_BY = {"sum": ("mean", "max", "min", "logsumexp"), "product": ("sum", "mean", "max", "min", "norm", "std")}

Found = tuple[Literal["sum", "product"], float]
Below = list[Weight | None]
Literals = list[bool | int | float | complex | None]


def _k(weight: Weight | None, form: str) -> float:
    """The factor of a value in this form: 0 of one that does not depend on the maximum."""
    if weight is None:
        return 0
    if weight.form != form:
        raise _Unknown
    return weight.k


def _form(below: Below) -> Literal["sum", "product"]:
    return next(weight.form for weight in below if weight is not None)


def _added(sign: int) -> Callable[[Below, Literals], Found]:
    """``a + b`` and ``a - b``; products that scale alike stay so."""

    def rule(below: Below, literals: Literals) -> Found:
        if _form(below) == "sum":
            return "sum", _k(below[0], "sum") + sign * _k(below[1], "sum")
        if _k(below[0], "product") != _k(below[1], "product"):
            raise _Unknown
        return "product", _k(below[0], "product")

    return rule


def _times(sign: int) -> Callable[[Below, Literals], Found]:
    """``a * b`` and ``a / b``; a sum times a literal."""

    def rule(below: Below, literals: Literals) -> Found:
        if _form(below) == "product":
            return "product", _k(below[0], "product") + sign * _k(below[1], "product")
        weight, other = (below[0], literals[1]) if below[0] is not None else (below[1], literals[0])
        if not isinstance(other, int | float) or (sign < 0 and below[0] is None) or other == 0:
            raise _Unknown
        return "sum", _k(weight, "sum") * (other if sign > 0 else 1 / other)

    return rule


def _same(below: Below, literals: Literals) -> Found:
    weight = _known(below[0])
    return weight.form, weight.k


def _negated(below: Below, literals: Literals) -> Found:
    weight = _known(below[0])
    return weight.form, -weight.k if weight.form == "sum" else weight.k


def _chosen(below: Below, literals: Literals) -> Found:
    """``c ? a : b`` of two that depend alike."""
    form = _form(below[1:])
    if _k(below[1], form) != _k(below[2], form):
        raise _Unknown
    return form, _k(below[1], form)


_RULES: dict[str, Callable[[Below, Literals], Found]] = {
    "+": _added(1),
    "-": _added(-1),
    "*": _times(1),
    "/": _times(-1),
    "positive": _same,
    "negative": _negated,
    "where": _chosen,
    "exp": lambda below, literals: ("product", _k(below[0], "sum")),
    "log": lambda below, literals: ("sum", _k(below[0], "product")),
}
