"""What to say about a statement that does not parse: ordered rules, the first that knows the mistake speaks.

A rule sees the tokens around the one that fits nowhere (:class:`Context`) and returns a :class:`Problem` or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kgen.diagnostics import Reporter
from kgen.dtypes import BY_NAME
from kgen.functions import RESERVED
from kgen.source import Span
from kgen.syntax import mistakes
from kgen.syntax.context import Context, Problem, brief, shown, span
from kgen.syntax.lexer import END, STATEMENT_WORDS, Statement, Token


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CONTROL = _set("if else elif for while do switch case break continue return import from class struct with try")
_C_WORDS = _set(
    "const auto static unsigned signed long short char void var volatile constexpr inline extern size_t "
    "__global__ __device__ __shared__ __host__"
)
_WORD_OPERATORS = {"is": "==", "in": "==", "xor": "^", "mod": "%", "div": "//", "eq": "==", "ne": "!=", "then": "?"}
_INFIX = _set("+ - * / // % ** << >> < <= > >= == != & && | || ^ ? : , and or")
#: Words, or nothing, after ``//``: what a comment looks like and an operand does not.
_PROSE = re.compile(r"\s*$|.*?[A-Za-z]['’]?[.,:!]?\s+[A-Za-z]|.*?[A-Za-z]['’][A-Za-z]")
_PROSE_LENGTH = 200  # characters looked at


def explain(reporter: Reporter, tokens: list[Token], at: int, expected: frozenset[str], after: frozenset[str]) -> None:
    """Report ``tokens[at]``, which no rule takes where it stands."""
    context = Context(tokens, at, expected, after, reporter.source.text)
    for rule in _RULES:
        problem = rule(context)
        if problem is not None:
            _report(reporter, problem, context.token)
            return


def explain_unclosed(reporter: Reporter, statement: Statement) -> None:
    """Report a bracket that nothing closes, at the bracket."""
    token = statement.unclosed
    assert token is not None
    nothing = frozenset[str]()
    context = Context(statement.tokens, statement.tokens.index(token), nothing, nothing, reporter.source.text)
    if (problem := _prose(context)) is not None:
        _report(reporter, problem, token)
        return
    closing = {"(": ")", "[": "]", "{": "}"}[token.text]
    message = f"`{token.text}` is never closed"
    reporter.error("unclosed-bracket", message, span(token), hint=f"write the `{closing}` that belongs to it")


def _report(reporter: Reporter, problem: Problem, token: Token) -> None:
    reporter.error(problem.code, problem.message, problem.at or span(token), marks=problem.marks, hint=problem.hint)


def explain_too_deep(reporter: Reporter, token: Token, limit: int) -> None:
    """Report the bracket that nests too deep."""
    message = f"brackets nest deeper than {limit}"
    reporter.error("too-deep", message, span(token), hint="give an inner part a name with `let`")


def bound_names(tokens: list[Token]) -> set[str]:
    """The names that a statement which does not parse would have bound, so that their uses are no errors."""
    texts = [token.text for token in tokens[:4]] + [""] * 4
    if texts[0] in ("let", "def"):
        return {texts[1]}
    if texts[0] in STATEMENT_WORDS:
        return {t.text for t, before in zip(tokens[1:], tokens, strict=False) if before.text in (texts[0], ",")}
    if tokens[0].kind == "NAME" and tokens[1].kind in ("EQUAL", "COLON", "!assign"):
        return {texts[0]}
    names = [token.text for token in tokens[:4] if token.kind == "NAME"]
    return set(names)  # float x = ..., a, b = ...: better a missed error than a false one


# --- rules -----------------------------------------------------------------------------------------------------------


def _prose(c: Context) -> Problem | None:
    """``y = a + b // what it does``: the words after ``//`` are no expression."""
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


def _mistake(c: Context) -> Problem | None:
    return mistakes.explain(c) if c.token.kind.startswith("!") else None


def _closing(c: Context) -> Problem | None:
    if c.token.text != ")":
        return None
    if c.open_bracket() is None:
        return Problem("unmatched-bracket", "nothing opens this `)`", "remove it, or write the `(` that belongs to it")
    if c.near(-1).text == "(":
        return Problem("syntax", "there is nothing between these brackets", "write a value", marks=(span(c.near(-1)),))
    return None


