"""The reverse sweep: from the gradients of outputs to those of arguments, one statement after the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kgen.check.values import Value
from kgen.diagnostics import Reporter
from kgen.dtypes import Kind
from kgen.gradients.centred import centred_axes, is_multiple
from kgen.gradients.facts import Facts, dtype_of, kind_of
from kgen.gradients.forward import Forward
from kgen.gradients.interleaved import interleaved
from kgen.gradients.local import Local
from kgen.gradients.padded import Padder
from kgen.gradients.picked import keeps_axes, picked
from kgen.gradients.reduced import expanded_axes
from kgen.gradients.terms import Term, contracted, joined, summed, times
from kgen.gradients.views import view_parts
from kgen.gradients.walk import Line, Walk, count, has_rule
from kgen.ir.graph import Shape
from kgen.records import replace
from kgen.syntax.text import text_of
from kgen.syntax.tree import Assign, Call, Expr, Index, Let, Name, Number, TypeName
from kgen.syntax.trees import call, cast_to, is_atom, name, number


class Sweep(Walk):
    """``gradients``: by name, the terms whose sum is its gradient.

    ``updates``: what is added to the gradients of ``arguments`` at some places; ``places``: to those of others.
    """

    def __init__(
        self, facts: Facts, forward: Forward, active: set[str], reporter: Reporter, arguments: Collection[str]
    ) -> None:
        super().__init__(facts, forward, reporter)
        self.active = active
        self.arguments = arguments
        self.updates: list[Line] = []
        self.places: dict[str, list[Line]] = {}
        self._as_updates: dict[int, tuple[Term, Line]] = {}  # by the id of an expression: what the padded term is, too
        self.padder = Padder(facts, forward)
        self.gradients: dict[str, list[Term]] = {}

    def run(self) -> None:
        """Visit all statements, the last first."""
        for statement in reversed(self.facts.program.statements):
            terms = self.gradients.pop(statement.name, [])
            if statement.name in self.active and (terms or statement.name in self.places):
                self._statement(statement, terms)

    def _statement(self, statement: Let | Assign, terms: list[Term]) -> None:
        comment = f"gradients through `{statement.name} = {text_of(statement.value)}`"
        before = len(self.lines)
        updates = self.places.pop(statement.name, [])
        if updates:
            kept = [term for term in terms if id(term.expr) not in self._as_updates]
            updates += [self._as_updates[id(term.expr)][1] for term in terms if id(term.expr) in self._as_updates]
            first = self.added(kept) if kept else Term(number(0), ())
            total = self._updated(statement.name, self.facts.of(statement.name), first, updates)
        else:
            total = self.added(terms)
        if not is_atom(total.expr):
            total = self.let(f"{statement.name}_grad", total)
        over = centred_axes(self.facts, statement.value)
        rest = [t for t in terms if not is_multiple(t, statement.name, over, self._shape_of)]
        if over and len(rest) < len(terms):
            self._centred(statement.value, (total, *([self.added(rest)] if rest else [])))
        else:
            self._expression(statement.value, total)
        if len(self.lines) > before:
            self.lines[before] = replace(self.lines[before], comment=comment)

    def _centred(self, value: Expr, gradients: Sequence[Term]) -> None:
        """Carry on the gradients of both operands of ``x - mean(x)``, or of the first."""
        rule = self.rule(value)
        assert rule is not None
        for place, term in enumerate(gradients):
            self._expression(rule.operands[place], self._part(rule, place, term, value))

    def _updated(self, own: str, value: Value, first: Term, updates: Sequence[Line]) -> Term:
        """The gradient of a value of this name: its first terms, to which more is added at some places."""
        shape = self.facts.shape(value)
        like = self.facts.shaped(shape, dtype_of(value)) or name(own)
        whole = first.expr if first.shape == shape else call("where", number(True), first.expr, like)
        total = self.let(f"{own}_grad", Term(whole, shape))
        assert isinstance(total.expr, Name)
        for update in updates:
            assert update.at is not None
            self.lines.append(Line(total.expr.id, update.value, at=replace(update.at, of=total.expr)))
        return total

    def _shape_of(self, node: Expr) -> Shape | None:
        """The shape of a number or a name in a gradient; None where it is not known."""
        if isinstance(node, Number):
            return ()
        if not isinstance(node, Name):
            return None
        known = (table[node.id] for table in (self.shapes, self.forward.shapes) if node.id in table)
        return next(known, self.facts.known_shape(node.id))

    def added(self, terms: Sequence[Term]) -> Term:
        """The sum of terms, of which one that occurs twice is ``2 * term``."""
        alike: dict[object, list[Expr]] = {}
        for term in terms:  # padded ones are added part by part
            key = id(term) if self.padder.is_padded(term.expr) else text_of(term.expr)
            alike.setdefault(key, []).append(term.expr)
        first, *others = (times(len(exprs), exprs[0]) for exprs in alike.values())
        for expr in others:
            first = self.padder.plus(first, expr)
        return Term(first, joined([term.shape for term in terms]))

    def total(self, own: str) -> Term | None:
        """The gradient of an argument, without its updates; None where it has none of both."""
        terms = sorted(self.gradients.get(own, []), key=lambda term: not self.padder.is_padded(term.expr))
        whole, others = interleaved(self.facts, [update for update in self.updates if update.name == own])
        self.updates = [update for update in self.updates if update.name != own] + others
        shape = self.facts.shape(self.facts.of(own))
        kept = [Term(expr, shape) for expr in whole]
        for term in terms:
            update = self._as_updates.get(id(term.expr))
            if update is None or not kept or self.padder.fits(kept, term):
                kept.append(term)
            else:
                self.updates.append(update[1])
        if not kept:
            return Term(number(0), ()) if any(update.name == own for update in self.updates) else None
        return self.added(kept)

    # --- one expression ---------------------------------------------------------------------------

    def _expression(self, root: Expr, gradient: Term) -> None:
        """Carry the gradient of an expression to the names that it reads."""
        stack = [(root, gradient)]
        while stack:
            node, term = stack.pop()
            if isinstance(node, Name):
                self.gradients.setdefault(node.id, []).append(term)
                continue
            stack += [(child, part) for child, part in self._parts(node, term) if self.forward.is_active(child)]

    def _parts(self, node: Expr, term: Term) -> list[tuple[Expr, Term]]:
        """The operands of a node that have a gradient, and what this node adds to it."""
        if isinstance(node, Call) and node.function == "expand":
            return [(node.args[0], self._contracted(node, term))]
        if isinstance(node, Index):
            return self._indexed(node, term)
        if has_rule(node, "view"):
            return self._viewed(node, term)
        rule = self.rule(node)
        if rule is None:
            return []
        found = [place for place, row in enumerate(rule.row) if row and self.forward.is_active(rule.operands[place])]
        if sum(count(rule.row[place], "g") for place in found) > 1 and not is_atom(term.expr):
            term = self.let(f"{self.forward.label(node)}_grad", term)
        return [(rule.operands[place], self._part(rule, place, term, node)) for place in found]

    def _indexed(self, node: Index, term: Term) -> list[tuple[Expr, Term]]:
        whole = self.facts.shape(self.facts.value(node))
        spread = self.spread_out(term, whole, node)
        found = self.padder.padded(node, spread)
        own = node.of.id if isinstance(node.of, Name) else ""
        update = Line(own, spread.expr, at=node)
        if found is not None:
            if self.padder.is_padded(found.expr):
                self._as_updates[id(found.expr)] = (found, update)
            return [(node.of, found)]
        if keeps_axes(self.facts, self.forward, node.of, self.arguments):
            one = picked(self.facts, self.forward, node, term)
            if one is not None:
                return [(node.of, one)]
        if own in self.arguments:
            self.updates.append(update)
        elif own in self.active:
            self.places.setdefault(own, []).append(update)
        elif not own and self.forward.is_active(node.of):
            self.forward.read(node.of)
            label, value = self.forward.label(node.of), self.facts.value(node.of)
            return [(node.of, self._updated(label, value, Term(number(0), ()), [update]))]
        return []

    def _viewed(self, node: Expr, term: Term) -> list[tuple[Expr, Term]]:
        assert isinstance(node, Call)
        whole = self.spread_out(term, self.facts.shape(self.facts.value(node)), node)
        if not is_atom(whole.expr) and len(node.args) > 1:
            whole = self.let(f"{self.forward.label(node)}_grad", whole)
        found = view_parts(self.facts, self.forward, node, whole.expr)
        if found is None:
            self.refuse_function(node)
        return [] if found is None else [(child, self._converted(part, node, child)) for child, part in found]

    def _part(self, rule: Local, place: int, term: Term, node: Expr) -> Term:
        """What a node adds to the gradient of one operand."""
        child = rule.operands[place]
        gradient = term if rule.spread is None else rule.spread(term)
        is_broadcast = self.facts.shape(self.facts.value(child)) != rule.whole
        inner, outer = rule.summed.get(place, ("", "")) if is_broadcast else ("", "")
        made = self._fitted(self.filled(inner or rule.row[place], "g", rule, gradient, node), rule.whole, node, child)
        if outer:
            own = replace(rule, whole=self.facts.shape(self.facts.value(child)))
            made = self.filled(outer, "s", own, made, child)
        return self._converted(made, node, child)

    def _fitted(self, term: Term, whole: Shape, node: Expr, child: Expr) -> Term:
        """A term in the shape of an operand, and real if that is."""
        own, value = self.facts.value(node), self.facts.value(child)
        if kind_of(own) is Kind.COMPLEX and kind_of(value) is not Kind.COMPLEX and not _is_part(term.expr):
            term = Term(call("real", term.expr), term.shape)
        return summed(self.facts, term, whole, self.facts.shape(value))

    def _converted(self, term: Term, node: Expr, child: Expr) -> Term:
        """A term in the dtype in which an operand is computed."""
        own, value = self.facts.value(node), self.facts.value(child)
        source, result = dtype_of(value), dtype_of(own)
        if source is not None and result is not None and source.compute.real is not result.compute.real:
            kind = source.compute if kind_of(value) is not Kind.COMPLEX else source
            term = Term(cast_to(TypeName(span=node.span, dtype=kind), term.expr), term.shape)
        return term

    def _contracted(self, node: Call, term: Term) -> Term:
        rank = len(self.facts.value(node).shape)
        return contracted(term, expanded_axes(node, rank), rank)


def _is_part(node: Expr) -> bool:
    return isinstance(node, Call) and node.function in ("real", "imag")
