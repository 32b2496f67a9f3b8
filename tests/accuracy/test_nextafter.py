"""``nextafter`` steps in the dtype of its arguments."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen

DTYPES = [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.float32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)
def test_nextafter_is_the_neighbour_in_its_own_dtype(dtype: Any) -> None:
    """Every number of the narrow dtypes, towards numbers near and far, infinities, zeros and NaN."""
    kind = np.dtype(dtype)
    integer = f"u{kind.itemsize}"
    if kind.itemsize <= 2:
        x = np.arange(256**kind.itemsize, dtype=integer).view(kind)
    else:
        x = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, np.finfo(kind).max, np.finfo(kind).tiny], kind)
    with np.errstate(all="ignore"):
        y = np.array([0, -0.0, 1, -1, 448, -448, np.nan, np.inf, -np.inf, 1e-3], np.float64).astype(kind)
        x, y = (part.ravel() for part in np.broadcast_arrays(x[:, None], y[None, :]))
        expected = np.where(x == y, y, np.nextafter(x, y))  # C gives y; NumPy's half gives x, which may be another zero
    got = kgen.jit("out = nextafter(x, y)", device="cpu")(x.copy(), y.copy())
    assert got.dtype == kind
    same = (got.view(integer) == expected.view(integer)) | (
        np.isnan(got.astype("f8")) & np.isnan(expected.astype("f8"))
    )
    wrong = np.flatnonzero(~same)[:5]
    assert not wrong.size, (x[wrong], y[wrong], got[wrong], expected[wrong])


def test_nextafter_rounds_its_arguments_first() -> None:
    """A product of halves is a half before its neighbour is looked for; a number takes the array's dtype."""
    h = np.array([1, 3], np.float16)
    got = kgen.jit("a = nextafter(h * h / 3, 100.0); b = nextafter(h, 0)", device="cpu")(h)
    third = (np.float32(h) * np.float32(h) / 3).astype(np.float16)
    np.testing.assert_array_equal(got[0], np.nextafter(third, np.float16(100)))
    np.testing.assert_array_equal(got[1], np.nextafter(h, np.float16(0)))


@pytest.mark.parametrize(
    ("call", "reference"),
    [
        ("fmod(x, y)", np.fmod),
        ("copysign(x, y)", np.copysign),
        ("fdim(x, y)", lambda x, y: np.where(x > y, x - y, np.float16(0))),
        ("ldexp(x, 3)", lambda x, y: np.ldexp(x, 3)),
        ("ldexp(x, -12)", lambda x, y: np.ldexp(x, -12)),
        ("logb(x)", lambda x, y: np.floor(np.log2(np.abs(x).astype("f8")))),
    ],
)
def test_exact_functions_of_halves(call: str, reference: Any) -> None:
    """Computed in float32 and rounded once, they are what float16 itself would give."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    x = bits.view(np.float16)
    x = x[np.isfinite(x)]
    y = np.random.default_rng(0).permutation(x)
    got = kgen.jit(f"out = {call}", device="cpu")(*((x, y) if "y" in call else (x,)))
    with np.errstate(all="ignore"):
        expected = reference(x, y).astype(np.float16)
    np.testing.assert_array_equal(got, expected)
