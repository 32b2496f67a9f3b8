"""Reductions along a slow axis: every way in which blocks and threads share columns, and rows of one element."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen

KINDS = ("sum", "mean", "var", "std", "max", "norm", "logsumexp", "count_nonzero", "argmin", "prod", "any")


def numpy_result(kind: str, x: Any, axis: int | tuple[int, ...]) -> Any:
    """In float64."""
    x = x.astype(np.float64)
    match kind:
        case "norm":
            return np.sqrt((x * x).sum(axis))
        case "logsumexp":
            peak = x.max(axis, keepdims=True)
            return np.log(np.exp(x - peak).sum(axis)) + peak.squeeze(axis)
        case "count_nonzero":
            return np.count_nonzero(x, axis=axis)
        case _:
            return getattr(np, kind)(x, axis=axis)


def data(shape: tuple[int, ...], dtype: Any) -> Any:
    return (np.random.default_rng(sum(shape)).integers(-8, 9, shape) / 8).astype(dtype)


@pytest.mark.parametrize(
    "columns", [17, 24, 66, 1001, *(pytest.param(n, marks=pytest.mark.whole) for n in (16, 50, 100, 1000))]
)
def test_any_number_of_columns(columns: int) -> None:
    """Of any height: no thread is left out, none comes twice."""
    kernel = kgen.jit("s = sum(x, axis=0)\nv = var(x, axis=0)\np = argmax(x, axis=0)", device="cpu")
    for height in (1, 2, 3, 5, 6, 7, 8, 12, 15, 31, 33, 40, 64, 100, 129, 1000):
        x = data((height, columns), np.float32)
        s, v, p = kernel(x)
        assert np.array_equal(s, x.sum(axis=0)), height
        np.testing.assert_allclose(v, x.var(axis=0, dtype=float), rtol=2e-6, atol=1e-7)
        assert np.array_equal(p, x.argmax(axis=0)), height


@pytest.mark.parametrize("dtype", ["float16", "int8"])
@pytest.mark.parametrize("shape", [(3, 6_001_001), (1201, 2, 5001), (20011, 3, 251)])
def test_columns_apart(shape: tuple[int, ...], dtype: str) -> None:
    """A thread takes several columns of few bytes, which are not neighbours; the last ones of some threads are none."""
    x, axis = data(shape, dtype), len(shape) - 2
    kernel = kgen.jit(f"m = max(x, axis={axis})\np = argmin(x, axis={axis}) == 0", device="cpu")
    assert any("apart: " in reason for reason in kernel.explain(x).steps[0].reasons)
    m, p = kernel(x)
    assert np.array_equal(m, x.max(axis))
    assert np.array_equal(p, x.argmin(axis) == 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int8"])
@pytest.mark.parametrize("shape", [(20_000, 16), (3000, 257), (5, 700, 40), (2, 9, 1024)])
def test_shared_columns(shape: tuple[int, ...], dtype: str) -> None:
    """One block's columns and those of several, beside each other and one after another."""
    x = data(shape, getattr(ml_dtypes, dtype, dtype))
    axis = len(shape) - 2
    s, v, m = kgen.jit(f"s = sum(x, axis={axis})\nv = var(x, axis={axis})\nm = max(x, axis={axis})", device="cpu")(x)
    wide = x.astype(np.float64)
    assert np.array_equal(s, wide.sum(axis).astype(s.dtype))
    np.testing.assert_allclose(v.astype(float), wide.var(axis), rtol=1e-2 if dtype == "bfloat16" else 3e-6)
    assert np.array_equal(m.astype(float), wide.max(axis))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(4096, 1), (77, 3, 1), (1, 40)])
def test_rows_of_one_element(kind: str, shape: tuple[int, ...]) -> None:
    """Nothing is reduced: a kernel without reductions computes each from its element."""
    axis = shape.index(1)
    for dtype in (np.float32, ml_dtypes.bfloat16):
        x = data(shape, dtype)
        kernel = kgen.jit(f"out = {kind}(x, axis={axis})", device="cpu")
        assert [s.kernel for s in kernel.explain(x).steps] == ["contiguous"]
        found = kernel(x)
        np.testing.assert_allclose(found.astype(float), numpy_result(kind, x, axis), rtol=1e-2, atol=1e-2)
        if kind in ("sum", "max", "argmin", "var"):
            assert np.array_equal(found.astype(float), numpy_result(kind, x, axis))


