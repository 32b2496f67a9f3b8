"""Whole kernels, written as IR text: typed, verified and evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.dtypes import BY_NAME
from kgen.ir.evaluator import evaluate
from kgen.ir.reader import parse_kernel
from kgen.ir.verifier import check

Array = np.ndarray[Any, Any]


def run(text: str, *arrays: Array | None, scalars: tuple[object, ...] = (), shape: Any = None) -> list[Array]:
    kernel = parse_kernel(text)
    check(kernel)
    return evaluate(kernel, arrays, scalars, shape)


SOFTMAX = """
kernel(x: f32[n0, n1]) -> (out: f32[n0, n1])
  %0 = load x : f32[n0, n1]
  %1 = reduce<max, axes=1, keepdims> %0 : f32[n0, 1]     # m
  %2 = sub %0, %1 : f32[n0, n1]
  %3 = exp %2 : f32[n0, n1]                              # e
  %4 = reduce<sum, axes=1, keepdims> %3 : f32[n0, 1]
  %5 = div %3, %4 : f32[n0, n1]
  store %5, out
"""


def test_softmax_is_ir() -> None:
    """Reductions in the middle of an expression are ops like any other: softmax, against scipy."""
    from scipy.special import softmax

    x = np.random.default_rng(0).normal(size=(5, 33)).astype(np.float32) * 10
    (out,) = run(SOFTMAX, x, None)
    np.testing.assert_allclose(out, softmax(x.astype(np.float64), axis=-1), rtol=5e-6)
    np.testing.assert_allclose(out.sum(-1), 1, rtol=1e-6)


def test_centred_columns_are_ir() -> None:
    """``a - mean(a, axis=0)``: the reduced axis comes back by broadcasting at the left."""
    text = """
    kernel(a: f32[n0, n1]) -> (out: f32[n0, n1])
      %0 = load a : f32[n0, n1]
      %1 = reduce<mean, axes=0> %0 : f32[n1]
      %2 = sub %0, %1 : f32[n0, n1]
      store %2, out
    """
    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    (out,) = run(text, a, None)
    np.testing.assert_array_equal(out, a - a.mean(axis=0))


def test_broadcasting_transposing_and_new_axes() -> None:
    """An access maps the value's axes to the operand's: here transposed, and with an axis put in front."""
    text = """
    kernel(a: f32[n1, n0], w: f32[n0], one: f32[1, n1]) -> (out: f32[n0, n1])
      %0 = load a[1, 0] : f32[n0, n1]
      %1 = load w[0, .] : f32[n0, 1]
      %2 = load one[1] : f32[n1]
      %3 = mul %0, %1 : f32[n0, n1]
      %4 = add %3, %2 : f32[n0, n1]
      store %4, out
    """
    rng = np.random.default_rng(0)
    a, w, one = (rng.normal(size=s).astype(np.float32) for s in ((3, 2), (2,), (1, 3)))
    (out,) = run(text, a, w, one, None)
    np.testing.assert_array_equal(out, a.T * w[:, None] + one[0])


def test_stores_may_transpose_and_broadcast() -> None:
    """A store's access maps as a load's does, and its value broadcasts to the output."""
    text = """
    kernel(w: f32[n1]) -> (out: f32[n1, n0], other: f32[n0])
      %0 = load w : f32[n1]
      store %0, out[1, 0]
      %2 = const 2.5 : f32[]
      store %2, other
    """
    kernel = parse_kernel(text.replace("w: f32[n1]", "w: f32[n1], u: f32[n0]"))
    check(kernel)
    w = np.arange(3, dtype=np.float32)
    out, other = evaluate(kernel, [w, np.zeros(2, np.float32), None, None])
    np.testing.assert_array_equal(out, np.broadcast_to(w, (2, 3)).T)
    np.testing.assert_array_equal(other, [2.5, 2.5])


def test_inout_is_not_written_through() -> None:
    """Results are new arrays: the caller's inout array stays as it was.  Results come in operand order."""
    text = """
    kernel(inout p: f32[n0], x: f32[n0]) -> (out: f32[n0])
      %0 = load p : f32[n0]
      %1 = load x : f32[n0]
      %2 = add %0, %1 : f32[n0]
      store %0, out
      store %2, p
    """
    p, x = np.ones(3, np.float32), np.full(3, 2, np.float32)
    new, out = run(text, p, x, None)
    assert p.tolist() == out.tolist() == [1, 1, 1]
    assert new.tolist() == [3, 3, 3]


