"""Assignments and updates at computed places: ``out[slot] = value``, ``out[slot] += value``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kgen import jit
from kgen.diagnostics import KgenError
from kgen.dtypes import BY_NAME
from kgen.ir.rounding import numpy_dtype
from kgen.lints import LintWarning
from tests.check.test_gathers import HOSTILE
from tests.check.test_indexing import Array
from tests.fuzz.test_reductions import reference


def updated(text: str, **arrays: Array) -> Array:
    """The array `o` after a program, by its kernels, which agree with the evaluator."""
    given = {name: array.copy() for name, array in arrays.items()}
    wanted = reference(text, given)["o"]
    kernel: Any = jit(text)
    kernel(**given)
    np.testing.assert_array_equal(given["o"], wanted)
    return given["o"]


OLD = np.arange(40.0).reshape(5, 8)
S = np.array([3, -1, 0])
V = np.arange(24.0).reshape(3, 8) ** 2

#: The index of a target, and the value that is written there, in a program and in NumPy.
TARGETS: dict[str, tuple[str, str, Any]] = {
    "rows": ("s", "v", (S, V)),
    "rows_of_one_value": ("s, :", "v[:, :1] * 2", (S, V[:, :1] * 2)),
    "elements": ("s, s * 2", "v[:, 0]", ((S, S * 2), V[:, 0])),
    "columns": (":, s", "7", ((slice(None), S), 7)),
    "own_rows": ("index(0), s", "v[:, 3]", ((np.arange(3), S), V[:, 3])),
    "crossed": ("s[:, None], s[None] + 1", "v[:, :3]", ((S[:, None], S + 1), V[:, :3])),
    "beside_a_number": ("s, -1", "v[:, 2]", ((S, -1), V[:, 2])),
    "part_of_rows": ("s, 2:5", "v[:, :1]", ((S, slice(2, 5)), V[:, :1])),
    "steps": ("1:4, ::-1", "v", ((slice(1, 4), slice(None, None, -1)), V)),
    "a_row": ("2", "v[0]", (2, V[0])),
    "an_element": ("2, 3", "7", ((2, 3), 7)),
    "all": ("...", "max(v)", (slice(None), V.max())),
    "joined": ("s", "concat(v[:, :3], -v[:, 3:], axis=-1)", (S, np.concatenate([V[:, :3], -V[:, 3:]], -1))),
    "coordinates": ("index(1), index(0) + 1", "v[:, :5]", ((np.arange(5), np.arange(1, 4)[:, None]), V[:, :5])),
    "beside_a_coordinate": ("s[:, None], index(1) + 1", "v[:, :5]", ((S[:, None], np.arange(1, 6)), V[:, :5])),
    "coordinates_of_one_row": ("index(0), index(1)", "v[:1]", (0, V[0])),
    "rows_of_coordinates": ("index(0) + 2, :4", "v[:, :4]", ((np.arange(2, 5), slice(4)), V[:, :4])),
    "reduced": ("s", "max(v, axis=1, keepdims=true)", (S, V.max(1, keepdims=True))),
}


@pytest.mark.parametrize("name", TARGETS)
def test_targets(name: str) -> None:
    """An assignment writes what NumPy's does, and keeps the rest."""
    at, value, (index, written) = TARGETS[name]
    want = OLD.copy()
    want[index] = written
    arrays = {"o": OLD, "s": S, "v": V}
    text = f"inout o; input s, v; o[{at}] = {value}"
    np.testing.assert_array_equal(updated(text, **arrays), want)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bool", "int8", "complex64"])
def test_outside(dtype: str) -> None:
    """What is written beyond an axis is dropped, for any strides of the array."""
    values: Array = (np.arange(len(HOSTILE)) % 2 + 1).astype(dtype)
    kernel = jit("inout o; o[i, j % 4] = v")
    for view in (np.zeros((5, 4), dtype), np.zeros((4, 5), dtype).T, np.zeros((10, 8), dtype)[::-2, ::2]):
        memory = view.base if view.base is not None else view
        kernel(o=view, i=HOSTILE, j=np.arange(len(HOSTILE)), v=values)
        want = np.zeros((5, 4), dtype)
        for i, j, v in zip(HOSTILE, np.arange(len(HOSTILE)), values, strict=True):
            if -5 <= i < 5:
                want[i, j % 4] = v
        np.testing.assert_array_equal(view, want)
        assert np.count_nonzero(memory) == np.count_nonzero(want)
    none = np.zeros((0, 4), dtype)
    kernel(o=none, i=HOSTILE, j=np.arange(len(HOSTILE)), v=values)


