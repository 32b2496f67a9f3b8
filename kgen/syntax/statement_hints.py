"""Mistakes in the shape of a statement: C declarations, ``return``, ``x++``, types and defaults in the wrong place.

Each rule is a function of :class:`Context` that returns a :class:`Problem` or None; ``hints.py`` has their order.
"""

from __future__ import annotations

from kgen.dtypes import BY_NAME
from kgen.functions import RESERVED
from kgen.source import Span
from kgen.syntax.context import Context, Problem, brief, shown, span, words
from kgen.syntax.foreign_functions import FOREIGN_FUNCTIONS
from kgen.syntax.lexer import END, STATEMENT_WORDS

_CONTROL = words("if else elif for while do switch case break continue return import from class struct with try")
_LOOPS = "it is computed for every element, and `sum(x, axis=0)` adds along an axis"
_INSTEAD = {"for": _LOOPS, "while": _LOOPS, "do": _LOOPS} | dict.fromkeys(
    ("import", "from", "with", "class", "struct", "try"), "the functions are built in, others begin with `def`"
)
_C_WORDS = words(
    "const auto static unsigned signed long short char void var volatile constexpr inline extern size_t "
    "__global__ __device__ __shared__ __host__"
)
#: Infix operators: a line that starts with one was meant to continue the line before.
INFIX = words("+ - * / // % ** << >> < <= > >= == != & && | || ^ ? : , and or")


def increment(c: Context) -> Problem | None:
    """``x++``, ``++x``."""
    for i in (c.at - 2, c.at):
        if i < 0 or i + 2 >= len(c.tokens):
            continue
        one, two = c.tokens[i], c.tokens[i + 1]
        if one.text == two.text and one.text in "+-" and one.end == two.start:
            name = brief(c.tokens[i - 1 if i else i + 2].text)
            at = Span(one.start, two.end)
            hint = f"write `y = {name} {one.text} 1`; a name is assigned once"
            if i and c.tokens[i - 1].text == "]":
                hint = f"write `{brief(c.text[c.tokens[0].start : one.start])} += {one.text.strip('+')}1`"
            return Problem("assignment-operator", f"there is no `{one.text * 2}`", hint, at)
    return None


def reserved(c: Context) -> Problem | None:
    word = c.token.text
    binds = "NAME" in c.expected and not c.wants_value and c.near(-1).kind != "LESSTHAN"
    assigns = c.at == 0 and c.near(1).text in ("=", ":")
    if c.token.text == "=" and c.at == 1 and c.first in RESERVED:  # def = 3
        word, at = c.first, span(c.tokens[0])
        hint = f"choose another name, such as `{word}_`"
        return Problem("reserved-name", f"`{word}` is a reserved word, not a name", hint, at)
    if word in RESERVED and (assigns or (binds and c.at > 0)):
        return Problem(
            "reserved-name",
            f"`{word}` is a reserved word, not a name",
            f"choose another name, such as `{word}_`",
        )
    return None


def control(c: Context) -> Problem | None:
    word = c.first
    if c.at > 1 or word not in _CONTROL:
        return None
    if word == "return":
        value = brief(c.text[c.tokens[0].end : c.tokens[-1].start])
        hint = "remove it" if c.near(1 - c.at).kind == "NAME" and len(c.tokens) == 3 else f"write `out = {value}`"
        message = "there is no `return`: every name that is assigned is an output"
        return Problem("syntax", message, hint, span(c.tokens[0]))
    hint = "each line is `name = expression`; " + _INSTEAD.get(word, "write a choice as `c ? a : b`")
    return Problem("syntax", f"there is no `{word}` statement", hint, span(c.tokens[0]))


def declaration(c: Context) -> Problem | None:
    """``float x = ...``, ``const float x = ...``."""
    names = 0
    while c.tokens[names].kind in ("NAME", "STAR"):
        names += 1
    if c.at != 1 or names < 2:
        return None
    word, name = c.tokens[0], c.tokens[names - 1]
    if c.tokens[names].kind == "EQUAL" and names == 2 and name.text in BY_NAME and word.text not in BY_NAME:
        hint = f"write `{brief(word.text)}: {name.text} = ...`"
        return Problem("syntax", "a colon is missing", hint, marks=(span(word),))
    if c.tokens[names].kind == "EQUAL":
        value = brief(c.text[c.tokens[names].end : c.tokens[-1].start])
        hint = f"write `let {name.text} = {value}` for a temporary, `{name.text} = {value}` for an output"
        if word.text in BY_NAME:
            hint = (
                f"write `let {name.text} = cast<{word.text}>(...)`, or `{name.text}: {word.text} = ...` for an output"
            )
        return Problem(
            "syntax", f"{shown(word)} cannot start a statement: dtypes come from the arrays", hint, span(word)
        )
    if word.text in ("output", "outputs"):
        hint = f"leave it out: `{name.text} = ...` is an output, and `{name.text}: half = ...` one of a dtype"
        return Problem("syntax", "outputs are not declared", hint, span(word))
    if word.text in BY_NAME or word.text in _C_WORDS:
        hint = "a statement is `name = expression`; `input x: float` declares the dtype of an input"
        return Problem("syntax", f"{shown(word)} cannot start a statement", hint, span(word))
    return None


