"""Explains statements that do not parse: the first rule of an ordered list that recognises the mistake reports it.

A rule gets the failing token with its surroundings (:class:`Context`) and returns a :class:`Problem` or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kgen.diagnostics import Reporter
from kgen.syntax import mistakes, statement_hints, value_hints
from kgen.syntax.context import Context, Problem, span
from kgen.syntax.lexer import STATEMENT_WORDS, Statement, Token

#: Text after ``//`` that is a comment and not an operand: several words, or nothing.
_PROSE = re.compile(r"\s*$|.*?[A-Za-z]['’]?[.,:!]?\s+[A-Za-z]|.*?[A-Za-z]['’][A-Za-z]")
_PROSE_LENGTH = 200  # characters looked at


def explain(reporter: Reporter, tokens: list[Token], at: int, expected: frozenset[str], after: frozenset[str]) -> None:
    """Report ``tokens[at]``, at which the parser failed."""
    context = Context(tokens, at, expected, after, reporter.source.text)
    for rule in _RULES:
        problem = rule(context)
        if problem is not None:
            _report(reporter, problem, context.token)
            return


def explain_unclosed(reporter: Reporter, statement: Statement) -> None:
    """Report an opening bracket without a closing one."""
    token = statement.unclosed
    assert token is not None
    nothing = frozenset[str]()
    context = Context(statement.tokens, statement.tokens.index(token), nothing, nothing, reporter.source.text)
    if (problem := _prose(context)) is not None:
        _report(reporter, problem, token)
        return
    closing = {"(": ")", "[": "]", "{": "}"}[token.text]
    message = f"`{token.text}` is never closed"
    reporter.error("unclosed-bracket", message, span(token), hint=f"write the matching `{closing}`")


def explain_too_deep(reporter: Reporter, token: Token, limit: int) -> None:
    """Report the bracket that nests too deep."""
    message = f"brackets nest deeper than {limit}"
    reporter.error("too-deep", message, span(token), hint="give an inner part a name with `let`")


def _report(reporter: Reporter, problem: Problem, token: Token) -> None:
    reporter.error(problem.code, problem.message, problem.at or span(token), marks=problem.marks, hint=problem.hint)


def bound_names(tokens: list[Token]) -> set[str]:
    """The names that a statement which does not parse would define, so that uses of them are not errors as well."""
    texts = [token.text for token in tokens[:4]] + [""] * 4
    if texts[0] in ("let", "def"):
        return {texts[1]}
    if texts[0] in STATEMENT_WORDS:
        return {t.text for t, before in zip(tokens[1:], tokens, strict=False) if before.text in (texts[0], ",")}
    if tokens[0].kind == "NAME" and tokens[1].kind in ("EQUAL", "COLON", "ADD_TO", "!assign"):
        return {texts[0]}
    names = [token.text for token in tokens[:4] if token.kind == "NAME"]
    return set(names)  # float x = ..., a, b = ...: better a missed error than a false one


def _prose(c: Context) -> Problem | None:
    """``y = a + b // what it does``: the words after ``//`` are a comment."""
    line_start = c.text.rfind("\n", c.tokens[0].start, c.token.start) + 1
    for token in reversed(c.tokens[: c.at]):
        if token.start < line_start:
            return None
        if token.text == "//":
            line, _, _ = c.text[token.end : token.end + _PROSE_LENGTH].partition("\n")
            if not _PROSE.match(line):
                return None
            hint = "comments start with `#`; `//` divides and rounds down"
            return Problem("comment", "`//` does not start a comment", hint, span(token))
    return None


_RULES: tuple[Callable[[Context], Problem | None], ...] = (
    _prose,
    statement_hints.increment,
    statement_hints.reserved,
    statement_hints.control,
    mistakes.explain,
    value_hints.closing,
    statement_hints.declaration,
    statement_hints.input_line,
    statement_hints.def_line,
    statement_hints.let_line,
    statement_hints.type_place,
    value_hints.words,
    value_hints.cast,
    statement_hints.statement_start,
    value_hints.equal,
    value_hints.comma,
    value_hints.missing_operator,
    value_hints.namespace,
    value_hints.incomplete,
    value_hints.otherwise,
)
