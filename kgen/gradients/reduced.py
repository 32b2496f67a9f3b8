"""The rule for a reduction."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kgen.dtypes import Kind
from kgen.functions import FUNCTIONS
from kgen.gradients.facts import Facts, kind_of
from kgen.gradients.forward import Forward
from kgen.gradients.local import Local
from kgen.gradients.rules import BESIDE, COMPLEX_REDUCTIONS, REDUCTIONS, WITHOUT_GRADIENT
from kgen.gradients.terms import Term, unreduced
from kgen.ir.graph import Shape
from kgen.records import replace
from kgen.syntax.tree import Call, Expr, Number, Tuple, Unary
from kgen.syntax.trees import axes, binary, call, filled, number


def reduction_rule(facts: Facts, forward: Forward, node: Call, backward: bool) -> Local:
    """What the argument of a reduction gets of the gradient of its result.

    For tangents (not ``backward``), the sum of this over the axes, with the tangent for ``g``, is that of the result.
    """
    (operand,) = node.args
    target = FUNCTIONS[node.function].target
    whole = facts.shape(facts.value(operand))
    words = {word.name: word.value for word in node.keywords}
    over, kept = reduced_axes(node, len(whole))
    spread = None if kept else partial(unreduced, reduced=over, rank=len(whole))
    if target in WITHOUT_GRADIENT:
        return Local((operand,), ("",), {}, whole)
    conjugated = backward and kind_of(facts.value(node)) is Kind.COMPLEX

    def plain(of: Expr) -> Term:
        return forward.read(of)

    def result() -> Term:
        term = plain(node)
        return term if spread is None else spread(term)

    def conj(read: Callable[[], Term]) -> Callable[[], Term]:
        def made() -> Term:
            term = read()
            return Term(call("conj", term.expr), term.shape) if conjugated else term

        return made

    def beside(name: str) -> Callable[[], Term]:
        def made() -> Term:
            values = {"a": plain(operand).expr}
            if name == "ties":
                values["z"] = result().expr
            reduced = filled(BESIDE[name], values)
            assert isinstance(reduced, Call)
            return Term(_over(reduced, over, len(whole)), _left(whole, over))

        return made

    values: dict[str, Callable[[], Term]] = {
        "a": conj(lambda: plain(operand)),
        "z": conj(result),
        "n": lambda: Term(_count(facts, whole, over), ()),
        "k": lambda: Term(_value(words.get("correction")), ()),
        **{name: beside(name) for name in ("average", "ties", "zeros")},
        **{name: conj(beside(name)) for name in ("rest", "hidden")},
    }
    is_complex = kind_of(facts.value(operand)) is Kind.COMPLEX
    row = COMPLEX_REDUCTIONS.get(target) if is_complex and not backward else None
    return Local((operand,), (row or REDUCTIONS[target],), values, whole, spread)


def reduced_axes(node: Call, rank: int) -> tuple[list[int], bool]:
    """The axes of its argument that a reduction reduces, and whether it keeps them."""
    words = {word.name: word.value for word in node.keywords}
    return _axes(words.get("axis"), rank), _is_true(words.get("keepdims"))


def named_axes(node: Call, word: str, rank: int) -> list[int]:
    """The axes of a keyword, in its order; none where it is not written."""
    value = next((k.value for k in node.keywords if k.name == word), None)
    items = () if value is None else value.items if isinstance(value, Tuple) else (value,)
    return [_integer(item) % rank for item in items]


def expanded_axes(node: Call, rank: int) -> list[int]:
    """The axes that ``expand`` inserts into a result of ``rank`` axes, ascending."""
    return _axes(node.keywords[0].value, rank)


def _axes(value: object, rank: int) -> list[int]:
    """The axes that a reduction names, ascending; all where it names none."""
    if value is None:
        return list(range(rank))
    items = value.items if isinstance(value, Tuple) else (value,)
    return sorted({_integer(item) % max(rank, 1) for item in items}) if rank else []


def _integer(node: object) -> int:
    if isinstance(node, Unary):
        return -_integer(node.operand) if node.op == "-" else _integer(node.operand)
    assert isinstance(node, Number)
    return int(node.value.real)


def _is_true(value: object) -> bool:
    return isinstance(value, Number) and bool(value.value)


def _value(value: object) -> Expr:
    return number(0) if value is None else value  # type: ignore[return-value]  # check has seen that it is a literal


def _left(whole: Shape, over: list[int]) -> Shape:
    return () if len(over) == len(whole) else tuple(1 if axis in over else dim for axis, dim in enumerate(whole))


def _over(node: Call, over: list[int], rank: int) -> Expr:
    """The call with the axes of a reduction; of all axes, none have to be named."""
    if len(over) == rank:
        return node
    made = call(node.function, *node.args, axis=axes(over), keepdims=number(True))
    return replace(node, keywords=made.keywords)


def _count(facts: Facts, whole: Shape, over: list[int]) -> Expr:
    """The number of elements that are reduced to one."""
    found: Expr | None = None
    for axis in over:
        if whole[axis] == 1:
            continue
        extent = facts.extent(whole[axis])
        found = extent if found is None else binary("*", found, extent)
    return number(1) if found is None else found
