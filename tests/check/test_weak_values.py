"""What functions of weak numbers compute beside arrays of 64 bits: nothing was rounded to float32 on the way."""

from __future__ import annotations

import numpy as np
import pytest

import kgen


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("z * complex(0.1, 0.2)", 0.1 + 0.2j),
        ("z * conj(0.1 + 0.2j)", 0.1 - 0.2j),
        ("z * complex(x > 0 ? 0.1 : 0.3, imag(q))", 0.1 + 0.7j),
        ("x * real(q)", 0.1),
        ("x * abs(q)", abs(0.1 + 0.7j)),
        ("x * angle(q)", np.angle(0.1 + 0.7j)),
        ("z * sign(q)", np.sign(0.1 + 0.7j)),
        ("x * ldexp(0.1, 3)", 0.8),
        ("x * abs(-0.1)", 0.1),
        ("x + expand(x > 0 ? 0.1 : 0.3, axis=0)", 1.1),
    ],
)
def test_values(text: str, expected: complex) -> None:
    k = kgen.jit(f"input x, z\nparam q = 0.1 + 0.7j\nout = {text} + 0 * real(z) + 0 * real(q)", device="cpu")
    out = k(np.ones(1), np.ones(1) + 0j)
    assert out.dtype.itemsize == (16 if isinstance(expected, complex) else 8)
    np.testing.assert_allclose(out.ravel(), [expected], rtol=1e-15)
