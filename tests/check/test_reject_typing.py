"""Every program of ``cases/reject/typing`` parses, and is refused by the checker with exactly the text beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kgen import pipeline
from kgen.diagnostics import KgenError
from tests.cases.headers import checked, files


@pytest.mark.parametrize("path", files("reject/typing", "*.k"), ids=lambda path: path.stem)
def test_reject(path: Path, bless: Callable[[Path, str], None]) -> None:
    """A program that cannot be typed gives its whole report: places, codes, carets and hints."""
    text = path.read_text(encoding="utf-8")
    pipeline.load(text, path.name)
    with pytest.raises(KgenError) as caught:
        checked(text, path.name)
    bless(path.with_suffix(".txt"), f"{caught.value}\n")
