"""Kernels in which a thread has several groups of rows at computed places, a block of threads apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen
from tests.forced import forced

Array = np.ndarray[Any, Any]

#: So that small arrays take it.
ALWAYS = {"elementwise": {"pair_threads": 1, "few_threads": 0}}


def call(device: str, text: str, **arrays: Array) -> Any:
    k: Any = kgen.jit(text, device=device, fmad=False)
    with forced(ALWAYS):
        assert [s["schedule"]["template"] for s in k.explain(**arrays).to_dict()["kernels"]] == ["row_batches"]
        return k(**arrays)


@pytest.mark.parametrize("count", [2, 13, 300])
def test_rows(device: str, rng: np.random.Generator, count: int) -> None:
    """Blocks that are full and that are not; places outside."""
    table, ids = rng.standard_normal((20, 320)).astype("float16"), rng.integers(-25, 25, count)
    inside = (ids >= -20) & (ids < 20)
    np.testing.assert_array_equal(
        call(device, "out = w[i]", w=table, i=ids), np.where(inside[:, None], table[ids % 20], 0)
    )


def test_scatter(device: str, rng: np.random.Generator) -> None:
    """Each row once; those outside are dropped."""
    x, places, y = rng.standard_normal((77, 64)).astype("float32"), rng.permutation(80)[:77], np.zeros((70, 64), "f4")
    call(device, "input x, p\ninout y\ny[p] = 2 * x", x=x, p=places, y=y)
    expected = np.zeros((80, 64), "f4")
    expected[places] = 2 * x
    np.testing.assert_array_equal(y, expected[:70])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_sums_at_repeated_places(device: str, rng: np.random.Generator, dtype: str) -> None:
    """Each group is added once, also where it is read again behind the last one."""
    x, places = rng.integers(0, 3, (77, 64)).astype(dtype), rng.integers(-1, 9, 77)
    y = np.zeros((8, 64), dtype)
    call(device, "input x, p\ninout y\ny[p] += x", x=x, p=places, y=y)
    expected = np.zeros((9, 64), dtype)
    np.add.at(expected, np.where(places < 0, places % 8, places), x)
    np.testing.assert_array_equal(y, expected[:8])


def test_several_tables_and_coordinates(device: str, rng: np.random.Generator) -> None:
    """Beside vectors, single elements, interleaved pairs and places made of coordinates; with the bits of others."""
    a, b = rng.standard_normal((30, 40)).astype("float32"), rng.standard_normal((6, 7, 40)).astype("float32")
    pairs, s = rng.standard_normal((50, 80)).astype("float32"), rng.standard_normal((50, 1)).astype("float32")
    i, j = rng.integers(0, 30, 50), rng.integers(0, 7, 50)
    text = "out = a[i] * s + b[index(0) % 6, j] * x[:, ::2] - x[:, 1::2] + index(0)"
    found = call(device, text, a=a, i=i, s=s, b=b, j=j, x=pairs)
    for family in ("rows", "strided"):
        other: Any = kgen.jit(text, device=device, fmad=False)
        with forced(elementwise=family):
            np.testing.assert_array_equal(other(a=a, i=i, s=s, b=b, j=j, x=pairs), found)
    row = np.arange(50)
    wide = a[i].astype("f8") * s + b[row % 6, j].astype("f8") * pairs[:, ::2] - pairs[:, 1::2] + row[:, None]
    np.testing.assert_allclose(found, wide, 1e-5, 1e-5)


def test_updates_in_place(device: str, rng: np.random.Generator) -> None:
    """A thread behind the last group reads what another one updates, and writes nothing."""
    x, table, ids = (
        rng.standard_normal((65, 24)).astype("float32"),
        rng.standard_normal((9, 24)),
        rng.integers(0, 9, 65),
    )
    expected = (x + table[ids]).astype("float32")
    call(device, "input w, i\ninout x\nx = cast<float>(x + w[i])", w=table, i=ids, x=x)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("text", ["out = w[i] / s", "out = w[i][:, 1:]", "out = w[:, i]"])
def test_others(device: str, rng: np.random.Generator, text: str) -> None:
    """Quotients by what rows share, rows that are not aligned, and other axes have their own kernels."""
    table, ids, s = rng.standard_normal((40, 40)).astype("f4"), rng.integers(0, 40, 40), rng.standard_normal((40, 1))
    arguments = {"w": table, "i": ids} | ({"s": s.astype("f4")} if "s" in text else {})
    with forced(ALWAYS):
        k: Any = kgen.jit(text, device=device)
        kernels = k.explain(**arguments).to_dict()["kernels"]
    assert [s["schedule"]["template"] for s in kernels] != ["row_batches"]
