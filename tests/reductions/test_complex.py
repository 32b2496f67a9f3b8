"""Products of complex numbers, and logarithms of sums of their exponentials, by every kernel that reduces."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import kgen
from tests.codegen.compilers import nvrtc_log
from tests.fuzz.test_reductions import expected

Array = np.ndarray[Any, Any]

inf, nan = math.inf, math.nan

KEEP = "axis=-1, keepdims=true"

#: Texts, shapes, and the kernels that they take.
KERNELS = {
    "short": ("out = prod(z, axis=-1)\nl = logsumexp(z, axis=-1)", (300, 3), ["reduce_regs3_staged"]),
    "rows": (f"out = z * prod(z, {KEEP}) - logsumexp(z, {KEEP})", (9, 70), ["reduce_regs80"]),
    "odd rows": ("out = logsumexp(z, axis=1)\np = prod(z, axis=1)", (3, 1001), ["reduce_regs1024_peeled"]),
    "long rows": (f"out = z - logsumexp(z, {KEEP}) + prod(z, {KEEP})", (3, 60_000), ["reduce_long"]),
    "shared rows": ("out = prod(z, axis=1)\nl = logsumexp(z, axis=1)", (2, 200_000), ["reduce_long_split"]),
    "columns": ("out = prod(z, axis=1)\nl = logsumexp(z, axis=1)", (500, 16, 40), ["columns"]),
    "shared columns": ("out = logsumexp(z, axis=0)\np = prod(z, axis=0)", (20_000, 16), ["columns_split"]),
    "two kernels": ("out = z / prod(z, axis=0)", (3000, 100), ["columns_split", "rows_2d"]),
    "all": ("out = logsumexp(conj(z))\np = prod(z * z)", (70, 41), None),
    "other axes": ("out = logsumexp(z, axis=(0, 2))\np = prod(z, axis=(0, 2), keepdims=true)", (5, 7, 41), None),
    "no axis": ("out = prod(z, axis=()) + logsumexp(z, axis=())", (5, 7), None),
    "one element": ("out = logsumexp(z, axis=1)\np = prod(z, axis=1)", (50, 1), None),
    "strided": ("out = logsumexp(z, axis=0)\np = prod(z, axis=1)", (30, 40), None),
}  # fmt: skip


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    """Products of many are neither tiny nor huge; angles stay away from where they wrap."""
    generator = np.random.default_rng(sum(shape))
    wide = 1 / math.sqrt(max(shape))
    return np.exp(wide * generator.standard_normal(shape) + 1j * generator.uniform(-1, 1, shape)).astype(dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("case", KERNELS)
def test_values(case: str, dtype: str) -> None:
    """The oracle's, by the kernel that is meant."""
    text, shape, kernels = KERNELS[case]
    z = numbers(shape, dtype)
    z = z[::-1, ::-1] if case == "strided" else z
    kernel = kgen.jit(text, device="cpu")
    found = [step.kernel for step in kernel.explain(z).steps]
    assert kernels is None or dtype == "complex128" or found == kernels
    got = kernel(z)
    rtol = 8 * float(np.finfo(dtype).eps) * math.sqrt(max(shape))
    for one, other in zip(got if isinstance(got, tuple) else (got,), expected(text, {"z": z}), strict=True):
        assert one.dtype == dtype
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


def test_numpy_agrees() -> None:
    """The oracle's values are NumPy's; what is narrower or wider takes its dtype."""
    z = numbers((6, 50), "complex64")
    a, b = expected("a = prod(z, axis=1)\nb = logsumexp(z, axis=1)", {"z": z})
    np.testing.assert_allclose(a, z.prod(axis=1), rtol=1e-5)
    np.testing.assert_allclose(b, np.log(np.exp(z).sum(axis=1)), rtol=1e-5)
    assert kgen.jit("out = prod(z, dtype=c128)", device="cpu")(z).dtype == np.complex128
    assert kgen.jit("out = prod(x, dtype=c64)", device="cpu")(z.real)[()] == pytest.approx(z.real.prod(), rel=1e-5)


