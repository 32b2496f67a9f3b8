"""Every program of ``cases/reject/typing`` parses, and is refused by the checker with exactly the text beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import kgen
from kgen import pipeline
from kgen.diagnostics import KgenError
from tests.golden.headers import checked, files


@pytest.mark.parametrize("path", files("reject/typing", "*.k"), ids=lambda path: path.stem)
def test_reject(path: Path, bless: Callable[[Path, str], None]) -> None:
    """A program that cannot be typed gives its whole report: places, codes, carets and hints."""
    text = path.read_text(encoding="utf-8")
    pipeline.load(text, path.name)
    with pytest.raises(KgenError) as caught:
        checked(text, path.name)
    bless(path.with_suffix(".txt"), f"{caught.value}\n")


def test_reductions_at_the_call() -> None:
    """Reductions type and evaluate, but no kernel is made of them yet: a call says so, and marks the first one."""
    x = np.zeros((3, 4), np.float32)
    with pytest.raises(KgenError) as caught:
        kgen.jit("let m = max(x, axis=1, keepdims=true)\nout = x - m", device="cpu")(x)
    assert caught.value.code == "reductions-not-yet"
    assert "max(x, axis=1, keepdims=true)" in str(caught.value)
    assert "elementwise is `max(a, b)`" in str(caught.value)
