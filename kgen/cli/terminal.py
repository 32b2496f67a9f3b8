"""Terminal output: diagnostics, colours, and a spinner.

Colours and the spinner use rich, which respects NO_COLOR and TERM; it is only imported on a terminal.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from kgen.diagnostics import Diagnostic, printable, render

if TYPE_CHECKING:
    from rich.status import Status

SILENT_S = 1.0  # the spinner appears after this time

_PLACE = r"(?m)^(?P<place>[^\n|]*?:\d+:\d+: )?(?P<severity>{})"
_DIAGNOSTIC = (
    (_PLACE.format(r"error\[[a-z-]+\]:"), {"place": "bold", "severity": "bold red"}),
    (_PLACE.format(r"lint\[[a-z-]+\]:"), {"place": "bold", "severity": "bold yellow"}),
    (r"(?m)^(?P<gutter> *\d* \|)", {"gutter": "blue"}),
    (r"(?m)^ +\|(?P<marks>[ ^~]+)$", {"marks": "bold red"}),
    (r"(?m)^    (?P<hint>= hint:)", {"hint": "bold green"}),
)
_EXPLANATION = (
    (r"(?m)^(?P<heading>types|kernel \d+ of \d+: \w+|extents that are left open)", {"heading": "bold cyan"}),
    (r"(?m)^  (?P<name>\w+)(?=  )", {"name": "bold"}),
    (r"(?m)^ +(?P<kind>[\w ]+): ", {"kind": "green"}),
    (r"(?m)^  (?P<reason>-) ", {"reason": "cyan"}),
    (r"(?P<bad>SPILLS|LOCAL MEMORY)", {"bad": "bold red"}),
    *_DIAGNOSTIC,
)
_DIFF = (
    (r"(?m)^(?P<file>(?:---|\+\+\+) .*)", {"file": "bold"}),
    (r"(?m)^(?P<place>@@.*)", {"place": "cyan"}),
    (r"(?m)^(?P<removed>-(?!--).*)", {"removed": "red"}),
    (r"(?m)^(?P<added>\+(?!\+\+).*)", {"added": "green"}),
)


def show(diagnostics: Sequence[Diagnostic]) -> None:
    """Errors or lints, on standard error."""
    if diagnostics:
        _write(render(diagnostics), _DIAGNOSTIC, err=True)


def show_explanation(text: str) -> None:
    """On standard output."""
    _write(text, _EXPLANATION, err=False)


def show_difference(text: str) -> None:
    """A unified diff, on standard output."""
    _write(printable(text.removesuffix("\n")), _DIFF, err=False)


def facts(diagnostic: Diagnostic) -> dict[str, object]:
    """One diagnostic as JSON; ``line`` and ``column`` count from 1, as in the printed text."""
    facts: dict[str, object] = {"code": diagnostic.code, "message": diagnostic.message, "hint": diagnostic.hint}
    if diagnostic.source is not None:
        facts["file"] = diagnostic.source.name
        if diagnostic.at is not None:
            line = diagnostic.source.line_of(diagnostic.at.start)
            column = diagnostic.at.start - diagnostic.source.line_start(line) + 1
            facts |= {"line": line, "column": column}
    return facts


def say(text: str, *, err: bool = False) -> None:
    """Print a line that may contain file names, with control characters escaped."""
    click.echo(printable(text), err=err)


def _write(text: str, styles: Sequence[tuple[str, dict[str, str]]], *, err: bool) -> None:
    stream = sys.stderr if err else sys.stdout
    if not _is_terminal(stream):
        click.echo(text, err=err)
        return
    from rich.console import Console
    from rich.text import Text

    shown = Text(text)
    for pattern, groups in styles:
        for found in re.finditer(pattern, text):
            for name, style in groups.items():
                shown.stylize(style, *found.span(name))
    Console(stderr=err).print(shown, soft_wrap=True, highlight=False)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


@contextmanager
def working(what: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show a spinner with ``what`` on a terminal after one second; the value is a function that changes the text.

    ``quiet``: show nothing, for output that programs read.
    """
    if quiet or not _is_terminal(sys.stderr):
        yield lambda text: None
        return
    spinner = _Spinner(what)
    try:
        yield spinner.say
    finally:
        spinner.stop()


class _Spinner:
    """Appears after :data:`SILENT_S`; the lock keeps it from appearing while it is being stopped."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._status: Status | None = None
        self._stopped = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(SILENT_S, self._start)
        self._timer.daemon = True
        self._timer.start()

    def _start(self) -> None:
        from rich.console import Console
        from rich.text import Text

        with self._lock:
            if not self._stopped:
                self._status = Console(stderr=True).status(Text(printable(self._what)))
                self._status.start()

    def say(self, what: str) -> None:
        from rich.text import Text

        with self._lock:
            self._what = what
            if self._status is not None:
                self._status.update(Text(printable(what)))

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            self._timer.cancel()
            if self._status is not None:
                self._status.stop()
