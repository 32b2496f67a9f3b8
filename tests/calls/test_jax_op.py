"""``kgen.jax.op``: programs inside jit and vmap, on JAX's CPU."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.call import extension
from kgen.runtime import xla_ffi

jax = pytest.importorskip("jax", minversion="0.5", reason="jax is not installed")


def integers(*shape: int) -> Any:
    return jax.numpy.asarray(np.random.default_rng(len(shape)).integers(-9, 10, shape).astype(np.float32))


@pytest.fixture(scope="module")
def axpy() -> Any:
    return kgen.jax.op(kgen.jit("param a = 2.0; out = a * x + y", name="axpy"))


def test_jit_and_vmap(axpy: Any) -> None:
    """With broadcasting, repeated, and for batches of every argument."""
    compiled = jax.jit(lambda x, y: axpy(2 * x, y, a=3.0) + 1)
    x, y, rows = integers(5, 6, 7), integers(7), integers(5, 7)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x, y), 6 * x + y + 1)
    half = compiled(x.astype(np.float16), y.astype(np.float16))
    assert half.dtype == np.float16
    np.testing.assert_array_equal(half, 6 * x + y + 1)
    np.testing.assert_array_equal(jax.vmap(compiled, in_axes=(0, None))(x, y), 6 * x + y + 1)
    np.testing.assert_array_equal(jax.vmap(compiled)(x, rows), 6 * x + rows[:, None] + 1)
    np.testing.assert_array_equal(axpy(integers(0, 3), integers(3)), np.empty((0, 3)))


def test_batches_of_axes_of_one_element() -> None:
    """That there is nothing to reduce in an element of the batch does not make the batch something to reduce."""
    x = integers(5, 1, 3)
    for text in ("out = max(x, axis=0, keepdims=true)", "out = max(x, axis=0)", "out = norm(x, axis=0)"):
        op = kgen.jax.op(text)
        np.testing.assert_array_equal(jax.vmap(op)(x), np.stack([op(one) for one in x]))


def test_reductions_and_updates() -> None:
    """Reductions see each element of a batch by itself; what is updated in place is a result."""
    step = kgen.jax.op("inout p; param on: bool = true; let m = max(p); p = on ? p - m : p; total = sum(g, axis=0)")
    p, g = integers(3, 4), integers(2, 5, 4)
    new, total = jax.jit(jax.vmap(step, in_axes=(None, 0)))(p, g)
    np.testing.assert_array_equal(new, np.broadcast_to(p - p.max(), (2, 3, 4)))
    np.testing.assert_array_equal(total, g.sum(axis=1))
    np.testing.assert_array_equal(p, integers(3, 4))
    np.testing.assert_array_equal(step(p, g[0], on=False)[0], p)


@pytest.mark.parametrize("text", ["out = expand(x, axis=0) * y", "out = x[0] * y", "out = x * y + index(0)"])
def test_batches_of_programs_with_axes(text: str) -> None:
    """Axes that the program counts from the front are those of each element of the batch."""
    op = kgen.jax.op(text)
    x, y = integers(2, 3, 3), integers(2, 3, 3)[::-1]
    wanted = np.stack([op(a, b) for a, b in zip(x, y, strict=True)])
    np.testing.assert_array_equal(jax.vmap(op)(x, y), wanted)


def test_params_are_told_apart(axpy: Any) -> None:
    """By dtype and bits: 0.0 and -0.0 are equal, and so are 2 and 2.0."""
    x, zero = integers(3), jax.numpy.zeros(3, np.float32)
    assert not np.signbit(axpy(zero, zero, a=0.0)).any()
    assert np.signbit(axpy(jax.numpy.ones(3), -zero, a=-0.0)).all()
    whole = kgen.jax.op("param a: i32; out = a * x")
    np.testing.assert_array_equal(whole(x, a=2), whole(x, a=True) * 2)


def test_repeated_calls_run_no_python(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In C, for each shape, dtype and param after its first call; with memory in place and scratch memory as well."""
    step = kgen.jax.op(f"inout p; param a = 2.0; p = p + a; out = sum(x * 2, axis=0) + {len(how)}")
    requests: list[xla_ffi.Request] = []
    number, run = next(reversed(xla_ffi._programs.items()))

    def counted(request: xla_ffi.Request) -> xla_ffi.Repeated | None:
        requests.append(request)
        return run(request)

    monkeypatch.setitem(xla_ffi._programs, number, counted)
    compiled = jax.jit(lambda p, x: [step(p, x + n, a=5.0) for n in range(4)])
    wide = jax.jit(lambda p, x: step(p, x))
    for n in range(3):
        p, x = integers(3) + n, integers(300, 5) - n
        for place, (new, out) in enumerate(compiled(p, x)):
            np.testing.assert_array_equal(new, p + 5)
            np.testing.assert_array_equal(out, ((x + place) * 2).sum(axis=0) + len(how))
        new, out = wide(p, x)
        np.testing.assert_array_equal(new, p + 2)
    assert len(requests) == (2 if how == "c" else 15)


def test_errors(axpy: Any) -> None:
    x = integers(3, 4)
    with pytest.raises(kgen.KgenError, match="the param `a` is traced, and has no value yet"):
        jax.jit(axpy)(x, x, a=2.0)
    with pytest.raises(kgen.KgenError, match=r"`a \* x` is \(3, 4\) and `y` is \(3,\)"):
        axpy(x, x[:, 0])
    with pytest.raises(kgen.KgenError, match="the param `a` is no bool, int or float"):
        axpy(x, x, a=1j)
    with pytest.raises(kgen.KgenError, match="this program has none"):
        kgen.jax.op("param n: i32; out = n")
    with pytest.raises(kgen.KgenError, match="a result is float64, and JAX would truncate it"):
        kgen.jax.op("out = cast<f64>(x)")(x)


def test_an_error_of_a_call_is_xla_s(how: str) -> None:
    """Python's exceptions end in the handler."""

    def called(request: xla_ffi.Request) -> None:
        raise ValueError("planted")

    on_host, _ = xla_ffi.handlers(extension.extension())
    xla_ffi.register(len(how), called)
    name = f"kgen_test_planted_{how}"  # registered once in a process
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(on_host), platform="cpu")
    call = partial(
        jax.ffi.ffi_call(name, jax.ShapeDtypeStruct((2,), np.float32)), **{xla_ffi.PROGRAM: np.int64(len(how))}
    )
    with (
        jax.default_device(jax.devices("cpu")[0]),
        pytest.raises(jax.errors.JaxRuntimeError, match="ValueError: planted"),
    ):
        jax.block_until_ready(call(integers(2)))
