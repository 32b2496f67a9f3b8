"""How programs with reductions are cut, what they give at the edges, and what may share memory."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kgen
from tests.fuzz.test_reductions import expected

SOFTMAX = "let m = max(x, axis=-1, keepdims=true)\nlet e = exp(x - m)\nout = e / sum(e, axis=-1, keepdims=true)"


@pytest.mark.parametrize(
    ("text", "shape", "kernels"),
    [
        (SOFTMAX, (4096, 1024), ["reduce_regs1024"]),
        (SOFTMAX, (4096, 50_000), ["reduce_long"]),
        (SOFTMAX, (4096, 100_000), ["reduce_long_split", "rows_2d"]),
        (SOFTMAX, (1, 10_000_000), ["reduce_long_split", "contiguous"]),
        ("let d = x - mean(x, axis=-1, keepdims=true)\nout = d / std(d, axis=-1, keepdims=true)", (99, 64), 1),
        ("y = x * 2\ns = sum(y, axis=-1)", (512, 512), 1),
        ("a = sum(x, axis=0)\nb = max(x * x, axis=0)", (512, 512), 1),
        ("a = sum(x, axis=0)\nb = sum(x, axis=1)", (512, 512), 2),
        ("out = sum(x) / max(x, axis=0)", (512, 512), 2),
        ("out = sum(sum(x, axis=0))", (512, 512), 2),
        ("out = x - mean(x, axis=0)", (8192, 512), ["columns_split", "rows_2d"]),
        ("y = x * 2\ns = sum(y)", (8192, 8192), ["contiguous", "reduce_long_split"]),
        ("y = x * 2\ns = sum(y, axis=0)", (8192, 512), ["rows_columns512", "columns"]),
        ("out = x - sum(x, axis=1)", (64, 64), 2),
    ],
)
def test_kernels(text: str, shape: tuple[int, ...], kernels: list[str] | int) -> None:
    """The fewest kernels, and those that suit the shape."""
    found = [s.kernel for s in kgen.jit(text).explain(kgen.spec(shape, "f32")).steps]
    assert found == kernels if isinstance(kernels, list) else len(found) == kernels, found


def test_a_long_row_has_many_blocks_whatever_it_is_read_from() -> None:
    """A chain over one row is never one block's work, also where an operand takes every third element."""
    text = """let z = cast<float>(a * b + c)
        let d = z - mean(z, axis=0, keepdims=true)
        out = d * rsqrt(mean(d * d, axis=0, keepdims=true) + 1e-5)"""
    n = 15_258_571
    a, b, c = kgen.spec((n,), "i32"), kgen.spec((n,), "f64"), kgen.spec((n,), "f32", (3,))
    assert any("_split" in s.kernel for s in kgen.jit(text).explain(a, b, c).steps)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("sum", 0.0), ("prod", 1.0), ("mean", math.nan), ("var", math.nan), ("norm", 0.0), ("logsumexp", -math.inf),
        ("any", False), ("all", True), ("count_nonzero", 0),
    ],
)  # fmt: skip
def test_of_nothing(kind: str, value: float) -> None:
    """Reductions of nothing are NumPy's."""
    got = kgen.jit(f"out = {kind}(x, axis=1)", device="cpu")(np.zeros((3, 0), np.float32))
    assert np.array_equal(got, [value] * 3, equal_nan=isinstance(value, float))


@pytest.mark.parametrize("kind", ["min", "max", "argmin", "argmax"])
def test_no_extreme_of_nothing(kind: str) -> None:
    """``min`` and its like need an element, unless there is no row either."""
    kernel = kgen.jit(f"out = {kind}(x, axis=1)", device="cpu")
    with pytest.raises(kgen.KgenError) as caught:
        kernel(np.zeros((3, 0), np.float32))
    assert caught.value.code == "nothing-to-reduce"
    assert kernel(np.zeros((0, 3), np.float32)).shape == (0,)


def test_first_place_and_nan() -> None:
    """The first of equals, and the first NaN before everything."""
    x = np.array([[1, 3, 3, 2], [1, math.nan, 9, math.nan], [-math.inf] * 4, [-0.0, 0.0, -0.0, 0.0]], np.float32)
    for axis in (0, 1):
        for kind in ("argmin", "argmax"):
            got = kgen.jit(f"out = {kind}(x, axis={axis})", device="cpu")(x)
            assert np.array_equal(got, getattr(np, kind)(x, axis=axis))
    assert kgen.jit("out = argmax(x)", device="cpu")(x.T[::-1]) == x.T[::-1].argmax()


