"""From a program and the types of its arguments to the program of its gradients, as text of the language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.argument_types import ArgType
from kgen.diagnostics import Reporter
from kgen.dtypes import DType, Kind
from kgen.gradients.facts import Facts, dtype_of, kind_of
from kgen.gradients.forward import Forward
from kgen.gradients.inline import Names, inlined
from kgen.gradients.reverse import Line, Sweep
from kgen.gradients.terms import Term, inserted
from kgen.gradients.trees import call, cast_to, name, names_in, number
from kgen.program import Output, Program
from kgen.records import dataclass
from kgen.syntax.text import text_of
from kgen.syntax.tree import Expr, TypeName


@dataclass(frozen=True, slots=True)
class Derived:
    """``text``: the program.  ``cotangents``: by output, the input that is its gradient.

    ``wrt``: the arguments whose gradients it computes, in the order of its outputs.
    """

    text: str
    cotangents: Mapping[str, str]
    wrt: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Api:
    """The names of a program of gradients, by the names of the program: ``cotangents`` of outputs, ``results``."""

    cotangents: Mapping[str, str]
    results: Mapping[str, str]


def api_of(program: Program, wrt: Sequence[str]) -> Api:
    """``out_grad`` for an output ``out``, and ``x_grad`` for an argument ``x``; numbered where names are taken."""
    names = Names(_arguments(program))
    return Api(
        {o.name: names.new(f"{o.name}_grad") for o in program.outputs},
        {own: names.new(f"{own}_grad") for own in wrt},
    )


def derive(program: Program, args: Mapping[str, ArgType], wrt: Sequence[str], seeded: bool) -> Derived:
    """The program of the gradients of ``wrt``.

    ``seeded``: whether the gradients of outputs are inputs; otherwise that of the only output is 1.
    Raises :class:`~kgen.KgenError` where something on the way has no derivative.
    """
    api = api_of(program, wrt)
    taken = [*_arguments(program), *api.cotangents.values(), *api.results.values()]
    names = Names(taken)
    whole = inlined(program, names)
    facts = Facts(whole, args, ())
    active = _active(facts, whole, wrt)
    reporter = Reporter(program.source)
    forward = Forward(facts, names, active)
    sweep = Sweep(facts, forward, active, reporter)
    for output, own in zip(program.outputs, whole.outputs, strict=True):
        _seed(sweep, own, api.cotangents[output.name] if seeded else None)
    sweep.run()
    reporter.raise_errors()
    results = [_result(sweep, own, api.results[own]) for own in wrt]
    lines = [_declarations(program, [api.cotangents[o.name] for o in program.outputs] if seeded else [])]
    lines += _statements(forward, sweep.lines, results)
    return Derived("\n".join(lines) + "\n", api.cotangents if seeded else {}, tuple(wrt))


def _arguments(program: Program) -> list[str]:
    return [*(a.name for a in program.arguments), *(p.name for p in program.parameters)]


def _active(facts: Facts, program: Program, wrt: Sequence[str]) -> set[str]:
    """The names that the arguments ``wrt`` go into."""
    active = set(wrt)
    for statement in program.statements:
        if kind_of(facts.of(statement.name)) >= Kind.FLOAT and not active.isdisjoint(names_in(statement.value)):
            active.add(statement.name)
    return active


def _seed(sweep: Sweep, output: Output, cotangent: str | None) -> None:
    shape = sweep.facts.shape(sweep.facts.of(output.name))
    expr: Expr = number(1.0) if cotangent is None else name(cotangent)
    sweep.gradients.setdefault(output.name, []).append(Term(expr, () if cotangent is None else shape))


def _result(sweep: Sweep, own: str, result: str) -> Line:
    """The output for one argument, in its shape and dtype."""
    facts = sweep.facts
    value = facts.of(own)
    shape = facts.shape(value)
    terms = sweep.gradients.get(own)
    total = Term(number(0.0), ()) if not terms else sweep.added(terms)
    dtype = dtype_of(value)
    missing = len(shape) - len(total.shape)
    if terms and total.shape and shape == (*[1] * missing, *total.shape):
        total = inserted(total, range(missing))
    if total.shape != shape:
        total = Term(call("where", number(True), total.expr, name(own)), shape)
    expr = total.expr
    if dtype is not None and not _is_plain(sweep.facts, dtype):
        expr = cast_to(TypeName(span=expr.span, dtype=dtype), expr)
    return Line(result, expr, None if terms else f"`{own}` does not go into the outputs")


def _is_plain(facts: Facts, dtype: DType) -> bool:
    """Whether all floats of a program have this dtype, so that no result needs a cast."""
    values = [facts.of(s.name) for s in facts.program.statements] + [facts.of(a.name) for a in facts.program.arguments]
    kinds = {dtype_of(v) for v in values if kind_of(v) >= Kind.FLOAT}
    return kinds <= {dtype, None}


def _declarations(program: Program, cotangents: Sequence[str]) -> str:
    inputs = [a.name if a.dtype is None else f"{a.name}: {a.dtype}" for a in program.arguments]
    lines = [f"input {', '.join([*inputs, *cotangents])}"] if inputs or cotangents else []
    for parameter in program.parameters:
        kind = "" if parameter.dtype is None else f": {parameter.dtype}"
        default = "" if parameter.default is None else f" = {_literal(parameter.default)}"
        lines.append(f"param {parameter.name}{kind}{default}")
    return "\n".join(lines)


def _literal(value: bool | int | float | complex) -> str:
    if isinstance(value, complex):
        return f"{value.real!r} + {value.imag!r}j"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _statements(forward: Forward, lines: Sequence[Line], results: Sequence[Line]) -> list[str]:
    """The lets of values, those of gradients, and the outputs, without what nothing reads."""
    needed: set[str] = set()
    for line in results:
        needed |= names_in(line.value)
    kept: list[Line] = []
    for line in reversed(lines):
        if line.name in needed:
            kept.append(line)
            needed |= names_in(line.value)
    out = [f"let {own} = {text_of(value)}" for own, value in forward.lets(needed)]
    for line in reversed(kept):
        if line.comment is not None:
            out.append(f"# gradients through `{line.comment}`")
        out.append(f"let {line.name} = {text_of(line.value)}")
    for line in results:
        if line.comment is not None:
            out.append(f"# {line.comment}")
        out.append(f"{line.name} = {text_of(line.value)}")
    return out

