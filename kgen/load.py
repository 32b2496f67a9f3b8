"""Text to program."""

from __future__ import annotations

from kgen.diagnostics import Reporter
from kgen.program import Program
from kgen.resolve import resolve
from kgen.source import Source
from kgen.syntax.parser import parse


def load(text: str, name: str = "<string>") -> Program:
    """Parse and resolve.  Raises :class:`~kgen.KgenError` with every syntax and name error of the text."""
    source = Source.of(text, name)
    reporter = Reporter(source)
    tree = parse(source, reporter)
    program = resolve(tree, source, reporter)
    reporter.raise_errors()
    return program