@pytest.mark.parametrize(("dtype", "width"), [("float32", 64), ("float16", 200), ("bool", 128), ("complex64", 68)])
def test_rows(dtype: str, width: int) -> None:
    """Rows that are aligned to groups are written by groups; others get the same elements."""
    memory = np.zeros(24 * width + 16, dtype)
    start = -memory.ctypes.data % 16 // memory.itemsize
    rows = memory[start : start + 24 * width].reshape(24, width)
    x: Array = (np.arange(len(HOSTILE) * width) % 7).reshape(-1, width).astype(dtype)
    kernel: Any = jit("inout o; o[i] = x + x; out = x == x")
    if dtype == "bool":
        kernel = jit("inout o; o[i] = x or x; out = x == x")
    assert "scattered: rows by groups" in str(kernel.explain(rows, HOSTILE, x))
    for view in (rows, rows[:, ::-1], rows[::2], rows[:, : width // 2]):
        memory[...] = 0
        part = x[:, : view.shape[1]]
        kernel(view, HOSTILE, part)
        want = np.zeros_like(view)
        for i, row in zip(HOSTILE, part, strict=True):
            if -len(view) <= i < len(view):
                want[i] = row + row
        np.testing.assert_array_equal(view, want)
        assert np.count_nonzero(memory) == np.count_nonzero(want)


def test_rows_to_rows() -> None:
    """Rows are read and written at computed places by one kernel, which moves nothing else by groups."""
    x, o, i = np.arange(512, dtype=np.float32).reshape(8, 64), np.zeros((8, 64), np.float32), np.array([6, 0, -3])
    jit("inout o; o[s] = x[i] * 2")(o, S, x, i)
    want = np.zeros_like(o)
    want[S] = x[i] * 2
    np.testing.assert_array_equal(o, want)
    one = np.zeros((8, 64), np.float32)
    jit("inout o; o[s] = 5")(one, np.array([2]))
    assert (one.sum(), one[2].sum()) == (320, 320)


def test_calls() -> None:
    """Calls that repeat, on other shapes, and of two arrays."""
    kernel = jit("inout a, b; a[s] = x; b[s] = x * 2")
    for n in (3, 3, 3, 4, 5, 9, 16):
        a, b, x = np.zeros((3 * n, 4)), np.zeros((2 * n, 4)), np.arange(4.0 * n).reshape(n, 4)
        s = np.arange(n)[::-1].copy()
        kernel(a, b, s, x)
        np.testing.assert_array_equal(a[s], x)
        np.testing.assert_array_equal(b[s], 2 * x)


def test_overlap() -> None:
    """An array that is written at computed places is not read there by other threads at the same time."""
    with pytest.raises(KgenError, match="at computed places") as caught:
        jit("inout o; o[s] = o[s] + 1")(OLD.copy(), S)
    assert caught.value.code == "overlap"


def test_old_values() -> None:
    """A kernel before reads what the array held."""
    o = OLD.copy()
    rows = jit("inout o; out = o[s] + 1; o[s] = v")(o, S, V)
    np.testing.assert_array_equal(rows, OLD[S] + 1)
    np.testing.assert_array_equal(o[S], V)


UPDATES: dict[str, Any] = {"+": np.add, "min": np.minimum, "max": np.maximum}
NUMBERS = ("int8", "int64", "float32", "complex64")
OTHERS = ("uint8", "int16", "uint16", "int32", "uint32", "uint64", "float64")


@pytest.mark.parametrize("width", [3, 32])
@pytest.mark.parametrize("dtype", [*NUMBERS, *(pytest.param(name, marks=pytest.mark.whole) for name in OTHERS)])
def test_updates(dtype: str, width: int) -> None:
    """Each value counts, however many meet at a place: by elements, and by groups of rows."""
    kinds = ["+"] if dtype == "complex64" else UPDATES
    for count, kind in enumerate(kinds):
        old: Array = (np.arange(5 * width) % 97 + count).reshape(5, width).astype(dtype)
        values: Array = (np.arange(40 * width) * 31 % 101).reshape(40, width).astype(dtype)
        places = np.arange(40) * 7 % 13 - 6
        inside = (places >= -5) & (places < 5)
        want = old.copy()
        UPDATES[kind].at(want, places[inside], values[inside])
        np.testing.assert_array_equal(updated(f"inout o; o[s] {kind}= v", o=old, s=places, v=values), want)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_updates_of_halves(dtype: str) -> None:
    """Sums that halves hold are exact; minima and maxima always are."""
    numbers = numpy_dtype(BY_NAME[dtype])
    for kind in UPDATES:
        old: Array = (np.arange(5 * 24) % 7 - 3).reshape(5, 24)
        values: Array = (np.arange(30 * 24) % 5 - 2).reshape(30, 24)
        places = np.arange(30) * 7 % 5
        want = old.copy()
        UPDATES[kind].at(want, places, values)
        got = updated(f"inout o; o[s] {kind}= v", o=old.astype(numbers), s=places, v=values.astype(numbers))
        np.testing.assert_array_equal(got.astype(int), want)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.whole), "float16"])