def input_line(c: Context) -> Problem | None:
    if c.first not in ("input", "inout", "param"):
        return None
    word, before = c.first, c.near(-1)
    if c.token.kind == END and c.at == 1:
        return Problem("syntax", f"`{word}` needs a name", f"write `{word} a`")
    if c.token.kind == "NAME" and before.kind == "NAME":
        if c.near(-2).text == ":":
            named = f"{brief(c.near(-3).text)}: {brief(before.text)}"
            message, hint = "a comma is missing", f"write `{word} {named}, {brief(c.token.text)}`"
        elif before.text in BY_NAME or before.text in _C_WORDS:
            kind = before.text if before.text in BY_NAME else "float"
            message, hint = "the type follows the name", f"write `{word} {brief(c.token.text)}: {kind}`"
        elif c.token.text in BY_NAME:
            message, hint = "a colon is missing", f"write `{word} {brief(before.text)}: {c.token.text}`"
        else:
            message, hint = "a comma is missing", f"write `{word} {brief(before.text)}, {brief(c.token.text)}`"
        return Problem("syntax", message, hint, marks=(span(before),))
    if word != "param" and c.token.text == "=":
        hint = f"`param {brief(before.text)} = ...` declares a scalar with a default"
        return Problem("syntax", f"an `{word}` is an array and has no default", hint)
    return None


def def_line(c: Context) -> Problem | None:
    if c.first != "def":
        return None
    return _def_parameters(c) or _def_body(c)


def _def_parameters(c: Context) -> Problem | None:
    """Types and defaults of parameters, which do not exist, and a ``def`` without parameters."""
    name = brief(c.near(1 - c.at).text) if c.at > 1 else "f"
    in_parameters = c.open_bracket() is not None and "PLUS" not in c.expected
    if c.token.text == ":" and in_parameters and not c.wants_value:
        hint = "write the name alone; to convert, write `cast<T>(x)` in the body"
        return Problem("syntax", "parameters of a `def` have no types", hint)
    if c.token.text == "=" and in_parameters and "COMMA" in c.expected:
        return Problem("syntax", "parameters of a `def` have no defaults", "pass every argument at the call")
    if c.at <= 2 and c.token.text != "(" and "LPAR" in c.expected:
        hint = f"write `def {name}(x) = expression`; a value is named by `let {name} = ...`"
        return Problem("syntax", "a `def` needs parameters", hint)
    return None


def _def_body(c: Context) -> Problem | None:
    if "EQUAL" not in c.expected:
        return None
    if c.token.text == ":":
        header = brief(c.text[c.tokens[0].start : c.token.start])
        after = c.near(2 if c.near(1).text == "return" else 1)
        body = brief(c.text[after.start : c.tokens[-1].start]) if after.kind != END else "expression"
        return Problem("syntax", "a `def` is one expression after `=`", f"write `{header} = {body}`")
    if c.near(-1).text == ")":
        message = "`=` is expected after the parameters of a `def`"
        return Problem("syntax", message, f"write `def {brief(c.near(1 - c.at).text)}(...) = expression`")
    return None


def type_place(c: Context) -> Problem | None:
    """``input a: 3``, ``out : = a``."""
    if c.near(-1).text != ":" or "NAME" not in c.expected or c.wants_value:
        return None
    return Problem("syntax", "a type is expected after `:`", "write a type such as `half`, or remove `:`")


def let_line(c: Context) -> Problem | None:
    if c.first != "let" or c.at not in (1, 2):
        return None
    if c.at == 1:
        return Problem("syntax", "a name is expected after `let`", "write `let x = expression`")
    name = brief(c.tokens[1].text)
    if c.token.text == ":":
        kind = c.near(1).text if c.near(1).text in BY_NAME else "float"
        return Problem("syntax", "a `let` has no type", f"write `let {name} = cast<{kind}>(...)`")
    return Problem("syntax", "`=` is expected after the name of a `let`", f"write `let {name} = expression`")


def statement_start(c: Context) -> Problem | None:
    """A line that is not an assignment: a bare expression, several names, a call before `=`."""
    if c.at > 1 or c.first in STATEMENT_WORDS:
        return None
    token = c.token
    if c.at == 0 and token.text in INFIX:
        hint = "only an open bracket continues a line: put the whole expression in `( )`"
        return Problem("syntax", f"a statement cannot start with {shown(token)}", hint)
    if token.text == "==":
        return Problem("syntax", "`==` compares", f"write `{brief(c.first)} = ...` to assign")
    assigns = any(t.kind == "EQUAL" for t in c.tokens)
    if assigns and (problem := _assigned(c)) is not None:
        return problem
    if c.at == 1 and token.kind == "NAME":
        hint = "write `" + brief(c.first) + " = ...`, or a `#` before a comment"
        return Problem("syntax", f"{shown(token)} is not expected after {shown(c.tokens[0])}", hint)
    if assigns:
        return Problem("syntax", "only a name can be assigned to", "write `name = expression`")
    at = Span(c.tokens[0].start, max(c.tokens[-2].end, c.tokens[0].end))
    hint = FOREIGN_FUNCTIONS.get(c.first, f"write `out = {c.whole()}`")
    return Problem("syntax", "the value of this line is not assigned to a name", hint, at)


def _assigned(c: Context) -> Problem | None:
    """Targets of an assignment that are not one name."""
    if c.token.text == "(" and c.at == 1:
        hint = f"to define a function write `def {brief(c.first)}(x) = ...`"
        return Problem("syntax", "a call cannot be assigned to", hint, span(c.tokens[0]))
    if c.token.text == ",":
        return Problem("syntax", "a statement assigns one name", "write a line for each name")
    return None
