"""The text of a derived program: its arguments, the values and gradients that are named, and its outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set as AbstractSet

from kgen.dtypes import DType, Kind
from kgen.gradients.facts import Facts, dtype_of, kind_of
from kgen.gradients.forward import Forward
from kgen.gradients.terms import Term, inserted
from kgen.gradients.walk import Line
from kgen.program import Program
from kgen.records import dataclass
from kgen.syntax.text import text_of
from kgen.syntax.tree import Cast, Expr, TypeName, postorder
from kgen.syntax.trees import call, cast_to, name, names_in, number


def float_dtypes(facts: Facts, derived: Iterable[Expr]) -> set[DType | None]:
    """The dtypes of floats in a program, and those that what is ``derived`` of it casts to; None of weak values."""
    values = [facts.of(s.name) for s in facts.program.statements] + [facts.of(a.name) for a in facts.program.arguments]
    kinds = {dtype_of(v) for v in values if kind_of(v) >= Kind.FLOAT}
    roots = (*derived, *(s.value for s in facts.program.statements))
    casts = {node.type.dtype for root in roots for node in postorder(root) if isinstance(node, Cast)}
    return kinds | {dtype for dtype in casts if dtype is not None and dtype.kind >= Kind.FLOAT}


def result(
    facts: Facts, own: str, result: str, found: Term | None, missing: str, dtypes: AbstractSet[DType | None]
) -> Line:
    """The output for one value, in its shape and dtype.

    ``missing``: why it may be 0, where nothing was ``found``.  ``dtypes``: of all floats; one needs no cast.
    """
    value = facts.of(own)
    shape = facts.shape(value)
    total = Term(number(0.0), ()) if found is None else found
    dtype = dtype_of(value)
    more = len(shape) - len(total.shape)
    if total.shape and shape == (*[1] * more, *total.shape):
        total = inserted(total, range(more))
    if total.shape != shape:
        total = Term(call("where", number(True), total.expr, name(own)), shape)
    expr = total.expr
    if dtype is not None and not dtypes <= {dtype, None}:
        expr = cast_to(TypeName(span=expr.span, dtype=dtype), expr)
    return Line(result, expr, missing if found is None else None)


def declarations(program: Program, more: Sequence[str], params: Mapping[str, str]) -> list[str]:
    """The arguments of a program, and ``more`` inputs; ``params``: by param, a second one of its dtype."""
    inputs = [a.name if a.dtype is None else f"{a.name}: {a.dtype}" for a in program.arguments]
    lines = [f"input {', '.join([*inputs, *more])}"] if inputs or more else []
    for parameter in program.parameters:
        kind = "" if parameter.dtype is None else f": {parameter.dtype}"
        default = "" if parameter.default is None else f" = {_literal(parameter.default)}"
        lines.append(f"param {parameter.name}{kind}{default}")
        if parameter.name in params:
            lines.append(f"param {params[parameter.name]}{kind}")
    return lines


def _literal(value: bool | int | float | complex) -> str:
    if isinstance(value, complex):
        return f"{value.real!r} + {value.imag!r}j"
    return str(value).lower() if isinstance(value, bool) else repr(value)


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a derived program: lets of ``values``, of ``lines``, and outputs, the ``results``."""

    values: Sequence[tuple[str, Expr]]
    lines: Sequence[Line]
    results: Sequence[Line]

    def read(self) -> set[str]:
        """The names that the statements read."""
        lines = (*self.lines, *self.results)
        return set().union(*(names_in(value) for _, value in self.values), *(line.read() for line in lines))

    def text(self, outputs: Collection[str] = ()) -> list[str]:
        """A line for each; ``outputs``: values that are outputs, too."""
        out = [f"{'' if own in outputs else 'let '}{own} = {text_of(value)}" for own, value in self.values]
        for word, lines in (("let ", self.lines), ("", self.results)):
            for line in lines:
                if line.comment is not None:
                    out.append(f"# {line.comment}")
                target = f"{word}{line.name} =" if line.at is None else f"{text_of(line.at)} +="
                out.append(f"{target} {text_of(line.value)}")
        return out


def body(
    forward: Forward,
    lines: Iterable[Line],
    results: Sequence[Line],
    outputs: Collection[str] = (),
    given: AbstractSet[str] = frozenset(),
) -> Body:
    """What ``results`` and ``outputs`` need, and nothing else.

    ``lines``: what a line reads is before it.  ``given``: names of values that are not computed.
    """
    needed = set(outputs)
    for line in results:
        needed |= line.read()
    kept: list[Line] = []
    for line in reversed([*lines]):
        if line.name in needed:
            kept.append(line)
            needed |= line.read()
    return Body(forward.lets(needed, given), kept[::-1], results)