def test_ends_of_floats(dtype: str) -> None:
    """NaN wins and -0.0 is below 0.0, whatever the order."""
    values = np.array([0.0, -0.0, np.nan, -np.inf, np.inf, 1.5], dtype)
    i = np.arange(6)
    for kind, function in (("min", "min"), ("max", "max")):
        o = np.broadcast_to(values[:, None], (6, 6)).copy()
        jit(f"inout o; o[i[:, None], i] {kind}= v")(o, i, values)
        want = jit(f"out = {function}(a[:, None], a)")(values)
        np.testing.assert_array_equal(o, want)
        np.testing.assert_array_equal(np.signbit(o), np.signbit(want))


def test_conditions() -> None:
    """Where a condition is false nothing is written: for whole rows, and element by element."""
    o = updated("inout o; o[s] = v if s[:, None] > 0", o=OLD, s=S, v=V)
    np.testing.assert_array_equal(o, np.where(np.arange(5)[:, None] == 3, V[0], OLD))
    o = updated("inout o; o[s, :] += v if v > 9 and index(1) < 6", o=OLD, s=S, v=V)
    want = OLD.copy()
    want[S] += np.where((V > 9) & (np.arange(8) < 6), V, 0)
    np.testing.assert_array_equal(o, want)


def test_outputs() -> None:
    """An output begins as it is assigned; several updates of one kind all count."""
    ids = np.array([1, 1, 4, -1])
    x = np.arange(32.0).reshape(4, 8)
    kernel: Any = jit("out = 0 * w; out[i] += x; out[j] += 2 * x")
    inside = ids + 1 < 5
    want = np.zeros_like(OLD)
    np.add.at(want, ids, x)
    np.add.at(want, (ids + 1)[inside], 2 * x[inside])
    np.testing.assert_array_equal(kernel(OLD, ids, x, ids + 1), want)
    np.testing.assert_array_equal(kernel(w=OLD, i=ids, x=x, j=ids + 1), want)
    given = np.empty_like(OLD)
    kernel(OLD, ids, x, ids + 1, out=given)
    np.testing.assert_array_equal(given, want)
    parts: Any = jit("out = where(true, 0, w); out[i, 0] += 1; out[::2, 3:] += x[:3, 3:]")
    want = np.zeros_like(OLD)
    want[::2, 3:] = x[:3, 3:]
    np.add.at(want[:, 0], ids, 1)
    np.testing.assert_array_equal(parts(OLD, ids, x), want)
    with pytest.raises(KgenError, match="is written to"):
        jit("out = where(true, 0, w); out[::2] += x")(OLD, x)
    counts: Any = jit("c = 0 * bins; c[k] += 1")
    np.testing.assert_array_equal(counts(np.zeros(9, np.int32), ids % 5), [0, 2, 0, 0, 2, 0, 0, 0, 0])


def test_extents_of_what_is_updated() -> None:
    """``size`` of an array may be asked after its elements are updated: charges on a periodic grid."""
    kernel: Any = jit("""
        inout rho
        input at, q
        let i = cast<int>(floor(at))
        rho[i % size(rho, 0)] += q * (i + 1 - at)
        rho[(i + 1) % size(rho, 0)] += q * (at - i)
    """)
    rho = np.zeros(4)
    kernel(rho, np.array([0.5, 1.25, 3.75]), np.array([1.0, 2, 4]))
    np.testing.assert_array_equal(rho, [3.5, 2, 0.5, 1])
    with pytest.raises(KgenError, match="is read after"):
        jit("inout o; o[i] += x; y = o * size(o, 0)")


