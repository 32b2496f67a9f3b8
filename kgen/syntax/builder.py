"""Makes the tree's nodes while the parser reduces: one method per rule (or alias) of ``grammar/kgen.lark``."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Literal, cast

from kgen.diagnostics import Reporter
from kgen.dtypes import BY_NAME
from kgen.records import replace
from kgen.source import Span
from kgen.syntax import tree
from kgen.syntax.lexer import Token

_MODES = ("rne", "rz", "ru", "rd")
_UNARY = {"!": "not"}
_BINARY = {"&&": "and", "||": "or"}
_COMBINES: dict[str, tree.Combine] = {"=": "set", "+=": "add", "min": "min", "max": "max"}
_MAX_DIGITS = 1000  # more than any dtype needs, and below the limit of Python's own conversion


def _span(token: Token) -> Span:
    return Span(token.start, token.end)


def _between(first: Token, last: Token | tree.Node) -> Span:
    return Span(first.start, last.end if isinstance(last, Token) else last.span.end)


def _nodes(children: list[Any]) -> tuple[Any, ...]:
    return tuple(child for child in children if not isinstance(child, Token))


def _names(children: list[Any]) -> list[Token]:
    return [child for child in children if isinstance(child, Token) and child.kind == "NAME"]


class Builder:
    """``children`` are a rule's symbols in order: tokens and nodes."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter

    # --- statements ---

    def input(self, children: list[Any]) -> tree.Input:
        return tree.Input(span=_between(children[0], children[-1]), names=_nodes(children))

    def inout(self, children: list[Any]) -> tree.Inout:
        return tree.Inout(span=_between(children[0], children[-1]), names=_nodes(children))

    def param(self, children: list[Any]) -> tree.Param:
        return tree.Param(span=_between(children[0], children[-1]), parameters=_nodes(children))

    def parameter(self, children: list[Any]) -> tree.Parameter:
        name, default = children[0], children[2] if len(children) > 1 else None
        span = Span(name.span.start, (default or name).span.end)
        return tree.Parameter(span=span, name=name, default=default)

    def def_(self, children: list[Any]) -> tree.Def:
        name, *params = _names(children)
        return tree.Def(
            span=_between(children[0], children[-1]),
            name=name.text,
            name_span=_span(name),
            params=tuple(tree.Declared(span=_span(param), name=param.text) for param in params),
            body=children[-1],
        )

    def let(self, children: list[Any]) -> tree.Let:
        word, name, _, value = children
        return tree.Let(span=_between(word, value), name=name.text, name_span=_span(name), value=value)

    def assign(self, children: list[Any]) -> tree.Assign:
        name, value = children[0], children[-1]
        type_name = children[2] if len(children) > 3 else None
        if type_name is not None:
            self._concrete(type_name)
        span = _between(name, value)
        return tree.Assign(span=span, name=name.text, name_span=_span(name), type=type_name, value=value)

    def scatter(self, children: list[Any]) -> tree.Assign:
        name = children[0]
        closing = max(i for i, child in enumerate(children) if isinstance(child, Token) and child.text == "]")
        at = self.index([tree.Name(span=_span(name), id=name.text), *children[1 : closing + 1]])
        value, *condition = _nodes(children[closing + 1 :])
        return tree.Assign(
            span=_between(name, children[-1]),
            name=name.text,
            name_span=_span(name),
            type=None,
            value=value,
            at=at,
            combine=self._combine(children[closing + 1]),
            condition=condition[0] if condition else None,
        )

    def _combine(self, word: Token) -> tree.Combine:
        """What the word before a value says: ``=``, ``+=``, or the ``min`` of ``min=``."""
        found = _COMBINES.get(word.text)
        if found is None:
            hint = "what is there is replaced by `=`, added to by `+=`, and compared with by `min=` and `max=`"
            self.reporter.error("bad-operator", f"there is no `{word.text}=`", _span(word), hint=hint)
        return found or "set"

    def declared(self, children: list[Any]) -> tree.Declared:
        type_name = children[2] if len(children) > 1 else None
        if type_name is not None:
            self._concrete(type_name)
        return tree.Declared(span=_span(children[0]), name=children[0].text, type=type_name)

    def type_name(self, children: list[Any]) -> tree.TypeName:
        word = children[0]
        if len(children) == 1:
            return self._type(word)
        if word.text != "typeof":
            hint = "write `typeof(x)` for the type of `x`"
            if word.text in BY_NAME:
                hint = f"write `cast<{word.text}>({children[2].text[:40]})`"
            self.reporter.error("unknown-type", f"`{word.text}(...)` is not a type", _span(word), hint=hint)
        of = tree.Name(span=_span(children[2]), id=children[2].text)
        return tree.TypeName(span=_between(word, children[-1]), dtype=None, of=of)

    def _type(self, word: Token) -> tree.TypeName:
        dtype = BY_NAME.get(word.text)
        if dtype is None:
            from kgen.syntax.type_hints import TYPE_HINTS

            hint = TYPE_HINTS.get(word.text)
            if hint is None:
                near = get_close_matches(word.text[:40], BY_NAME, n=1, cutoff=0.6)
                hint = f"did you mean `{near[0]}`?" if near else "write one of " + _TYPES
            self.reporter.error("unknown-type", f"there is no type `{word.text[:40]}`", _span(word), hint=hint)
        return tree.TypeName(span=_span(word), dtype=dtype)

    def _concrete(self, type_name: tree.TypeName) -> None:
        if type_name.of is not None:
            self.reporter.error(
                "typeof-place",
                "`typeof` is only allowed in `cast<typeof(x)>(...)` and `bitcast<typeof(x)>(...)`",
                type_name.span,
                hint="name a type here, or cast the value",
            )

    # --- expressions ---

    def conditional(self, children: list[Any]) -> tree.Conditional:
        condition, _, then, _, otherwise = children
        span = Span(condition.span.start, otherwise.span.end)
        return tree.Conditional(span=span, condition=condition, then=then, otherwise=otherwise)

    def binary(self, children: list[Any]) -> tree.Binary:
        left, sign, right = children
        op = _BINARY.get(sign.text, sign.text)
        span = Span(left.span.start, right.span.end)
        return tree.Binary(span=span, op=op, op_span=_span(sign), left=left, right=right)

    def unary(self, children: list[Any]) -> tree.Unary:
        sign, operand = children
        op = cast(Literal["-", "+", "~", "not"], _UNARY.get(sign.text, sign.text))
        return tree.Unary(span=_between(sign, operand), op=op, operand=operand)

    def compare(self, children: list[Any]) -> tree.Compare:
        operands, signs = children[::2], children[1::2]
        return tree.Compare(
            span=Span(operands[0].span.start, operands[-1].span.end),
            ops=tuple(sign.text for sign in signs),
            op_spans=tuple(_span(sign) for sign in signs),
            operands=tuple(operands),
        )

    def number(self, children: list[Any]) -> tree.Number:
        token = children[0]
        return tree.Number(span=_span(token), value=self._value(token))

    def _value(self, token: Token) -> bool | int | float | complex:
        text = token.text
        if text in ("true", "false"):
            return text == "true"
        if len(text) > _MAX_DIGITS:
            hint = f"at most {_MAX_DIGITS} characters"
            self.reporter.error("bad-number", "this number is too long", _span(token), hint=hint)
            return 0
        if text[:2].lower() in ("0x", "0b", "0o"):
            return int(text, 0)
        if text[-1] in "jJ":
            return complex(text)
        return float(text) if any(c in ".eE" for c in text) else int(text)

    def name(self, children: list[Any]) -> tree.Name:
        return tree.Name(span=_span(children[0]), id=children[0].text)

    def bracketed(self, children: list[Any]) -> tree.Expr:
        opening, inner, closing = children
        # The span of an operand includes its brackets: `(a + b) * c` marks `(a + b)`.
        return replace(cast(tree.Number, inner), span=_between(opening, closing))

    def call(self, children: list[Any]) -> tree.Call:
        function, closing = children[0], children[-1]
        args: list[tree.Expr] = []
        keywords: list[tree.Keyword] = []
        for child in _nodes(children):
            if isinstance(child, tree.Tuple):
                child = self._axes(function.text, child)
            if isinstance(child, tree.Keyword):
                keywords.append(child)
                continue
            if keywords:
                message = "a positional argument follows a keyword argument"
                hint = "write the keyword arguments last"
                self.reporter.error("argument-order", message, child.span, marks=[keywords[-1].span], hint=hint)
            args.append(child)
        return tree.Call(
            span=_between(function, closing),
            function=function.text,
            function_span=_span(function),
            args=tuple(args),
            keywords=tuple(keywords),
        )

    def _axes(self, function: str, axes: tree.Tuple) -> tree.Keyword | tree.Expr:
        """``transpose(x, (1, 0))`` is ``transpose(x, axes=(1, 0))``; other functions take no tuple by position."""
        if function == "transpose":
            return tree.Keyword(span=axes.span, name="axes", value=axes)
        hint = "a tuple is only allowed as the value of a keyword, as in `axis=(0, 1)`"
        self.reporter.error("syntax", "a tuple is not an argument", axes.span, hint=hint)
        return axes.items[0] if axes.items else tree.Number(span=axes.span, value=0)

    def keyword(self, children: list[Any]) -> tree.Keyword:
        name, _, value = children
        if isinstance(value, Token):  # a quoted word
            value = tree.Name(span=_span(value), id=value.text[1:-1])
        if name.text == "dtype" and isinstance(value, tree.Name):
            value = self._type(Token("NAME", value.id, value.span.start, value.span.end))
        return tree.Keyword(span=_between(name, value), name=name.text, value=value)

    def tuple(self, children: list[Any]) -> tree.Tuple:
        return tree.Tuple(span=_between(children[0], children[-1]), items=_nodes(children))

    def cast(self, children: list[Any]) -> tree.Cast:
        word, _, type_name = children[:3]
        operand, closing = children[-2:]
        saturate = False
        mode: tree.RoundingMode | None = None
        seen: dict[str, Token] = {}
        for token in _names(children):
            group = "sat" if token.text == "sat" else "mode"
            if token.text != "sat" and token.text not in _MODES:
                self.reporter.error(
                    "bad-cast",
                    f"`{token.text[:40]}` is not an option of a cast",
                    _span(token),
                    hint="the options are `sat` (saturate) and one of `rne`, `rz`, `ru`, `rd` (rounding)",
                )
            elif group in seen:
                message = f"`{token.text}` after `{seen[group].text}`"
                hint = "a cast takes `sat` once and one rounding mode"
                self.reporter.error("bad-cast", message, _span(token), marks=[_span(seen[group])], hint=hint)
            elif group == "sat":
                saturate = True
            else:
                mode = cast(tree.RoundingMode, token.text)
            seen.setdefault(group, token)
        span = _between(word, closing)
        return tree.Cast(span=span, type=type_name, saturate=saturate, mode=mode, operand=operand)

    def bitcast(self, children: list[Any]) -> tree.Bitcast:
        word, _, type_name = children[:3]
        return tree.Bitcast(span=_between(word, children[-1]), type=type_name, operand=children[-2])

    def index(self, children: list[Any]) -> tree.Index:
        of, opening = children[:2]
        closing = children[-1]
        items: list[tree.Expr | tree.Slice | tree.Ellipsis | tree.NewAxis] = []
        for child in children[2:-1]:
            if isinstance(child, tree.Name) and child.id == "None":
                items.append(tree.NewAxis(span=child.span))
            elif not isinstance(child, Token):
                items.append(child)
            elif child.kind == "ELLIPSIS":
                items.append(tree.Ellipsis(span=_span(child)))
        span = _between(opening, closing)
        return tree.Index(span=Span(of.span.start, span.end), of=of, items=tuple(items), items_span=span)

    def slice(self, children: list[Any]) -> tree.Slice:
        parts: list[tree.Expr | None] = [None]
        for child in children:
            if isinstance(child, Token):
                parts.append(None)
            else:
                parts[-1] = child
        first, last = (c if isinstance(c, Token) else c.span for c in (children[0], children[-1]))
        start, stop, step = (*parts, None)[:3]
        return tree.Slice(span=Span(first.start, last.end), start=start, stop=stop, step=step)


_TYPES = "bool, int8 ... int64, uint8 ... uint64, half, bfloat16, float, double, complex64, complex128"
