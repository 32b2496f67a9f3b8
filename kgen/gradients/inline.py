"""A program whose expressions each occur once: without defs, and without lets that depend on where they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kgen.check.scope import uses_place
from kgen.check.takes import as_index
from kgen.functions import FUNCTIONS
from kgen.program import Program
from kgen.records import replace
from kgen.syntax.tree import Assign, Bitcast, Call, Cast, Def, Expr, Let, Name, Number, TypeName, postorder
from kgen.syntax.trees import call, copied, name, names_in


class Names:
    """Names that no other value has."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def new(self, wanted: str) -> str:
        """``wanted``, or the first of ``wanted_1``, ``wanted_2`` that is free."""
        found, count = wanted, 0
        while found in self.taken:
            count += 1
            found = f"{wanted}_{count}"
        self.taken.add(found)
        return found


def inlined(program: Program, names: Names) -> Program:
    """The program with calls of defs written out, and lets that read ``index`` or ``size`` at each use.

    Lets and outputs take other names where ``names`` has theirs.
    """
    inliner = _Inliner(program.defs, names)
    for statement in program.statements:
        inliner.statement(statement)
    outputs = tuple(replace(o, name=inliner.outputs[o.name]) for o in program.outputs)
    return replace(program, outputs=outputs, statements=tuple(inliner.statements), defs={})


class _Inliner:
    def __init__(self, defs: Mapping[str, Def], names: Names) -> None:
        self.defs = defs
        self.names = names
        self.values: dict[str, Expr] = {}  # what stands for a name
        self.outputs: dict[str, str] = {}
        self.statements: list[Let | Assign] = []

    def statement(self, statement: Let | Assign) -> None:
        value = self.written_out(statement.value, self.values)
        if isinstance(statement, Let) and uses_place({}, (), value):
            self.values[statement.name] = value
            return
        new = self.names.new(statement.name)
        self.values[statement.name] = name(new)
        if isinstance(statement, Assign):
            self.outputs[statement.name] = new
        self.statements.append(replace(statement, name=new, value=value))

    def written_out(self, root: Expr, values: Mapping[str, Expr]) -> Expr:
        """An expression with names replaced by ``values``; a copy each, so that every node has one type."""

        def change(node: Expr) -> Expr | None:
            match node:
                case Name() if node.id in values:
                    found = values[node.id]
                    return replace(found, span=node.span) if isinstance(found, Name) else copied(found, lambda _: None)
                case Cast() | Bitcast() if node.type.of is not None and node.type.of.id in values:
                    return replace(node, type=_type_of(node.type, values[node.type.of.id]))
                case Call() if node.function in self.defs:
                    return self._called(node)
                case Call() if node.function == "take":
                    return self._taken(node)
                case Call() if len(node.args) > 2 and _is_extremum(node):
                    return _in_pairs(node)
            return None

        return copied(root, change)

    def _taken(self, node: Call) -> Expr | None:
        """The index that a call of ``take`` is, every node once."""
        found = as_index(node)
        return None if found is None else copied(found, lambda _: None)

    def _called(self, node: Call) -> Expr:
        """The body of a def, with a let for each argument that it reads several times."""
        function = self.defs[node.function]
        read = [n.id for n in postorder(function.body) if isinstance(n, Name)]
        types = names_in(function.body) - set(read)
        types |= {
            n.type.of.id for n in postorder(function.body) if isinstance(n, Cast | Bitcast) and n.type.of is not None
        }
        bound: dict[str, Expr] = {}
        for parameter, argument in zip(function.params, node.args, strict=True):
            own = parameter.name
            once = read.count(own) < 2 or isinstance(argument, Name | Number)
            if uses_place({}, (), argument) or (once and (own not in types or isinstance(argument, Name))):
                bound[own] = argument
                continue
            new = self.names.new(f"{function.name}_{own}")
            self.statements.append(Let(span=argument.span, name=new, name_span=argument.span, value=argument))
            bound[own] = name(new)
        return self.written_out(function.body, bound)


def _type_of(type: TypeName, found: Expr) -> TypeName:
    return replace(type, of=found) if isinstance(found, Name) else type


def _is_extremum(node: Call) -> bool:
    return FUNCTIONS[node.function].target in ("min", "max")


def _in_pairs(node: Call) -> Expr:
    """``max(max(a, b), c)`` for ``max(a, b, c)``."""
    first, *others = node.args
    for other in others:
        first = replace(call(node.function, first, other), span=node.span, function_span=node.function_span)
    return first
