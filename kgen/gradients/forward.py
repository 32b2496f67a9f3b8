"""The values that the derivative of a program reads again: those that get a name, and the lets that compute them."""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet

from kgen.check.scope import uses_place
from kgen.dtypes import Kind
from kgen.gradients.facts import Facts, dtype_of, kind_of
from kgen.gradients.inline import Names
from kgen.gradients.terms import Term
from kgen.ir.graph import Shape
from kgen.syntax.tree import Assign, Call, Expr, Index, Let, TypeName, children, postorder
from kgen.syntax.trees import cast_to, copied, is_atom, name, names_in

Place = tuple[int, int]  #: the number of a statement, and that of a node in postorder


class Forward:
    """``active``: the names that the gradients' arguments go into."""

    def __init__(self, facts: Facts, names: Names, active: AbstractSet[str]) -> None:
        self.facts = facts
        self.names = names
        self.active = active
        facts.read = lambda node: self.read(node).expr
        self.cancelled: AbstractSet[int] = frozenset()  # the nodes through which no gradient flows
        self.bound: dict[int, str] = {}  # node -> the name of its let
        self.shapes: dict[str, Shape] = {}  # of these lets
        self.placed: set[str] = set()  # the lets that read ``index``: they take the shape of where they are read
        self._labels = {id(s.value): s.name for s in facts.program.statements if isinstance(s, Let)}
        self._count = 0

    def preset(self, labels: Mapping[Place, str]) -> None:
        """Give names to values."""
        for (number, place), label in labels.items():
            node = list(postorder(self.facts.program.statements[number].value))[place]
            self._labels.setdefault(id(node), label)
            self.names.taken.add(label)

    def places(self) -> dict[str, Place]:
        """Where the values with names are, but for those of lets."""
        statements = self.facts.program.statements
        nodes = ((n, p, node) for n, s in enumerate(statements) for p, node in enumerate(postorder(s.value)))
        return {self.bound[id(node)]: (number, place) for number, place, node in nodes if id(node) in self.bound}

    def bind(self, place: Place) -> None:
        """Have a value computed by a let of its own."""
        number, position = place
        node = list(postorder(self.facts.program.statements[number].value))[position]
        self.bound[id(node)] = self.label(node)

    def is_active(self, node: Expr) -> bool:
        """Whether a gradient flows through a node to an argument."""
        if kind_of(self.facts.value(node)) < Kind.FLOAT or id(node) in self.cancelled:
            return False
        return not self.active.isdisjoint(names_in(node))

    def label(self, node: Expr) -> str:
        """A name for a node that the program has no name for."""
        while id(node) not in self._labels:
            self._count += 1
            if (new := f"v{self._count}") not in self.names.taken:
                self._labels[id(node)] = self.names.new(new)
        return self._labels[id(node)]

    def read(self, node: Expr) -> Term:
        """The value of a node, by its name if it is more than a name or a literal."""
        shape = self.facts.shape(self.facts.value(node))
        if is_atom(node):
            return Term(node, shape)
        if isinstance(node, Call) and node.function in ("index", "size"):
            return Term(self.written(node), shape)
        self.bound[id(node)] = self.label(node)
        self.shapes[self.bound[id(node)]] = shape
        if uses_place({}, (), node):
            self.placed.add(self.bound[id(node)])
        return Term(name(self.bound[id(node)]), shape)

    def is_placed(self, expr: Expr) -> bool:
        """Whether an expression takes the shape of where it is read."""
        return uses_place({}, self.placed, expr)

    def written(self, root: Expr) -> Expr:
        """An expression with parts that have names replaced by these, and with places that are right anywhere."""
        originals = list(postorder(root))
        position = iter(originals)
        gathers = [node for node in originals if isinstance(node, Index) and self.has_places(node)]
        fixed = {id(part) for node in gathers for item in children(node)[1:] for part in postorder(item)}

        def change(fresh: Expr) -> Expr | None:
            node = next(position)
            if id(node) in self.bound and node is not root:
                return name(self.bound[id(node)])
            if id(node) not in fixed and _names_place(node):
                assert isinstance(node, Call)
                return self.facts.place(node)
            return None

        return copied(root, change)

    def has_places(self, node: Index) -> bool:
        """Whether ``index`` in indices refers to these, of which one is an array, and not to the place of the index."""
        return any(self.facts.value(item).shape for item in children(node)[1:])

    def lets(self, needed: set[str], given: AbstractSet[str] = frozenset()) -> list[tuple[str, Expr]]:
        """The lets for ``needed`` names and for what these read, in order; none for those that are ``given``."""
        found: list[tuple[str, Expr]] = []
        for statement in reversed(self.facts.program.statements):
            parts = {id(node): node for node in postorder(statement.value) if id(node) in self.bound}
            own: list[tuple[str, Expr]] = [(self.bound[id(node)], self.written(node)) for node in parts.values()]
            if (statement.name) not in dict(own):
                own.append((statement.name, self._stored(statement)))
            for label, value in reversed(own):
                if label in needed and label not in given:
                    found.append((label, value))
                    needed |= names_in(value)
        return found[::-1]

    def _stored(self, statement: Let | Assign) -> Expr:
        """The value of a statement as later ones read it: outputs are rounded to their dtype."""
        value = self.written(statement.value)
        if id(statement.value) in self.bound:
            value = name(self.bound[id(statement.value)])
        stored = dtype_of(self.facts.of(statement.name))
        if isinstance(statement, Let) or stored is None:
            return value
        computed = dtype_of(self.facts.value(statement.value))
        if computed is stored and not stored.is_narrow:
            return value
        return cast_to(TypeName(span=statement.span, dtype=stored), value)


def _names_place(node: Expr) -> bool:
    """Whether a node is ``index(k)`` or ``size(k)`` of its place."""
    return isinstance(node, Call) and (node.function == "index" or (node.function == "size" and len(node.args) == 1))
