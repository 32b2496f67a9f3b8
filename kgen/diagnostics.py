"""Errors as values, and the one renderer: file, line, column, the line itself, carets, a code, a hint.

Stages build :class:`Diagnostic` values and collect them in a :class:`Reporter`; a user sees a
:class:`KgenError` whose text is every diagnostic rendered.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Literal, ParamSpec, TypeVar

from kgen.dynamo import keep_out, opaque
from kgen.records import dataclass
from kgen.source import Source, Span

Severity = Literal["error", "lint"]

MAX_SHOWN = 20  #: the most diagnostics in a report
_MAX_BITS = 128  # larger integers are described, not printed
_DIGITS = "0123456789"
_MAX_WIDTH = 160  # longer lines are shown through a window around the marks


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem.

    ``code`` is stable and kebab-case.  ``at`` is the place reported (marked ``^``); ``marks`` are further
    operands involved (marked ``~``).  ``at`` is None for a problem with no place in the text, such as an
    array on the wrong device.
    """

    code: str
    message: str
    hint: str | None = None
    at: Span | None = None
    marks: tuple[Span, ...] = ()
    source: Source | None = None
    severity: Severity = "error"

    def render(self) -> str:
        lines = [f"{self._place()}{self.severity}[{self.code}]: {printable(self.message)}"]
        if self.source is not None and self.at is not None:
            lines += _excerpt(self.source, self.at, self.marks)
        if self.hint:
            lines.append(f"    = hint: {printable(self.hint)}")
        return "\n".join(lines)

    def _place(self) -> str:
        if self.source is None:
            return ""
        name = printable(self.source.name.replace("\n", "?"))
        if self.at is None:
            return f"{name}: "
        line = self.source.line_of(self.at.start)
        column = self.at.start - self.source.line_start(line) + 1
        return f"{name}:{line}:{column}: "


def printable(text: str) -> str:
    """``text`` with control and other unprintable characters escaped, so that a terminal does not interpret them.

    Line ends are kept.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def _excerpt(source: Source, at: Span, marks: Sequence[Span]) -> list[str]:
    """The reported line, and every other line that holds a mark, each with its marks underneath."""
    places = [(span, "~") for span in marks] + [(at, "^")]
    numbers = sorted({source.line_of(span.start) for span, _ in places})
    gutter = max(3, len(str(numbers[-1])) + 2)
    out: list[str] = []
    for number in numbers:
        text = source.line_text(number)
        start = source.line_start(number)
        under = [" "] * (len(text) + 1)
        for span, mark in places:
            if source.line_of(span.start) != number:
                continue
            first = span.start - start
            last = min(max(span.end - start, first + 1), len(under))
            under[first:last] = mark * (last - first)
        shown, ruler = _window("".join(_cell(c) for c in text), "".join(under).rstrip())
        out.append(f"{number:>{gutter}} | {shown}".rstrip())
        out.append(f"{'':>{gutter}} | {ruler}")
    return out


def _cell(character: str) -> str:
    """One screen cell per character, so that marks line up."""
    if character == "\t":
        return " "
    return character if character.isprintable() else "?"


def _window(text: str, ruler: str) -> tuple[str, str]:
    if len(text) <= _MAX_WIDTH:
        return text, ruler
    first = len(ruler) - len(ruler.lstrip())
    caret = ruler.find("^")
    anchor = caret if caret >= 0 else first
    start = max(0, min(anchor - _MAX_WIDTH // 2, len(text) - _MAX_WIDTH))
    end = start + _MAX_WIDTH
    left, right = ("..." if start else ""), ("..." if end < len(text) else "")
    return left + text[start:end] + right, (" " * len(left) + ruler[start:end]).rstrip()


class KgenError(Exception):
    """Raised for a user's mistake; ``str(error)`` is the rendered text, ``.diagnostics`` the values."""

    __module__ = "kgen"  # where users find it, and what a traceback calls it

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__(render(self.diagnostics))

    @property
    def code(self) -> str:
        """The code of the first diagnostic."""
        return self.diagnostics[0].code

    def __reduce__(self) -> tuple[type[KgenError], tuple[tuple[Diagnostic, ...]]]:
        return KgenError, (self.diagnostics,)


_P = ParamSpec("_P")
_R = TypeVar("_R")


def public(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorates a function that users call: removes kgen's frames from the traceback of a :class:`KgenError`."""

    @opaque
    @wraps(function)
    def called(*args: _P.args, **named: _P.kwargs) -> _R:
        try:
            keep_out()
            return function(*args, **named)
        except KgenError as problem:
            shorten(problem)
            raise

    return called


def shorten(problem: KgenError) -> None:
    """Remove kgen's frames from a traceback, and the exceptions that kgen turned into this error.

    A bare ``raise`` after it adds no frame.  With ``KGEN_DEBUG=1`` the traceback is unchanged.
    """
    if os.environ.get("KGEN_DEBUG", "0") not in ("", "0"):
        return
    outer = problem.__context__
    while outer is not None and _is_own(outer):
        outer = outer.__context__
    problem.__traceback__ = None
    problem.__cause__ = None
    problem.__context__ = outer
    problem.__suppress_context__ = False


def _is_own(problem: BaseException) -> bool:
    """Whether kgen caught the exception, and not the caller."""
    frames = problem.__traceback__
    return frames is None or str(frames.tb_frame.f_globals.get("__name__")).partition(".")[0] == "kgen"


def render(diagnostics: Sequence[Diagnostic]) -> str:
    """The rendered diagnostics; beyond twenty, their number."""
    shown = [d.render() for d in diagnostics[:MAX_SHOWN]]
    hidden = len(diagnostics) - len(shown)
    if hidden > 0:
        shown.append(f"... and {hidden} more")
    return "\n".join(shown)


_UNSHOWN = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def shown(value: object) -> str:
    """A shortened ``repr``; the type if ``repr`` fails."""
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"an integer of {value.bit_length():,} bits"
    try:
        text = repr(value)
    except _UNSHOWN:
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= 60 else f"{text[:57]}..."


def error(code: str, message: str, hint: str | None = None) -> KgenError:
    """A :class:`KgenError` of one problem that has no place in a program's text."""
    return KgenError((Diagnostic(code, message, hint),))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """A known name of similar spelling, in any case; never one that differs only in its number."""
    from difflib import get_close_matches  # imported only for errors

    stem = name.rstrip(_DIGITS)
    # beta2 is not a misspelt beta1
    by_fold = {k.casefold(): k for k in known if k != name and k.rstrip(_DIGITS) != stem}
    near = get_close_matches(name.casefold(), by_fold, 1, cutoff=0.7)
    return by_fold[near[0]] if near else None


class Reporter:
    """Collects the diagnostics of one source; :meth:`raise_errors` ends a stage."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []

    def error(
        self, code: str, message: str, at: Span | None, *, marks: Iterable[Span] = (), hint: str | None = None
    ) -> None:
        self.diagnostics.append(Diagnostic(code, message, hint, at, tuple(marks), self.source))

    def lint(
        self, code: str, message: str, at: Span | None, *, marks: Iterable[Span] = (), hint: str | None = None
    ) -> None:
        self.diagnostics.append(Diagnostic(code, message, hint, at, tuple(marks), self.source, "lint"))

    @property
    def lints(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "lint")

    def raise_errors(self) -> None:
        errors = [d for d in self.diagnostics if d.severity == "error"]
        if errors:
            errors.sort(key=lambda d: d.at.start if d.at is not None else -1)
            raise KgenError(errors)
