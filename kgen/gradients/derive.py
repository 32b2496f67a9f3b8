"""From a program and the types of its arguments to the program of its gradients, as text of the language."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kgen.argument_types import ArgType
from kgen.diagnostics import Reporter
from kgen.dtypes import DType, Kind
from kgen.gradients.facts import Facts, dtype_of, kind_of
from kgen.gradients.forward import Forward
from kgen.gradients.inline import Names, inlined
from kgen.gradients.invariance import cancelled
from kgen.gradients.reverse import Line, Sweep
from kgen.gradients.terms import Term, inserted
from kgen.gradients.trees import call, cast_to, name, names_in, number
from kgen.program import Output, Program
from kgen.records import dataclass
from kgen.syntax.text import text_of
from kgen.syntax.tree import TypeName


@dataclass(frozen=True, slots=True)
class Request:
    """What to derive, and the names that the program of gradients has for it.

    ``cotangents``: by output, the input that is its gradient; outputs without one do not count, and where there is none
    at all, the gradient of the only output is 1.  ``results``: by argument, the output that is its gradient.
    """

    cotangents: Mapping[str, str]
    results: Mapping[str, str]


def request_for(arguments: Sequence[str], outputs: Sequence[str], wrt: Sequence[str]) -> Request:
    """``out_grad`` for an output ``out``, and ``x_grad`` for an argument ``x``; numbered where names are taken."""
    names = Names(arguments)
    cotangents = {own: names.new(f"{own}_grad") for own in outputs}
    return Request(cotangents, {own: names.new(f"{own}_grad") for own in wrt})


def derive(program: Program, args: Mapping[str, ArgType], request: Request) -> str:
    """The program of the gradients, as text.

    Raises :class:`~kgen.KgenError` (``no-derivative``) where something on the way has none.
    """
    reporter = Reporter(program.source)
    names = Names([*_arguments(program), *request.cotangents.values(), *request.results.values()])
    whole = inlined(program, names)
    facts = Facts(whole, args)
    active = _active(facts, whole, request.results)
    forward = Forward(facts, names, active)
    sweep = Sweep(facts, forward, active, reporter)
    for output, own in zip(program.outputs, whole.outputs, strict=True):
        _seed(sweep, own, request.cotangents, output)
    reporter.raise_errors()
    forward.cancelled = cancelled(facts, sweep.gradients)
    active -= {s.name for s in whole.statements if id(s.value) in forward.cancelled}
    sweep.run()
    reporter.raise_errors()
    results = [_result(sweep, own, name) for own, name in request.results.items()]
    lines = _declarations(program, tuple(request.cotangents.values()))
    return "\n".join([*lines, *_statements(forward, sweep.lines, results)]) + "\n"


def check_updates(program: Program) -> None:
    """Raises :class:`~kgen.KgenError` (``no-derivative``) for a program that updates in place."""
    reporter = Reporter(program.source)
    for argument in program.arguments:
        if argument.role == "inout":
            message = f"`{argument.name}` is updated in place, so the program has no gradient"
            reporter.error("no-derivative", message, argument.span, hint="make it an input, and return the new value")
    reporter.raise_errors()


def _arguments(program: Program) -> list[str]:
    return [*(a.name for a in program.arguments), *(p.name for p in program.parameters)]


def _active(facts: Facts, program: Program, wrt: Collection[str]) -> set[str]:
    """The names that the arguments ``wrt`` go into."""
    active = set(wrt)
    for statement in program.statements:
        if kind_of(facts.of(statement.name)) >= Kind.FLOAT and not active.isdisjoint(names_in(statement.value)):
            active.add(statement.name)
    return active


def _seed(sweep: Sweep, own: Output, cotangents: Mapping[str, str], output: Output) -> None:
    """The gradient of an output: its cotangent, or 1."""
    value = sweep.facts.of(own.name)
    shape = sweep.facts.shape(value)
    if cotangents and output.name not in cotangents:
        return
    if kind_of(value) < Kind.FLOAT:
        message, hint = (
            f"`{output.name}` is {dtype_of(value)}, which has no gradient",
            "give the gradients of outputs of floats",
        )
        sweep.reporter.error("no-derivative", message, output.span, hint=hint)
    elif cotangents:
        sweep.gradients[own.name] = [Term(name(cotangents[output.name]), shape)]
    else:
        sweep.gradients[own.name] = [Term(number(1.0), ())]


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


def _declarations(program: Program, cotangents: Sequence[str]) -> list[str]:
    inputs = [a.name if a.dtype is None else f"{a.name}: {a.dtype}" for a in program.arguments]
    lines = [f"input {', '.join([*inputs, *cotangents])}"] if inputs or cotangents else []
    for parameter in program.parameters:
        kind = "" if parameter.dtype is None else f": {parameter.dtype}"
        default = "" if parameter.default is None else f" = {_literal(parameter.default)}"
        lines.append(f"param {parameter.name}{kind}{default}")
    return lines


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
