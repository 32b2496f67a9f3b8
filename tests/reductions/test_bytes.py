"""Sums of integers of one and two bytes: exact, several at a time where they lie in memory as they are added."""

from __future__ import annotations

import numpy as np
import pytest

import kgen
from tests.codegen.compilers import nvrtc_log

SHAPES = [(300, 4096), (70, 100), (5000, 7), (3, 1001), (2, 200_000), (4, 48), (20_000, 32)]


def extremes(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Mostly the least and the greatest numbers; of bools any byte is memory's way to say true."""
    if dtype == "bool":
        raw = np.random.default_rng(1).choice(np.array([0, 0, 1, 2, 127, 128, 255], np.uint8), shape)
        return raw.view(np.bool_)
    info = np.iinfo(dtype)
    numbers = np.array([info.min, info.max, info.max, info.min, 1], dtype)
    return np.random.default_rng(2).choice(numbers, shape)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        pytest.param(shape, dtype, marks=[pytest.mark.whole] if (row + column) % 2 else [])
        for row, shape in enumerate(SHAPES)
        for column, dtype in enumerate(["int8", "uint8", "bool", "int16", "uint16"])
    ],
    ids=str,
)
def test_exact(dtype: str, shape: tuple[int, ...], axis: int | None) -> None:
    x = extremes(dtype, shape)
    text = "out = sum(x)" if axis is None else f"out = sum(x, axis={axis})"
    want = (x.view(np.uint8) != 0 if dtype == "bool" else x).astype(np.int64).sum(axis)
    np.testing.assert_array_equal(kgen.jit(text, device="cpu")(x), want)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool"])
@pytest.mark.parametrize("offset", [1, 4, 8])
def test_misaligned(dtype: str, offset: int) -> None:
    """Rows that begin anywhere."""
    x = extremes(dtype, (40, 3000))[:, offset : offset + 2500]
    want = (x.view(np.uint8) != 0 if dtype == "bool" else x).astype(np.int64).sum(1)
    np.testing.assert_array_equal(kgen.jit("out = sum(x, axis=1)", device="cpu")(x), want)


@pytest.mark.parametrize("value", [-128, 127])
def test_all_the_same(value: int) -> None:
    """What a group adds up to is far from where 32 bits end; what a row does, is not."""
    x = np.full((2, 20_000_000), value, np.int8)
    np.testing.assert_array_equal(kgen.jit("out = sum(x, axis=1)", device="cpu")(x), [value * 20_000_000] * 2)


@pytest.mark.parametrize(
    ("text", "dtype", "called"),
    [
        ("out = sum(x, axis=-1)", "i8", True),
        ("out = sum(x, axis=-1)", "u8", True),
        ("out = sum(x, axis=-1)", "bool", True),
        ("out = sum(x)", "i8", True),
        ("out = sum(x, axis=-1, dtype=i32)", "i8", True),
        ("out = sum(x, axis=-1)\nm = max(x, axis=-1)", "i8", True),
        ("out = sum(x + 1, axis=-1)", "i8", False),  # not what lies in memory
        ("out = sum(x, axis=0)", "i8", False),
        ("out = sum(x, axis=-1, dtype=f32)", "i8", False),
        ("out = sum(x, axis=-1)", "i16", False),
        ("out = prod(x, axis=-1)", "i8", False),
    ],
)
def test_four_at_a_time(text: str, dtype: str, called: bool) -> None:
    source = kgen.jit(text).source(kgen.spec((3000, 4096), dtype))
    assert ("group_sum(x_vec" in source) == ("__dp4a" in source) == called
    assert nvrtc_log(source, "sm_75") == ""


@pytest.mark.parametrize("text", ["out = sum(x > 0, axis=-1)", "out = sum(cast<i16>(x), axis=-1)"])
def test_parts_are_narrow(text: str) -> None:
    """64-bit additions once a group."""
    source = kgen.jit(text).source(kgen.spec((3000, 4096), "f32"))
    assert "GroupSum& sum_acc" in source
    assert "sum_acc.add(sum_part.result());" in source


@pytest.mark.parametrize("dtype", ["i8", "u8", "bool", "e4m3fn"])
@pytest.mark.parametrize("axis", [0, -1])
def test_bytes_are_read_as_words(dtype: str, axis: int) -> None:
    text = f"out = any(x, axis={axis})" if dtype == "bool" else f"out = max(x, axis={axis})"
    source = kgen.jit(text).source(kgen.spec((3000, 4096), dtype))
    assert "load_words<Pack<" in source
    assert nvrtc_log(source, "sm_90") == ""