def test_one_element_and_more() -> None:
    """What else a kernel does with rows of one element: their values, their places, and writing over them."""
    x = data((300, 1), np.float32)
    a, b = kgen.jit("a = x - mean(x, axis=1, keepdims=true)\nb = sum(x * index(-2), axis=1)", device="cpu")(x)
    assert not a.any()
    assert np.array_equal(b, x[:, 0] * np.arange(300))
    y = x.copy()
    kgen.jit("inout x\nx = x + sum(x, axis=1, keepdims=true)", device="cpu")(y)
    assert np.array_equal(y, 2 * x)


def test_of_equals() -> None:
    """What is everywhere the same has no variance but for what rounds its mean."""
    x = np.full((10_007, 33), 0.1, np.float32)
    m, v = kgen.jit("m = mean(x, axis=0)\nv = var(x, axis=0)", device="cpu")(x)
    assert np.all(v <= (0.1 * 2.0**-22) ** 2)
    np.testing.assert_allclose(m, 0.1, rtol=5e-7)


@pytest.mark.parametrize("dtype", ["i8", "i64", "f16", "f64", "c64", "c128"])
@pytest.mark.parametrize("count", [1, 3, 12])
def test_shared_memory(count: int, dtype: str) -> None:
    """No kernel asks for more than every device has: 48 KiB a block."""
    kinds = ["prod" if dtype[0] == "c" else "mean", "var", "sum" if dtype[0] == "i" else "logsumexp"]
    kinds = [*kinds, *(["any" if dtype[0] == "c" else "argmax", "norm", "prod", "sum"] * 3)][:count]
    text = "\n".join(f"o{i} = {kind}({'x' if i < 4 else f'x + {i}'}, axis=0)" for i, kind in enumerate(kinds))
    source = kgen.jit(text).source(kgen.spec((100_000, 256), dtype))
    sizes = {"bool": 1, "Any": 4, "Sum<float>": 4, "Product<float>": 4, "ArgMax<int, int>": 8, "ArgMax<float, int>": 8}
    sizes |= {"Sum<double>": 8, "Product<double>": 8, "IntegerSum<long long>": 8, "IntegerProduct<long long>": 8}
    sizes |= {
        "IntegerMoments": 16,
        "Moments<float>": 12,
        "Moments<double>": 24,
        "LogSum<float>": 8,
        "LogSum<double>": 16,
    }
    sizes |= {"ArgMax<long long, int>": 16, "ArgMax<double, int>": 16, "ComplexProduct<float2>": 8}
    sizes |= {"ComplexProduct<double2>": 16, "ComplexLogSum<float2>": 16, "ComplexLogSum<double2>": 32}
    total = 0
    for kind, lengths in re.findall(r"__shared__ (?:alignas\(\d+\) )?([\w<>, ]+?) \w+((?:\[\d+\])*);", source):
        length = int(np.prod([int(n) for n in re.findall(r"\d+", lengths)]))
        total += sizes[kind] * length
    assert total <= 48 * 1024, source


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.float16, np.float32])
@pytest.mark.parametrize("columns", [255, 257, 301, 383, 511])
def test_more_columns_than_threads(columns: int, dtype: type[np.generic]) -> None:
    """Odd numbers of narrow columns: few bytes, but many of them."""
    x = np.random.default_rng(columns).integers(0, 3, (40, 16, columns)).astype(dtype)
    got = kgen.jit("out = sum(x, axis=1)", device="cpu")(x)
    np.testing.assert_array_equal(got, x.sum(1, dtype=got.dtype))


