"""The forward sweep: from the tangents of arguments to those of outputs, one statement after the other."""

from __future__ import annotations

from kgen.dtypes import Kind
from kgen.functions import FUNCTIONS
from kgen.gradients.facts import dtype_of, kind_of
from kgen.gradients.local import Local, target_of
from kgen.gradients.terms import Term, joined
from kgen.gradients.walk import Walk, count, has_rule, is_reduction
from kgen.records import replace
from kgen.syntax.text import text_of
from kgen.syntax.tree import Call, Ellipsis, Expr, Index, Name, NewAxis, Slice, TypeName, Unary, children, postorder
from kgen.syntax.trees import binary, call, cast_to, is_atom, number

#: Reductions whose derivative is the same reduction.
_LINEAR = ("sum", "mean")


class Pushforward(Walk):
    """``tangents``: by name."""

    backward = False
    tangents: dict[str, Term]

    def run(self, tangents: dict[str, Term]) -> None:
        """Visit all statements.  ``tangents``: of the arguments; those of the statements are added."""
        self.tangents = tangents
        for statement in self.facts.program.statements:
            before = len(self.lines)
            term = self._expression(statement.value)
            if term is None:
                continue
            self.tangents[statement.name] = term if is_atom(term.expr) else self.let(f"{statement.name}_tangent", term)
            if len(self.lines) > before:
                comment = f"the tangent of `{statement.name} = {text_of(statement.value)}`"
                self.lines[before] = replace(self.lines[before], comment=comment)

    def _expression(self, root: Expr) -> Term | None:
        """The tangent of an expression; None where it has none."""
        found: dict[int, Term] = {}
        for node in postorder(root):
            term = self._node(node, found)
            if term is not None:
                found[id(node)] = term
        return found.get(id(root))

    def _node(self, node: Expr, found: dict[int, Term]) -> Term | None:
        if kind_of(self.facts.value(node)) < Kind.FLOAT or id(node) in self.forward.cancelled:
            return None
        if isinstance(node, Name):
            return self.tangents.get(node.id)
        if not any(id(child) in found for child in children(node)):
            return None
        if isinstance(node, Index):
            return None if id(node.of) not in found else self._indexed(node, found[id(node.of)])
        if isinstance(node, Call) and (node.function == "expand" or has_rule(node, "view")):
            return self._moved(node, found)
        rule = self.rule(node)
        if rule is None:
            return None
        if isinstance(node, Call) and is_reduction(node):
            return self._reduced(node, rule, found[id(node.args[0])])
        return self._computed(node, rule, found)

    def _computed(self, node: Expr, rule: Local, found: dict[int, Term]) -> Term | None:
        """The sum of what the operands add."""
        terms = {p: self._converted(found[id(o)], node, o) for p, o in enumerate(rule.operands) if id(o) in found}
        if target_of(node) == "where" and terms.keys() & {1, 2}:
            return self._chosen(rule, terms, node)
        parts = [self._filled(rule, place, term, node) for place, term in terms.items() if rule.row[place]]
        if not parts:
            return None
        total = parts[0].expr
        for part in parts[1:]:
            match part.expr:
                case Unary(op="-", operand=negated):
                    total = binary("-", total, negated)
                case added:
                    total = binary("+", total, added)
        return Term(total, joined([part.shape for part in parts]))

    def _filled(self, rule: Local, place: int, term: Term, node: Expr) -> Term:
        if count(rule.row[place], "g") > 1 and not is_atom(term.expr):
            term = self.let(f"{self.forward.label(rule.operands[place])}_tangent", term)
        return self.filled(rule.row[place], "g", rule, term, node)

    def _chosen(self, rule: Local, terms: dict[int, Term], node: Expr) -> Term:
        """``c ? s : t`` of the tangents of two values; that of a value without one is 0."""
        zero = Term(number(0), ())
        then, otherwise = terms.get(1, zero), terms.get(2, zero)
        values = {**rule.values, "t": lambda: otherwise}
        return self.filled("a ? s : t", "s", replace(rule, values=values), then, node)

    def _reduced(self, node: Call, rule: Local, term: Term) -> Term | None:
        """The sum over the reduced axes of what each element adds."""
        if not rule.row[0]:
            return None
        (operand,) = node.args
        whole = self.spread_out(term, rule.whole, operand)
        target = FUNCTIONS[node.function].target
        shape = self.facts.shape(self.facts.value(node))
        if target in _LINEAR:
            return Term(replace(node, args=(whole.expr,)), shape)
        made = self._filled(rule, 0, whole, node)
        sum_of = call("sum", made.expr)
        words = tuple(word for word in node.keywords if word.name in ("axis", "keepdims"))
        return Term(replace(sum_of, keywords=words), shape)

    def _indexed(self, node: Index, term: Term) -> Term:
        """The same elements of the tangent."""
        whole = self.spread_out(term, self.facts.shape(self.facts.value(node.of)), node.of)
        items = node.items if self.forward.has_places(node) else tuple(map(self._item, node.items))
        made = replace(node, of=whole.expr, items=items)
        return Term(made, self.facts.shape(self.facts.value(node)))

    def _item(self, item: Expr | Slice | Ellipsis | NewAxis) -> Expr | Slice | Ellipsis | NewAxis:
        if isinstance(item, Slice):
            bounds = (item.start, item.stop, item.step)
            start, stop, step = (None if e is None else self.forward.written(e) for e in bounds)
            return replace(item, start=start, stop=stop, step=step)
        return item if isinstance(item, Ellipsis | NewAxis) else self.forward.written(item)

    def _moved(self, node: Call, found: dict[int, Term]) -> Term:
        """The same function of tangents: elements in other places."""
        if node.function == "take":  # what it reads beyond an axis has no tangent
            self.refuse_function(node)
        tangents: list[Expr] = []
        moved = node.args[:1] if node.function == "repeat" else node.args
        for child in moved:
            shape = self.facts.shape(self.facts.value(child))
            term = found.get(id(child), Term(number(0.0), ()))
            tangents.append(self.spread_out(self._converted(term, node, child), shape, child).expr)
        return Term(replace(node, args=(*tangents, *node.args[len(moved) :])), self.facts.shape(self.facts.value(node)))

    def _converted(self, term: Term, node: Expr, child: Expr) -> Term:
        """A tangent of an operand in the dtype in which the result is computed."""
        source, result = (dtype_of(self.facts.value(each)) for each in (child, node))
        if source is None or result is None or source.compute.real is result.compute.real:
            return term
        kind = result.compute.real if source.kind < Kind.COMPLEX else result
        return Term(cast_to(TypeName(span=node.span, dtype=kind), term.expr), term.shape)
