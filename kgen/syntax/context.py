"""The place where a statement fails to parse, as the rules of ``hints.py`` and ``mistakes.py`` see it."""

from __future__ import annotations

from kgen.records import dataclass
from kgen.source import Span
from kgen.syntax.lexer import END, Token

_SHOWN = 40  # characters of a token in a message


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule reports. ``at`` is None for the token at which parsing failed."""

    code: str
    message: str
    hint: str | None = None
    at: Span | None = None
    marks: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """The parser failed at ``tokens[at]`` where one of the terminals ``expected`` may follow. ``text``: the program.

    The parser may have reduced before it failed, which narrows ``expected``. ``after`` holds all terminals that may
    follow ``tokens[at - 1]`` in any program: it tells whether a value or an operator belongs here.
    """

    tokens: list[Token]
    at: int
    expected: frozenset[str]
    after: frozenset[str]
    text: str

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    @property
    def first(self) -> str:
        return self.tokens[0].text

    def near(self, offset: int) -> Token:
        """The token at ``at + offset``; an empty token beyond the ends."""
        i = self.at + offset
        return self.tokens[i] if 0 <= i < len(self.tokens) else Token(END, "", 0, 0)

    @property
    def wants_value(self) -> bool:
        return "NUMBER" in self.after

    @property
    def wants_operator(self) -> bool:
        return "PLUS" in self.after and not self.wants_value

    @property
    def is_value(self) -> bool:
        """Whether the token could start a value."""
        return self.token.kind in ("NAME", "NUMBER", "LPAR", "TRUE", "FALSE", "CAST", "BITCAST")

    def open_bracket(self) -> Token | None:
        """The innermost bracket that is open before the token."""
        stack: list[Token] = []
        for token in self.tokens[: self.at]:
            if token.text in ("(", "[", "{"):
                stack.append(token)
            elif token.text in (")", "]", "}") and stack:
                stack.pop()
        return stack[-1] if stack else None

    def rest(self) -> str:
        """The statement from the token to its end; ``...`` if that is long or has several lines."""
        return brief(self.text[self.token.start : self.tokens[-1].start])

    def before(self) -> str:
        """The statement up to the token."""
        return brief(self.text[self.tokens[0].start : self.token.start])

    def whole(self) -> str:
        return brief(self.text[self.tokens[0].start : self.tokens[-1].start])


def brief(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _SHOWN and text.isprintable() else "..."


def shown(token: Token) -> str:
    """A token's text for a message."""
    text = "".join(c if c.isprintable() else "?" for c in token.text[:_SHOWN])
    return f"`{text}{'...' if len(token.text) > _SHOWN else ''}`"


def span(token: Token) -> Span:
    return Span(token.start, token.end)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())