@pytest.mark.parametrize("outer", [(520,), (7, 91)])
@pytest.mark.parametrize(("height", "way"), [(5, "columns"), (15, "columns"), (100, "columns_boxes_32x16x8")])
def test_operands_beside(height: int, way: str, outer: tuple[int, ...]) -> None:
    """Beside an operand that is consecutive along another kept dimension, in one kernel, with ragged ends: in chunks of
    columns, long ones in boxes.
    """
    shape = (height, *outer, 132)
    a, b = data(shape, np.float32), data((height, 132, *outer), np.float32)
    kernel, b = kgen.jit("s = sum(a + b, axis=0)\np = argmax(a - b, axis=0)", device="cpu"), np.moveaxis(b, 1, -1)
    found = kernel.explain(a, b).steps
    assert [s.kernel for s in found] == [way]
    assert bool(found[0].schedule["chunk"]) == (way == "columns")
    s, p = kernel(a, b)
    assert np.array_equal(s, (a + b).sum(axis=0))
    assert np.array_equal(p, (a - b).argmax(axis=0))


def test_operands_beside_that_are_the_same_down_columns() -> None:
    """They are read once for each column, and do not go through boxes."""
    a, b = data((100, 257, 132), np.float32), data((132, 257), np.uint8).T
    c = np.moveaxis(data((100, 132, 257), np.uint8), 1, -1)
    kernel = kgen.jit("out = max(a + b + c, axis=0)", device="cpu")
    (step,) = kernel.explain(a, b, c).steps
    assert step.kernel.startswith("columns_boxes")
    assert "b_tile" not in kernel.source(a, b, c)
    np.testing.assert_array_equal(kernel(a, b, c), (a + b + c).max(axis=0))
    assert kernel.explain(a, b, a).steps[0].kernel == "columns", "no other operand lies so"


@pytest.mark.parametrize(
    ("shape", "axis", "strides", "kernel"),
    [
        ((100, 255, 60, 8), 1, (122400, 480, 1, 60), "columns"),
        ((256, 4994, 8, 8), 0, (64, 16384, 1, 8), "columns"),
        ((1541, 196, 16, 8), 1, (25088, 1, 1568, 196), "reduce_regs256"),
    ],
)
def test_few_columns_side_by_side_beside_others(
    shape: tuple[int, ...], axis: int, strides: tuple[int, ...], kernel: str
) -> None:
    """In one kernel, without a copy; along rows where that is predicted to be faster."""
    a, b = kgen.spec(shape, "f32"), kgen.spec(shape, "f16", strides=strides)
    steps = kgen.jit(f"out = sum(a + b, axis={axis})").explain(a, b, arch="sm_90").steps
    assert [s.kernel for s in steps] == [kernel]


def test_few_columns_side_by_side() -> None:
    a = data((40, 2100, 13, 2), np.float32)
    kernel = kgen.jit("out = sum(a, axis=2)", device="cpu")
    assert [s.kernel for s in kernel.explain(a).steps] == ["columns"]
    assert np.array_equal(kernel(a), a.sum(2))


@pytest.mark.parametrize("kind", ["sum", "max", "var"])
@pytest.mark.parametrize(("shape", "dtype"), [((17_000, 21, 3), "float32"), ((6000, 25, 8), "float16")])
def test_columns_in_pieces(shape: tuple[int, ...], dtype: str, kind: str) -> None:
    """Of a few consecutive elements each, side by side: rows would use a part of each sector; unaligned, too."""
    a, b = data(shape, dtype), data((shape[0] * shape[1] * shape[2] + 1,), np.int8)[1:].reshape(shape)
    kernel = kgen.jit(f"out = {kind}(a * b, axis=(0, 2))", device="cpu")
    (step,) = kernel.explain(a, b).steps
    assert step.kernel.startswith("columns")
    wanted = numpy_result(kind, (a * b).astype(np.float64), (0, 2))
    assert np.allclose(kernel(a, b).astype(np.float64), wanted, rtol=2e-3 if dtype == "float16" else 1e-5)


def test_rows_in_one_piece_are_no_columns() -> None:
    specs = kgen.spec((200_000, 7), "f32"), kgen.spec((200_000, 7), "i8")
    assert "columns" not in kgen.jit("out = sum(a + b, axis=1)").explain(*specs).steps[0].kernel


