"""The rule for one node of a program: its operands, what each gets of the node's gradient, and what that reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from kgen.dtypes import Kind
from kgen.functions import FUNCTIONS
from kgen.gradients.facts import Facts, dtype_of, kind_of, literal_of
from kgen.gradients.forward import Forward
from kgen.gradients.rules import (
    CLIP_BETWEEN_NUMBERS,
    COMPLEX,
    COMPLEX_TANGENTS,
    NO_DERIVATIVE,
    RULES,
    SUMMED,
    WITHOUT_GRADIENT,
    Row,
)
from kgen.gradients.terms import Term
from kgen.ir.graph import Shape
from kgen.records import dataclass
from kgen.syntax.tree import Binary, Call, Cast, Conditional, Expr, Number, TypeName, Unary, children
from kgen.syntax.trees import call, cast_to

_UNARY = {"-": "negative", "+": "positive"}


@dataclass(frozen=True, slots=True)
class Local:
    """``values``: what the names in a row stand for, made where a row reads them.

    ``whole``: the shape that operands are broadcast to.  ``spread``: the gradient of a reduction's result as one of its
    argument's shape.  ``summed``: as in :data:`~kgen.gradients.rules.SUMMED`.
    """

    operands: tuple[Expr, ...]
    row: Row
    values: Mapping[str, Callable[[], Term]]
    whole: Shape
    spread: Callable[[Term], Term] | None = None
    summed: Mapping[int, tuple[str, str]] = field(default_factory=dict)  # rows for operands that are broadcast


def local_rule(facts: Facts, forward: Forward, node: Expr, backward: bool) -> Local | str:
    """The rule of an operator, a cast or a function; or why there is none.

    ``backward``: whether it is for gradients, of complex numbers the conjugates of what tangents have.
    """
    operands = children(node)
    key = target_of(node)
    complex_rows = COMPLEX if backward else COMPLEX_TANGENTS
    row = _row(facts, key, operands, complex_rows)
    if row is None:
        return f"`{key}` has no derivative: {NO_DERIVATIVE[key]}"
    conjugated = backward and kind_of(facts.value(node)) is Kind.COMPLEX and row is not COMPLEX.get(key)

    def reader(of: Expr) -> Callable[[], Term]:
        return lambda: _read(facts, forward, node, of, conjugated)

    values = {letter: reader(operand) for letter, operand in zip("abcd", operands, strict=False)}
    values["z"] = reader(node)
    return Local(operands, row, values, facts.shape(facts.value(node)), summed=SUMMED.get(key, {}))


def target_of(node: Expr) -> str:
    """The key of a node in the tables of ``rules.py``."""
    match node:
        case Unary():
            return _UNARY.get(node.op, node.op)
        case Binary():
            return node.op
        case Conditional():
            return "where"
        case Cast():
            return "positive"
        case Call():
            target = FUNCTIONS[node.function].target
            if FUNCTIONS[node.function].rule == "operator" and len(node.args) == 1:
                return _UNARY.get(target, target)
            return {"maximum": "max", "minimum": "min"}.get(target, target)
        case _:
            return type(node).__name__.lower()


def _has_complex(facts: Facts, operands: Sequence[Expr]) -> bool:
    return any(kind_of(facts.value(operand)) is Kind.COMPLEX for operand in operands)


def _row(facts: Facts, key: str, operands: Sequence[Expr], complex_rows: Mapping[str, Row]) -> Row | None:
    if key in WITHOUT_GRADIENT:
        return ("",) * len(operands)
    if key == "**":
        exponent = literal_of(facts.value(operands[1]))
        if exponent is not None and not isinstance(exponent, complex):
            return _power(exponent), ""
    if key == "clip" and all(literal_of(facts.value(end)) is not None for end in operands[1:]):
        return CLIP_BETWEEN_NUMBERS
    if key in complex_rows and (key == "complex" or _has_complex(facts, operands)):
        return complex_rows[key]
    return RULES.get(key)


def _power(exponent: float) -> str:
    """Of ``a`` to the power of a literal."""
    match exponent:
        case 0:
            return ""
        case 1:
            return "g"
        case 2:
            return "2 * g * a"
        case 0.5:
            return "g / (2 * z)"
        case _:
            return f"{exponent!r} * g * a ** {exponent - 1!r}"


def _read(facts: Facts, forward: Forward, node: Expr, of: Expr, conjugated: bool) -> Term:
    """An operand or the result as a rule reads it: in the node's dtype, where integers would compute as such."""
    term, value = forward.read(of), facts.value(of)
    expr = term.expr
    dtype = dtype_of(facts.value(node))
    if kind_of(value) < Kind.FLOAT and dtype is not None and dtype_of(value) is not None and _computes(node):
        expr = cast_to(TypeName(span=of.span, dtype=dtype.real.compute), expr)
    if conjugated and kind_of(value) is Kind.COMPLEX and not isinstance(of, Number):
        expr = call("conj", expr)
    return Term(expr, term.shape)


def _computes(node: Expr) -> bool:
    """Whether a node converts integers before it computes: all but conditions, and orders and exponents."""
    return not isinstance(node, Conditional) and target_of(node) not in ("where", "jn", "yn", "ldexp")