@pytest.mark.parametrize("width", [7, 1000, 30_000])
def test_in_place(width: int) -> None:
    """A row may be written over what it was made of; another row may not."""
    x = np.random.default_rng(0).standard_normal((6, width)).astype(np.float32)
    kernel = kgen.jit(SOFTMAX, device="cpu")
    expected = kernel(x)
    assert np.array_equal(kernel(x.copy(), out=(y := x.copy())), expected)
    z = x.copy()
    assert np.array_equal(kernel(z, out=z), expected)
    assert y is not z
    with pytest.raises(kgen.KgenError) as caught:
        kernel(z[1:], out=z[:-1])
    assert caught.value.code == "overlap"


def test_layouts_of_results() -> None:
    """A result of its own is contiguous; beside arrays, these decide."""
    x = kgen.spec((2, 3, 4), "f32", (12, 1, 3))

    def meta(text: str) -> kgen.Spec:
        found = kgen.jit(text).meta(x)
        assert isinstance(found, kgen.Spec)
        return found

    assert meta("out = sum(x, axis=0)").strides == (4, 1)
    assert meta("out = sum(x, axis=0, keepdims=true)").shape == (1, 3, 4)
    assert meta("out = x - sum(x, axis=0)").strides == (12, 1, 3)


@pytest.mark.parametrize("n", [1 << 20, (1 << 20) + 13])
def test_long_sums_are_accurate(n: int) -> None:
    """A float32 sum is within (16 + log2 n) roundings of the sum of magnitudes, over a row and down a column."""
    x = np.random.default_rng(1).random(n, np.float32) * 3 - 1
    bound = (16 + math.log2(n)) * 2.0**-24 * np.abs(x).sum(dtype=float)
    for array, axis in ((x, 0), (np.stack([x] * 16, 1), 0)):
        got = kgen.jit(f"out = sum(x, axis={axis})", device="cpu")(array)
        assert np.all(np.abs(got - x.sum(dtype=float)) <= bound)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex(dtype: str) -> None:
    """Sums and means of complex numbers are complex, variances and norms real, as NumPy has them."""
    generator = np.random.default_rng(3)
    z = (generator.standard_normal((6, 50)) + 1j * generator.standard_normal((6, 50))).astype(dtype)
    for text, wanted in [
        ("out = sum(z)", z.sum()),
        ("out = mean(z, axis=0)", z.mean(axis=0)),
        ("out = var(z, axis=1, correction=1)", z.var(axis=1, ddof=1)),
        ("out = std(z)", z.std()),
        ("out = norm(z, axis=1)", np.linalg.norm(z, axis=1)),
        ("out = z - mean(z, axis=-1, keepdims=true)", z - z.mean(axis=-1, keepdims=True)),
    ]:
        found = kgen.jit(text, device="cpu")(z)
        assert found.dtype == np.asarray(wanted).dtype, text
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(kgen.KgenError, match="bad-keyword"):
        kgen.jit("out = sum(z, dtype=f32)", device="cpu")(z)


@pytest.mark.parametrize(
    ("dtype", "row"),
    [
        ("float32", [1e30, 1e30]),
        ("float32", [1.3e19, 1.2e19, 0.0]),
        ("float32", [1e-30] * 4),
        ("float32", [3e-23, 4e-23]),
        ("float32", [3e18, 4e18]),
        ("float64", [1e200, 1e200]),
        ("float64", [1e-200] * 4),
        ("complex64", [3e30 + 4e30j, 1]),
    ],
)
def test_what_is_squared_may_overflow(dtype: str, row: list[complex]) -> None:
    """Norms are NumPy's also where a square is beyond the dtype, and so are the oracle's; scaled ones are not."""
    x = np.array([row] * 3, dtype)
    with np.errstate(all="ignore"):
        wanted = np.linalg.norm(x, axis=1)
    for text in ("out = norm(x, axis=1)", "out = norm(x * 1, axis=1, keepdims=true) + zero"):
        arrays = {"x": x, "zero": np.zeros((3, 1), wanted.dtype)} if "zero" in text else {"x": x}
        got, oracle = kgen.jit(text, device="cpu")(**arrays), expected(text, arrays)[0]
        np.testing.assert_allclose(got.ravel(), wanted, rtol=1e-6)
        np.testing.assert_allclose(oracle.ravel(), wanted, rtol=1e-6)
    scaled = kgen.jit(
        "let m = max(abs(x), axis=1, keepdims=true)\nout = m * norm(x / m, axis=1, keepdims=true)", device="cpu"
    )
    np.testing.assert_allclose(scaled(x)[:, 0], math.hypot(*np.abs(x[0].astype(complex))), rtol=1e-6)


