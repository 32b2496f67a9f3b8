"""Program text and places in it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field

from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one program and its name in messages (a path, or ``<string>``).

    CRLF and CR line ends are normalised to LF on construction through :meth:`of`.
    """

    text: str
    name: str = "<string>"
    _starts: tuple[int, ...] = field(default=(), repr=False, compare=False)

    @staticmethod
    def of(text: str, name: str = "<string>") -> Source:
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        starts = [0]
        starts.extend(i + 1 for i, c in enumerate(text) if c == "\n")
        return Source(text, name, tuple(starts))

    def line_of(self, offset: int) -> int:
        """1-based line number of a character offset."""
        return bisect_right(self._starts, offset)

    def line_start(self, line: int) -> int:
        return self._starts[line - 1]

    def line_text(self, line: int) -> str:
        start = self._starts[line - 1]
        end = self._starts[line] - 1 if line < len(self._starts) else len(self.text)
        return self.text[start:end]


@dataclass(frozen=True, slots=True)
class Span:
    """The half-open character range ``[start, end)`` of a :class:`Source`."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The smallest span that holds both."""
        return Span(min(self.start, other.start), max(self.end, other.end))
