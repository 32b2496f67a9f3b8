"""Lints reach Python as warnings: at the line of the user, once for each kernel, and never on repeated calls."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.call.cached_lowering import CachedLowering

ROOT = Path(__file__).parents[1]
SQUARE = np.ones((3, 3), np.float32)
UNUSED = "input a, b\nout = a"
LOST = "out = x - mean(x, axis=-1)"


def codes(found: pytest.WarningsRecorder) -> list[str]:
    return [w.message.diagnostic.code for w in found if isinstance(w.message, kgen.LintWarning)]


def test_what_is_known_of_a_text_is_said_by_jit() -> None:
    """The warning is the rendered diagnostic, at the line that calls ``jit``."""
    with pytest.warns(kgen.LintWarning) as found:
        kgen.jit(UNUSED)
    (warning,) = found
    assert warning.filename == __file__
    assert str(warning.message).startswith("<string>:1:10: lint[unused-input]: `b` is an input that nothing reads\n")
    assert issubclass(kgen.LintWarning, UserWarning)
    again = pickle.loads(pickle.dumps(warning.message))
    assert (str(again), again.diagnostic) == (str(warning.message), warning.message.diagnostic)  # type: ignore[union-attr]


def test_a_flood_of_lints_ends() -> None:
    """Twenty warnings; ``explain`` has them all."""
    with pytest.warns(kgen.LintWarning) as found:
        k = kgen.jit("input a, " + ", ".join(f"b{i}" for i in range(60)) + "\nout = a", device="cpu")
    assert len(found) == 20
    assert len(k.explain(*[SQUARE] * 61).lints) == 60


def test_what_follows_from_arrays_is_said_by_the_first_call() -> None:
    """Once, at the line of the call, whatever dtypes follow; arrays that are not square are no reason to warn."""
    k = kgen.jit(LOST, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(kgen.KgenError, match="shape-mismatch"):
            k(SQUARE[:2])
    with pytest.warns(kgen.LintWarning) as found:
        k(SQUARE)
    assert (codes(found), found[0].filename) == (["reduced-axis"], __file__)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            k(SQUARE)
        k(SQUARE.astype(np.float64))
        k.meta(SQUARE)
    with pytest.warns(kgen.LintWarning) as found:  # another kernel
        kgen.jit(LOST, device="cpu").explain(SQUARE)
    assert (codes(found), found[0].filename) == (["reduced-axis"], __file__)


def test_a_warning_may_be_an_error() -> None:
    """Then nothing has run; and it is said once even so."""
    k = kgen.jit("inout p\np = p - mean(p, axis=-1) + 1", device="cpu")
    p = SQUARE.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error", kgen.LintWarning)
        with pytest.raises(kgen.LintWarning):
            k(p)
        np.testing.assert_array_equal(p, SQUARE)
        k(p)


def test_repeated_calls_ask_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lints are looked at where a program is typed, and nowhere else."""
    k = kgen.jit("out = x * 3", device="cpu")
    k(SQUARE)
    monkeypatch.setattr(CachedLowering, "warn", None)
    for n in (3, 3, 3, 4, 5):
        k(np.ones((n, n), np.float32))


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.k")), ids=lambda path: path.stem)
def test_examples_warn_of_nothing(path: Path) -> None:
    """They are what others start from."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kgen.jit(path=path)


def test_who_passes_e_is_told() -> None:
    """``n + s + w + e`` takes three arrays: a fourth, by place or by name, is answered with what to write."""
    k = kgen.jit("out = n + s + w + e", device="cpu")
    calls: list[tuple[int, dict[str, Any]]] = [(4, {}), (3, {"e": SQUARE})]
    for count, named in calls:
        with pytest.raises(kgen.KgenError, match="for an array write `input e`"):
            k(*[SQUARE] * count, **named)