def test_halves_are_squared_in_float32() -> None:
    """What is beyond float16 only when squared has a norm."""
    assert kgen.jit("out = norm(x)", device="cpu")(np.array([300, 400], np.float16)) == 500
    assert kgen.jit("out = norm(x)", device="cpu")(np.array([6e4, 6e4], np.float16)) == np.inf
    assert kgen.jit("out = norm(x)", device="cpu")(np.full(4, 6e-8, np.float16)) == np.float16(1.2e-7)


@pytest.mark.parametrize("value", [1e30, 1e-30])
def test_variance_may_overflow(value: float) -> None:
    """A standard deviation is the root of the variance that the dtype holds, as NumPy's is."""
    x = np.array([value, -value], np.float32)
    with np.errstate(all="ignore"):
        wanted = x.std()
    assert kgen.jit("out = std(x)", device="cpu")(x) == wanted == expected("out = std(x)", {"x": x})[0]


def test_rows_of_one() -> None:
    """What is reduced over one element with its dimension kept is that element: nothing is left to reduce."""
    kernel = kgen.jit(SOFTMAX, device="cpu")
    x = np.array([[-1.5], [0.0], [np.inf], [np.nan]], np.float32)
    assert np.array_equal(kernel(x), np.array([[1], [1], [np.nan], [np.nan]]), equal_nan=True)
    assert [s.kernel for s in kernel.explain(x).steps] == ["contiguous"]


def test_result_beside_a_buffer() -> None:
    """An output of another shape than rows or what is reduced shares no kernel with a reduction that reads it."""
    x, y = np.ones((4, 2, 8), np.float32), np.full((), 2, np.float32)
    kernel = kgen.jit("out0 = x + mean(x + y, axis=0, keepdims=true)\nout1 = y", device="cpu")
    first, second = kernel(x, y)
    assert np.array_equal(first, np.full((4, 2, 8), 4))
    assert second == 2


@pytest.mark.parametrize("dtype", ["uint8", "bf16", "f32", "f64"])
@pytest.mark.parametrize("text", [SOFTMAX, "out = max(x, axis=-1)"])
def test_only_a_threads_last_group_may_be_outside(text: str, dtype: str) -> None:
    """Kernels ask of no other group: rows of any length fill all groups of each thread but the last one."""
    held = 0
    kernel = kgen.jit(text)
    for groups in [*range(1, 70), *range(70, 2100, 67), 4096, 4097, 9000, 16384]:
        width = groups * 16
        chosen = kernel.explain(kgen.spec((512, width), dtype)).steps[0].schedule
        once = chosen["threads"] * chosen["cluster"] * chosen["group"]
        if chosen["vectors"]:
            held += 1
            assert once * (chosen["vectors"] - 1) < width <= once * chosen["vectors"], (width, chosen)
    assert held > 70


def test_single_elements_are_loaded_without_branches() -> None:
    """But a thread's last one: blocks of several rows, too, whose threads without a row read the first one."""
    shape = (65, 128, 255, 15)
    a = kgen.spec(shape, "u8")
    b = kgen.spec(shape, "i32", strides=(255, 248625, 1, 16575))
    kernel = kgen.jit("out = norm(tanh(cast<float>(a)) / (a + b), axis=0)")
    (step,) = kernel.explain(a, b).steps
    vectors = step.schedule["vectors"]
    assert vectors > 1 == step.schedule["group"]
    assert kernel.source(a, b, arch="sm_90").count(f"if (v < {vectors - 1} || i < width)") == 2
    written = kgen.jit("out = tanh(cast<float>(a)) / (a + b) - max(b, axis=0, keepdims=true)").source(
        a, b, arch="sm_90"
    )
    assert "if (v < " not in written


def test_kept_beside_what_all_rows_share() -> None:
    """Values are kept from one round to the next, also where nothing that is read is."""
    x = np.arange(4, dtype=np.int32)[:, None]
    text = "let t = exp(x * 0.125) + argmax(x, axis=1)\nout = x * 0.5 - sum(t, axis=-2, keepdims=true)\nalso = t"
    for got, want in zip(kgen.jit(text, device="cpu")(x), expected(text, {"x": x}), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_staged_rows_of_empty_arrays() -> None:
    """Kept dimensions that cannot merge, as one of them is empty."""
    x = np.zeros((16, 3, 0), np.uint8)
    got = kgen.jit("out = x - prod((x - prod(x)) * 0.5, axis=1, keepdims=true)", device="cpu")(x)
    assert got.shape == x.shape
