"""Calls of programs with arrays as indices."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from kgen import jit
from kgen.diagnostics import KgenError
from tests.check.test_gathers import HOSTILE, taken
from tests.check.test_indexing import Array
from tests.fuzz.test_reductions import reference

DTYPES = ("float32", "float16", "bool", "int8", "complex64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels(dtype: str) -> None:
    """Kernels read the same elements, for any strides, and nothing outside of the array."""
    x: Array = (np.arange(35).reshape(5, 7) % 9).astype(dtype)
    views = {"x": x, "columns": x.T, "reversed": x[::-1, ::2], "one": x[:1]}
    kernel = jit("out = x[i]; both = x[i, expand(j, axis=1)]")
    for view in views.values():
        rows, elements = kernel(view, HOSTILE, HOSTILE[::-1].astype(np.int32))
        np.testing.assert_array_equal(rows, taken(view, HOSTILE))
        np.testing.assert_array_equal(elements, taken(view, HOSTILE, HOSTILE[::-1, None].astype(np.int32)))


def test_calls() -> None:
    """Calls that repeat, also on other shapes, and plans read what the arrays hold then."""
    kernel = jit("out = x[i] * 2 + y", device="cpu")  # where plans are for NumPy's arrays
    for n in (4, 4, 4, 7, 8, 9, 12, 31):
        x, i = np.arange(3.0 * n).reshape(n, 3), np.arange(2 * n) % (n + 1) - 1
        np.testing.assert_array_equal(kernel(x, i, np.ones(3)), x[i] * 2 + 1)
    plan = kernel.plan(x, i, np.ones(3))
    i[:] = 2
    np.testing.assert_array_equal(plan(), x[i] * 2 + 1)


def test_reductions() -> None:
    """Rows that are gathered are reduced, and an element of each row is read beside its reduction."""
    x, i = np.arange(60.0).reshape(6, 10) ** 2, np.array([[3, 0], [5, 5], [-1, 1]])
    bags = jit("out = sum(x[i], axis=1)")(x, i)
    np.testing.assert_array_equal(bags, x[i].sum(1))
    loss = jit("out = max(x, axis=-1) - x[index(0), label]")
    label = np.array([0, 9, 3, 3, -1, 10])
    want = x.max(-1) - np.where(label < 10, x[np.arange(6), label % 10], 0)
    np.testing.assert_array_equal(loss(x, label), want)
    assert "kernel 1 of 1" in str(loss.explain(x, label))
    np.testing.assert_array_equal(jit("out = sum(x[:, i], axis=0)")(x, i), x[:, i].sum(0))


OF_REDUCTIONS = (
    "out = sum(x, axis=1)[i] * 2 + x[i, 0]",
    "let m = max(x, axis=1, keepdims=true); let e = exp(x - m); out = (e / sum(e, axis=1, keepdims=true))[i]",
    "out = sum(x, axis=1) - mean(x, axis=1)[i]; total = sum(max(x, axis=0)[i])",
    "let s = sum(x, axis=1); let unused = s[i + 1]; out = sum(s[i][:, None] * x, axis=0); same = s[i]",
    "inout x; let a = any(x > 30, axis=1); out = a[i]; x = 2 * x + sum(x, axis=1, keepdims=true)[i]",
)


@pytest.mark.filterwarnings("ignore::kgen.LintWarning")
@pytest.mark.parametrize("text", OF_REDUCTIONS)
def test_of_reductions(text: str) -> None:
    """An array as the index of what holds a reduction: that is complete before another kernel reads it."""
    x, i = np.arange(60.0).reshape(6, 10) * 37 % 61, np.array([3, 0, 5, 7, -1, -6])
    kernel: Any = jit(text)
    for rows in (x, x * 2, np.asfortranarray(x), np.concatenate([x, x])[::2]):
        given = {"x": rows.copy("K"), "i": i}
        want = reference(text, given)
        got = kernel(**given)
        results = dict(zip(kernel.outputs, got if isinstance(got, tuple) else (got,), strict=True))
        for name, one in (given | results).items():
            np.testing.assert_allclose(one, want.get(name, one), rtol=1e-12)
    assert len(kernel.explain(**given).steps) >= 2


def test_of_reductions_in_a_chain() -> None:
    """The index of a reduction may be computed from the element of another."""
    x = np.array([[0.0, 2, 1], [3, 0, 0], [1, 0, 1]])
    got = jit("let s = sum(x, axis=1); let m = max(x, axis=1); out = s[cast<int>(m[i])]")(x, np.array([0, 1, 2, 9]))
    np.testing.assert_array_equal(got, [2, 0, 3, 3])
    explained = str(jit("out = sum(x, axis=1)[i]").explain(x, np.array([0])))
    assert "writes `sum_buffer` for kernel 2: it is read there at computed places" in explained


def test_updates() -> None:
    """An array is read before the kernel that updates it, or the call refuses."""
    x = np.arange(5.0)
    out = jit("inout x; out = x[i]; x = y")(x, np.array([4, 3, 2, 1, 0]), np.ones(5))
    np.testing.assert_array_equal(out, [4, 3, 2, 1, 0])
    np.testing.assert_array_equal(x, np.ones(5))
    calls: dict[str, dict[str, Any]] = {"inout x; x = x[i]": {}, "out = x[i]": {"out": x}}
    for text, outs in calls.items():
        with pytest.raises(KgenError, match="at computed places") as caught:
            jit(text)(x, np.arange(5), **outs)
        assert caught.value.code == "overlap"


@pytest.mark.parametrize(
    "updates", ["p = p + q; q = q + p[i]", "p = p + q; q = q + p[argmax(x)]", "q = x[min(i)] * p + q; p[i] += q"]
)
def test_updates_without_an_order(updates: str) -> None:
    """Each would overwrite what the other reads: the program is refused, with what to write."""
    p, q, x = (np.ones((4, 4), np.float32) for _ in range(3))
    arrays: dict[str, Any] = {"p": p, "q": q, "x": x, "i": np.zeros(4, np.int32)}
    with pytest.raises(KgenError, match=r"`[pq]` and `[pq]` are[^$]*`input [pq]`, and `out = ") as caught:
        jit(f"inout p; inout q; {updates}")(**{n: a for n, a in arrays.items() if n in re.findall(r"\w+", updates)})
    assert caught.value.code == "overlap"
    assert (p == 1).all()
    assert (q == 1).all()


@pytest.mark.parametrize(("dtype", "width"), [("float32", 64), ("float16", 200), ("bool", 128), ("complex64", 68)])
def test_rows(dtype: str, width: int) -> None:
    """Rows that are aligned to groups are read by groups; others, and columns, give the same elements."""
    memory = np.zeros(24 * width + 16, dtype)
    start = -memory.ctypes.data % 16 // memory.itemsize
    x = memory[start : start + 24 * width].reshape(24, width)
    x[...] = np.arange(x.size).reshape(x.shape) % 7
    index = np.concatenate([HOSTILE, np.arange(-24, 24)])
    kernel = jit("out = x[i]")
    assert "gathered: rows by groups" in str(kernel.explain(x, index))
    for view in (x, x[:, 1:], x[:, ::-1], x[:, : width // 2], x.T):
        np.testing.assert_array_equal(kernel(view, index), taken(view, index))
    both = jit("out = x[i] == x[j]")(x, index, index[::-1])
    np.testing.assert_array_equal(both, taken(x, index) == taken(x, index[::-1]))
    cube = x.reshape(4, 6, width)
    np.testing.assert_array_equal(jit("out = x[:, i % 6]")(cube, index), cube[:, index % 6])


def test_explain() -> None:
    """`explain` names the class and the bytes of what is gathered."""
    found: Any = jit("out = table[ids]").explain(np.zeros((100, 8), np.float32), np.zeros(7, np.int64)).to_dict()
    table = next(o for o in found["kernels"][0]["operands"] if o["name"] == "table")
    assert (table["class"], table["bytes"]) == ("gathered", 7 * 8 * 4)


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("out = x[i]", False),
        ("out = x[:, i]", True),
        ("out = x[i, j]", True),
        ("out = transpose(x)[i]", True),
        ("out = x[cast<int>(k)] + 0 * x", False),
        ("inout x; x[i] += 1", False),
        ("inout x; x[i, j] += 1", True),
    ],
)
def test_explain_says_what_is_not_coalesced(text: str, apart: bool) -> None:
    """Rows are read and written by neighbours; elements at places that are data, each by itself."""
    i = np.zeros(7, np.int64)
    kernel = jit(text)
    given: dict[str, Any] = {"x": np.zeros((9, 9), np.float32), "i": i, "j": i, "k": np.float32(3)}
    assert (
        "not coalesced" in str(kernel.explain(**{a.name: given[a.name] for a in kernel.program.arguments}))
    ) == apart


def test_coordinates_of_expanded_values() -> None:
    """What `expand` adds axes to walks the same coordinates as what is beside it."""
    x, y = np.arange(8.0).reshape(1, 4, 2), np.arange(12.0).reshape(1, 4, 3)
    columns, rows = np.array([1, 0, 1]), np.array([0])
    text = "out = expand(x[:, :, columns] - sum(y[rows], axis=0, keepdims=true), axis=-1) + y[..., None]"
    want = (x[:, :, columns] - y)[..., None] + y[..., None]
    np.testing.assert_array_equal(jit(text)(x, columns, y, rows), want)


def test_of_parts() -> None:
    """What is joined, stacked, merged or repeated is read in the part that has the element; an index beyond reads 0."""
    x, y = np.arange(1.0, 25).reshape(4, 6), -np.arange(1.0, 19).reshape(3, 6)
    text = """
        joined = concat(x, y, axis=0)[i]
        columns = concat(x, 2 * x[:, 1:], axis=1)[:, i]
        chosen = stack(x, x * x, axis=1)[:, i]
        let merged = merge(stack(x, -x, axis=-1))
        pairs = merged[i % 4, i]
        rows = merged[i]
        again = repeat(y, 3, axis=0)[i]
    """
    values = {
        "joined": np.concatenate([x, y]),
        "columns": np.concatenate([x, 2 * x[:, 1:]], 1),
        "chosen": np.stack([x, x * x], 1),
        "pairs": np.stack([x, -x], -1).reshape(4, 12),
        "again": np.repeat(y, 3, 0),
    }
    kernel = jit(text)
    for index in (HOSTILE, np.arange(-14, 14)):
        results = dict(zip(kernel.outputs, kernel(x=x, y=y, i=index), strict=True))
        for name in ("columns", "chosen"):
            want = np.moveaxis(taken(np.moveaxis(values[name], 1, 0), index), 0, 1)
            np.testing.assert_array_equal(results[name], want)
        for name in ("joined", "again"):
            np.testing.assert_array_equal(results[name], taken(values[name], index))
        np.testing.assert_array_equal(results["pairs"], taken(values["pairs"], index % 4, index))
        np.testing.assert_array_equal(results["rows"], taken(values["pairs"], index))


@pytest.mark.parametrize("rows", [(0, 3), (3, 0), (1, 1)])
def test_of_parts_without_elements(rows: tuple[int, int]) -> None:
    x, y = (np.arange(1.0, 2 * n + 1).reshape(n, 2) for n in rows)
    got = jit("out = concat(x, y, axis=0)[i]")(x, y, HOSTILE)
    np.testing.assert_array_equal(got, taken(np.concatenate([x, y]), HOSTILE))
