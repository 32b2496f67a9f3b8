"""Derivatives of ``kgen.jax.op`` are JAX's own, forward and backward, of every order and inside transformations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import kgen

jax: Any = pytest.importorskip("jax", minversion="0.5", reason="jax is not installed")
jnp: Any = jax.numpy
Function = Callable[..., Any]

RNG = np.random.default_rng(0)
X, T = RNG.standard_normal((2, 3, 4))
W = RNG.standard_normal(4)


@pytest.fixture(autouse=True)
def float64_on_the_cpu() -> Iterator[None]:
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        yield


TEXT = "param s = 2.0\nout = s * silu(x - mean(x, axis=-1, keepdims=true)) * w"


@pytest.fixture(scope="module")
def op() -> Function:
    made: Function = kgen.jax.op(kgen.jit(TEXT, device="cpu"))
    return made


def plain(x: Any, w: Any, s: float = 2.0) -> Any:
    return s * jax.nn.silu(x - x.mean(-1, keepdims=True)) * w


WAYS: dict[str, Callable[[Function], Any]] = {
    "jvp": lambda f: jax.jvp(f, (X, W), (T, W * W)),
    "jvp of one": lambda f: jax.jvp(lambda w: f(X, w), (W,), (W * W,)),
    "linearize": lambda f: jax.linearize(f, X, W)[1](T, W),
    "grad": lambda f: jax.grad(lambda x, w: (f(x, w, s=3.0) ** 2).sum(), (0, 1))(X, W),
    "jit of grad": lambda f: jax.jit(jax.grad(lambda x, w: (f(x, w) ** 2).sum(), (0, 1)))(X, W),
    "jacrev": lambda f: jax.jacrev(f)(X, W),
    "jacfwd": lambda f: jax.jacfwd(f, 1)(X, W),
    "hessian": lambda f: jax.hessian(lambda w: f(X, w).sum() ** 2)(W),
    "grad of grad": lambda f: jax.grad(lambda x: jax.grad(lambda x: (f(x, W) ** 2).sum())(x)[0, 0])(X),
    "vmap of grad": lambda f: jax.vmap(jax.grad(lambda x, w: f(x[None], w).sum()), (0, None))(X, W),
    "grad of vmap": lambda f: jax.grad(lambda w: jax.vmap(lambda x: f(x[None], w))(X).sum() ** 2)(W),
    "checkpoint": lambda f: jax.grad(lambda x: jax.checkpoint(f)(x, W).sum())(X),
    "scan": lambda f: jax.grad(lambda x: jax.lax.scan(lambda c, _: (f(c, W), 0), x, None, length=3)[0].sum())(X),
}


@pytest.mark.parametrize("way", WAYS)
def test_derivatives_are_jaxs(op: Function, way: str) -> None:
    check_derivatives(op, way)


def test_gradients_read_what_the_call_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rows of 4 elements count as long, so that their mean is saved."""
    monkeypatch.setattr("kgen.gradients.saved._LONG", 3)
    kernel = kgen.jit(TEXT, device="cpu", name="saves")
    op = kgen.jax.op(kernel)
    for way in ("linearize", "grad", "grad of grad", "vmap of grad"):
        check_derivatives(op, way)
    assert [one.name for one in kernel.pair(("x", "w")).ready({"x": X, "w": W, "s": 2.0}).saved]


def check_derivatives(op: Function, way: str) -> None:
    found, expected = (jax.tree.leaves(WAYS[way](f)) for f in (op, plain))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)


def test_complex_numbers_follow_jax() -> None:
    """Whose gradients are the conjugates of PyTorch's."""
    f = kgen.jax.op(kgen.jit("out = exp(z) * y + abs(z)", device="cpu"))
    z = X + 1j * T
    ways: tuple[Callable[[Function], Any], ...] = (
        lambda f: jax.grad(lambda z, y: abs(f(z, y)).sum(), (0, 1))(z, X),
        lambda f: jax.jvp(f, (z, X), (z * z, T)),
    )
    for way in ways:
        found, expected = way(f), way(lambda z, y: jnp.exp(z) * y + abs(z))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8)


def test_several_outputs() -> None:
    """Of which one has integers, and one is not used."""
    f = kgen.jax.op(kgen.jit("a = x * w\ni = x > 0\nb = x / w", device="cpu"))
    np.testing.assert_allclose(jax.grad(lambda x: f(x, W)[2].sum())(X), np.broadcast_to(1 / W, X.shape))
    _, tangents = jax.jvp(lambda x: f(x, W), (X,), (T,))
    assert tangents[1].dtype == jax.dtypes.float0
    np.testing.assert_allclose(tangents[0], T * W)


def test_an_update_in_place_has_no_gradient() -> None:
    f = kgen.jax.op(kgen.jit("inout p\np = p * x", device="cpu"))
    with pytest.raises(ValueError, match="cannot be differentiated"):
        jax.grad(lambda x: f(jnp.ones(4), x).sum())(W)
