"""``a // b`` and ``a % b`` of floats are NumPy's to the last bit: quotients near integers, of any size and sign."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen


def operands(dtype: Any) -> tuple[Any, Any]:
    """Products of integers and divisors, and their neighbours; special values; numbers of any exponent."""
    rng = np.random.default_rng(7)
    info = np.finfo(dtype)
    whole = np.rint(np.exp2(rng.uniform(0, info.nmant + 3, 20000)))
    b = (rng.uniform(1, 2, 20000) * np.exp2(rng.integers(-30, 30, 20000))).astype(dtype)
    near = (whole * b.astype(np.longdouble)).astype(dtype)
    a = np.concatenate([near, np.nextafter(near, dtype(0)), np.nextafter(near, dtype(np.inf))])
    b = np.concatenate([b, b, b])
    special = np.array([0, 1, 3.5, info.tiny, info.smallest_subnormal, info.max, np.inf, np.nan], dtype)
    special = np.concatenate([special, -special])
    pairs = np.meshgrid(special, special)
    wild = rng.integers(0, 1 << info.bits, (2, 20000), dtype=np.uint64).astype(f"uint{info.bits}").view(dtype)
    signs = np.where(rng.integers(0, 2, (2, len(a))), dtype(-1), dtype(1))
    return (
        np.concatenate([a * signs[0], pairs[0].ravel(), wild[0]]),
        np.concatenate([b * signs[1], pairs[1].ravel(), wild[1]]),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_bits(dtype: Any) -> None:
    a, b = operands(dtype)
    quotient, rest = kgen.jit("out = a // b\nrest = a % b", device="cpu")(a, b)
    with np.errstate(all="ignore"):
        for got, want in ((quotient, np.floor_divide(a, b)), (rest, np.remainder(a, b))):
            wrong = ~(np.isnan(got) & np.isnan(want)) & (got.view(f"V{got.itemsize}") != want.view(f"V{got.itemsize}"))
            assert not wrong.any(), (a[wrong][:3], b[wrong][:3], got[wrong][:3], want[wrong][:3])
