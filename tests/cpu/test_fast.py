"""With ``fast=True``, kgen's own approximations keep the bounds that docs/language.md states."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import kgen

X = np.linspace(-12, 12, 40001).astype(np.float32)


def normcdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("normcdf(x)", normcdf),
        ("erfc(x)", math.erfc),
        ("gelu(x)", lambda x: x * normcdf(x)),
        ("erfc(x) + 0 * erfc(-x)", math.erfc),
    ],
)
def test_relative(text: str, function: Callable[[float], float]) -> None:
    """Within 2^-16 of the value, as far as that is a normal number."""
    wanted = np.array([function(float(x)) for x in X])
    found = kgen.jit(f"out = {text}", fast=True, device="cpu")(X)
    normal = np.abs(wanted) > 1e-37
    assert np.all(np.abs(found - wanted)[normal] <= 2.0**-16 * np.abs(wanted)[normal])


def test_absolute() -> None:
    """``log1p`` and ``expm1`` lose digits next to 0, where only the absolute error is small."""
    found = kgen.jit("out = log1p(x)", fast=True, device="cpu")(np.abs(X))
    assert np.all(np.abs(found - np.log1p(np.abs(X).astype(np.float64))) < 2.0**-21)
    small = X[np.abs(X) < 1]
    found = kgen.jit("out = expm1(x)", fast=True, device="cpu")(small)
    assert np.all(np.abs(found - np.expm1(small.astype(np.float64))) < 2.0**-21)


def test_ends() -> None:
    """Infinities and NaN are as in the exact functions."""
    x = np.array([np.inf, -np.inf, np.nan, 40, -40], np.float32)
    for text in ("normcdf(x)", "erfc(x)", "log1p(abs(x))", "expm1(x)"):
        exact, fast = (kgen.jit(f"out = {text}", fast=fast, device="cpu")(x) for fast in (False, True))
        assert np.allclose(exact, fast, rtol=1e-4, atol=1e-37, equal_nan=True), text


def test_doubles_are_exact() -> None:
    x = X.astype(np.float64)
    for text in ("normcdf(x)", "erfc(x)", "log1p(abs(x))", "expm1(x)", "x / 3"):
        exact, fast = (kgen.jit(f"out = {text}", fast=fast, device="cpu")(x) for fast in (False, True))
        assert np.array_equal(exact, fast), text