def test_coordinates_and_extents() -> None:
    """index counts along an axis of its own shape, from the right; a kernel without inputs is given its shape."""
    text = """
    kernel(s: i64) -> (out: i64[n0, n1])
      %0 = index -2 : i64[n0, n1]
      %1 = index -1 : i64[n1]
      %2 = size n1 : i64[]
      %3 = mul %0, %2 : i64[n0, n1]
      %4 = add %3, %1 : i64[n0, n1]
      %5 = scalar s : i64[]
      %6 = add %4, %5 : i64[n0, n1]
      store %6, out
    """
    (out,) = run(text, None, scalars=(10,), shape=(2, 3))
    assert out.tolist() == [[10, 11, 12], [13, 14, 15]]


def test_half_precision_computes_in_float32() -> None:
    """2048 + 1 + 1 is 2050 when rounded once; rounded after each addition it would stay 2048."""
    text = """
    kernel(h: f16[n]) -> (out: f16[n])
      %0 = load h : f16[n]
      %1 = cast %0 : f32[n]
      %2 = const 1.0 : f32[]
      %3 = add %1, %2 : f32[n]
      %4 = add %3, %2 : f32[n]
      %5 = cast %4 : f16[n]
      store %5, out
    """
    (out,) = run(text, np.array([2048], np.float16), None)
    assert out.dtype == np.float16
    assert out.tolist() == [2050]


def test_complex_values_are_taken_apart_and_put_together() -> None:
    """Complex arithmetic is real ops between ``real``, ``imag`` and ``complex``."""
    text = """
    kernel(z: c64[n]) -> (out: c64[n])
      %0 = load z : c64[n]
      %1 = real %0 : f32[n]
      %2 = imag %0 : f32[n]
      %3 = neg %2 : f32[n]
      %4 = complex %1, %3 : c64[n]
      store %4, out
    """
    (out,) = run(text, np.array([1 + 2j, -3j], np.complex64), None)
    assert out.tolist() == [1 - 2j, complex(0, 3)]


def test_bitcast_keeps_the_bits() -> None:
    """1.0 is 0x3f800000; a bfloat16's bits are an int16."""
    text = """
    kernel(x: f32[n], h: bf16[n]) -> (a: u32[n], b: i16[n])
      %0 = load x : f32[n]
      %1 = bitcast %0 : u32[n]
      %2 = load h : bf16[n]
      %3 = bitcast %2 : i16[n]
      store %1, a
      store %3, b
    """
    from ml_dtypes import bfloat16

    a, b = run(text, np.array([1, -0.0], np.float32), np.array([1, -2], bfloat16), None, None)
    assert a.tolist() == [0x3F800000, 0x80000000]
    assert b.tolist() == [0x3F80, -0x4000]


def test_scalars_are_rounded_to_their_dtype() -> None:
    """A Python number becomes the scalar's dtype, in one rounding."""
    text = """
    kernel(s: bf16) -> (out: bf16[])
      %0 = scalar s : bf16[]
      store %0, out
    """
    (out,) = run(text, None, scalars=(1 + 2.0**-8 + 2.0**-40,))
    assert out.shape == ()
    assert float(out) == 1 + 2.0**-7
    (out,) = run(text, None, scalars=(2**62 + 2**54 + 1,))  # as a float64 it would be the tie, and round down
    assert float(out) == 2.0**62 + 2.0**55


