"""Text -> tree: an LALR loop for each statement, so that a syntax error does not hide errors in later statements.

Nodes are built while reducing, and nothing recurses, so nesting is not limited by Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kgen.diagnostics import Reporter
from kgen.source import Source, Span
from kgen.syntax.builder import Builder
from kgen.syntax.lexer import END, MAX_NESTING, Statement, Token, statements
from kgen.syntax.tables import Tables, load
from kgen.syntax.tree import Def, Statement as Node, Tree

MAX_SIZE = 1 << 22  # characters


def parse(source: Source, reporter: Reporter) -> Tree:
    """The tree of the statements that parse. The others are reported, and the names they define are in ``broken``."""
    if len(source.text) > MAX_SIZE:
        hint = f"at most {MAX_SIZE:,} characters"
        reporter.error("too-large", f"the program has {len(source.text):,} characters", Span(0, 1), hint=hint)
        return Tree()
    return _parse(source, 0, len(source.text), reporter)


def parse_def(source: Source, start: int, end: int) -> Def:
    """The one ``def`` between two offsets of the prelude."""
    reporter = Reporter(source)
    (node,) = _parse(source, start, end, reporter).statements
    reporter.raise_errors()
    assert isinstance(node, Def)
    return node


def _parse(source: Source, start: int, end: int, reporter: Reporter) -> Tree:
    parser = _Parser(load(), reporter)
    nodes: list[Node] = []
    broken: set[str] = set()
    for statement in statements(source.text, start, end, parser.tables):
        node = parser.statement(statement)
        if node is not None:
            nodes.append(node)
        else:
            from kgen.syntax import hints

            broken.update(hints.bound_names(statement.tokens))
    return Tree(tuple(nodes), frozenset(broken))


class _Parser:
    def __init__(self, tables: Tables, reporter: Reporter) -> None:
        self.tables = tables
        self.reporter = reporter
        builder = Builder(reporter)
        self._builders: tuple[Callable[[list[Any]], Any], ...] = tuple(
            _gather if rule.helper else getattr(builder, "def_" if rule.builder == "def" else rule.builder, _gather)
            for rule in tables.rules
        )
        # (state below, state, terminal) -> the state after all unit rules that apply (fifteen for a bare `a`).
        self._chains: dict[tuple[int, int, str], int] = {}

    def statement(self, statement: Statement) -> Node | None:
        """The node of one statement, or None when it was reported."""
        if statement.unclosed is not None:
            from kgen.syntax import hints

            hints.explain_unclosed(self.reporter, statement)
            return None
        if statement.too_deep is not None:
            from kgen.syntax import hints

            hints.explain_too_deep(self.reporter, statement.too_deep, MAX_NESTING)
            return None
        return self._run(statement.tokens)

    def _run(self, tokens: list[Token]) -> Node | None:
        actions, gotos, rules = self.tables.actions, self.tables.gotos, self.tables.rules
        end_state, builders, chains = self.tables.end, self._builders, self._chains
        states = [self.tables.start]
        values: list[Any] = []
        for i, token in enumerate(tokens):
            kind = token.kind
            shifted = states[-1]
            while True:
                action = actions[states[-1]].get(kind)
                if action is None:
                    from kgen.syntax import hints

                    expected, after = frozenset(actions[states[-1]]), frozenset(actions[shifted])
                    hints.explain(self.reporter, tokens, i, expected, after)
                    return None
                if action >= 0:
                    states.append(action)
                    values.append(token)
                    break
                rule = rules[~action]
                if rule.unit:
                    key = (states[-2], states[-1], kind)
                    state = chains.get(key)
                    if state is None:
                        state = chains[key] = self._chain(*key)
                    states[-1] = state
                else:
                    size = rule.size
                    children = values[-size:]
                    del values[-size:], states[-size:]
                    if any(type(child) is list for child in children):
                        children = _flat(children)
                    values.append(builders[~action](children))
                    states.append(gotos[states[-1]][rule.origin])
                if kind == END and states[-1] == end_state:
                    node: Node = values[-1]
                    return node
        raise AssertionError("a statement's tokens end with END")

    def _chain(self, below: int, state: int, kind: str) -> int:
        tables = self.tables
        while (action := tables.actions[state].get(kind)) is not None and action < 0 and tables.rules[~action].unit:
            state = tables.gotos[below][tables.rules[~action].origin]
        return state


def _gather(children: list[Any]) -> list[Any]:
    """The value of a repetition: the list of its items."""
    return children


def _flat(children: list[Any]) -> list[Any]:
    if type(children[0]) is list:  # extend the repetition in place: a copy for each item would be quadratic
        flat = children[0]
        rest = children[1:]
    else:
        flat, rest = [], children
    for child in rest:
        if type(child) is list:
            flat.extend(child)
        else:
            flat.append(child)
    return flat
