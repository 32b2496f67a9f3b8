"""What the forward program saves for the backward program, and both programs.

Values that reductions of columns or long rows computed are few, and computing them again reads memory once more: they
are saved.  Others are computed again from the arguments, which costs less than reading and writing them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set as AbstractSet

from kgen.argument_types import ArgType, ArrayArg
from kgen.diagnostics import error
from kgen.dtypes import FLOAT32, DType
from kgen.gradients.derive import Request, names_for, swept
from kgen.gradients.facts import Facts, dtype_of
from kgen.gradients.forward import Forward, Place
from kgen.gradients.inline import inlined
from kgen.gradients.reduced import reduced_axes
from kgen.gradients.walk import Line, has_rule, is_reduction
from kgen.gradients.written import Body, body, declarations
from kgen.ir.graph import Dim
from kgen.program import Program
from kgen.records import dataclass, replace
from kgen.syntax.text import text_of
from kgen.syntax.tree import Bitcast, Call, Cast, Expr, Index, Name, TypeName, children, postorder
from kgen.syntax.trees import NOWHERE, cast_to, copied, name, names_in

#: Elements of a row that is read again rather than kept in registers.  See "What the forward kernel saves" in
#: docs/performance-log.md.
_LONG = 16384


@dataclass(frozen=True, slots=True)
class Saved:
    """``name``: of the forward program's output and of the backward program's input; ``label``: of the value in both.

    ``place``: of the value, where it is no let.  ``dtype``: the one in which it is stored, if not its own.
    """

    name: str
    label: str
    place: Place | None
    dtype: DType | None


@dataclass(frozen=True, slots=True)
class Choice:
    """``reasons``: a line for each value that the backward program reads."""

    saved: tuple[Saved, ...]
    reasons: tuple[str, ...]


def chosen(program: Program, args: Mapping[str, ArgType], request: Request, save: Sequence[str] | None) -> Choice:
    """What to save.  ``save``: lets and outputs to save, and nothing else.

    Raises :class:`~kgen.KgenError`: ``bad-save`` for other names, and what :func:`swept` raises.
    """
    found = swept(program, args, request)
    params = {p.name for p in program.parameters}
    _name_statistics(found.forward, params)
    whole = body(found.forward, found.sweep.lines, found.results())
    if save is None:
        labels = _statistics(whole, params, _passes(found.forward, args))
    else:
        known = [s.name for s in program.statements]
        for own in save:
            if own not in known:
                raise error("bad-save", f"`{own}` is no let and no output of the program", f"one of {', '.join(known)}")
        labels = [label for label, _ in whole.values if label in save]
    places = found.forward.places()
    dtypes = {label: _dtype(found.forward.facts, label, places.get(label)) for label in labels}
    outputs = {o.name for o in found.sweep.facts.program.outputs}
    made = []
    for label in labels:
        dtype = dtypes[label]
        own = label if dtype is None or label in outputs else found.forward.names.new(f"{label}_saved")
        made.append(Saved(own, label, places.get(label), None if label in outputs else dtype))
    return Choice(tuple(made), tuple(_reasons(whole, labels, save)))


def reduces(program: Program) -> bool:
    """Whether a program has a reduction, so that there may be something to save."""
    trees = [s.value for s in program.statements] + [d.body for d in program.defs.values()]
    return any(is_reduction(node) for tree in trees for node in postorder(tree))


def _dtype(facts: Facts, label: str, place: Place | None) -> DType | None:
    """float32 for a value of a narrower dtype, which is computed in that."""
    statements = facts.program.statements
    value = facts.of(label) if place is None else facts.value(list(postorder(statements[place[0]].value))[place[1]])
    dtype = dtype_of(value)
    return FLOAT32 if dtype is not None and dtype.is_narrow else None


def _reasons(whole: Body, labels: Collection[str], save: Sequence[str] | None) -> list[str]:
    why = "its reduction would read memory once more" if save is None else "save= names it"
    found = []
    for label, value in whole.values:
        text = text_of(value)
        found.append(f"`{label} = {text}` is {f'saved: {why}' if label in labels else 'computed again'}")
    return found


def _passes(forward: Forward, args: Mapping[str, ArgType]) -> set[str]:
    """The values whose reductions read memory once more: all but those of rows that stay in registers."""
    facts, places = forward.facts, forward.places()
    sizes = {
        dim: size
        for own, type in args.items()
        if isinstance(type, ArrayArg)
        for dim, size in zip(facts.shape(facts.of(own)), type.shape, strict=True)
    }
    found: set[str] = set()
    for number, statement in enumerate(facts.program.statements):
        nodes = list(postorder(statement.value))
        roots = {label: nodes[place] for label, (own, place) in places.items() if own == number}
        for label, root in [*roots.items(), (statement.name, statement.value)]:
            reductions = [n for n in postorder(root) if isinstance(n, Call) and is_reduction(n)]
            if any(_is_pass(facts, n, sizes) for n in reductions) or not found.isdisjoint(names_in(root)):
                found.add(label)
    return found


def _is_pass(facts: Facts, node: Call, sizes: Mapping[Dim, int | None]) -> bool:
    shape = facts.shape(facts.value(node.args[0]))
    over, _ = reduced_axes(node, len(shape))
    return over != [len(shape) - 1] or (sizes.get(shape[-1]) or 0) >= _LONG


def _statistics(whole: Body, params: AbstractSet[str], passes: AbstractSet[str]) -> list[str]:
    """The values that reductions computed, of those that others read, without what can be computed from the rest.

    ``passes``: the values whose reductions cost enough to be saved.
    """
    values = dict(whole.values)
    known: set[str] = set()
    for label, value in whole.values:
        if _is_statistic(value, known, params):
            known.add(label)
    readers = [value for label, value in whole.values if label not in known]
    readers += [line.value for line in (*whole.lines, *whole.results)]
    kept = set().union(*map(names_in, readers)) & known
    for label in reversed([label for label in values if label in kept]):
        if _is_computed(values[label], kept - {label}, values, params):
            kept.discard(label)
    return [label for label in values if label in kept & passes]


def _name_statistics(forward: Forward, params: AbstractSet[str]) -> None:
    """Give results of reductions lets of their own where they are parts of larger expressions."""
    known: set[str] = set()
    for statement in forward.facts.program.statements:
        stack = [statement.value]
        if _is_statistic(statement.value, known, params):
            known.add(statement.name)
            stack = list(children(statement.value))
        while stack:
            node = stack.pop()
            if not isinstance(node, Name) and _is_statistic(node, known, params):
                forward.read(node)
                parts = (part for part in postorder(node) if is_reduction(part))
                stack += [operand for part in parts for operand in children(part)]
            else:
                stack += children(node)


def _is_statistic(root: Expr, known: AbstractSet[str], params: AbstractSet[str]) -> bool:
    """Whether an expression computes with results of reductions, and with nothing larger."""
    is_one, stack = False, [root]
    while stack:
        node = stack.pop()
        if is_reduction(node) or (isinstance(node, Name) and node.id in known):
            is_one = True
        elif isinstance(node, Name):
            if node.id not in params:
                return False
        elif isinstance(node, Index) or has_rule(node, "view") or (isinstance(node, Call) and node.function == "index"):
            return False
        elif not (isinstance(node, Call) and node.function == "size"):
            stack += children(node)
    return is_one


def _is_computed(root: Expr, kept: AbstractSet[str], values: Mapping[str, Expr], params: AbstractSet[str]) -> bool:
    """Whether an expression can be computed from ``kept`` values without a reduction."""
    if any(is_reduction(node) or has_rule(node, "view") or isinstance(node, Index) for node in postorder(root)):
        return False
    read = names_in(root) - params - kept
    return all(own in values and _is_computed(values[own], kept, values, params) for own in read)


def forward_text(program: Program, args: Mapping[str, ArgType], request: Request, saved: Sequence[Saved]) -> str:
    """The program, which returns what is saved after its own outputs."""
    names = names_for(program, request)
    whole = inlined(program, names)
    forward = Forward(Facts(whole, args), names, frozenset())
    _bind(forward, saved)
    pairs = list(zip((o.name for o in program.outputs), (o.name for o in whole.outputs), strict=True))
    results = [Line(output, name(own)) for output, own in pairs if output != own]
    results += [Line(s.name, _cast(s)) for s in saved if s.name != s.label]
    direct = {output for output, own in pairs if output == own} | {s.label for s in saved if s.name == s.label}
    values = {own for _, own in pairs} | {s.label for s in saved}
    made = body(forward, [], results, values).text(direct)
    return "\n".join([*declarations(program, (), {}), *made]) + "\n"


def _bind(forward: Forward, saved: Sequence[Saved]) -> None:
    """Have what is saved computed by lets of its own."""
    forward.preset(_labels(saved))
    for place in _labels(saved):
        forward.bind(place)


def _labels(saved: Sequence[Saved]) -> dict[Place, str]:
    return {s.place: s.label for s in saved if s.place is not None}


def _cast(one: Saved) -> Expr:
    return cast_to(TypeName(span=NOWHERE, dtype=one.dtype), name(one.label))


def backward_text(program: Program, args: Mapping[str, ArgType], request: Request, saved: Sequence[Saved]) -> str:
    """The program of the gradients, which takes the saved values and those arguments that it reads."""
    found = swept(program, args, request, _labels(saved))
    results = found.results([s.dtype for s in saved])
    _bind(found.forward, saved)
    made = body(found.forward, found.sweep.lines, results, (), {s.label for s in saved})
    made = _renamed(made, {s.label: s.name for s in saved if s.name != s.label})
    read = made.read()
    inputs = [own for own in (*(s.name for s in saved), *request.cotangents.values()) if own in read]
    arguments = tuple(a for a in program.arguments if a.name in read)
    parameters = tuple(p for p in program.parameters if p.name in read)
    heads = declarations(replace(program, arguments=arguments, parameters=parameters), inputs, {})
    return "\n".join([*heads, *made.text()]) + "\n"


def _renamed(made: Body, names: Mapping[str, str]) -> Body:
    def change(node: Expr) -> Expr | None:
        if isinstance(node, Name) and node.id in names:
            return replace(node, id=names[node.id])
        if isinstance(node, Cast | Bitcast) and node.type.of is not None and node.type.of.id in names:
            return replace(node, type=replace(node.type, of=name(names[node.type.of.id])))
        return None

    def line(one: Line) -> Line:
        at = None if one.at is None else copied(one.at, change)
        assert at is None or isinstance(at, Index)
        return replace(one, value=copied(one.value, change), at=at)

    values = [(label, copied(value, change)) for label, value in made.values]
    return Body(values, [line(one) for one in made.lines], [line(one) for one in made.results])
