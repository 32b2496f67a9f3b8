"""Row operands: where kernels that keep rows in registers load what all rows share."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen
from tests.forced import forced

Array = np.ndarray[Any, Any]
BF16 = ml_dtypes.bfloat16
RMSNORM = "y = x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6) * w"
NORM = "x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6)"
LAYERNORM = (
    "let d = x - mean(x, axis=-1, keepdims=true)\ny = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b"
)


def operands(text: str, dtype: Any, rows: int, width: int) -> dict[str, Any]:
    rng = np.random.default_rng(width)
    names = [n for n in "xwb" if re.search(rf"\b{n}\b", text)]
    return {n: rng.standard_normal((rows, width) if n == "x" else width).astype(dtype) for n in names}


def wanted(x: Array, w: Array, b: Array | None = None) -> Array:
    x, w = x.astype(np.float64), w.astype(np.float64)
    if b is None:
        y: Array = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w
        return y
    d = x - x.mean(-1, keepdims=True)
    z: Array = d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * w + b.astype(np.float64)
    return z


@pytest.mark.parametrize(
    ("text", "dtype", "width", "groups", "at_once"),
    [
        (RMSNORM, BF16, 15872, 8, 4),
        (RMSNORM, BF16, 16384, 8, 4),
        (RMSNORM, np.float32, 9216, 9, 4),  # the last batch has one group
        (LAYERNORM, BF16, 14328, 7, 2),
        (LAYERNORM, np.float16, 32768, 8, 2),
        (LAYERNORM, np.float32, 16384, 8, 2),  # blocks of 512 threads, of which two fit an SM
        (RMSNORM, np.float32, 16380, 8, 4),
    ],
)
def test_several_groups_are_loaded_ahead_of_their_stores(
    text: str, dtype: Any, width: int, groups: int, at_once: int
) -> None:
    """Where registers do not suffice for all: a load behind a store would wait for it."""
    given = operands(text, dtype, 3, width)
    kernel = kgen.jit(text, device="cpu")
    source = kernel.source(**given)
    loop = source[source.index(f"for (int first = 0; first < {groups}; first += {at_once})") :]
    for name in set(given) - {"x"}:
        assert re.search(rf" {name}_vec\[{at_once}\];", loop)
        assert loop.index(f"{name}_vec[u] = *") < loop.index("y_row + i) = y_vec")
    assert ("v < 9 && " in loop or "v < 7 && " in loop) == (groups % at_once > 0)
    y = kernel(**given)
    with forced({"rows": {"batch_bytes": 1}}):
        other = kgen.jit(text, name="other", device="cpu")
        assert "groups at once" not in other.source(**given)
        np.testing.assert_array_equal(other(**given), y)
    tolerance = 1e-5 if dtype is np.float32 else 2e-2
    np.testing.assert_allclose(y.astype(np.float64), wanted(**given), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "text",
    [
        f"inout o\ninput s, x, w\no[s] = {NORM} * w if s[:, None] >= 0\ny = {NORM} * w",  # rows under a condition, too
        f"input x, w\ny = {NORM} * w\nz = {NORM} + w",  # several results
        "input x, w\ny = x / max(abs(x), axis=-1, keepdims=true) * w",  # quotients, which have a branch
    ],
)
def test_not_where_registers_are_for_more(text: str) -> None:
    """Weights are loaded where they are used."""
    rng, width = np.random.default_rng(0), 9216
    x, w = rng.standard_normal((4, width)).astype("float32"), rng.standard_normal(width).astype("float32")
    places = {"o": np.zeros((6, width), "float32"), "s": np.array([5, -1, 0, 2])} if "inout" in text else {}
    kernel: Any = kgen.jit(text, device="cpu")
    assert "groups at once" not in kernel.source(x=x, w=w, **places)
    found = kernel(x=x, w=w, **places)
    if places:
        np.testing.assert_allclose(places["o"][[5, 0, 2]], wanted(x, w)[[0, 2, 3]], rtol=1e-5)
        np.testing.assert_allclose(found, wanted(x, w), rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "dtype", "width", "declared"),
    [
        (RMSNORM, BF16, 8192, "w_vec[4]"),  # ahead of the first round
        (LAYERNORM, np.float32, 4096, "b_vec[8]"),  # all ahead of the first store
    ],
)
def test_all_groups_are_loaded_ahead_where_registers_suffice(text: str, dtype: Any, width: int, declared: str) -> None:
    source = kgen.jit(text).source(**operands(text, dtype, 3, width))
    assert declared in source
    assert "groups at once" not in source


@pytest.mark.parametrize("width", [4096, 12288])
def test_where_no_rows_are_written_only_rows_are_loaded_ahead(width: int) -> None:
    """Then nothing waits for a row operand but the one round that reduces it."""
    text = "y = sum(x * w, axis=-1)"
    given = operands(text, BF16, 2, width)
    source = kgen.jit(text).source(**given)
    assert "x_vec[" in source
    assert "w_vec[" not in source
    wide = given["x"].astype(np.float64) @ given["w"].astype(np.float64)
    found = kgen.jit(text, device="cpu")(**given).astype(np.float64)
    np.testing.assert_allclose(found, wide, rtol=2e-2, atol=1)
