"""Explains text that is not part of the language: one function for each ``!`` kind of the lexer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from kgen.dtypes import BY_NAME
from kgen.functions import CONSTANTS, FUNCTIONS, KEYWORDS
from kgen.source import Span
from kgen.syntax.context import Context, Problem, brief, shown, span
from kgen.syntax.foreign_functions import spelling_in_kgen

_MODULES = frozenset(
    {"np", "numpy", "torch", "cp", "cupy", "jnp", "jax", "lax", "math", "cmath", "F", "nn", "tl", "triton"}
    | {"scipy", "special", "sp", "tf", "tensorflow", "kgen", "std", "numba", "cuda", "xp"}
)
_SIGNS = {
    "×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "∕": "/", "−": "-", "–": "-", "—": "-", "≤": "<=", "≥": ">=",
    "≠": "!=", "≡": "==", "¬": "!", "∧": "&&", "∨": "||", "⊕": "^", "∞": "inf", "√": "sqrt(x)", "∑": "sum(x)",
    "∏": "prod(x)", "；": ";", "，": ",", "（": "(", "）": ")", "：": ":", "＝": "=", "＋": "+", "？": "?", "←": "=",
    "≔": "=", "‐": "-", "‑": "-",
}  # fmt: skip
_QUOTES = "'\"‘’“”„«»"
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def explain(context: Context) -> Problem | None:
    """None for a token that may be part of the language."""
    rule = _BY_KIND.get(context.token.kind)
    return None if rule is None else rule(context)


def comment(context: Context) -> Problem:
    sign = context.token.text[:2]
    if sign == "/*" and not context.token.text.endswith("*/"):
        message = "`/*` does not start a comment, and nothing ends it"
    else:
        message = f"`{sign}` does not start a comment"
    start = context.token.start
    return Problem("comment", message, "comments start with `#`", Span(start, start + 2))


def _assign(context: Context) -> Problem:
    sign, target = context.token.text, context.near(-1)
    if sign == ":=":
        return Problem("bad-operator", "`:=` is not an operator", "assign with `=`")
    op = sign[:-1]
    if target.text == "]":
        hint = "elements at computed places are updated by `=`, `+=`, `min=` and `max=`"
        if sign == "-=":
            hint = f"write `{context.before()} += -(...)`"
        return Problem("assignment-operator", f"there is no `{sign}`", hint)
    hint = f"write `out = a {op} b`"
    if target.kind == "NAME" and context.at == 1:
        name = target.text
        hint = (
            f"write `y = {name} {op} ...`; to update `{name}` in place: `inout {name}` and `{name} = {name} {op} ...`"
        )
    return Problem("assignment-operator", f"there is no `{sign}`: a name is assigned once", hint)


def _operator(context: Context) -> Problem:
    sign = context.token.text
    if sign == "<>" and context.near(-1).kind in ("CAST", "BITCAST"):
        word = context.near(-1).text
        return Problem("bad-cast", f"`{word}<>` names no type", f"write the type: `{word}<float>(x)`")
    hint = {
        "===": "write `==`",
        "!==": "write `!=`",
        "<>": "write `!=`",
        "->": "write a function as `def f(x) = expression`",
        "=>": "write `>=` to compare; write a function as `def f(x) = expression`",
        "*/": "comments start with `#` and end with the line",
        "...": "`...` stands in an index only: `x[..., 0]`",
    }[sign]
    return Problem("bad-operator", f"`{sign}` is not an operator", hint)


def _string(context: Context) -> Problem:
    return Problem("string", "there are no strings", "values are numbers, `true` and `false`; comments start with `#`")


def _number(context: Context) -> Problem:
    text = context.token.text
    return Problem("bad-number", f"{shown(context.token)} is not a number", _number_hint(text))


def _number_hint(text: str) -> str:
    if found := re.fullmatch(r"((?:\d+|\d*\.\d*)(?:[eE][+-]?\d+)?)(?i:f|l|h|u|ul|ull|ll|lf|f16|f32|f64)", text):
        plain = found[1]
        if "e" not in plain.lower() and ("." in plain or text[-1] in "fF"):
            left, _, right = plain.partition(".")
            plain = f"{left or '0'}.{right or '0'}"
        return f"literals take the dtype of the other operand: write `{plain}`"
    if re.fullmatch(r"0[xXbBoO]\w*", text):
        digits = {"x": "0-9 and a-f", "b": "0 and 1", "o": "0-7"}[text[1].lower()]
        return f"after `{text[:2]}` write digits {digits}; one `_` may separate groups"
    if re.fullmatch(r"0\d+", text):
        octal = f"`0o{text.lstrip('0')}` for octal, " if set(text) <= set("01234567") else ""
        return f"a number does not start with 0: write {octal}`{text.lstrip('0')}` for decimal"
    if "_" in text:
        return "one `_` may separate digits: `1_000`"
    if found := re.fullmatch(r"(\d+|\d*\.\d*)[iI]", text):
        return f"the imaginary unit is `j`: write `{found[1]}j`"
    if re.fullmatch(r"[\d.]+[eE]", text):
        return f"write digits after the `e`: `{text}3`"
    if found := re.fullmatch(r"(\d+\.?\d*)([A-Za-z_]\w*)", text):
        return f"to multiply write `{brief(found[1])} * {brief(found[2])}`"
    return "a number has at most one point: `2.5`"


def _name(context: Context) -> Problem:
    text = context.token.text
    message = f"{shown(context.token)} is not a name: names consist of ASCII letters, digits and `_`"
    return Problem("bad-character", message, _name_hint(text[:40]))


def _name_hint(text: str) -> str:
    base = text.rstrip("⁰¹²³⁴⁵⁶⁷⁸⁹")
    if base != text:
        power = text[len(base) :].translate(_SUPERSCRIPTS)
        return f"write a power as `{base or 'x'} ** {power}`"
    plain = "".join(_ascii(c) for c in text)
    return f"write `{plain}`" if plain.isidentifier() and plain.isascii() else "choose an ASCII name"


def _ascii(character: str) -> str:
    if character.isascii():
        return character
    name = unicodedata.name(character, "")
    if found := re.match(r"GREEK (SMALL|CAPITAL) (?:FINAL )?LETTER (\w+)$", name):
        word = found[2].lower().replace("lamda", "lambda")
        return word if found[1] == "SMALL" else word.capitalize()
    folded = unicodedata.normalize("NFKD", character)
    return "".join(c for c in folded if c.isascii() and (c.isalnum() or c == "_"))


def _dot(context: Context) -> Problem:
    owner, member = context.near(-1), context.near(1)
    if owner.kind == "NAME" and member.kind == "NAME":
        at = span(owner) if owner.text in _MODULES else None
        return Problem("attribute", _dot_message(owner.text), _dot_hint(context, owner.text), at)
    if owner.text in (")", "]") and member.kind == "NAME":
        return Problem("attribute", _dot_message("..."), _dot_hint(context, "..."))
    return Problem(
        "attribute", "`.` is not part of a number", "write a number as `0.5`; elementwise operators have no `.`"
    )


def _dot_message(owner: str) -> str:
    if owner in _MODULES:
        return f"kgen has no modules such as `{owner}`"
    return "`.` is not an operator: arrays have no attributes"


_TRANSPOSES = frozenset(["T", "mT", "H", "mH", "t", "transpose", "permute", "swapaxes"])
_RESHAPES = frozenset(["reshape", "view"])
_CASTS = frozenset(["astype", "to", "type", "float", "half", "double", "int", "long", "bool", "bfloat16"])


def _dot_hint(context: Context, owner: str) -> str:
    i = context.at + 1
    while context.tokens[i + 1].kind == "!dot" and context.tokens[i + 2].kind == "NAME":
        i += 2  # torch.nn.functional.relu
    member, called = context.tokens[i].text, context.tokens[i + 1].text == "("
    if owner in _MODULES:
        return _module_hint(member, called)
    if owner in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
        return "kgen writes the kernel: an element's coordinate is `index(axis)`"
    name = brief(owner)
    if member in _TRANSPOSES:
        return f"write `transpose({name}, (1, 0))`, which orders all axes"
    if member in _RESHAPES:
        return f"write `split({name}, by=128)` or `merge({name}, axis=(-2, -1))`"
    if member in _CASTS:
        return f"write `cast<{_cast_target(context, i) if called else _dtype_of(member)}>({name})`"
    if member in ("shape", "dtype"):
        written = f"size({name}, 0)` for the extent of axis 0" if member == "shape" else f"cast<typeof({name})>(...)`"
        return f"write `{written}"
    if member in FUNCTIONS:
        return f"write `{member}({name}{_more(context, member, i + 2) if called else ''})`"
    if member in CONSTANTS:
        return f"write `{member}`"
    return spelling_in_kgen(member.rstrip("_")) or _unknown_member(owner, member)


def _unknown_member(owner: str, member: str) -> str:
    if owner == "...":
        return "kgen has functions, not methods; docs/language.md lists them"
    return f"make it a separate input, such as `{brief(owner)}_{brief(member)}`"


def _module_hint(member: str, called: bool) -> str:
    """For ``np.exp(x)``, ``torch.float16`` and the like."""
    if member == "newaxis":
        return "write `None`"
    if member in BY_NAME:
        return f"write `cast<{member}>(x)`" if called else f"write `{member}`"
    if member not in FUNCTIONS and (hint := spelling_in_kgen(member)) is not None:
        return hint
    return f"write `{brief(member)}(...)`" if called else f"write `{brief(member)}`"


def _cast_target(context: Context, i: int) -> str:
    """The dtype of ``x.astype(np.float16)`` or ``x.half()``; token ``i`` is the method."""
    argument = context.tokens[i + 2].text
    if argument in _MODULES:
        argument = context.tokens[min(i + 4, len(context.tokens) - 1)].text
    return argument if argument in BY_NAME else _dtype_of(context.tokens[i].text)


def _dtype_of(method: str) -> str:
    if method in BY_NAME:
        return method
    return "int64" if method == "long" else "float"


def _more(context: Context, member: str, i: int) -> str:
    """The arguments of a method call from token ``i`` on, as arguments of the function after the array."""
    given: list[str] = []
    while i < len(context.tokens) and context.tokens[i].text not in (")", ""):
        given.append(context.tokens[i].text)
        i += 1
    axis = re.fullmatch(r"(?:(?:axis|dim)=)?(-?\d+)", "".join(given))
    if axis and member == "repeat":
        return f", {axis[1]}, axis=0"
    if axis and "axis" in KEYWORDS.get(member, ()):
        return f", axis={axis[1]}"
    return ", ..." if given else ""


def _bracket(context: Context) -> Problem:
    token, before = context.token, context.near(-1)
    opening = context.open_bracket()
    if token.text in "]}":
        if opening is None:
            return Problem("unmatched-bracket", f"nothing opens this `{token.text}`", "remove it")
        if opening.text == "[" and token.text == "]":
            return _index(context)
        message = f"`{token.text}` does not close `{opening.text}`"
        closing = "]" if opening.text == "[" else ")"
        return Problem("unmatched-bracket", message, f"write `{closing}`", marks=(span(opening),))
    if token.text == "{":
        return Problem("bracket", "there are no blocks and no sets", "write a function as `def f(x) = expression`")
    if before.kind == "EQUAL":
        return Problem("bracket", "there are no lists", "write a tuple as `(0, 1)`, as in `axis=(0, 1)`")
    if context.first in ("input", "inout") and context.at > 1:
        return Problem("bracket", "a declaration has no shape", "remove it: shapes come from the arrays")
    if before.text == "]":  # an expression may have several
        hint = "write one index, such as `o[i, 2:]`; to update a part of an array, pass the view at the call"
        return Problem("assign-index", "what is updated has one index", hint)
    if opening is not None and opening.text == "[":
        return Problem("bracket", "there are no lists", "an index is an array: write `x[i]`, and pass `i` at the call")
    if before.text == "(" and context.near(-2).kind == "NAME":
        return Problem("bracket", "there are no lists", f"write `{context.near(-2).text}(a, b)`")
    return Problem("bracket", "there are no lists", "group with `( )`")


def _index(context: Context) -> Problem:
    """A `]` where a value is expected."""
    if context.near(-1).text == "[":
        hint = "write an index for each axis, such as `x[0, :]`"
        return Problem("syntax", "these brackets are empty", hint, marks=(span(context.near(-1)),))
    return Problem("syntax", "a value is expected, not `]`", "write an index: a number, `a:b`, `...` or `None`")


def _character(context: Context) -> Problem:
    c = context.token.text
    if c in _QUOTES:
        return _string(context)
    if c == "@":
        return Problem(
            "bad-operator", "there is no matrix product", "elementwise is `*`; over an axis `sum(a * b, axis=-1)`"
        )
    if c in _SIGNS:
        return Problem("bad-character", f"`{c}` is not an operator", f"write `{_SIGNS[c]}`")
    code = f"U+{ord(c):04X}"
    if c.isdigit():
        return Problem("bad-character", f"`{c}` ({code}) is not a digit", "digits are 0 to 9")
    if not c.isprintable() or c.isspace():
        name = unicodedata.name(c, "a control character").lower()
        return Problem("bad-character", f"{name} ({code}) has no meaning", "remove it, or write a space")
    what = f"`{c}`" if c.isascii() else f"`{c}` ({code})"
    return Problem("bad-character", f"{what} has no meaning", "remove it")


def _backslash(context: Context) -> Problem:
    place = Span(context.token.start, context.token.start + 1)
    hint = "put the expression in `( )`: an open bracket continues a line"
    return Problem("bad-character", "`\\` does not continue a line", hint, place)


_BY_KIND: dict[str, Callable[[Context], Problem]] = {
    "!comment": comment,
    "!assign": _assign,
    "ADD_TO": _assign,
    "!operator": _operator,
    "!triple": _string,
    "!string": _string,
    "WORD": _string,
    "!number": _number,
    "!name": _name,
    "!dot": _dot,
    "!bracket": _bracket,
    "LSQB": _bracket,
    "RSQB": _bracket,
    "ELLIPSIS": _operator,
    "!backslash": _backslash,
    "!character": _character,
}
