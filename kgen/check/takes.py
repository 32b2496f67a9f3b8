"""``take(a, i, axis=1, mode="clamp")`` as an index: ``a[:, clip(i, 0, size(a, 1) - 1)]``."""

from __future__ import annotations

from kgen.records import replace
from kgen.syntax.tree import Call, Ellipsis, Expr, Index, Keyword, Name, NewAxis, Number, Outside, Slice, Unary
from kgen.syntax.trees import call, filled, number

#: The place that an index ``i`` stands for along an axis of ``n`` elements.
_PLACES = {
    "clamp": "clip(i, 0, n - 1)",
    "wrap": "i % n",
    "reflect": "n - 1 - abs(i % max(2 * n - 2, 1) - (n - 1))",
    "fill": "i",
    "promise": "i",
}
_OUTSIDE: dict[str, Outside] = {"fill": "fill", "promise": "promise"}
_INSIDE = "i >= -n and i < n"
_WHOLE = Slice(span=number(0).span, start=None, stop=None, step=None)


def as_index(node: Call, rank: int | None = None) -> Expr | None:
    """The expression that a call of ``take`` is.  ``rank``: of the array.

    None for ``mode="fill"`` along an axis that is counted from the start, without a rank, which says where the
    condition lies.
    """
    array, at = node.args
    words = {word.name: word for word in node.keywords}
    axis = _literal(words["axis"]) if "axis" in words else 0
    mode = words["mode"].value.id if "mode" in words and isinstance(words["mode"].value, Name) else None
    if mode == "fill" and rank is not None and axis >= 0:
        axis -= rank
    itself = _index(node, array, (Ellipsis(span=node.span),))  # whose coordinates its index() are
    extent = call("size", itself, number(axis))
    place = at if mode is None else replace(filled(_PLACES[mode], {"i": at, "n": extent}), span=at.span)
    before = (_WHOLE,) * axis if axis >= 0 else (Ellipsis(span=node.span),)
    behind = max(0, -axis - 1)
    outside = _OUTSIDE.get(mode or "", "zero")
    found = _index(node, array, (*before, place, *(_WHOLE,) * behind), outside)
    if mode != "fill":
        return found
    inside = filled(_INSIDE, {"i": at, "n": extent})
    if behind:
        inside = _index(node, inside, (Ellipsis(span=node.span), *(NewAxis(span=node.span),) * behind))
    other = words["value"].value if "value" in words else number(False)  # 0, in the dtype of bools, too
    assert isinstance(other, Expr)
    return call("where", inside, found, other) if axis < 0 else None


def _index(
    node: Call, of: Expr, items: tuple[Expr | Slice | Ellipsis | NewAxis, ...], outside: Outside = "zero"
) -> Index:
    return Index(span=node.span, of=of, items=items, items_span=node.span, outside=outside)


def _literal(word: Keyword) -> int:
    """The number that ``axis=`` is, which is known to be one."""
    sign, value = 1, word.value
    while isinstance(value, Unary):
        sign, value = -sign if value.op == "-" else sign, value.operand
    return sign * value.value if isinstance(value, Number) and isinstance(value.value, int) else 0
