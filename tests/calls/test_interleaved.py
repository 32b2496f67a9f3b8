"""Operands at a small step along rows: their elements are taken out of what lies between, which is read as well."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import kgen
from tests.forced import AS_MANY, forced
from tests.forked import in_a_fork

Array = np.ndarray[Any, Any]
MORE = [pytest.param(dtype, marks=pytest.mark.whole) for dtype in ("float16", "float32", "complex64")]
DTYPES = ["int8", "float64", *MORE]


@pytest.fixture(autouse=True)
def groups() -> Iterator[None]:
    """Threads take whole groups of few elements, too."""
    with forced(AS_MANY):
        yield


def numbers(dtype: str, *shape: int) -> Array:
    return (np.arange(np.prod(shape)) % 97).astype(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_steps_and_first_elements(dtype: str) -> None:
    """One array, in rows that begin anywhere, with or without a gap behind them."""
    k = kgen.jit("out = x + x", device="cpu")
    for step in (2, 3, 4):
        for columns in (256, 263):
            whole = numbers(dtype, 3, columns * step + 17)
            for first in (0, 1, step - 1, 5):
                x = whole[:, first::step][:, :columns]
                np.testing.assert_array_equal(k(x), x + x)
                np.testing.assert_array_equal(k(x[0]), x[0] + x[0])


def test_offsets_beyond_32_bits() -> None:
    """Coordinates may have 32 bits where offsets do not."""
    text = str(kgen.jit("out = x + x").source(kgen.spec((3, 2**29), "f32", (2**30, 2)), arch="sm_90"))
    assert "const int i = " in text
    assert "x_ptr + i * 2ll" in text


def test_views_of_one_array() -> None:
    """Views share what is read where they are as far apart as their first elements."""
    pairs = kgen.jit("out = x[..., ::2] * 2 - x[..., 1::2]", device="cpu")
    apart = kgen.jit("out = x[..., :512:2] * 2 - x[..., 513::2]", device="cpu")
    colours = kgen.jit("out = x[..., 0] + 2 * x[..., 1] - x[..., 2]", device="cpu")
    x, image = numbers("float32", 5, 1024), numbers("float32", 9, 40, 3)
    for _ in range(2):
        np.testing.assert_array_equal(pairs(x), x[:, ::2] * 2 - x[:, 1::2])
        np.testing.assert_array_equal(apart(x), x[:, :512:2] * 2 - x[:, 513::2])
        np.testing.assert_array_equal(colours(image), image[..., 0] + 2 * image[..., 1] - image[..., 2])
    assert str(pairs.source(x)).count("_wide = ") == 1
    assert str(pairs.source(kgen.spec(x.shape, "float32"))).count("_wide = ") == 1  # where addresses are not known
    assert str(apart.source(x)).count("_wide = ") == 2
    for odd in (x[:, 3:1003], x[:, :1002], x[1:, 2:]):
        np.testing.assert_array_equal(pairs(odd), odd[:, ::2] * 2 - odd[:, 1::2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_outputs(dtype: str) -> None:
    """Parts of an output that together are all of it are stored at once, in rows of any length and place."""
    parts = ", ".join(("a + b", "a - b", "b + b", "a + a"))
    for count in (2, 3, 4):
        k = kgen.jit(f"out = stack({', '.join(parts.split(', ')[:count])}, axis=-1)", device="cpu")
        for columns in (256, 263, 1000):
            a, b = numbers(dtype, 3, columns), numbers(dtype, 3, columns)[::-1]
            expected = np.stack((a + b, a - b, b + b, a + a)[:count], axis=-1)
            np.testing.assert_array_equal(k(a, b), expected)
            out = np.zeros((3, columns + 1, count + 1), dtype)
            k(a, b, out=out[:, :columns, :count])
            np.testing.assert_array_equal(out[:, :columns, :count], expected)
            assert not out[:, columns].any()
            assert not out[..., count].any()
            out = np.zeros((3, columns + 1, count), dtype)
            k(a, b, out=out[:, 1:])
            np.testing.assert_array_equal(out[:, 1:], expected)
            assert not out[:, 0].any()


def test_updates_of_pairs() -> None:
    """Complex numbers as pairs, multiplied in place: one wide load, one wide store."""
    text = (
        "inout x; input c, s; let a = x[..., ::2]; let b = x[..., 1::2];"
        "x = merge(stack(a * c - b * s, b * c + a * s, axis=-1), axis=(-2, -1))"
    )
    k = kgen.jit(text, device="cpu")
    c, s = numbers("float32", 5, 256), numbers("float32", 256) - 30
    for columns, wide in ((512, 1), (510, 0)):
        x = numbers("float32", 5, columns)
        c, s = c[:, : columns // 2], s[: columns // 2]
        a, b = x[:, ::2], x[:, 1::2]
        expected = np.stack((a * c - b * s, b * c + a * s), axis=-1).reshape(x.shape)
        source = str(k.source(x, c, s))
        k(x, c, s)
        np.testing.assert_array_equal(x, expected)
        assert (source.count("x_1_wide = "), source.count(" = x_3_1_wide;")) == (wide, wide)


def test_nothing_behind_the_last_element_is_read() -> None:
    """An array whose last element is the last one of readable memory, in the middle of a wide group."""

    def run() -> None:
        page = mmap.PAGESIZE
        memory = mmap.mmap(-1, 2 * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + page), page, 0) == 0
        x = np.frombuffer(memory, np.float64, page // 8)[3::4]  # wide groups begin at the third element
        np.testing.assert_array_equal(kgen.jit("out = x + 1", device="cpu")(x), x + 1)

    status, said = in_a_fork(run)
    assert status == 0, said
