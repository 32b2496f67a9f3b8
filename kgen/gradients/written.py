"""The text of a derived program: its arguments, the values and gradients that are named, and its outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kgen.dtypes import DType, Kind
from kgen.gradients.facts import Facts, dtype_of, kind_of
from kgen.gradients.forward import Forward
from kgen.gradients.terms import Term, inserted
from kgen.gradients.trees import call, cast_to, name, names_in, number
from kgen.gradients.walk import Line
from kgen.program import Program
from kgen.syntax.text import text_of
from kgen.syntax.tree import TypeName


def result(facts: Facts, own: str, result: str, found: Term | None, missing: str) -> Line:
    """The output for one value, in its shape and dtype; ``missing``: why it may be 0, where nothing was ``found``."""
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
    if dtype is not None and not _is_plain(facts, dtype):
        expr = cast_to(TypeName(span=expr.span, dtype=dtype), expr)
    return Line(result, expr, missing if found is None else None)


def _is_plain(facts: Facts, dtype: DType) -> bool:
    """Whether all floats of a program have this dtype, so that no result needs a cast."""
    values = [facts.of(s.name) for s in facts.program.statements] + [facts.of(a.name) for a in facts.program.arguments]
    kinds = {dtype_of(v) for v in values if kind_of(v) >= Kind.FLOAT}
    return kinds <= {dtype, None}


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


def statements(
    forward: Forward, lines: Iterable[Line], results: Sequence[Line], outputs: Collection[str] = ()
) -> list[str]:
    """The lets of values, those of gradients, and the results, without what nothing reads.

    ``lines``: what a line reads is before it.  ``outputs``: values that are outputs, too.
    """
    needed = set(outputs)
    for line in results:
        needed |= names_in(line.value)
    kept: list[Line] = []
    for line in reversed([*lines]):
        if line.name in needed:
            kept.append(line)
            needed |= names_in(line.value)
    out = [f"{'' if own in outputs else 'let '}{own} = {text_of(value)}" for own, value in forward.lets(needed)]
    for line in reversed(kept):
        if line.comment is not None:
            out.append(f"# {line.comment}")
        out.append(f"let {line.name} = {text_of(line.value)}")
    for line in results:
        if line.comment is not None:
            out.append(f"# {line.comment}")
        out.append(f"{line.name} = {text_of(line.value)}")
    return out
