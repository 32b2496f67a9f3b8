"""What programs give where a rule of typing decides the value, on the CPU target; expected is NumPy's or exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen

F64 = np.array([2.0, 0.5, -1.0])
F16 = F64.astype(np.float16)
I8 = np.array([2, 0, -1], np.int8)
U8 = np.array([0, 1, 200], np.uint8)
U64 = np.array([0, 1, 2**64 - 1], np.uint64)
I64 = np.array([2**53 + 1, -7, 7, -(2**63)])


def run(text: str, *args: Any, **named: Any) -> Any:
    return kgen.jit(text, device="cpu", fmad=False)(*args, **named)


def same(got: Any, expected: Any) -> None:
    want = np.asarray(expected)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert np.array_equal(got, want, equal_nan=want.dtype.kind in "fc")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("out = x > 0 ? (x > 1 ? 0.5 : 0.1) : x", [0.5, 0.1, -1]),
        ("out = x > 0 ? (x > 1 ? 1 / 3 : 0.1) : x", [1 / 3, 0.1, -1]),
        ("out = 0 * x + (x > 1 ? 0.1 : 0.2) * 3", [0.1 * 3, 0.2 * 3, 0.2 * 3]),
        ("out = 0 * x + min(x > 1 ? 0.1 : 0.2, 0.15)", [0.1, 0.15, 0.15]),
        ("out = 0 * x + clip(x > 1 ? 0.1 : 0.2, 0.13, 0.15)", [0.13, 0.15, 0.15]),
        ("out = 0 * x + fmax(x > 1 ? 0.1 : 0.2, 0.15)", [0.15, 0.2, 0.2]),
        ("out = 0 * x + sqrt(x > 1 ? 0.01 : 0.2)", np.sqrt([0.01, 0.2, 0.2])),
        ("out = 0 * x + where(x > 1, 0.1, x > 0 ? 0.2 : 0.3)", [0.1, 0.2, 0.3]),
        ("let s = x > 1 ? 0.1 : 0.2\nlet t = s * 2\nout = 0 * x + t", [0.1 * 2, 0.2 * 2, 0.2 * 2]),
        ("def s(t) = t > 1 ? 0.1 : 0.2\nout = 0 * x + s(x)", [0.1, 0.2, 0.2]),
        ("param a = 0.1\nout = 0 * x + (x > 1 ? a : 0.2)", [0.1, 0.2, 0.2]),
        ("param a = 0.1, n = 3\nout = 0 * x + (x > 1 ? a : n)", [0.1, 3, 3]),
        ("out = heaviside(x - 0.5, 0.1)", [1, 0.1, 0]),
        ("out: double = x > 1 ? 0.1 : 0.2", [0.1, 0.2, 0.2]),
        ("out = cast<double>(x > 1 ? 0.1 : 0.2)", [0.1, 0.2, 0.2]),
    ],
)
def test_weak_choices_in_float64(text: str, expected: Any) -> None:
    """Literals on both sides of a choice have all their digits where the choice meets a float64."""
    same(run(text, F64), np.asarray(expected, np.float64))


def test_weak_complex_values() -> None:
    """Params of complex numbers are computed with in complex128 where they meet it; real ones beside them stay real."""
    z = F64 + 0j
    same(run("param k = 0.1j\nout = z * (k * 2)", z), z * (0.1j * 2))
    same(run("param k = 0.1j\nout = 0 * z + (real(z) > 0 ? k : 0.3)", z), 0 * z + np.array([0.1j, 0.1j, 0.3]))
    same(run("param k = 1j, r = 2.0\nout = z + k * r ** 2", z), z + 4j)
    infinite = run("param k = 1 + 1j, r = 2.0\nout = z + k * r", z, r=float("inf"))
    assert infinite.tolist() == [complex(np.inf, np.inf)] * 3  # no imaginary part of r, whose product would be NaN


def test_a_weak_choice_takes_the_dtype_it_is_stored_in() -> None:
    """``out=`` and ``inout`` are met like any other array."""
    out = np.zeros(3)
    same(run("out = x > 1 ? 0.1 : 0.2", F64, out=out), np.array([0.1, 0.2, 0.2]))
    updated = F64.copy()
    run("inout p; p = p > 1 ? 0.1 : 0.2", updated)
    assert updated.tolist() == [0.1, 0.2, 0.2]
    with pytest.raises(kgen.KgenError, match="literal-out-of-range"):
        run("out = x > 1 ? 1 : 300", F64, out=np.zeros(3, np.uint8))


def test_weak_choices_keep_narrow_dtypes() -> None:
    same(run("out = x * (x > 0 ? 1.0 : -1.0)", F16), np.abs(F16))
    same(run("out = x * (x > 0 ? 1 : -1)", I8), np.abs(I8))
    same(run("out = x * step(0.0, x)", F16), F16 * (F16 >= 0))


def test_weak_choices_that_fit_no_wider_than_they_say() -> None:
    """One let in two dtypes is made in each of them."""
    a, b = run("let s = x > 1 ? 0.1 : 0.2\nout = s + 0 * x\nsecond = s + 0 * h", F64, F16)
    same(a, np.array([0.1, 0.2, 0.2]))
    same(b, np.array([0.1, 0.2, 0.2], np.float16))


@pytest.mark.parametrize(
    ("text", "array", "named", "expected"),
    [
        ("out = u > -1", U8, {}, [True] * 3),
        ("out = -1 < u < 300", U8, {}, [True] * 3),
        ("out = u == 256", U8, {}, [False] * 3),
        ("out = 256 != u", U8, {}, [True] * 3),
        ("out = u <= 2 ** 100", U8, {}, [True] * 3),
        ("out = u < -(2 ** 100)", U64, {}, [False] * 3),
        ("out = u >= -1", U64, {}, [True] * 3),
        ("out = u == 2 ** 64 - 1", U64, {}, [False, False, True]),
        ("out = u > (u > 0 ? -1 : 300)", U8, {}, [False, True, True]),
        ("param n = 3\nout = u > n", U8, {"n": -1}, [True] * 3),
        ("param n = 3\nout = u == n", U8, {"n": 456}, [False] * 3),
        ("param n = 3\nout = u > (u > 0 ? n : 5)", U8, {"n": -1}, [False, True, True]),
        ("param n = 3\nout = u >= n", U64, {"n": 2**64 - 1}, [False, False, True]),
        ("out = count_nonzero(u > -1, axis=0)", U8, {}, 3),
        ("out = sum(u > -1, axis=0, keepdims=true) * u", U8, {}, [0, 3, 600]),
    ],
)
def test_integers_compare_by_value(text: str, array: Any, named: dict[str, int], expected: Any) -> None:
    """Whatever the dtype of the array holds."""
    assert run(text, array, **named).tolist() == expected


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        ("out = fmod(x, 10)", (I64,), [3, -7, 7, -8]),
        ("out = fmod(x, y)", (I64, np.array([0, 3, -3, -1])), [0, -1, 1, 0]),
        ("out = fmod(x, -3)", (I8,), [2, 0, -1]),
        ("out = fmod(x, -1)", (I8,), [0, 0, 0]),
        ("out = fmod(x, y)", (U64, np.array([0, 3, 10], np.uint64)), [0, 1, 5]),
        ("out = fmin(x, 7)", (I64,), [7, -7, 7, -(2**63)]),
        ("out = fmax(x, y)", (I64, I64[::-1].copy()), [2**53 + 1, 7, 7, 2**53 + 1]),
        ("out = fmin(x, y)", (U64, U64[::-1].copy()), [0, 1, 0]),
        ("param n = -7\nout = x + fmod(n, 4)", (I8,), [-1, -3, -4]),
        ("out = x + fmod(-7, 4)", (I8,), [-1, -3, -4]),
        ("out = x + fmin(nan, 3)", (F64,), [5, 3.5, 2]),
    ],
)
def test_integers_stay_exact(text: str, args: tuple[Any, ...], expected: list[Any]) -> None:
    """``fmod``, ``fmin`` and ``fmax`` of integers never pass through floats; ``fmod`` has C's sign."""
    got = run(text, *args)
    assert got.dtype == args[0].dtype
    assert got.tolist() == expected


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, np.uint64])
def test_fmod_is_numpys(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = rng.integers(low, high, 500, dtype, endpoint=True)
    y = np.where(rng.random(500) < 0.5, rng.integers(low, high, 500, dtype, endpoint=True), dtype(3))
    y[:3], x[0] = (dtype(0), dtype(high), dtype(1)), low
    with np.errstate(all="ignore"):
        same(run("out = fmod(x, y)", x, y), np.fmod(x, y))


@pytest.mark.parametrize(
    ("x", "n", "expected"),
    [
        (1.0, 2**40, np.inf),
        (1.0, -(2**40), 0.0),
        (-1.0, -(2**63), -0.0),
        (5e-324, 2**31, np.inf),
        (2.0**-1074, 2097, 2.0**1023),
    ],
)
def test_ldexp_of_any_exponent(x: float, n: int, expected: float) -> None:
    got = run("out = ldexp(x, n)", np.array([x]), np.array([n]))[0]
    assert (got, np.signbit(got)) == (expected, np.signbit(expected))
    assert run("param n = 1\nout = ldexp(x, n)", np.array([x]), n=n)[0] == expected
    assert run(f"out = ldexp(x, {n})", np.array([x]))[0] == expected


def test_reductions_of_a_scalar_take_its_one_axis() -> None:
    """As in NumPy: axis 0 or -1 of a 0-d array reduces nothing."""
    x = np.array(3.0)
    for text in ("sum(x, axis=0)", "max(x, axis=-1, keepdims=true)", "mean(x, axis=0)", "norm(x, axis=-1)"):
        same(run(f"out = {text}", x), np.array(3.0))
    same(run("out = argmax(x, axis=0)", x), np.array(0))
    with pytest.raises(kgen.KgenError, match="named twice"):
        run("out = sum(x, axis=(0, -1))", x)


@pytest.mark.parametrize("correction", [0.5, -0.5, 1.5, 1.0, 4.5, 2])
@pytest.mark.parametrize("function", ["var", "std"])
def test_float_corrections(function: str, correction: float) -> None:
    x = np.arange(20.0).reshape(4, 5) ** 2
    with np.errstate(all="ignore"):
        wanted = getattr(np, function)(x, axis=-1, ddof=correction)
    np.testing.assert_allclose(run(f"out = {function}(x, axis=-1, correction={correction})", x), wanted, rtol=1e-14)


def test_integers_are_rounded_once() -> None:
    """Not by way of float64, where they are literals and where they are params."""
    n = 2**60 + 2**36 + 1  # just above the middle of two float32
    wanted = np.float32(2**60 + 2**37)
    one = np.ones(1, np.float32)
    assert run(f"out = x * {n}", one)[0] == wanted
    assert run("param n = 1\nout = x * n", one, n=n)[0] == wanted
    assert run("param n: float\nout = x * n", one, n=n)[0] == wanted


def test_params_share_a_line() -> None:
    text = "param a: float = 1, b, c: int = 3\nout = a * x + b * c"
    assert run(text, F64, b=2.0).tolist() == [8.0, 6.5, 5.0]


def test_out_that_is_only_unaligned() -> None:
    """It is not called read-only, nor is one of the other byte order."""
    unaligned = np.zeros(13, np.uint8)[1:].view(np.float32)
    with pytest.raises(kgen.KgenError, match="misaligned"):
        run("out = x", F16, out=unaligned)
    with pytest.raises(kgen.KgenError, match="misaligned"):
        run("inout p; p = 2 * p", unaligned)
    with pytest.raises(kgen.KgenError, match="unsupported-dtype"):
        run("out = x", F16, out=np.zeros(3, ">f4"))
    nothing = np.ndarray((0,), np.float64, np.zeros(17, np.uint8), 1)  # aligned, says NumPy
    assert run("out = x + 1", nothing).shape == (0,)
    assert run("out = x", np.zeros(0), out=nothing) is nothing
    frozen = np.zeros(3, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(kgen.KgenError, match="read-only"):
        run("out = x", F16, out=frozen)
