"""Program text -> statements, each a list of tokens with its true offsets.

Words, operators and patterns are the terminals of the grammar.  Other text becomes a token whose kind starts with
``!``.  No rule accepts such a token: the parser fails there, and ``hints.py`` explains it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache

from kgen.records import dataclass
from kgen.syntax.tables import Tables

END = "$END"
STATEMENT_WORDS = frozenset({"let", "def", "input", "inout", "param"})
#: Deeper nesting of brackets is an error. C++ compilers have the same limit.
MAX_NESTING = 256

#: Mistakes, matched before the operators. None of them is a prefix of legal text.
_MISTAKES = {
    "!comment": r"/\*(?s:.*?)(?:\*/|\Z)",
    "!assign": r"(?:\*\*|//|<<|>>|&&|\|\||[-*/%&|^~@])=(?!=)|:=",
    "!operator": r"===|!==|<>|->|=>|\*/",
    "!triple": r"'''(?s:.*?)(?:'''|\Z)|\"\"\"(?s:.*?)(?:\"\"\"|\Z)",
    "!string": r"'[^'\n]*'|\"[^\"\n]*\"",
    "!number": r"\.?[0-9](?:[eE][-+](?=[0-9])|[\w.])*",
    "!name": r"[^\W\d]\w*",
    "!dot": r"\.(?!\.\.)",
    "!bracket": r"[{}]",
    "!backslash": r"\\(?:[ \t]*\n)?",
}
#: What a value ends with: an `if` behind one is no name.
_ENDS_VALUE = frozenset({"NAME", "NUMBER", "TRUE", "FALSE", "RPAR", "RSQB"})
_CLOSES = {")": "(", "]": "[", "}": "{"}


class Token:
    """A terminal ``kind``, its text and its offsets."""

    __slots__ = ("end", "kind", "start", "text")

    def __init__(self, kind: str, text: str, start: int, end: int) -> None:
        self.kind, self.text, self.start, self.end = kind, text, start, end


@dataclass(slots=True)
class Statement:
    """``tokens`` end with one of kind ``END``.  ``unclosed`` is an opening bracket that nothing closes."""

    tokens: list[Token] = field(default_factory=list)
    unclosed: Token | None = None
    too_deep: Token | None = None
    depth: int = 0  # brackets that are open

    def add(self, token: Token, *, unclosed: bool) -> None:
        """Add a token; ``unclosed``: an opening bracket that nothing closes."""
        self.tokens.append(token)
        if unclosed:
            self.unclosed = self.unclosed or token
        elif token.text in "([{":
            self.depth += 1
            if self.depth > MAX_NESTING:
                self.too_deep = self.too_deep or token
        elif token.text in ")]}" and self.depth:
            self.depth -= 1


def statements(text: str, start: int, stop: int, tables: Tables) -> Iterator[Statement]:
    """The statements between two offsets of a text that are not empty, in order."""
    tokens, unclosed = _tokens(text, start, stop, tables)
    current = Statement()
    skipping = False  # after an unclosed bracket, to the next line that starts a statement
    for i, token in enumerate(tokens):
        if token.kind == "\n" and current.depth:
            continue
        if token.kind in ("\n", ";"):
            if current.tokens and not skipping:
                current.tokens.append(Token(END, "", token.start, token.start))
                yield current
            if current.unclosed is not None or skipping:
                skipping = not _starts_statement(tokens, i + 1)
            current = Statement()
        else:
            current.add(token, unclosed=i in unclosed)


class _Brackets:
    """The brackets that are open while tokens are read; ``unclosed`` are those that nothing closes, by index."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        self.unclosed: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._open)

    def abandon(self) -> None:
        """A statement ends here: nothing closes what is open."""
        self.unclosed.update(index for index, _ in self._open)
        self._open.clear()

    def read(self, index: int, word: str) -> None:
        if word in "([{":
            self._open.append((index, word))
        elif word in ")]}" and self._open:
            self._close(_CLOSES[word])

    def _close(self, opening: str) -> None:
        if self._open[-1][1] != opening and len(self._open) > 1 and self._open[-2][1] == opening:
            self.unclosed.add(self._open.pop()[0])
        self._open.pop()  # where it is the wrong one, as in `(a]`, the parser stops at the closing bracket


def _tokens(text: str, position: int, stop: int, tables: Tables) -> tuple[list[Token], set[int]]:
    """All tokens, newlines and semicolons too, and the indices of the opening brackets that nothing closes."""
    tokens: list[Token] = []
    brackets = _Brackets()
    words = tables.words
    match = _scanner(tuple(words), *tables.patterns.items()).match
    fresh = True  # whether only spaces precede on this line
    while (found := match(text, position, stop)) is not None:
        group = found.lastgroup or ""
        start, end = found.span(group)
        word = found[group]
        if group == "END":
            break
        if word == "//" and fresh and not brackets:  # a comment in C: skip the words in it
            end = _line_end(text, start)
            word, kind = text[start:end], "!comment"
        else:
            kind = _kind(group, word, words)
            if kind == "IF" and (not tokens or tokens[-1].kind not in _ENDS_VALUE):
                kind = "NAME"
            if kind == ";" or (fresh and group == "NAME" and word in STATEMENT_WORDS):
                brackets.abandon()  # neither stands inside an expression
            brackets.read(len(tokens), word)
            fresh = kind in ("\n", ";")
        position = end
        tokens.append(Token(kind, word, start, end))
    tokens.append(Token("\n", "", stop, stop))
    brackets.abandon()
    return tokens, brackets.unclosed


def _kind(group: str, word: str, words: dict[str, str]) -> str:
    """The kind of a token that the scanner's group matched."""
    if group == "OPERATOR":
        return words[word]
    if group == "NAME":
        return words.get(word, group)
    if group == "SEPARATOR":
        return word[0]
    return group.replace("MISTAKE_", "!")


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
