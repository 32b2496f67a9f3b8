"""JAX arrays, on the CPU; GPU ones are in tests/gpu."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kgen.arrays import adapter_of
from kgen.arrays.base import CPU
from kgen.diagnostics import KgenError
from kgen.dtypes import BFLOAT16, DTYPES, FLOAT32, FLOAT64, DType
from kgen.spec import Spec

jax: Any = pytest.importorskip("jax", reason="jax is not installed")
jnp: Any = pytest.importorskip("jax.numpy", reason="jax is not installed")

#: The CPU, also where JAX sees a GPU.
pytestmark = pytest.mark.usefixtures("on_the_cpu")

NARROW = [t for t in DTYPES if not (t.size == 8 and not t.is_complex) and t.size < 16]


@pytest.fixture
def on_the_cpu() -> Iterator[None]:
    with jax.default_device(jax.devices("cpu")[0]):
        yield


def adapter() -> Any:
    return adapter_of(jnp.zeros(1))


def test_arrays_are_read() -> None:
    """Shape, dtype, device and pointer of a JAX array; it is immutable."""
    x = jnp.zeros((2, 3), jnp.bfloat16)
    assert adapter().spec(x) == Spec((2, 3), BFLOAT16, (3, 1))
    assert adapter().device(x) == CPU
    assert adapter().pointer(x) == x.unsafe_buffer_pointer()
    assert adapter().immutable
    assert not adapter().writable(x)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_results_are_made_without_a_copy(dtype: DType) -> None:
    """What a kernel writes into kgen's memory is the JAX array's own memory, for every dtype."""
    made = adapter().empty((2, 3), (3, 1), dtype, jnp.zeros(1))
    ctypes.memset(made.pointer, 0, 6 * dtype.size)
    result = adapter().finish(made)
    assert adapter().spec(result) == Spec((2, 3), dtype, (3, 1))
    assert adapter().pointer(result) == made.pointer
    assert not result.astype(bool).any()


def test_results_of_64_bits_need_x64() -> None:
    """JAX cuts float64 to float32 unless it is told not to; kgen says so instead of losing digits."""
    like = jnp.zeros(1)
    with pytest.raises(KgenError, match="jax_enable_x64"):
        adapter().empty((2,), (1,), FLOAT64, like)


def test_tracers_are_refused() -> None:
    """Inside jit there is no data; the error says what to do."""

    def body(x: Any) -> Any:
        found = adapter_of(x)
        assert found is not None
        with pytest.raises(KgenError, match=r"kgen\.jax\.op") as raised:
            found.normalise(x)
        assert raised.value.code == "traced-array"
        return x

    jax.jit(body)(jnp.zeros(3))
    jax.vmap(body)(jnp.zeros(3))


def test_results_may_live_until_exit() -> None:
    """JAX frees its arrays after the interpreter is gone; that is not a crash."""
    code = (
        "import jax.numpy as jnp; from kgen.arrays import adapter_of; from kgen.dtypes import FLOAT32;"
        "a = adapter_of(jnp.zeros(1)); x = a.finish(a.empty((4,), (1,), FLOAT32, jnp.zeros(1)));"
        "y = x + 1; print(y.shape)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.strip() == "(4,)"


def test_item() -> None:
    """The value of a 0-d array is Python's."""
    assert adapter().item(jnp.float32(2.5)) == 2.5
    assert adapter().spec(jnp.float32(2.5)) == Spec((), FLOAT32, ())