def test_arguments_that_do_not_fit_are_refused() -> None:
    """A symbol stands for one extent, dimension 1 for one element, and dtypes are exact."""
    kernel = parse_kernel(
        """
        kernel(a: f32[n, 1], b: f32[n]) -> (out: f32[n])
          %0 = load a[0] : f32[n]
          %1 = load b : f32[n]
          %2 = add %0, %1 : f32[n]
          store %2, out
        """
    )
    a, b = np.ones((3, 1), np.float32), np.ones(3, np.float32)
    assert evaluate(kernel, [a, b, None])[0].tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="extent 4 where n is 3"):
        evaluate(kernel, [a, np.ones(4, np.float32), None])
    with pytest.raises(ValueError, match="extent 2 where 1 is 1"):
        evaluate(kernel, [np.ones((3, 2), np.float32), b, None])
    with pytest.raises(TypeError, match="float64"):
        evaluate(kernel, [a, b.astype(np.float64), None])
    with pytest.raises(ValueError, match="dimensions"):
        evaluate(kernel, [b, b, None])


def test_zero_size_arrays() -> None:
    """An empty extent gives an empty output; a sum over it is 0."""
    (out,) = run(SOFTMAX.replace("max,", "sum,"), np.ones((3, 0), np.float32), None)
    assert out.shape == (3, 0)


REDUCE = """
kernel(x: {source}[n0, n1, n2]) -> (out: {target}[{shape}])
  %0 = load x : {source}[n0, n1, n2]
  %1 = reduce<{kind}, axes={axes}{more}> %0 : {target}[{shape}]
  store %1, out
"""


def reduced(kind: str, x: Array, axes: tuple[int, ...] = (0, 1, 2), target: str = "", more: str = "") -> Array:
    keep = "keepdims" in more
    shape = [f"n{i}" if i not in axes else "1" for i in range(3) if keep or i not in axes]
    source = BY_NAME[x.dtype.name].short
    text = REDUCE.format(
        source=source,
        target=target or source,
        shape=", ".join(shape),
        kind=kind,
        axes=" ".join(map(str, axes)),
        more=more,
    )
    kernel = parse_kernel(text)
    check(kernel)
    return evaluate(kernel, [x.reshape((1,) * (3 - x.ndim) + x.shape), None])[0]


