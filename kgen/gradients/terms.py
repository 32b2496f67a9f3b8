"""What is added to gradients: expressions with the shapes that they really have.

A gradient may have fewer axes than its value, or extents of 1 where the value has more: it is the same along these.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.gradients.facts import Facts
from kgen.ir.graph import Dim, Shape
from kgen.records import dataclass
from kgen.syntax.tree import Binary, Call, Expr, Number, Tuple
from kgen.syntax.trees import axes, binary, call, number


@dataclass(frozen=True, slots=True)
class Term:
    """An expression and its shape."""

    expr: Expr
    shape: Shape


def times(count: int, expr: Expr) -> Expr:
    """``2 * a * b`` for a product: its first factors may be one number for many elements."""
    if count == 1:
        return expr
    if isinstance(expr, Binary) and expr.op == "*":
        return binary("*", times(count, expr.left), expr.right)
    return binary("*", number(count), expr)


def joined(shapes: Sequence[Shape]) -> Shape:
    """The broadcast of shapes that are known to fit."""
    out: list[Dim] = []
    for shape in shapes:
        out[:0] = [1] * (len(shape) - len(out))
        for offset in range(1, len(shape) + 1):
            if shape[-offset] != 1:
                out[-offset] = shape[-offset]
    return tuple(out)


def summed(facts: Facts, term: Term, whole: Shape, target: Shape) -> Term:
    """The sum of a term over the axes along which an operand of shape ``target`` was broadcast to ``whole``.

    Where the term is the same along such an axis, it is multiplied by the extent.
    """
    expr, shape = term.expr, term.shape
    over: list[int] = []
    for offset in range(1, len(whole) + 1):
        if whole[-offset] == 1 or (offset <= len(target) and target[-offset] != 1):
            continue
        if offset <= len(shape) and shape[-offset] != 1:
            over.append(len(shape) - offset)
        else:
            expr = binary("*", expr, facts.extent(whole[-offset]))
    over += [axis for axis in range(len(shape) - len(target)) if axis not in over]  # of extent 1, and too many
    over.sort()
    if not over:
        return Term(expr, shape)
    return _reduced(expr, shape, over, len(target))


def _reduced(expr: Expr, shape: Shape, over: list[int], rank: int) -> Term:
    kept = [axis for axis in over if len(shape) - axis <= rank]
    if len(kept) == len(over):
        left: Shape = tuple(1 if axis in over else dim for axis, dim in enumerate(shape))
        if len(over) == len(shape):  # broadcasting adds the axes again
            return Term(call("sum", expr), ())
        return Term(call("sum", expr, axis=axes(over), keepdims=Number(span=expr.span, value=True)), left)
    left = tuple(dim for axis, dim in enumerate(shape) if axis not in over)
    if not left:
        return Term(call("sum", expr), ())
    bare = Term(call("sum", expr, axis=axes(over)), left)
    first = next(axis for axis in range(len(shape)) if axis not in over)
    return inserted(bare, [axis - first for axis in kept if axis > first])


def inserted(term: Term, places: Sequence[int]) -> Term:
    """The term with axes of extent 1 at these places of the result."""
    if not places:
        return term
    shape = list(term.shape)
    for place in sorted(places):
        shape.insert(place, 1)
    return Term(call("expand", term.expr, axis=axes(sorted(places))), tuple(shape))


def unreduced(term: Term, reduced: Sequence[int], rank: int) -> Term:
    """A term of the shape of a reduction's result, without the ``reduced`` axes, as one that fits its argument.

    ``rank``: of the argument.
    """
    kept = [axis for axis in range(rank) if axis not in reduced]
    present = kept[len(kept) - len(term.shape) :]
    if not present:
        return term
    return inserted(term, [axis - present[0] for axis in reduced if axis > present[0]])


def _same_axes(node: Call, places: Sequence[int]) -> bool:
    value = node.keywords[0].value
    items = value.items if isinstance(value, Tuple) else (value,)
    return [item.value for item in items if isinstance(item, Number)] == [*places]


def contracted(term: Term, places: Sequence[int], rank: int) -> Term:
    """The inverse of ``expand``: a term without the axes at these places, all of extent 1, of a shape of ``rank``."""
    missing = rank - len(term.shape)
    own = [place - missing for place in places if place >= missing]
    if not own:
        return term
    shape = tuple(dim for axis, dim in enumerate(term.shape) if axis not in own)
    expr = term.expr
    if isinstance(expr, Call) and expr.function == "expand" and _same_axes(expr, own):
        return Term(expr.args[0], shape)
    if isinstance(expr, Call) and expr.function == "sum" and len(expr.keywords) == 2 and _same_axes(expr, own):
        return Term(call("sum", expr.args[0], axis=axes(own)), shape)  # without keepdims
    return Term(call("sum", expr, axis=axes(own)), shape)
