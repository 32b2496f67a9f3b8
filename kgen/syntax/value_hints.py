"""Mistakes inside an expression: missing operators and values, tuples, C casts, words of other languages.

Each rule is a function of :class:`Context` that returns a :class:`Problem` or None; ``hints.py`` has their order.
"""

from __future__ import annotations

from kgen.dtypes import BY_NAME
from kgen.functions import FUNCTIONS
from kgen.source import Span
from kgen.syntax.context import Context, Problem, brief, shown, span
from kgen.syntax.lexer import END, STATEMENT_WORDS
from kgen.syntax.statement_hints import INFIX

CAST_OPTIONS = ("sat", "rne", "rz", "ru", "rd")
_WORD_OPERATORS = {"is": "==", "xor": "^", "mod": "%", "div": "//", "eq": "==", "ne": "!=", "then": "?"}


def closing(c: Context) -> Problem | None:
    if c.token.text != ")":
        return None
    if c.open_bracket() is None:
        return Problem("unmatched-bracket", "nothing opens this `)`", "remove it, or write the matching `(`")
    if c.near(-1).text == "(":
        return Problem("syntax", "these brackets are empty", "write a value", marks=(span(c.near(-1)),))
    return None


def words(c: Context) -> Problem | None:
    """Words of Python and others in an expression."""
    word, before = c.token.text, c.near(-1)
    if "lambda" in (word, before.text):
        at = span(before if before.text == "lambda" else c.token)
        return Problem(
            "syntax", "there is no `lambda`", "write `def f(x) = expression` on its own line and call `f(x)`", at
        )
    if not c.wants_operator or c.token.kind not in ("NAME", "IF"):
        return None
    if word == "as":
        kind = c.near(1).text if c.near(1).text in BY_NAME else "float"
        whole = before.kind in ("NAME", "NUMBER") and (c.at == 1 or c.near(-2).kind in ("EQUAL", "COMMA", "LPAR"))
        operand = brief(before.text) if whole else "..."
        return Problem("syntax", "`as` is not an operator", f"write `cast<{kind}>({operand})`")
    if word in ("if", "else"):
        return Problem("syntax", f"`{word}` is not an operator", "write a choice as `condition ? a : b`")
    if word == "for":
        return Problem(
            "syntax", "there are no loops", "write the expression of one element; `sum(x, axis=0)` adds along an axis"
        )
    if word == "in":
        return Problem("syntax", "`in` is not an operator", "write `any(x[:, None] == table, axis=1)`")
    if word in _WORD_OPERATORS:
        return Problem("syntax", f"`{word}` is not an operator", f"write `{_WORD_OPERATORS[word]}`")
    return None


def cast(c: Context) -> Problem | None:
    before = c.near(-1)
    if before.kind in ("CAST", "BITCAST"):
        word = before.text
        return Problem("bad-cast", f"`{word}` needs a type in `< >`", f"write `{word}<float>(x)`", span(before))
    if before.text == ">" and c.expected == {"LPAR"}:
        return Problem("bad-cast", "the operand of a cast needs brackets", f"write `({c.rest()})`")
    if "MORETHAN" in c.expected and not c.wants_operator:
        return _cast_type(c) or _cast_end(c)
    return _c_cast(c)


def _cast_type(c: Context) -> Problem | None:
    """``cast<half sat>(x)``, ``cast<unsigned int>(x)``: a word after the type."""
    before = c.near(-1)
    if before.kind != "NAME":
        return None
    if c.token.text in CAST_OPTIONS and _opened_cast(c) == "cast":
        hint = f"write `cast<{brief(before.text)}, {c.token.text}>(...)`"
        return Problem("bad-cast", f"a comma is missing before {shown(c.token)}", hint, marks=(span(before),))
    if c.token.kind == "NAME":
        message = f"a type is one word, not `{brief(before.text)} {brief(c.token.text)}`"
        return Problem("bad-cast", message, "write the size: `uint8`, `int64`, `float`")
    return None


def _cast_end(c: Context) -> Problem | None:
    """``cast<half(x)``, ``bitcast<int, sat>(x)``: no ``>`` after the type."""
    opened = _opened_cast(c)
    if c.wants_value or opened is None:
        return None
    if opened == "bitcast" and c.token.text == ",":
        return Problem("bad-cast", "a bitcast takes a type and no options", "write `bitcast<int>(x)`")
    before = c.near(-1)
    return Problem("bad-cast", f"`>` is missing after {shown(before)}", f"write `{opened}<float>(x)`", span(before))


def _opened_cast(c: Context) -> str | None:
    """The ``cast`` or ``bitcast`` before the token."""
    return next((t.text for t in reversed(c.tokens[: c.at]) if t.kind in ("CAST", "BITCAST")), None)


def _c_cast(c: Context) -> Problem | None:
    """``(float)x``."""
    opening, kind, closing = c.near(-3), c.near(-2).text, c.near(-1)
    if (opening.text, closing.text) != ("(", ")") or not c.is_value or kind not in BY_NAME:
        return None
    at = Span(opening.start, closing.end)
    return Problem("bad-cast", f"`({kind})` is not a cast", f"write `cast<{kind}>({c.rest()})`", at)


