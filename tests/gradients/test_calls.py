"""``kgen.grad`` on arrays: kernels for each types of arguments, and what it refuses."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.diagnostics import KgenError

from .oracle import derived, gradients

RNG = np.random.default_rng(0)
A, G = (RNG.standard_normal((3, 4), dtype=np.float32) for _ in range(2))
B = RNG.standard_normal(4, dtype=np.float32)
INTEGERS = np.arange(4, dtype=np.int32)
SWIGLU = "out = silu(a) * b"


def test_the_text_is_a_program() -> None:
    found = kgen.grad(SWIGLU)
    assert (found.inputs, found.params, found.outputs) == (("a", "b", "out_grad"), (), ("a_grad", "b_grad"))
    spec = kgen.spec((8, 16), "bf16")
    assert found.text(spec, spec, spec) == (
        "input a, b, out_grad\n"
        "let v1 = silu(a)\n"
        "a_grad = out_grad * b * sigmoid(a) * (1 + a * (1 - sigmoid(a)))\n"
        "b_grad = out_grad * v1\n"
    )
    assert "sum(out_grad * v1, axis=0)" in found.text(spec, kgen.spec((16,), "bf16"), spec)


def test_an_index_of_a_value_that_reduces() -> None:
    """Its gradient is memory, which is updated at the places that were read."""
    spec, label = kgen.spec((8, 16), "bf16"), kgen.spec((8,), "int64")
    found = kgen.grad("let p = x / sum(x, axis=-1, keepdims=true)\nout = p[index(0), label]")
    assert found.text(spec, label, kgen.spec((8,), "bf16")) == (
        "input x, label, out_grad\n"
        "let v1 = sum(x, axis=-1, keepdims=true)\n"
        "# gradients through `p = x / sum(x, axis=-1, keepdims=true)`\n"
        "let p_grad = where(true, 0, x)\n"
        "p_grad[index(0), label] += out_grad\n"
        "x_grad = sum(-p_grad * x, axis=1, keepdims=true) / v1 / v1 + p_grad / v1\n"
    )


def test_an_element_of_each_row() -> None:
    """What is one by its place is no update, where the array of indices is known to be as long as the rows are many."""
    rows, label, number = kgen.spec((8, 16), "bf16"), kgen.spec((8,), "uint8"), kgen.spec((), "bf16")
    found = kgen.grad("let d = logsumexp(x, axis=-1) - x[index(0), label]\nloss = sum(d) / count_nonzero(label)")
    place = "index(-1) == expand(label, axis=1) ? where(true, -v2_grad, x) : 0"
    assert place in found.text(rows, label, number)


def test_every_other_element() -> None:
    """Those of both halves are one value, which one kernel writes."""
    found = kgen.grad("out = silu(x[..., ::2]) * x[..., 1::2]")
    text = found.text(kgen.spec((8, 16), "bf16"), kgen.spec((8, 8), "bf16"))
    assert "x_grad = merge(stack(" in text
    assert "+=" not in text


@pytest.mark.parametrize("text", ["out = x / i", "out = sum(x * x, axis=1) / count_nonzero(i)", "out = x ** i"])
def test_halves_beside_integers(text: str) -> None:
    """Integers are converted to float32; gradients and tangents are halves."""
    x, i = kgen.spec((8, 16), "bf16"), kgen.spec((8, 16), "int32")
    out = kgen.jit(text).meta(x, i)
    assert kgen.grad(text).kernel(x, i, out).meta(x, i, out).dtype == x.dtype
    assert [spec.dtype for spec in kgen.jvp(text).kernel(x, i, x_tangent=x).meta(x, i, x)] == [x.dtype] * 2


def test_texts_are_always_the_same() -> None:
    """Also of parts that overlap, of which some terms are dropped on the way."""
    text = "out = x[1:3] * x[:2] * x[2:4] + exp(x[1:3]) * x[0] + sum(x[::2])"
    assert len({derived(text, {"x": np.ones(8)}, ["x"]) for _ in range(100)}) == 1


def test_calls() -> None:
    """Positional and by name; one kernel for the shapes of a class, another for other ranks."""
    found = kgen.grad(SWIGLU)
    expected = gradients(SWIGLU, {"a": A, "b": B}, ["a", "b"], {"out": G})
    for _ in range(3):
        for result in (found(A, B, out_grad=G), found(A, B, G), found(b=B, a=A, out_grad=G)):
            for name, own in zip(("a", "b"), result, strict=True):
                np.testing.assert_allclose(own, expected[name], rtol=1e-5, atol=1e-6)
    assert found.kernel(A, B, G) is found.kernel(A[:2], B, G[:2])
    assert found.kernel(A, B, G) is not found.kernel(A, A, G)


def test_one_gradient_is_one_array_and_one_number_needs_no_cotangent() -> None:
    loss = kgen.grad("param k = 2.0\nout = k * sum(x * x)", "x")
    np.testing.assert_allclose(loss(A), 4 * A, rtol=1e-6)
    np.testing.assert_allclose(loss(A, k=3.0), 6 * A, rtol=1e-6)
    np.testing.assert_allclose(loss(A, out_grad=2.0), 8 * A, rtol=1e-6)
    both = kgen.grad("param k = 2.0\nout = k * sum(x * x)")(A)
    np.testing.assert_allclose(both[1], np.sum(A * A), rtol=1e-5)


def test_gradients_of_gradients() -> None:
    """Of x cubed, also in place of several outputs, of which some have no gradient."""
    second = kgen.grad(kgen.grad("out = x ** 3", "x"), "x")
    assert second.inputs == ("x", "out_grad", "x_grad_grad")
    np.testing.assert_allclose(second(A, G, x_grad_grad=G), 6 * A * G * G, rtol=1e-5)
    third = kgen.grad(second, "x")
    np.testing.assert_allclose(third(A, G, G, G), 6 * G * G * G, rtol=1e-5)
    two = kgen.grad("one = a * a\ntwo = a * 2\nthree = a > 0")
    np.testing.assert_allclose(two(A, two_grad=G), 2 * G)
    np.testing.assert_allclose(two(A, one_grad=G, two_grad=G), 2 * A * G + 2 * G, rtol=1e-5)


def test_halves_are_computed_in_float32() -> None:
    """The result has the dtype of its argument, and is rounded once."""
    found = kgen.grad("out = x * w", "x")
    x, w = A.astype(np.float16), B
    assert found(x, w, out_grad=G).dtype == np.float16
    np.testing.assert_array_equal(found(x, w, out_grad=G), (G * w).astype(np.float16))


def test_tangents() -> None:
    """The outputs and their tangents in one kernel; arguments without a tangent are constants."""
    jvp = kgen.jvp("param k = 2.0\nout = k * exp(x) * y\nsign = x > 0")
    assert jvp.inputs == ("x", "y", "x_tangent", "y_tangent")
    assert (jvp.params, jvp.outputs) == (("k", "k_tangent"), ("out", "sign", "out_tangent", "sign_tangent"))
    for _ in range(3):
        out, sign, tangent = jvp(A, G, x_tangent=B + A)
        np.testing.assert_allclose(out, 2 * np.exp(A) * G, rtol=1e-5)
        np.testing.assert_array_equal(sign, A > 0)
        np.testing.assert_allclose(tangent, out * (B + A), rtol=1e-5)
        np.testing.assert_allclose(jvp(A, G, k=3.0, k_tangent=1.0)[2], np.exp(A) * G, rtol=1e-5)
    assert jvp.text(A, G, x_tangent=A).startswith("input x, y, x_tangent\n")


def test_derivatives_of_derivatives() -> None:
    """Forward over reverse, reverse over forward and forward over forward give one second derivative."""
    x_tangent, g = G, np.ones_like(A)
    expected = 6 * A * x_tangent
    forward_over_reverse = kgen.jvp(kgen.grad("out = x ** 3", "x"))
    np.testing.assert_allclose(forward_over_reverse(A, g, x_tangent=G)[1], expected, rtol=1e-5)
    reverse_over_forward = kgen.grad(kgen.jvp("out = x ** 3"), "x")
    np.testing.assert_allclose(reverse_over_forward(A, x_tangent=G, out_tangent_grad=g), expected, rtol=1e-5)
    twice = kgen.jvp(kgen.jvp("out = x ** 3"))
    np.testing.assert_allclose(twice(A, g, x_tangent_1=G)[3], expected, rtol=1e-5)
    loss = kgen.jvp(kgen.grad("out = sum(x ** 3)", "x"))  # the gradient of a number may be left out there, too
    np.testing.assert_allclose(loss(A, x_tangent=G)[1], expected, rtol=1e-5)


def test_derivatives_are_pickled_after_calls() -> None:
    """Without their kernels, which the copy makes again."""
    backward, tangent = kgen.grad("out = a * a"), kgen.jvp("out = a * a")
    backward(A, out_grad=G), tangent(A, a_tangent=G)
    again = pickle.loads(pickle.dumps((backward, tangent)))
    np.testing.assert_array_equal(again[0](A, out_grad=G), 2 * A * G)
    np.testing.assert_array_equal(again[1](A, a_tangent=G)[1], 2 * A * G)


def test_saved_values_are_those_of_the_pair() -> None:
    """A dict of the caller's, values of other gradients, and ones without what these read are refused."""
    forward, backward = kgen.vjp("out = a * a")
    saved = forward(A)[1]
    other = kgen.vjp("out = a * a", wrt="a")[1]
    wrong: list[tuple[Any, Any]] = [(backward, dict(saved)), (other, saved), (backward, None)]
    for half, values in wrong:
        with pytest.raises(KgenError, match="`saved` is not what the forward half of this pair returned") as caught:
            half(values, out_grad=G)
        assert caught.value.code == "bad-call"
    del saved["a"]
    with pytest.raises(KgenError, match="`a` is missing"):
        backward(saved, out_grad=G)


