"""Single values as bytes: rounded once, as whole arrays are."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.dtypes import BFLOAT16, DTYPES, FLOAT64, DType
from kgen.ir.graph import CastMode, to_bytes
from kgen.ir.rounding import Array, cast, numpy_dtype
from kgen.runtime.scalars import pack

FLOATS = [t for t in DTYPES if t.is_float and t is not FLOAT64]


def values(dtype: DType) -> Array:
    """Numbers of ``dtype`` from its ends and in between, halfway between them, and a little beside both."""
    step = max(1, dtype.largest_bits // 40000)
    bits = np.unique([*range(0, dtype.largest_bits, step), *range(40), dtype.largest_bits - 1, dtype.largest_bits])
    exact = bits.astype(f"u{dtype.size}").view(numpy_dtype(dtype)).astype(np.float64)
    halfway = (exact[1:] / 2 + exact[:-1] / 2)[np.diff(bits) == 1]
    found = np.concatenate([exact, halfway, [float(dtype.overflow), np.inf]])
    found = np.concatenate([found, np.nextafter(found, np.inf), np.nextafter(found, -np.inf)])
    return np.concatenate([found, -found])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_value_is_rounded_as_an_array_is(dtype: DType) -> None:
    x = values(dtype)
    expected = cast(x, FLOAT64, dtype, CastMode("rne", False))
    assert b"".join(to_bytes(float(v), dtype) for v in x) == expected.tobytes()
    assert np.isnan(np.frombuffer(to_bytes(float("nan"), dtype), numpy_dtype(dtype)).astype(np.float64))


@pytest.mark.parametrize(("value", "expected"), [(1 + 2**-8 + 2**-40, 1 + 2**-7), (2**60 + 2**52 + 1, 2**60 + 2**53)])
def test_a_scalar_is_rounded_once(value: float, expected: float) -> None:
    """By way of float32 each would be halfway between two numbers of bfloat16, and go to the even one below."""
    found = np.frombuffer(pack("k", value, BFLOAT16), numpy_dtype(BFLOAT16))
    assert float(found.astype(np.float64)[0]) == expected