def _control(c: Context) -> Problem | None:
    word = c.first
    if c.at > 1 or word not in _CONTROL:
        return None
    if word == "return":
        value = brief(c.text[c.tokens[0].end : c.tokens[-1].start])
        return Problem(
            "syntax", "there is no `return`: what is assigned is returned", f"write `out = {value}`", span(c.tokens[0])
        )
    hint = "each line is `name = expression`; a choice is written `c ? a : b`"
    return Problem("syntax", f"there are no statements such as `{word}`", hint, span(c.tokens[0]))


def _declaration(c: Context) -> Problem | None:
    """``float x = ...``, ``const float x = ...``."""
    names = 0
    while c.tokens[names].kind in ("NAME", "STAR"):
        names += 1
    if c.at != 1 or names < 2:
        return None
    word, name = c.tokens[0], c.tokens[names - 1]
    if c.tokens[names].kind == "EQUAL":
        value = brief(c.text[c.tokens[names].end : c.tokens[-1].start])
        hint = f"write `let {name.text} = {value}` for a temporary, `{name.text} = {value}` for an output"
        if word.text in BY_NAME:
            hint = (
                f"write `let {name.text} = cast<{word.text}>(...)`, or `{name.text}: {word.text} = ...` for an output"
            )
        return Problem("syntax", f"{shown(word)} starts no statement: types come from the arrays", hint, span(word))
    if word.text in BY_NAME or word.text in _C_WORDS:
        hint = "a statement is `name = expression`; an input's type is stated by `input x: float`"
        return Problem("syntax", f"{shown(word)} starts no statement", hint, span(word))
    return None


def _increment(c: Context) -> Problem | None:
    """``x++``, ``++x``."""
    for i in (c.at - 2, c.at):
        if i < 0 or i + 2 >= len(c.tokens):
            continue
        one, two = c.tokens[i], c.tokens[i + 1]
        if one.text == two.text and one.text in "+-" and one.end == two.start:
            name = brief(c.tokens[i - 1 if i else i + 2].text)
            at = Span(one.start, two.end)
            hint = f"write `y = {name} {one.text} 1`; a name is assigned once"
            return Problem("assignment-operator", f"there is no `{one.text * 2}`", hint, at)
    return None


def _reserved(c: Context) -> Problem | None:
    word = c.token.text
    binds = "NAME" in c.expected and not c.wants_value and c.near(-1).kind != "LESSTHAN"
    assigns = c.at == 0 and c.near(1).text in ("=", ":")
    if word in RESERVED and (assigns or (binds and c.at > 0)):
        return Problem(
            "reserved-name",
            f"`{word}` is a word of the language, not a name",
            f"choose another name, such as `{word}_`",
        )
    return None


def _input_line(c: Context) -> Problem | None:
    if c.first not in ("input", "inout", "param"):
        return None
    word, before = c.first, c.near(-1)
    if c.token.kind == END and c.at == 1:
        return Problem("syntax", f"`{word}` names nothing", f"write `{word} a`")
    if c.token.kind == "NAME" and before.kind == "NAME" and c.near(-2).text != ":":
        if before.text in BY_NAME or before.text in _C_WORDS:
            kind = before.text if before.text in BY_NAME else "float"
            message, hint = "the type follows the name", f"write `{word} {brief(c.token.text)}: {kind}`"
        else:
            message, hint = "a comma is missing", f"write `{word} {brief(before.text)}, {brief(c.token.text)}`"
        return Problem("syntax", message, hint, marks=(span(before),))
    if word == "param" and c.token.text == ",":
        return Problem("syntax", "`param` declares one name", "write a `param` line for each")
    if word != "param" and c.token.text == "=":
        hint = f"`param {brief(before.text)} = ...` declares a scalar with a default"
        return Problem("syntax", f"an `{word}` is an array and has no default", hint)
    return None


def _def_line(c: Context) -> Problem | None:
    if c.first != "def":
        return None
    name = c.near(1 - c.at).text if c.at > 1 else "f"
    if c.token.text == ":" and c.open_bracket() is not None and not c.wants_value and "PLUS" not in c.expected:
        hint = "a def takes whatever it is given: write the name alone, and `cast<T>(x)` in its body"
        return Problem("syntax", "parameters of a `def` have no types", hint)
    if c.token.text == "=" and c.open_bracket() is not None and "COMMA" in c.expected and "PLUS" not in c.expected:
        return Problem("syntax", "parameters of a `def` have no defaults", "pass every argument at the call")
    if "EQUAL" in c.expected and c.token.text == ":":
        header = brief(c.text[c.tokens[0].start : c.token.start])
        after = c.near(2 if c.near(1).text == "return" else 1)
        body = brief(c.text[after.start : c.tokens[-1].start]) if after.kind != END else "expression"
        return Problem("syntax", "a `def` is one expression after `=`", f"write `{header} = {body}`")
    if "EQUAL" in c.expected and c.near(-1).text == ")":
        return Problem(
            "syntax", "`=` is expected after the parameters of a `def`", f"write `def {brief(name)}(...) = expression`"
        )
    if c.at <= 2 and c.token.text != "(" and "LPAR" in c.expected:
        hint = f"write `def {brief(name)}(x) = expression`; a value is named by `let {brief(name)} = ...`"
        return Problem("syntax", "a `def` is a function with parameters", hint)
    return None


