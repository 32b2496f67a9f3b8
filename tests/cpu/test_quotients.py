"""Divisions that are written as multiplications give the quotients of every dividend that they are for."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

import kgen
from kgen.codegen import quotients
from kgen.codegen.quotients import _FEW_BITS, _inverse, _significant_bits
from kgen.ir.exact import fma
from kgen.ir.graph import Op
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


def _short_quotient(a: Array, b: Array, near: Array) -> Array:
    """What ``templates/device/divide_short.cu`` computes."""
    q = a * near
    rest = fma(-q, b, a)
    return np.where(np.abs(rest) > 0, fma(rest, near, q), q)


@pytest.mark.parametrize("error", [-1, 0, 1])
@pytest.mark.parametrize("dtypes", ["u8 u8", "i16 i8", "f16 f16", "f16 u16", "i8 f16", "u64 f16"])
def test_short_divisors(dtypes: str, error: int) -> None:
    """Reciprocals that are one unit in the last place off give rounded quotients, and zeros with their signs."""
    a, b = (operands(name, seed) for seed, name in enumerate(dtypes.split()))
    a, b = (x.ravel() for x in np.meshgrid(a, b))
    with np.errstate(all="ignore"):
        wanted, near = a / b, 1 / b
        is_power = np.abs(np.frexp(b)[0]) == 0.5  # their reciprocals are exact on a GPU
        off = near.view(np.int32) + np.int32(error)
        near = np.where(is_power | ~np.isfinite(near) | (near == 0), near, off.view(np.float32))
        found = _short_quotient(a, b, near)
    assert np.array_equal(found, wanted, equal_nan=True)
    numbers = ~np.isnan(wanted)
    assert np.array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


def operands(name: str, seed: int) -> Array:
    """Numbers of a dtype as float32: all of 8 bits, the least, the greatest and some others of more."""
    if name == "bf16":
        return (np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)).view(np.float32)[seed::61]
    dtype = np.dtype({"u": "uint", "i": "int", "f": "float"}[name[0]] + name[1:])
    bits = np.random.default_rng(seed).integers(0, 1 << 64, 600, dtype=np.uint64) >> np.uint64(64 - 8 * dtype.itemsize)
    edges = np.array(
        [0, 1, 2, 3, 2**31, 2**15, 2**15 - 1, 2**16 - 1, 0x7C00, 0x7BFF, 0x3FF, 0x7F7FFFFF, 0x800000], np.uint64
    )
    every = np.arange(256, dtype=np.uint64) if dtype.itemsize == 1 else np.concatenate([bits, edges])
    with np.errstate(over="ignore"):
        return every.astype(f"u{dtype.itemsize}").view(dtype).astype(np.float32)


def is_same(found: Array, wanted: Array) -> bool:
    """Whether numbers have the same bits, and NaN are where they are."""
    numbers = ~np.isnan(wanted)
    return np.array_equal(found, wanted, equal_nan=True) and np.array_equal(
        np.signbit(found[numbers]), np.signbit(wanted[numbers])
    )


#: Of float32 by even integers, subnormal quotients may be ties; those of bfloat16 by 2^17 as well.
@pytest.mark.parametrize(
    ("dtype", "divisor", "covered"),
    [
        *(("f32", n, True) for n in (3, 255, 2**20 - 1)),
        *(("f32", n, False) for n in (6, -3, 2**20 + 1)),
        *(("bf16", n, True) for n in (6, 255, 1000, 3 << 16)),
        ("bf16", 3 << 17, False),
    ],
)
def test_floats_by_integers(dtype: str, divisor: int, covered: bool) -> None:
    """Every bfloat16, or float32 of every magnitude and the least of them, by a multiplication and its correction."""
    bits = np.arange(1 << 16, dtype=np.uint32)
    x = np.concatenate([bits << 16, *([bits, bits | 1 << 31, bits * 65521] if dtype == "f32" else [])]).view(np.float32)
    text = f"out = cast<float>(cast<{dtype}>(x)) / {divisor}"
    kernel = kgen.jit(text, device="cpu", fmad=False)
    assert ("divide_by_integer" in kernel.source(x)) == covered
    with np.errstate(all="ignore"):
        assert is_same(kernel(x), x / np.float32(divisor))


@pytest.mark.parametrize(
    ("text", "dtypes", "helper"),
    [
        ("a / b", "bf16 u8", "short"),
        ("a / b", "bf16 i16", "short"),
        ("a / b", "f16 i32", "in_range"),
        ("a / b", "i32 u32", "in_range"),
        ("a / b", "u64 i64", "in_range"),
        ("a / (b + b * 3)", "i32 f16", "in_range"),
        ("tanh(a) / b", "i32 i32", "in_range"),
    ],
)
def test_quotients_of_known_range(text: str, dtypes: str, helper: str) -> None:
    """Zeros, infinities and NaN have their quotients, without a branch."""
    a, b = (operands(name, seed) for seed, name in enumerate(dtypes.split()))
    a, b = (x.ravel() for x in np.meshgrid(a, b))
    pairs = zip(dtypes.split(), (a, b), strict=True)
    given = [kgen.jit(f"out = cast<{name}>(x)", device="cpu")(x) for name, x in pairs]
    text = re.sub(r"\b([ab])\b", r"cast<float>(\1)", text)
    above, below = text.split(" / ")
    kernel = kgen.jit(f"out = {text}", device="cpu", fmad=False)
    assert f"divide_{helper}(" in kernel.source(*given)
    parts = [kgen.jit(f"out = {part}", device="cpu", fmad=False) for part in (above, below)]
    with np.errstate(all="ignore"):
        wanted = parts[0](given[0]) / parts[1](given[1])
        assert is_same(kernel(*given), wanted)


@pytest.mark.parametrize(
    "text", ["out = x / (1 + exp(-abs(x)))", "out = x / (1 + exp(-x))", "out = exp2(-x) / (1 + exp2(x))"]
)
def test_divisors_of_at_least_one(text: str) -> None:
    """The quotients of IEEE division, but for those below 2^-100."""
    bits = np.random.default_rng(4).integers(0, 2**32, 1 << 17, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate(
        [np.linspace(-130, 130, 1 << 17, dtype=np.float32), bits.view(np.float32), np.array([0, -0.0], np.float32)]
    )
    above, below = text.removeprefix("out = ").split(" / ")
    kernel = kgen.jit(text, device="cpu", fmad=False)
    dividends, divisors = (kgen.jit(f"out = {part}", device="cpu", fmad=False)(x) for part in (above, below))
    assert "divide_by" in kernel.source(x)
    with np.errstate(all="ignore"):
        wanted, got = dividends / divisors, kernel(x)
    tiny = np.abs(wanted) < 2.0**-100
    assert np.array_equal(got[~tiny], wanted[~tiny], equal_nan=True)
    assert np.all(np.abs(got[tiny] - wanted[tiny]) <= np.spacing(np.abs(wanted[tiny])))
    assert np.array_equal(np.signbit(got[~np.isnan(wanted)]), np.signbit(wanted[~np.isnan(wanted)]))


def test_ranges_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not again for each division: twice the divisions are twice the work."""

    def work(count: int) -> int:
        found: list[int] = []
        real = quotients._range

        def noted(ops: Sequence[Op], op: Op, ranges: quotients.Ranges) -> object:
            found.append(len(ranges))
            return real(ops, op, ranges)

        with monkeypatch.context() as patch:
            patch.setattr(quotients, "_range", noted)
            kgen.jit("out = x" + " / (x + 0.5)" * count, device="cpu").source(np.ones(4, np.float32))
        return len(found)

    short, long = work(20), work(40)
    assert 0 < long <= 2 * short
