"""From a program and the types of its arguments to the program of its gradients, as text of the language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from kgen.argument_types import ArgType
from kgen.diagnostics import Reporter
from kgen.dtypes import DType, Kind
from kgen.functions import FUNCTIONS
from kgen.gradients.facts import Facts, dtype_of, kind_of
from kgen.gradients.forward import Forward, Place
from kgen.gradients.inline import Names, inlined
from kgen.gradients.invariance import cancelled
from kgen.gradients.reverse import Sweep
from kgen.gradients.tangents import Pushforward
from kgen.gradients.terms import Term
from kgen.gradients.walk import Line
from kgen.gradients.written import body, declarations, float_dtypes, result
from kgen.program import Output, Program
from kgen.records import dataclass, replace
from kgen.syntax.tree import Assign, Name
from kgen.syntax.trees import name, names_in, number


@dataclass(frozen=True, slots=True)
class Request:
    """What to derive, and the names that the program of gradients has for it.

    ``cotangents``: by output, the input that is its gradient; outputs without one do not count, and where there is none
    at all, the gradient of the only output is 1.  ``results``: by argument, the output that is its gradient.
    """

    cotangents: Mapping[str, str]
    results: Mapping[str, str]
    reserved: Sequence[str] = ()  # names that no value has


@dataclass(frozen=True, slots=True)
class TangentRequest:
    """What to derive in forward mode, and the names for it.

    ``tangents``: by argument, the input or param that is its tangent; arguments without one stay as they are.
    ``results``: by output, the one that is its tangent, if it has one.
    ``values``: whether the program's own outputs are returned, too.
    """

    tangents: Mapping[str, str]
    results: Mapping[str, str]
    values: bool


def request_for(arguments: Sequence[str], outputs: Sequence[str], wrt: Sequence[str]) -> Request:
    """``out_grad`` for an output ``out``, and ``x_grad`` for an argument ``x``; numbered where names are taken."""
    names = Names(arguments)
    cotangents = {own: names.new(f"{own}_grad") for own in outputs}
    return Request(cotangents, {own: names.new(f"{own}_grad") for own in wrt})


def derive(program: Program, args: Mapping[str, ArgType], request: Request) -> str:
    """The program of the gradients, as text.  Raises as :func:`swept`."""
    found = swept(program, args, request)
    lines = declarations(program, tuple(request.cotangents.values()), {})
    results = found.results()
    return "\n".join([*lines, *body(found.forward, found.sweep.lines, results).text()]) + "\n"


@dataclass(frozen=True, slots=True, eq=False)
class Swept:
    """A program whose gradients were carried to its arguments."""

    request: Request
    forward: Forward
    sweep: Sweep

    def results(self, given_dtypes: Collection[DType | None] = ()) -> list[Line]:
        """The gradients as outputs.  ``given_dtypes``: of saved values."""
        facts = self.sweep.facts
        totals = {own: self.sweep.total(own) for own in self.request.results}
        terms = [line.value for line in self.sweep.lines] + [t.expr for t in totals.values() if t is not None]
        dtypes = float_dtypes(facts, terms).union(given_dtypes)
        found = [
            result(facts, own, given, totals[own], f"`{own}` does not go into the outputs", dtypes)
            for own, given in self.request.results.items()
        ]
        for update in self.sweep.updates:  # which `total` finds, too
            assert update.at is not None
            given = self.request.results[update.name]
            found.append(replace(update, name=given, at=replace(update.at, of=name(given))))
        return found


def swept(
    program: Program, args: Mapping[str, ArgType], request: Request, labels: Mapping[Place, str] | None = None
) -> Swept:
    """Carry the gradients of the outputs to the arguments.

    ``labels``: names of values, by statement and place in it.  Raises :class:`~kgen.KgenError` (``no-derivative``)
    where something on the way has none.
    """
    check_updates(program)
    reporter = Reporter(program.source)
    names = names_for(program, request)
    whole = inlined(program, names)
    facts = Facts(whole, args)
    active = _active(facts, whole, request.results)
    forward = Forward(facts, names, active)
    forward.preset(labels or {})
    sweep = Sweep(facts, forward, active, reporter, request.results)
    for output, own in zip(program.outputs, whole.outputs, strict=True):
        _seed(sweep, own, request.cotangents, output)
    reporter.raise_errors()
    forward.cancelled = cancelled(facts, sweep.gradients)
    active -= {s.name for s in whole.statements if id(s.value) in forward.cancelled}
    sweep.run()
    reporter.raise_errors()
    return Swept(request, forward, sweep)


def derive_tangents(program: Program, args: Mapping[str, ArgType], request: TangentRequest) -> str:
    """The program of the tangents, as text.  Raises as :func:`derive`."""
    check_updates(program)
    reporter = Reporter(program.source)
    names = Names([*FUNCTIONS, *_arguments(program), *request.tangents.values(), *request.results.values()])
    whole = inlined(program, names)
    facts = Facts(whole, args)
    forward = Forward(facts, names, _active(facts, whole, request.tangents))
    own_names = dict(zip((o.name for o in program.outputs), (o.name for o in whole.outputs), strict=True))
    forward.cancelled = cancelled(facts, own_names.values())
    sweep = Pushforward(facts, forward, reporter)
    sweep.run({own: Term(name(given), facts.shape(facts.of(own))) for own, given in request.tangents.items()})
    reporter.raise_errors()
    terms = [line.value for line in sweep.lines] + [t.expr for t in sweep.tangents.values()]
    dtypes = float_dtypes(facts, terms)
    results = [
        result(facts, own, given, sweep.tangents.get(own), f"`{output}` does not change", dtypes)
        for output, given in request.results.items()
        if kind_of(facts.of(own := own_names[output])) >= Kind.FLOAT
    ]
    outputs = set(own_names) if request.values else set()
    renamed = [Line(output, name(own), None) for output, own in own_names.items() if output in outputs - {own}]
    params = {p.name: request.tangents[p.name] for p in program.parameters if p.name in request.tangents}
    inputs = [given for own, given in request.tangents.items() if own not in params]
    lines, results = _folded(sweep.lines, results)
    direct = outputs & set(own_names.values())
    made = body(forward, lines, [*renamed, *results], direct).text(direct)
    return "\n".join([*declarations(program, inputs, params), *made]) + "\n"


def tangents_for(arguments: Sequence[str], outputs: Sequence[str], values: bool) -> TangentRequest:
    """``x_tangent`` for an argument ``x``, ``out_tangent`` for an output ``out``; numbered where names are taken."""
    names = Names([*arguments, *outputs])
    tangents = {own: names.new(f"{own}_tangent") for own in arguments}
    return TangentRequest(tangents, {own: names.new(f"{own}_tangent") for own in outputs}, values)


def check_updates(program: Program) -> None:
    """Raises :class:`~kgen.KgenError` (``no-derivative``) for a program that updates in place."""
    reporter = Reporter(program.source)
    for argument in program.arguments:
        if argument.role == "inout":
            message = f"`{argument.name}` is updated in place, so the program has no gradient"
            reporter.error("no-derivative", message, argument.span, hint="make it an input, and return the new value")
    for statement in program.statements:
        if isinstance(statement, Assign) and statement.at is not None:
            message = f"`{statement.name}` is updated at computed places, which has no gradient yet"
            reporter.error("no-derivative", message, statement.name_span, hint="leave the update to another program")
    reporter.raise_errors()


def names_for(program: Program, request: Request) -> Names:
    """The names that values of the derived program may not have, those of functions among them, which rules call."""
    own = [*request.cotangents.values(), *request.results.values(), *request.reserved]
    return Names([*FUNCTIONS, *_arguments(program), *own])


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


def _folded(lines: Sequence[Line], results: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """Lets that only a result reads, as its value."""
    values = {line.name: line for line in lines}
    read = Counter(own for line in (*lines, *results) for own in names_in(line.value))
    whole = {r.name: values[r.value.id] for r in results if isinstance(r.value, Name) and r.value.id in values}
    folded = {own: line for own, line in whole.items() if read[line.name] == 1}
    gone = {line.name for line in folded.values()}
    return (
        [line for line in lines if line.name not in gone],
        [replace(folded[r.name], name=r.name) if r.name in folded else r for r in results],
    )