def _let_line(c: Context) -> Problem | None:
    if c.first != "let" or c.at not in (1, 2):
        return None
    if c.at == 1:
        return Problem("syntax", "a name is expected after `let`", "write `let x = expression`")
    name = brief(c.tokens[1].text)
    if c.token.text == ":":
        kind = c.near(1).text if c.near(1).text in BY_NAME else "float"
        return Problem("syntax", "a `let` has no type", f"write `let {name} = cast<{kind}>(...)`")
    return Problem("syntax", "`=` is expected after the name of a `let`", f"write `let {name} = expression`")


def _statement_start(c: Context) -> Problem | None:
    """The line is no assignment: an expression by itself, several names, a call that is assigned to."""
    if c.at > 1 or c.first in STATEMENT_WORDS:
        return None
    token = c.token
    equal = next((i for i, t in enumerate(c.tokens) if t.kind == "EQUAL"), None)
    if c.at == 0 and token.text in _INFIX:
        hint = "only an open bracket continues a line: put the whole expression in `( )`"
        return Problem("syntax", f"a statement cannot start with {shown(token)}", hint)
    if token.text == "==":
        return Problem("syntax", "`==` compares", f"write `{brief(c.first)} = ...` to assign")
    if equal is not None and token.text == "(" and c.at == 1:
        return Problem(
            "syntax",
            "a call cannot be assigned",
            f"to define a function write `def {brief(c.first)}(x) = ...`",
            span(c.tokens[0]),
        )
    if equal is not None and token.text == ",":
        return Problem("syntax", "a statement assigns one name", "write a line for each name")
    if c.at == 1 and token.kind == "NAME":
        hint = "write `" + brief(c.first) + " = ...`, or a `#` before a comment"
        return Problem("syntax", f"{shown(token)} is not expected after {shown(c.tokens[0])}", hint)
    value = c.whole()
    if equal is None:
        at = Span(c.tokens[0].start, max(c.tokens[-2].end, c.tokens[0].end))
        return Problem("syntax", "the value of this line has no name", f"write `out = {value}`", at)
    return Problem("syntax", "only a name can be assigned", "write `name = expression`")


def _words(c: Context) -> Problem | None:
    """Words of Python and others in an expression."""
    word, before = c.token.text, c.near(-1)
    if "lambda" in (word, before.text):
        at = span(before if before.text == "lambda" else c.token)
        return Problem(
            "syntax", "there is no `lambda`", "write `def f(x) = expression` on its own line and call `f(x)`", at
        )
    if not c.wants_operator or c.token.kind != "NAME":
        return None
    if word in ("if", "else"):
        return Problem("syntax", f"`{word}` is no operator", "a choice is written `condition ? a : b`")
    if word == "for":
        return Problem("syntax", "there are no loops", "say what one element is; `sum(x, axis=0)` adds along an axis")
    if word in _WORD_OPERATORS:
        return Problem("syntax", f"`{word}` is no operator", f"write `{_WORD_OPERATORS[word]}`")
    return None


def _cast(c: Context) -> Problem | None:
    before = c.near(-1)
    if before.kind in ("CAST", "BITCAST"):
        word = before.text
        return Problem("bad-cast", f"`{word}` needs a type in `< >`", f"write `{word}<float>(x)`", span(before))
    if before.text == ">" and c.expected == {"LPAR"}:
        return Problem("bad-cast", "the operand of a cast stands in brackets", f"write `({c.rest()})`")
    if "MORETHAN" in c.expected and not c.wants_operator and c.token.kind == "NAME" and before.kind == "NAME":
        return Problem(
            "bad-cast",
            f"a type is one word, not `{brief(before.text)} {brief(c.token.text)}`",
            "write the size: `uint8`, `int64`, `float`",
        )
    if before.text == ")" and c.is_value and c.near(-2).text in BY_NAME and c.near(-3).text == "(":
        kind = c.near(-2).text
        at = Span(c.near(-3).start, before.end)
        return Problem("bad-cast", f"`({kind})` is no cast", f"write `cast<{kind}>({c.rest()})`", at)
    return None


