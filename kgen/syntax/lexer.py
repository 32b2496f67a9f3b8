"""Program text -> statements, each a list of tokens with its true offsets.

The words, operators and patterns are the grammar's terminals.  Text that is no terminal becomes a token whose kind
starts with ``!``; no rule takes one, so it is found where the parser meets it, and ``hints.py`` explains it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from kgen.syntax.tables import Tables

END = "$END"
STATEMENT_WORDS = frozenset({"let", "def", "input", "inout", "param"})
#: Deeper nesting of brackets is an error: no one writes it, and a C compiler reads no more than 256 either.
MAX_NESTING = 256

#: Text that starts a mistake, tried before the operators.  Each is never the start of something legal.
_MISTAKES = {
    "!comment": r"/\*(?s:.*?)(?:\*/|\Z)",
    "!assign": r"(?:\*\*|//|<<|>>|&&|\|\||[-+*/%&|^~@])=(?!=)|:=",
    "!operator": r"===|!==|<>|->|=>|\*/|\.\.\.",
    "!triple": r"'''(?s:.*?)(?:'''|\Z)|\"\"\"(?s:.*?)(?:\"\"\"|\Z)",
    "!string": r"'[^'\n]*'|\"[^\"\n]*\"",
    "!number": r"\.?[0-9](?:[eE][-+](?=[0-9])|[\w.])*",
    "!name": r"[^\W\d]\w*",
    "!dot": r"\.",
    "!bracket": r"[\[\]{}]",
    "!backslash": r"\\(?:[ \t]*\n)?",
}
_CLOSES = {")": "(", "]": "[", "}": "{"}


class Token:
    """A terminal ``kind``, its text, and where it stands."""

    __slots__ = ("end", "kind", "start", "text")

    def __init__(self, kind: str, text: str, start: int, end: int) -> None:
        self.kind, self.text, self.start, self.end = kind, text, start, end


@dataclass(slots=True)
class Statement:
    """``tokens`` end with one of kind ``END``.  ``unclosed`` is an opening bracket that nothing closes."""

    tokens: list[Token] = field(default_factory=list)
    unclosed: Token | None = None
    too_deep: Token | None = None


def statements(text: str, start: int, stop: int, tables: Tables) -> Iterator[Statement]:
    """The statements between two offsets of a text that are not empty, in order."""
    tokens, unclosed = _tokens(text, start, stop, tables)
    current = Statement()
    depth = 0
    skipping = False  # after an unclosed bracket: the rest of its lines belong to no statement
    for i, token in enumerate(tokens):
        kind = token.kind
        if kind == "\n" or kind == ";":
            if depth and kind == "\n":
                continue
            if current.tokens and not skipping:
                current.tokens.append(Token(END, "", token.start, token.start))
                yield current
            if current.unclosed is not None or skipping:
                skipping = not _starts_statement(tokens, i + 1)
            current = Statement()
            depth = 0
            continue
        current.tokens.append(token)
        if token.text in "([{":
            if i in unclosed:
                current.unclosed = current.unclosed or token
            else:
                depth += 1
                if depth > MAX_NESTING:
                    current.too_deep = current.too_deep or token
        elif token.text in ")]}" and depth:
            depth -= 1


def _tokens(text: str, position: int, stop: int, tables: Tables) -> tuple[list[Token], set[int]]:
    """All tokens, newlines and semicolons too, and the indices of the opening brackets that nothing closes."""
    tokens: list[Token] = []
    opened: list[int] = []  # indices of the brackets that are open
    unclosed: set[int] = set()
    words = tables.words
    match = _scanner(tuple(words), *tables.patterns.items()).match
    fresh = True  # nothing but space since the line began
    while (found := match(text, position, stop)) is not None:
        kind = found.lastgroup or ""
        start, end = found.span(kind)
        position = end
        word = found[kind]
        if kind == "OPERATOR":
            if word == "//" and fresh and not opened:  # prose: nothing in it is to be read
                position = end = _line_end(text, start)
                tokens.append(Token("!comment", text[start:end], start, end))
                continue
            kind = words[word]
        elif kind == "NAME":
            if fresh and opened and word in STATEMENT_WORDS:
                unclosed.update(opened)  # a statement's word never stands inside an expression
                opened.clear()
            kind = words.get(word, kind)
        elif kind == "SEPARATOR":
            kind = word[0]
            if kind == ";":  # it ends a statement wherever it stands
                unclosed.update(opened)
                opened.clear()
        elif kind == "END":
            break
        else:
            kind = kind.replace("MISTAKE_", "!")
        if word in "([{":
            opened.append(len(tokens))
        elif word in ")]}" and opened:
            if tokens[opened[-1]].text == _CLOSES[word]:
                opened.pop()
            elif len(opened) > 1 and tokens[opened[-2]].text == _CLOSES[word]:
                unclosed.add(opened.pop())
                opened.pop()
            else:
                opened.pop()  # `(a]`: the parser stops at the wrong one
        fresh = kind in ("\n", ";")
        tokens.append(Token(kind, word, start, end))
    tokens.append(Token("\n", "", stop, stop))
    unclosed.update(opened)
    return tokens, unclosed


@lru_cache(maxsize=4)
def _scanner(operators: tuple[str, ...], *patterns: tuple[str, str]) -> re.Pattern[str]:
    symbols = sorted((re.escape(o) for o in operators if not o.isalpha()), key=len, reverse=True)
    groups = [*patterns, ("SEPARATOR", r"\n[ \t\f\n]*|;")]
    groups += [(f"MISTAKE_{name[1:]}", pattern) for name, pattern in _MISTAKES.items()]
    groups += [("OPERATOR", "|".join(symbols)), ("END", r"\Z"), ("MISTAKE_character", r".")]
    return re.compile(r"[ \t\f]*(?:#[^\n]*)?(?:" + "|".join(f"(?P<{name}>{p})" for name, p in groups) + ")")


def _starts_statement(tokens: list[Token], i: int) -> bool:
    """Whether a line looks like a statement's beginning: a word of one, ``name =`` or ``name: type =``."""
    line = tokens[i : i + 4]
    kinds = [token.kind for token in line]
    starts = bool(line) and (line[0].text in STATEMENT_WORDS or kinds[0] == "!comment")
    return starts or kinds[:2] == ["NAME", "EQUAL"] or kinds == ["NAME", "COLON", "NAME", "EQUAL"]


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
