"""What to say about text that does not parse."""

from __future__ import annotations

from kgen.diagnostics import Reporter
from kgen.source import Span
from kgen.syntax.lexer import END, Statement, Token

TYPE_HINTS: dict[str, str] = {"char": "write `int8` or `uint8`"}


def explain(reporter: Reporter, tokens: list[Token], at: int, expected: frozenset[str]) -> None:
    """Report the token that no rule takes."""
    token = tokens[at]
    if token.kind == END:
        reporter.error("syntax", "the statement ends too early", Span(token.start, token.end))
    else:
        reporter.error("syntax", f"unexpected `{token.text}`", Span(token.start, token.end))


def explain_unclosed(reporter: Reporter, statement: Statement) -> None:
    """Report a bracket that nothing closes, at the bracket."""
    token = statement.unclosed
    assert token is not None
    reporter.error("unclosed-bracket", f"`{token.text}` is never closed", Span(token.start, token.end))


def bound_names(tokens: list[Token]) -> set[str]:
    """The names that a statement which does not parse would have bound, so that their uses are no errors."""
    return set()
