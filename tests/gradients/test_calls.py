"""``kgen.grad`` on arrays: kernels for each types of arguments, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen
from kgen.diagnostics import KgenError

from .oracle import gradients

RNG = np.random.default_rng(0)
A, G = (RNG.standard_normal((3, 4), dtype=np.float32) for _ in range(2))
B = RNG.standard_normal(4, dtype=np.float32)
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


def test_vjp_is_the_program_and_its_gradients() -> None:
    forward, backward = kgen.vjp("out = exp(x)")
    np.testing.assert_allclose(forward(A), np.exp(A), rtol=1e-6)
    np.testing.assert_allclose(backward(A, out_grad=G), np.exp(A) * G, rtol=1e-6)


def test_no_lint_is_shown() -> None:
    """The unused `b` is no mistake of the user."""
    np.testing.assert_array_equal(kgen.grad("out = a + b", "a")(A, B, out_grad=G), G)


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
    "a step": (lambda: kgen.grad("out = a[::2]")(A, out_grad=G[::2]), "not-yet"),
    "an array as index": (lambda: kgen.grad("out = a[i]", "a")(A, np.zeros(3, np.int32), out_grad=A), "not-yet"),
    "a repetition": (lambda: kgen.grad("out = repeat(a, 2, axis=0)")(A, out_grad=np.repeat(A, 2, 0)), "not-yet"),
    "parts that overlap": (lambda: kgen.grad("out = a[:-1] * a[1:]")(A, out_grad=G[1:]), "not-yet"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    call, code = REFUSED[what]
    with pytest.raises(KgenError) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.diagnostics[0].hint