def _equal(c: Context) -> Problem | None:
    if c.token.text != "=" or c.at < 2:
        return None
    hint = "write `==` to compare"
    if c.open_bracket() is None:
        hint += "; a second value needs a line of its own"
    return Problem("syntax", "`=` does not stand inside an expression", hint)


def _comma(c: Context) -> Problem | None:
    if c.token.text != "," or not c.wants_operator:
        return None
    opening = c.open_bracket()
    if opening is None:
        return Problem("syntax", "a statement has one value", "write a line for each output: `s = ...` and `d = ...`")
    hint = "a tuple is only the value of a keyword, as in `axis=(0, 1)`"
    return Problem("syntax", "`,` does not stand in these brackets", hint, marks=(span(opening),))


def _missing_operator(c: Context) -> Problem | None:
    if not c.wants_operator or not (c.is_value or c.token.kind in ("BANG", "TILDE", "NOT")):
        return None
    before = c.near(-1)
    hint = "to multiply write `*`"
    if c.open_bracket() is not None and c.token.text != "(":
        hint += "; arguments are parted by `,`"
    if c.token.kind in STATEMENT_WORDS:
        hint = "end the statement before it with a newline or `;`"
    message = f"an operator is missing between {shown(before)} and {shown(c.token)}"
    return Problem("syntax", message, hint, marks=(span(before),))


def _incomplete(c: Context) -> Problem | None:
    before = c.near(-1)
    if c.token.kind == END:
        last = Span(before.start, before.end)
        if c.wants_value:
            hint = "write a value; only an open bracket continues a line"
            return Problem("syntax", f"a value is missing after {shown(before)}", hint, last)
        if "COLON" in c.expected and _question(c) is not None:
            return Problem("syntax", "`?` has no `:`", "write `condition ? a : b`", _question(c))
        return Problem("syntax", f"the statement ends after {shown(before)}", _expected_hint(c), last)
    if c.token.kind == "NOT" and c.wants_value:
        return Problem(
            "syntax", "`not` binds looser than what stands before it", "write `!x`, or `(not x)`", marks=(span(before),)
        )
    if c.token.text == ":" and c.wants_operator:
        return Problem("syntax", "`:` has no `?`", "a choice is written `condition ? a : b`")
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


def _otherwise(c: Context) -> Problem:
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
    return "two operators stand side by side" if c.near(-1).text in _INFIX else "write a name or a number"


_RULES: tuple[Callable[[Context], Problem | None], ...] = (
    _prose,
    _increment,
    _reserved,
    _control,
    _mistake,
    _closing,
    _declaration,
    _input_line,
    _def_line,
    _let_line,
    _words,
    _cast,
    _statement_start,
    _equal,
    _comma,
    _missing_operator,
    _incomplete,
    _otherwise,
)

TYPE_HINTS: dict[str, str] = {
    "char": "write `int8` or `uint8`",
    "uchar": "write `uint8`",
    "byte": "write `uint8`",
    "short": "write `int16`",
    "ushort": "write `uint16`",
    "uint": "write `uint32`",
    "unsigned": "write `uint32`",
    "long": "write `int64`",
    "ulong": "write `uint64`",
    "size_t": "write `uint64`",
    "signed": "write `int32`",
    "integer": "write `int32` or `int64`",
    "bf": "write `bf16`",
    "nv_bfloat16": "write `bfloat16`",
    "__nv_bfloat16": "write `bfloat16`",
    "__half": "write `half`",
    "fp16": "write `half`",
    "fp32": "write `float`",
    "fp64": "write `double`",
    "fp8": "write `float8_e4m3fn` or `float8_e5m2`",
    "float8": "write `float8_e4m3fn` or `float8_e5m2`",
    "float8_e4m3": "write `float8_e4m3fn`",
    "complex": "write `complex64` or `complex128`",
    "cfloat": "write `complex64`",
    "single": "write `float`",
    "string": "there are no strings",
    "void": "every value has a type: write one such as `float`",
}
TYPE_HINTS |= {f"{name}_t": f"write `{name}`" for name in BY_NAME if name.lstrip("u").startswith("int")}
