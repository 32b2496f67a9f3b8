"""Every program of ``cases/reject`` is refused with exactly the text beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kgen.diagnostics import KgenError, Reporter
from kgen.resolve import resolve
from kgen.source import Source
from kgen.syntax.parser import parse

CASES = Path(__file__).parent.parent / "cases" / "reject"


@pytest.mark.parametrize("path", sorted(CASES.glob("*.k")), ids=lambda path: path.stem)
def test_reject(path: Path, bless: Callable[[Path, str], None]) -> None:
    """A wrong program gives its whole report: places, codes, carets and hints."""
    source = Source.of(path.read_text(encoding="utf-8"), path.name)
    reporter = Reporter(source)
    with pytest.raises(KgenError) as caught:
        resolve(parse(source, reporter), source, reporter)
    bless(path.with_suffix(".txt"), f"{caught.value}\n")