@pytest.mark.parametrize("width", [2, 64, 300])
@pytest.mark.parametrize(
    ("row", "value"),
    [
        ((-inf, -inf), complex(-inf, 0)),
        ((complex(-inf, 1), complex(-inf, inf)), complex(-inf, 0)),
        ((complex(-inf, nan), 1 + 2j), 1 + 2j),
        ((inf, 1 + 3j), complex(inf, 0)),
        ((inf, 1000 + 3j), complex(inf, 0)),
        ((complex(inf, 1), 3j), complex(inf, 1)),
        ((complex(nan, 0), 1), complex(nan, nan)),
        ((complex(1, nan), 1), complex(nan, nan)),
        ((1000 + 1j, 900), 1000 + 1j),
        ((-1000 + 2j, complex(-inf, 0)), -1000 + 2j),
    ],
)
def test_infinities(row: tuple[complex, complex], value: complex, width: int) -> None:
    """Rows that infinities or NaN decide: the oracle's, and those of scipy where these are numbers."""
    z = np.full((3, width), complex(-inf, 0), np.complex64)
    z[1:, -1], z[1:, width // 3] = row
    wide = np.ascontiguousarray(z.T)
    for array, axis in ((z, 1), (wide, 0), (np.tile(wide, (1, 16)), 0)):
        text = f"out = logsumexp(z, axis={axis})"
        for got in (kgen.jit(text, device="cpu")(array), expected(text, {"z": array})[0]):
            assert np.array_equal(got[0], complex(-inf, 0))
            np.testing.assert_allclose(got[1:3], value, rtol=1e-6)


def test_of_nothing() -> None:
    """1 and -inf, as of real numbers."""
    z = np.zeros((3, 0), np.complex64)
    assert np.array_equal(kgen.jit("out = prod(z, axis=1)", device="cpu")(z), [1] * 3)
    assert np.array_equal(kgen.jit("out = logsumexp(z, axis=1)", device="cpu")(z), [complex(-inf, 0)] * 3)


def test_one_element() -> None:
    """A product of one is that number, and nothing is left to reduce; angles come back between -pi and pi."""
    z = np.array([[2 + 1j], [-3 - 2j]], np.complex64)
    kernel = kgen.jit("out = prod(z, axis=1, keepdims=true)", device="cpu")
    assert np.array_equal(kernel(z), z)
    assert [step.kernel for step in kernel.explain(z).steps] == ["contiguous"]
    found = kgen.jit("out = logsumexp(z, axis=1, keepdims=true)", device="cpu")(z + 2j * math.pi)
    np.testing.assert_allclose(found, z, rtol=1e-6)


def test_complex_numbers_of_a_row() -> None:
    """What is the same along a row is complex, too."""
    z = numbers((9, 40), "complex64")
    got = kgen.jit("out = z - w + mean(z, axis=1, keepdims=true)", device="cpu")(z, z[:, :1])
    np.testing.assert_allclose(got, z - z[:, :1] + z.mean(axis=1, keepdims=True), rtol=1e-5, atol=1e-6)


def test_shared_memory() -> None:
    """Many products are kept by no more memory than every device has: 48 KiB a block."""
    text = "\n".join(f"o{i} = prod(z + {i}, axis=0)" for i in range(14))
    source = kgen.jit(text).source(kgen.spec((100_000, 256), "c128"))
    lengths = [int(n) for n in re.findall(r"__shared__ ComplexProduct<double2> \w+\[(\d+)\]", source)]
    assert len(lengths) == 14
    assert 16 * sum(lengths) <= 48 * 1024


@pytest.mark.parametrize("dtype", ["c64", "c128"])
@pytest.mark.parametrize("case", ["short", "rows", "long rows", "shared rows", "shared columns", "cluster"])
def test_compiles_for_gpus(case: str, dtype: str) -> None:
    """NVRTC takes the texts, without a word."""
    text, shape, _ = KERNELS["long rows"] if case == "cluster" else KERNELS[case]
    shape = (3, 30_000) if case == "cluster" else shape
    arch = "sm_90" if case == "cluster" else None
    source = kgen.jit(text).source(kgen.spec(shape, dtype), arch=arch)
    assert ("__cluster_dims__" in source) == (case == "cluster")
    assert nvrtc_log(source, arch or "sm_75") == ""


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("sum(x + y)", lambda x, y, z: (x + y).sum()),
        ("sum(x + y, axis=0)", lambda x, y, z: (x + y).sum(0)),
        ("mean(x + y, axis=-1)", lambda x, y, z: (x + y).mean(-1)),
        ("std(x + z, axis=0)", lambda x, y, z: (x + z).std(0)),
        ("var(z - x)", lambda x, y, z: (z - x).var()),
        ("norm(x + z, axis=0)", lambda x, y, z: np.linalg.norm(x + z, axis=0)),
        ("sum(cast<c64>(x), axis=0)", lambda x, y, z: x.sum(0).astype(np.complex64)),
        ("mean(max(x, axis=0, keepdims=true) + y, axis=(0, 1))", lambda x, y, z: (x.max(0, keepdims=True) + y).mean()),
        ("prod(x + y, axis=1)", lambda x, y, z: (x + y).prod(1)),
    ],
)
def test_parts_of_different_shapes(text: str, want: Any) -> None:
    """A part that is the same along an axis counts once for each element of it."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4) / 4
    y = np.array([[1 + 2j]], np.complex64)
    z = (np.arange(4) - 1.5 + 1j * np.arange(4)).astype(np.complex64)
    given: dict[str, Any] = {
        name: array for name, array in {"x": x, "y": y, "z": z}.items() if re.search(rf"\b{name}\b", text)
    }
    got = kgen.jit(f"out = {text}", device="cpu")(**given)
    assert np.allclose(got, want(x, y, z), rtol=1e-5)
    assert np.allclose(got, expected(f"out = {text}", given)[0], rtol=1e-5)
