"""Values from which their mean is subtracted.

Their sum is 0, and so is that of their product with what is the same along the axes of the mean.  So such a product, as
a part of the gradient of ``d = x - mean(x)``, adds nothing to that of the mean.
"""

from __future__ import annotations

from collections.abc import Callable

from kgen.gradients.facts import Facts
from kgen.gradients.reduced import reduced_axes
from kgen.gradients.terms import Term
from kgen.ir.graph import Shape
from kgen.syntax.text import text_of
from kgen.syntax.tree import Binary, Call, Expr, Name


def centred_axes(facts: Facts, value: Expr) -> list[int]:
    """The axes of the mean in ``x - mean(x)``; none of other values."""
    if not isinstance(value, Binary) or value.op != "-" or not isinstance(value.right, Call):
        return []
    mean, shape = value.right, facts.shape(facts.value(value.left))
    if mean.function != "mean" or text_of(mean.args[0]) != text_of(value.left):
        return []
    over, kept = reduced_axes(mean, len(shape))
    return over if (kept or over == [*range(len(over))]) and facts.shape(facts.value(value)) == shape else []


def is_multiple(term: Term, own: str, over: list[int], shape_of: Callable[[Expr], Shape | None]) -> bool:
    """Whether a term is ``own`` times what is the same along the axes ``over``.  ``shape_of``: None where not known."""
    stack, others, count = [term.expr], list[Expr](), 0
    while stack:
        node = stack.pop()
        if isinstance(node, Binary) and node.op == "*":
            stack += [node.left, node.right]
        elif isinstance(node, Name) and node.id == own:
            count += 1
        else:
            others.append(node)
    return count == 1 and all(_is_same_along(shape_of(other), over, len(term.shape)) for other in others)


def _is_same_along(shape: Shape | None, over: list[int], rank: int) -> bool:
    if shape is None:
        return False
    return all(axis < rank - len(shape) or shape[axis - rank + len(shape)] == 1 for axis in over)