@pytest.mark.parametrize("axes", [(), (0,), (1,), (2,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("kind", ["sum", "prod", "mean", "var", "std", "min", "max"])
def test_reductions_are_numpys(kind: str, axes: tuple[int, ...], keep: bool) -> None:
    """Axes and keepdims as in NumPy, to one rounding of the exact result."""
    x = np.random.default_rng(3).normal(size=(3, 4, 5)).astype(np.float32)
    result = reduced(kind, x, axes, more=", keepdims" * keep)
    expected = getattr(np, kind)(x.astype(np.float64), axis=axes, keepdims=keep)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-7)


def test_integer_reductions_wrap_in_64_bits() -> None:
    """int8 sums to int64; uint64 wraps; a uint64 product as well."""
    assert int(reduced("sum", np.full(1000, 127, np.int8), target="i64")) == 127000
    assert int(reduced("sum", np.full(3, 1 << 63, np.uint64))) == 1 << 63
    assert int(reduced("prod", np.full(65, 3, np.int64))) == (3**65 + (1 << 63)) % (1 << 64) - (1 << 63)


def test_nan_and_zeros_in_reductions() -> None:
    """min and max propagate NaN and put -0.0 below 0.0; argmin and argmax take the first NaN, else the first."""
    x = np.array([1, np.nan, -5, np.nan], np.float32)
    assert np.isnan(reduced("min", x))
    assert np.isnan(reduced("max", x))
    assert int(reduced("argmin", x, target="i64")) == 1
    assert int(reduced("argmax", np.array([3, 7, 7, 1], np.int16), target="i64")) == 1
    zeros = np.array([0.0, -0.0], np.float32)
    assert np.signbit(reduced("min", zeros))
    assert not np.signbit(reduced("max", zeros))
    assert bool(reduced("any", np.array([0, np.nan]), target="bool"))
    assert not bool(reduced("all", np.array([1.0, 0.0]), target="bool"))
    assert int(reduced("count_nonzero", np.array([0, np.nan, -0.0, 2]), target="i64")) == 2


def test_argmax_over_all_axes_counts_in_c_order() -> None:
    """The index is that of the flattened array."""
    x = np.zeros((2, 3, 4), np.float32)
    x[1, 2, 0] = 5
    assert int(reduced("argmax", x, target="i64")) == 20
    assert reduced("argmax", x, (1,), target="i64").tolist() == [[0, 0, 0, 0], [2, 0, 0, 0]]


def test_a_constant_may_stand_for_an_array() -> None:
    """What folding leaves of ``sum(a ** 0)``: a constant of a's shape, which the sum counts in full."""
    text = """
    kernel(a: f32[n0, n1]) -> (out: f32[n1])
      %0 = const 1.0 : f32[n0, n1]
      %1 = reduce<sum, axes=0> %0 : f32[n1]
      store %1, out
    """
    (out,) = run(text, np.zeros((4, 3), np.float32), None)
    assert out.tolist() == [4, 4, 4]


def test_values_are_as_wide_as_their_ops() -> None:
    """An op may be wider than its arguments: the value broadcasts to the op's shape, also where it is reduced."""
    text = """
    kernel(a: f32[n0, n1], b: f32[n1]) -> (out: f32[n1], wide: f32[1, n1])
      %0 = load b : f32[n1]
      %1 = neg %0 : f32[n0, n1]
      %2 = reduce<sum, axes=0> %1 : f32[n1]
      %3 = neg %0 : f32[1, n1]
      store %2, out
      store %3, wide
    """
    out, wide = run(text, np.zeros((4, 2), np.float32), np.array([1, 2], np.float32), None, None)
    assert out.tolist() == [-4, -8]
    assert wide.tolist() == [[-1, -2]]


def test_logsumexp_does_not_overflow() -> None:
    """Both stay finite where the squares or exponentials do not."""
    assert float(reduced("logsumexp", np.array([1000.0, 1000.0]))) == pytest.approx(1000 + np.log(2), rel=1e-15)
    assert float(reduced("logsumexp", np.array([-np.inf, -np.inf]))) == -np.inf
    assert float(reduced("logsumexp", np.array([np.inf, 1.0]))) == np.inf


def test_correction_of_variance() -> None:
    """``correction=1`` divides by n - 1; a divisor of 0 gives NaN, as in NumPy."""
    x = np.array([1.0, 2.0, 4.0])
    assert float(reduced("var", x, more=", correction=1")) == pytest.approx(np.var(x, ddof=1), rel=1e-15)
    assert np.isnan(reduced("std", x[:1], more=", correction=1"))


def test_reductions_of_nothing() -> None:
    """sum 0, prod 1, norm 0, logsumexp -inf, mean NaN, any false, all true; the others have no value."""
    empty = np.ones((2, 0, 3), np.float32)
    expected = {"sum": 0, "prod": 1, "norm": 0, "logsumexp": -np.inf, "mean": np.nan, "var": np.nan, "std": np.nan}
    for kind, value in expected.items():
        np.testing.assert_array_equal(reduced(kind, empty, (1,)), np.full((2, 3), value, np.float32))
    assert not reduced("any", empty, (1,), target="bool").any()
    assert reduced("all", empty, (1,), target="bool").all()
    for kind, target in {"min": "", "max": "", "argmin": "i64", "argmax": "i64"}.items():
        with pytest.raises(ValueError, match="of nothing"):
            reduced(kind, empty, (1,), target=target)