def test_vjp_saves_what_would_read_memory_again() -> None:
    """Of columns, not of short rows, and the arguments that the gradients read; the gradients are `kgen.grad`'s."""
    text = "param s = 2.0\nlet m = mean(x, axis=0)\nout = s * silu(x - m) * w + b\nsign = x > m"
    forward, backward = kgen.vjp(text, ("x", "w", "b"))
    (out, sign), saved = forward(A, B, A[0])
    np.testing.assert_array_equal(sign, kgen.jit(text)(A, B, A[0])[1])
    np.testing.assert_array_equal(out, kgen.jit(text)(A, B, A[0])[0])
    assert set(saved) == {"x", "w", "m", "s"}
    found = backward(saved, out_grad=G)
    for one, other in zip(found, kgen.grad(text, ("x", "w", "b"))(A, B, A[0], out_grad=G), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert "`m = mean(x, axis=0)` is saved: its reduction would read memory once more" in str(
        backward.explain(A, B, A[0])
    )
    assert "`v2 = x - m` is computed again" in str(forward.explain(A, B, A[0]))
    assert backward.text(A, B, A[0]).startswith("input x, w, m, out_grad\nparam s = 2.0\nlet v2 = x - m\n")


def test_rows_are_saved_where_they_are_long() -> None:
    """Short ones stay in registers, so that their statistics cost nothing to compute again."""
    forward, _ = kgen.vjp("out = x / norm(x, axis=-1, keepdims=true)")
    outputs = {n: forward.kernel(kgen.spec((8, n), "f32")).outputs for n in (1024, 16384)}
    assert outputs == {1024: ("out",), 16384: ("v1", "out")}


def test_vjp_saves_what_it_is_told() -> None:
    text = "let e = exp(x)\nlet t = tanh(e)\nout = t * e"
    forward, backward = kgen.vjp(text, save=("e",))
    out, saved = forward(A)
    assert list(saved) == ["e"]
    np.testing.assert_allclose(backward(saved, out_grad=G), kgen.grad(text)(A, out_grad=G), rtol=1e-5)
    assert list(kgen.vjp("out = a + b")[0](A, B)[1]) == []
    halves = A.astype(np.float16)
    norm = "let m = norm(x, axis=-1, keepdims=true)\nout = x / m"
    forward, backward = kgen.vjp(norm)
    halves = np.tile(halves, (1, 1 << 12))
    out, saved = forward(halves)
    assert (out.dtype, saved["m_saved"].dtype) == (np.float16, np.float32)
    expected = kgen.grad(norm)(halves, out_grad=halves[::-1])
    np.testing.assert_allclose(backward(saved, out_grad=halves[::-1]), expected, rtol=1e-3, atol=1e-4)


def test_no_lint_is_shown() -> None:
    """The unused `b` is no mistake of the user."""
    np.testing.assert_array_equal(kgen.grad("out = a + b", "a")(A, B, out_grad=G), G)


ROWS = np.zeros(len(A), np.int32)


def _gradient_of_another_shape() -> None:
    forward, backward = kgen.vjp(SWIGLU)
    backward(forward(A, B)[1], out_grad=B)


REFUSED: dict[str, tuple[Any, str]] = {
    "no argument": (lambda: kgen.grad("out = a", "q"), "bad-wrt"),
    "integers": (lambda: kgen.grad("out = a * i", "i")(A, B.astype(np.int32), out_grad=G), "bad-wrt"),
    "no gradient given": (lambda: kgen.grad(SWIGLU)(A, B), "missing-argument"),
    "another shape": (lambda: kgen.grad(SWIGLU)(A, B, out_grad=B), "bad-cotangent"),
    "another dtype": (lambda: kgen.grad(SWIGLU)(A, B, out_grad=G.astype(np.float64)), "bad-cotangent"),
    "a number": (lambda: kgen.grad(SWIGLU)(A, B, out_grad=1.0), "bad-cotangent"),
    "that of integers": (lambda: kgen.grad("out = a > 0\ntwo = a")(A, out_grad=G), "bad-cotangent"),
    "integers returned": (lambda: kgen.grad("out = a > 0")(A), "no-derivative"),
    "in place": (lambda: kgen.grad("inout p\np = p * a"), "no-derivative"),
    "in place, and an output": (lambda: kgen.grad("inout p\np = p * a\nout = a"), "no-derivative"),
    "no tangent given": (lambda: kgen.jvp(SWIGLU)(A, B), "missing-argument"),
    "a tangent of another shape": (lambda: kgen.jvp(SWIGLU)(A, B, a_tangent=B), "bad-tangent"),
    "a tangent of another dtype": (lambda: kgen.jvp(SWIGLU)(A, B, b_tangent=B.astype(np.float64)), "bad-tangent"),
    "a tangent of integers": (lambda: kgen.jvp("out = a * i")(A, INTEGERS, i_tangent=INTEGERS), "bad-tangent"),
    "tangents of integers returned": (lambda: kgen.jvp("out = a > 0")(A, a_tangent=A), "no-derivative"),
    "tangents in place": (lambda: kgen.jvp("inout p\np = p * a"), "no-derivative"),
    "a tangent that has no rule": (lambda: kgen.jvp("out = lgamma(a)")(A, a_tangent=A), "no-derivative"),
    "a tangent of numbers taken": (
        lambda: kgen.jvp('out = take(a, i, axis=0, mode="fill", value=3)')(A, ROWS, a_tangent=A),
        "not-yet",
    ),
    "no value to save": (lambda: kgen.vjp("out = exp(a)", save=("b",))[0](A), "bad-save"),
    "a gradient of another shape": (lambda: _gradient_of_another_shape(), "bad-cotangent"),
    "updates twice": (lambda: kgen.grad(kgen.grad("out = a[i]"))(A, ROWS, A, a_grad_grad=A), "no-derivative"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    call, code = REFUSED[what]
    with pytest.raises(KgenError) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.diagnostics[0].hint