def equal(c: Context) -> Problem | None:
    if c.token.text != "=" or c.at < 2:
        return None
    hint = "write `==` to compare"
    if c.open_bracket() is None:
        hint += "; a second value needs a line of its own"
    return Problem("syntax", "`=` is not allowed inside an expression", hint)


def comma(c: Context) -> Problem | None:
    if c.token.text != "," or not c.wants_operator:
        return None
    opening = c.open_bracket()
    if opening is None:
        let = "let " if c.first == "let" else ""
        hint = f"write a line for each name: `{let}s = ...` and `{let}d = ...`"
        return Problem("syntax", "a statement has one value", hint)
    hint = "a tuple is only allowed as the value of a keyword, as in `axis=(0, 1)`"
    return Problem("syntax", "`,` is not allowed in these brackets", hint, marks=(span(opening),))


def missing_operator(c: Context) -> Problem | None:
    if not c.wants_operator or not (c.is_value or c.token.kind in ("BANG", "TILDE", "NOT")):
        return None
    before = c.near(-1)
    hint = "to multiply write `*`"
    if before.text in FUNCTIONS and c.token.kind in ("NAME", "NUMBER"):
        hint = f"to call it write `{before.text}({brief(c.token.text)})`; {hint}"
    elif c.token.kind == "BANG" and c.near(1).kind not in ("NAME", "NUMBER", "LPAR"):
        hint = f"a factorial is `tgamma({brief(before.text)} + 1)`"
    elif c.open_bracket() is not None and c.token.text != "(":
        hint += "; arguments are separated by `,`"
    if before.text == "if":
        return Problem("syntax", "`if` is not an operator", "write a choice as `condition ? a : b`", span(before))
    if c.token.kind in STATEMENT_WORDS:
        hint = "end the statement before it with a newline or `;`"
    message = f"an operator is missing between {shown(before)} and {shown(c.token)}"
    return Problem("syntax", message, hint, marks=(span(before),))


def namespace(c: Context) -> Problem | None:
    """``std::max``."""
    before = c.near(-1)
    if c.token.text != ":" or c.near(1).text != ":" or before.kind != "NAME":
        return None
    message = f"kgen has no namespaces such as `{brief(before.text)}`"
    return Problem("attribute", message, f"write `{brief(c.near(2).text)}(...)`", span(before))


def incomplete(c: Context) -> Problem | None:
    before = c.near(-1)
    if c.token.kind == END:
        last = Span(before.start, before.end)
        if c.wants_value:
            hint = "write a value; only an open bracket continues a line"
            return Problem("syntax", f"a value is missing after {shown(before)}", hint, last)
        if "COLON" in c.expected and _question(c) is not None:
            return Problem("syntax", "`?` has no `:`", "write `condition ? a : b`", _question(c))
        return Problem("syntax", f"the statement is incomplete after {shown(before)}", _expected_hint(c), last)
    if c.token.kind == "NOT" and c.wants_value:
        return Problem(
            "syntax",
            "`not` binds more loosely than the operator before it",
            "write `!x`, or `(not x)`",
            marks=(span(before),),
        )
    if c.token.text == ":" and c.wants_operator:
        return Problem("syntax", "`:` has no `?`", "write a choice as `condition ? a : b`")
    if c.token.text in (")", ",") and "COLON" in c.expected and _question(c) is not None:
        return Problem("syntax", "`?` has no `:`", "write `condition ? a : b`", _question(c))
    if c.token.text in STATEMENT_WORDS:
        return Problem("syntax", f"`{c.token.text}` starts a statement", "write it on a line of its own, or after `;`")
    return None


def _question(c: Context) -> Span | None:
    return next((span(token) for token in reversed(c.tokens[: c.at]) if token.kind == "QMARK"), None)


def _expected_hint(c: Context) -> str | None:
    if "EQUAL" in c.expected:
        return "write `name = expression`"
    if "LPAR" in c.expected:
        return "`(` is expected"
    return "a name is expected" if "NAME" in c.expected else "each line is `name = expression`"


def otherwise(c: Context) -> Problem:
    if c.wants_value:
        return Problem("syntax", f"a value is expected, not {shown(c.token)}", _value_hint(c))
    if c.wants_operator:
        hint = "an operator or the end of the statement is expected"
        return Problem("syntax", f"{shown(c.token)} does not fit here", hint)
    return Problem("syntax", f"{shown(c.token)} does not fit here", _expected_hint(c))


def _value_hint(c: Context) -> str | None:
    pair = c.near(-1).text + c.token.text
    if pair in ("&&&", "|||"):
        return f"write `{pair[:2]}`"
    if c.token.text == "|" and any(token.text == "|" for token in c.tokens[c.at + 1 :]):
        return "write a magnitude as `abs(x)`"
    return "one operator follows another" if c.near(-1).text in INFIX else "write a name or a number"
