"""16-bit values that later sections need take the place of what they are computed from, two of them in a register."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen

Array = np.ndarray[Any, Any]

NORM = "y = s * rsqrt(mean(s * s, axis=-1, keepdims=true) + 1e-6)"
BF16 = ml_dtypes.bfloat16


def rows(seed: int, dtype: Any, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def text_of(program: str, *arrays: Array) -> str:
    return kgen.jit(program, device="cpu").source(*arrays)


@pytest.mark.parametrize("dtype", [BF16, np.float16])
@pytest.mark.parametrize("width", [96, 1000, 4096, 16384])
def test_the_sum_that_is_stored_is_the_sum_that_is_reduced(width: int, dtype: Any) -> None:
    """A residual is added once: its sum is kept, and stored as it is."""
    x, r = rows(1, dtype, 3, width), rows(2, dtype, 3, width)
    s, y = kgen.jit(f"s = x + r\n{NORM}", device="cpu")(x=x, r=r)
    wide = (x.astype(np.float32) + r.astype(np.float32)).astype(dtype)
    assert np.array_equal(s.view(np.uint16), wide.view(np.uint16))
    t = wide.astype(np.float64)
    norm = t / np.sqrt((t * t).mean(-1, keepdims=True) + 1e-6)
    assert np.allclose(y.astype(np.float64), norm, rtol=1e-2, atol=1e-3)
    text = text_of(f"s = x + r\n{NORM}", x, r)
    assert re.search(r"Pack<\w+, \d+, \d+> s_kept", text)
    assert text.count("s_out = ") == 1


def test_a_function_of_what_is_stored_is_computed_once() -> None:
    x = rows(1, BF16, 3, 1024)
    assert text_of(f"s = sin(x)\n{NORM}", x).count("sinf(") == 1


def test_floats_that_are_stored_as_halves() -> None:
    """Helpers are there that no operand needs."""
    x, r = rows(1, np.float32, 3, 1024), rows(2, np.float32, 3, 1024)
    s, _ = kgen.jit(f"s: bf16 = x + r\n{NORM}", device="cpu")(x=x, r=r)
    assert np.array_equal(s.view(np.uint16), (x + r).astype(BF16).view(np.uint16))


def test_a_value_of_its_place() -> None:
    """What is kept may depend on the place in the row."""
    x, r = rows(1, BF16, 2, 3, 256), rows(2, BF16, 2, 3, 256)
    program = "s = x + r * cast<bf16>(index(-1) % 7)\ny = s * rsqrt(mean(s * s, axis=(1, 2), keepdims=true) + 1e-6)"
    s, _ = kgen.jit(program, device="cpu")(x=x, r=r)
    want = (x.astype(np.float32) + r.astype(np.float32) * (np.arange(256) % 7)).astype(BF16)
    assert np.array_equal(s.view(np.uint16), want.view(np.uint16))


def test_in_place() -> None:
    """The sum replaces an operand, of which the same threads have read the elements."""
    x, r = rows(1, BF16, 3, 4096), rows(2, BF16, 3, 4096)
    want = (x.astype(np.float32) + r.astype(np.float32)).astype(BF16)
    kgen.jit("inout r\nr = r + x\ny = r * rsqrt(mean(r * r, axis=-1, keepdims=true) + 1e-6)", device="cpu")(x=x, r=r)
    assert np.array_equal(r.view(np.uint16), want.view(np.uint16))


def test_operands_that_are_needed_again_are_kept_instead() -> None:
    x, r = rows(1, BF16, 3, 4096), rows(2, BF16, 3, 4096)
    assert "s_kept" not in text_of(f"s = x + r\nt = s * x\n{NORM}", x, r)


def first_store(width: int, rows_of: int) -> bool:
    """Whether the sum is stored ahead of the first exchange between warps."""
    x = kgen.spec((rows_of, width), "bf16")
    text = kgen.jit(f"s = x + r\n{NORM}").source(x, x, arch="sm_90")
    return text.index("= s_kept[v];") < text.index("_warp_partials[")


def test_sums_of_launches_that_l2_holds_are_stored_early() -> None:
    """Not those of few bytes, and not where more is moved than L2 holds."""
    assert [first_store(4096, n) for n in (16, 256, 512, 4096)] == [False, True, True, False]
    assert not first_store(1024, 2048)  # two warps a row
    assert [first_store(8192, n) for n in (16, 256, 4096)] == [False, True, False]


def test_where_sums_are_stored_changes_no_bit() -> None:
    x, r = rows(1, BF16, 256, 4096), rows(2, BF16, 256, 4096)
    kernel = kgen.jit(f"s = x + r\n{NORM}", device="cpu")
    for many, one in zip(kernel(x=x, r=r), kernel(x=x[:2], r=r[:2]), strict=True):
        assert np.array_equal(many[:2].view(np.uint16), one.view(np.uint16))
