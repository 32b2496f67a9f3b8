"""What both sweeps over a program do: name values, look up rules and fill them in."""

from __future__ import annotations

from kgen.diagnostics import Reporter
from kgen.functions import FUNCTIONS
from kgen.gradients.facts import Facts
from kgen.gradients.forward import Forward
from kgen.gradients.local import Local, local_rule
from kgen.gradients.reduced import reduction_rule
from kgen.gradients.terms import Term, joined
from kgen.ir.graph import Shape
from kgen.records import dataclass
from kgen.syntax.tree import Call, Expr, Index, Name, Unary, children, postorder
from kgen.syntax.trees import call, filled as filled_in, name, names_in, number, parsed


@dataclass(frozen=True, slots=True)
class Line:
    """A statement of the derived program, and what it is for.  ``at``: the index of the name that it adds to."""

    name: str
    value: Expr
    comment: str | None = None
    at: Index | None = None

    def read(self) -> set[str]:
        """The names that it reads."""
        return names_in(self.value) | (set() if self.at is None else names_in(self.at))


class Walk:
    """``backward``: whether it carries gradients, not tangents.  ``lines``: what was computed; ``shapes``: of that."""

    backward = True

    def __init__(self, facts: Facts, forward: Forward, reporter: Reporter) -> None:
        self.facts = facts
        self.forward = forward
        self.reporter = reporter
        self.lines: list[Line] = []
        self.shapes: dict[str, Shape] = {}

    def let(self, wanted: str, term: Term) -> Term:
        new = self.forward.names.new(wanted)
        self.shapes[new] = term.shape
        self.lines.append(Line(new, term.expr))
        return Term(name(new), term.shape)

    def rule(self, node: Expr) -> Local | None:
        if is_reduction(node):
            assert isinstance(node, Call)
            return reduction_rule(self.facts, self.forward, node, self.backward)
        rule = local_rule(self.facts, self.forward, node, self.backward)
        if isinstance(rule, str):
            self.refuse("no-derivative", rule, node, "leave what depends on it out of wrt=")
            return None
        return rule

    def refuse(self, code: str, message: str, node: Expr, hint: str) -> None:
        self.reporter.error(code, message, node.span, hint=hint)

    def refuse_function(self, node: Call) -> None:
        hint = "count its axis from the end, such as `axis=-1`" if node.function == "take" else "pass its result"
        self.refuse("not-yet", f"the gradient of `{node.function}` is not supported yet", node, hint)

    def filled(self, row: str, letter: str, rule: Local, gradient: Term, node: Expr) -> Term:
        """A row with its names replaced; ``letter`` stands for the gradient."""
        values = {key: rule.values[key]() for key in sorted(names_in(parsed(row)) & rule.values.keys())}
        shape = joined([value.shape for value in values.values()] + [gradient.shape])
        if any(self.forward.is_placed(value.expr) for value in values.values()):
            gradient = self.spread_out(gradient, rule.whole, node)
            shape = rule.whole
        made = filled_in(row, {letter: gradient.expr, **{key: value.expr for key, value in values.items()}})
        return Term(_without_signs(made), shape)

    def spread_out(self, term: Term, whole: Shape, node: Expr) -> Term:
        """A term of all elements, beside which ``index`` refers to these."""
        if term.shape == whole:
            return term
        like = self.facts.shaped(whole)
        if like is None and self.forward.is_placed(self.forward.written(node)):
            message, hint = "the gradient of this use of index() is not supported yet", "name an array of its shape"
            self.refuse("not-yet", message, node, hint)
            return term
        return Term(call("where", number(True), term.expr, like or self.forward.read(node).expr), whole)


def _without_signs(node: Expr) -> Expr:
    """``a`` for ``--a``."""
    while isinstance(node, Unary) and isinstance(node.operand, Unary) and node.op == node.operand.op == "-":
        node = node.operand.operand
    return node


def has_rule(node: Expr, rule: str) -> bool:
    return isinstance(node, Call) and FUNCTIONS[node.function].rule == rule


def is_reduction(node: Expr) -> bool:
    """Whether a node reduces its one operand, as ``max(a)``; ``max(a, b)`` does not."""
    return has_rule(node, "reduction") and len(children(node)) == 1


def count(row: str, wanted: str) -> int:
    return sum(isinstance(n, Name) and n.id == wanted for n in postorder(parsed(row)))
