"""Trees of texts that have to parse, for tests."""

from __future__ import annotations

from kgen.diagnostics import Reporter
from kgen.source import Source
from kgen.syntax.parser import parse
from kgen.syntax.printer import show, show_statement
from kgen.syntax.tree import Assign, Expr, Tree

__all__ = ["show", "show_statement", "tree_of", "value_of"]


def tree_of(text: str) -> Tree:
    """The tree of a text that has to parse."""
    source = Source.of(text)
    reporter = Reporter(source)
    tree = parse(source, reporter)
    reporter.raise_errors()
    return tree


def value_of(text: str) -> Expr:
    """The tree of one expression."""
    (statement,) = tree_of(f"out = {text}").statements
    assert isinstance(statement, Assign)
    return statement.value
