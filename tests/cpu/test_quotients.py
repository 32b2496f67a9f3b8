"""Divisions that are written as multiplications give the quotients of every dividend that they are for."""

from __future__ import annotations

import numpy as np
import pytest

import kgen
from kgen.codegen.quotients import _FEW_BITS, _inverse, _significant_bits
from kgen.ir.exact import fma
from kgen.ir.rounding import Array

#: Integers, their fractions, negatives, neighbours of powers of two, and the longest odd divisors that are covered.
DIVISORS = [
    3,
    5,
    6,
    7,
    10,
    100,
    127,
    127.5,
    255,
    256.5,
    1000,
    65535,
    0.375,
    -3,
    -255,
    2**20 - 1,
    2**19 + 1,
    3 * 2.0**-30,
]


def every_dividend() -> Array:
    """Every 16-bit integer and every float16, infinities and NaN included, and some longer integers."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    longer = np.random.default_rng(5).integers(-(2**63), 2**63, 20000).astype(np.float32)
    return np.concatenate([bits.view(np.int16).astype(np.float32), bits.view(np.float16).astype(np.float32), longer])


@pytest.mark.parametrize("divisor", DIVISORS)
def test_few_bits(divisor: float) -> None:
    """Two multiplications give the quotient, and the signs of zeros."""
    assert _significant_bits(divisor) <= _FEW_BITS
    dividends = every_dividend()
    high, low = (np.full_like(dividends, part) for part in _inverse(divisor))
    with np.errstate(all="ignore"):
        found, wanted = fma(dividends, high, dividends * low), dividends / np.float32(divisor)
    assert np.array_equal(found, wanted, equal_nan=True)
    numbers = ~np.isnan(wanted)
    assert np.array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


@pytest.mark.parametrize("sigma", [0.25, 0.225, 1e-8, 3e7, 0.0, -0.3, float("inf"), float("nan")])
@pytest.mark.parametrize("mu", [0.485, 0.0, -0.0, 1.0, 1e-9, 1e30, float("inf")])
def test_shared_divisors(mu: float, sigma: float) -> None:
    """All bytes, normalised by numbers for which the reciprocal is exact, and by others."""
    kernel = kgen.jit(
        "out: f32 = (image / 255 - mu) / sigma\nnarrow: f16 = (image / 255 - mu) / sigma", device="cpu", fmad=False
    )
    image = np.arange(256, dtype=np.uint8).repeat(16).reshape(16, 256)
    mus, sigmas = (np.full((16, 1), value, np.float32) for value in (mu, sigma))
    got, narrow = kernel(image, mus, sigmas)
    with np.errstate(all="ignore"):
        wanted = (image.astype(np.float32) / np.float32(255) - mus) / sigmas
        rounded = wanted.astype(np.float16)
    assert np.array_equal(got, wanted, equal_nan=True)
    assert np.array_equal(narrow, rounded, equal_nan=True)
    assert np.array_equal(np.signbit(got), np.signbit(wanted) & ~np.isnan(wanted) | np.signbit(got) & np.isnan(wanted))


@pytest.mark.parametrize("divisor", ["1.4142135", "0.1", "3", "255", "1e-10", "1e13", "-0.7"])
def test_floats_by_constants(divisor: str) -> None:
    """Numbers of every magnitude, subnormals, infinities and NaN, by constants."""
    bits = np.random.default_rng(3).integers(0, 2**32, 1 << 16, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate(
        [bits.view(np.float32), np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4e38], np.float32)]
    )
    got = kgen.jit(f"out = x / {divisor}", device="cpu", fmad=False)(x)
    with np.errstate(all="ignore"):
        wanted = x / np.float32(float(divisor))
    assert np.array_equal(got, wanted, equal_nan=True)
    numbers = ~np.isnan(wanted)
    assert np.array_equal(np.signbit(got[numbers]), np.signbit(wanted[numbers]))