def test_columns_at_a_step() -> None:
    """In place, not from a copy, where a warp finds whole sectors among them."""
    a = data((3, 1500, 600), np.int16)[..., ::2]
    kernel = kgen.jit("s = sum(a, axis=1)\np = argmax(a, axis=1)", device="cpu")
    (step,) = kernel.explain(a).steps
    assert step.kernel.startswith("columns")
    s, p = kernel(a)
    assert np.array_equal(s, a.sum(1, dtype=np.int64))
    assert np.array_equal(p, a.argmax(1))


def test_unaligned_loads_do_not_fill_registers() -> None:
    """Elements that are loaded one by one take a register each: a thread takes fewer columns, and spills none."""
    shape = (16, 100, 438, 128)
    a, b = kgen.spec(shape, "i8", strides=(5737800, 57378, 131, 1)), kgen.spec(shape, "i8")
    kernel = kgen.jit("out = norm(tanh(cast<f32>(a)) / (b + c), axis=1)")
    (step,) = kernel.explain(a, b, a, arch="sm_90").steps
    assert step.usage is not None
    assert step.usage.spilled == 0


def test_loads_do_not_wait_for_divisions() -> None:
    """All elements that a thread reads at once are loaded ahead of the first division, which has branches."""
    kernel, x = kgen.jit("out = max(a / b, axis=0)"), kgen.spec((100_000, 33), "f32")
    ptx = kernel.ptx(x, x, arch="sm_90")
    (step,) = kernel.explain(x, x, arch="sm_90").steps
    assert step.schedule["group"] == 1 < step.schedule["vectors"]
    before = ptx[: ptx.index("div.rn.f32")]
    assert before.count("ld.global") == 2 * step.schedule["vectors"]


def test_what_all_elements_of_a_column_share_is_read_once() -> None:
    """Ahead of the loop, as are functions of it, where memory is the same for all rows; the results are the same."""
    kernel = kgen.jit("out = mean(silu(a) * b, axis=0)", device="cpu")
    a, b = data((1, 64), np.float32), data((300, 64), np.float32)
    shared = np.broadcast_to(a, (300, 64))
    want = (a.astype(np.float64) / (1 + np.exp(-a.astype(np.float64))) * b).mean(0)
    assert np.allclose(kernel(shared, b), want, rtol=1e-5, atol=1e-6)
    text = kernel.source(shared, b)
    loop = text.index("for (; e + ")
    assert text.index("a_column)") < loop
    assert "a_vec[u]" not in text
    assert text.index("b_vec[u] = ") > loop


def test_short_columns_of_wide_results() -> None:
    """A thread takes as many columns as one access stores; blocks whose threads read little have twice the threads."""
    kernel = kgen.jit("out = sum(cast<f32>(a), axis=1)", device="cpu")
    for height, group, block in ((2, 4, 256), (16, 4, 128)):
        a = np.zeros((2048, height, 512), np.uint8)
        (step,) = kernel.explain(a).steps
        assert (step.schedule["group"], step.schedule["block"]) == (group, block), height
    halves = kgen.jit("out = max(a, axis=1)", device="cpu").explain(np.zeros((2048, 2, 512), np.float16))
    assert halves.steps[0].schedule["group"] == 8


def test_operands_that_all_columns_share_do_not_count_for_blocks() -> None:
    shape = 3, 1 << 22
    a, b = (np.broadcast_to(np.zeros(of, np.float32), shape) for of in ((3, 1), (1, 1 << 22)))
    (step,) = kgen.jit("out = max(a + b, axis=0)", device="cpu").explain(a, b).steps
    assert (step.schedule["threads"], step.schedule["block"]) == (1, 256)


@pytest.mark.parametrize(("columns", "vectors"), [(3001, 8), (3008, 4)])
def test_single_columns_have_more_elements_in_flight(columns: int, vectors: int) -> None:
    """Odd numbers of columns are read one by one, in parts of 16 bytes."""
    x = np.zeros((64, 640, columns), np.float16)
    (step,) = kgen.jit("out = max(x, axis=1)", device="cpu").explain(x).steps
    assert (step.schedule["group"] == 1, step.schedule["vectors"]) == (columns % 2 == 1, vectors)