def test_lint() -> None:
    """Elements that meet by rounding are pointed out, unless all of them count."""
    o = np.zeros(8)
    with pytest.warns(LintWarning, match="one of them wins"):
        jit("inout o; o[i // 2] = x")(o, np.arange(8), np.arange(8.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jit("inout o; o[i // 2] += x")(o, np.arange(8), np.arange(8.0))
        jit("inout o; o[i, i] = x")(np.zeros((8, 8)), np.arange(8), np.arange(8.0))


def assign(o: Array, at: Any, values: Array) -> None:
    o[at] = values


def test_dtypes_in_one_file() -> None:
    """Rows of several dtypes are combined in one file, by CUDA's functions and by kgen's own."""
    s, names = np.array([3, -1, 0]), ("int32", "float64", "float32", "int64", "uint64")
    for sign, at in (("+", np.add.at), ("min", np.minimum.at), ("max", np.maximum.at)):
        arrays = {f"o{n}": np.arange(40).reshape(5, 8).astype(name) for n, name in enumerate(names)}
        values = {f"v{n}": np.arange(24)[::-1].reshape(3, 8).astype(name) for n, name in enumerate(names)}
        text = "".join(f"; o{n}[s] {sign}= v{n}" for n in range(len(names)))
        want = {name: array.copy() for name, array in arrays.items()}
        kernel: Any = jit(f"inout {', '.join(arrays)}{text}")
        kernel(**arrays, **values, s=s)
        for n in range(len(names)):
            at(want[f"o{n}"], s, values[f"v{n}"])
            np.testing.assert_array_equal(arrays[f"o{n}"], want[f"o{n}"])


ADD: Any = np.add.at
MAX: Any = np.maximum.at
PARTS: dict[str, Callable[[Any, Any, Any], None]] = {
    "s, :] = merge(stack(v, -v, axis=-1))": lambda o, s, v: assign(o, s, np.stack([v, -v], -1).reshape(len(v), -1)),
    "s] += concat(v, v[:, 1:4] * 2, v[:, :1], axis=-1)": lambda o, s, v: ADD(
        o, s, np.concatenate([v, v[:, 1:4] * 2, v[:, :1]], -1)
    ),
    "s] += repeat(v, 2, axis=1) if v[:, :1] > 2": lambda o, s, v: ADD(
        o, s[v[:, 0] > 2], np.repeat(v, 2, 1)[v[:, 0] > 2]
    ),
    "concat(s, s - 2, axis=0), 5] max= concat(v[:, 0], v[:, 1] + 9, axis=0)": lambda o, s, v: MAX(
        o, (np.concatenate([s, s - 2]), 5), np.concatenate([v[:, 0], v[:, 1] + 9])
    ),
    "merge(stack(s, s - 1, axis=1)), 3] += merge(v[:, 1:3] * stack(s, s, axis=1))": lambda o, s, v: ADD(
        o, (np.stack([s, s - 1], 1).ravel(), 3), (v[:, 1:3] * s[:, None]).ravel()
    ),
    "1:4] = merge(stack(v, v * index(0), axis=-1))": lambda o, s, v: assign(
        o, slice(1, 4), np.stack([v, v * np.arange(3)[:, None]], -1).reshape(3, -1)
    ),
}


@pytest.mark.parametrize("text", PARTS)
def test_parts(text: str) -> None:
    """What is merged, stacked and concatenated is written part by part, and so are such indices."""
    o, s, v = np.arange(40.0).reshape(5, 8), np.array([3, -1, 0]), np.arange(12.0).reshape(3, 4) + 1
    want = o.copy()
    PARTS[text](want, s, v)
    given = {"s": s, "v": v} if not text.startswith("1:4") else {"v": v}
    np.testing.assert_array_equal(updated(f"inout o; o[{text}", o=o, **given), want)


def test_parts_under_a_condition() -> None:
    """Each part of a concatenated value has its part of the condition."""
    keep = np.arange(24).reshape(3, 8) % 3 > 0
    got = updated(
        "inout o; input s, v, keep; o[s] = concat(v[:, :3], -v[:, 3:], axis=-1) if keep", o=OLD, s=S, v=V, keep=keep
    )
    want = OLD.copy()
    want[S] = np.where(keep, np.concatenate([V[:, :3], -V[:, 3:]], -1), OLD[S])
    np.testing.assert_array_equal(got, want)
