"""Complex functions against mpmath, on cancellations and extremes, and the symmetries that fix signs of zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen
from kgen.runtime.cuda.driver import probe

from .grid import grid
from .reference import FUNCTIONS, errors, values

Array = np.ndarray[Any, Any]

DTYPES = ("complex64", "complex128")
DEVICES = [
    "cpu",
    pytest.param("cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not probe().available, reason="needs a GPU")]),
]
BINARY = ("divide", "multiply", "pow")
UNARY = tuple(name for name in FUNCTIONS if name not in BINARY)
ODD = ("sin", "tan", "sinh", "tanh", "asin", "atan", "asinh", "atanh")
#: Units in the last place of the magnitude, as docs/language.md states them.  CUDA's real functions have wider bounds.
BOUND = {"cpu": 4, "cuda": 8}


def run(text: str, device: str, *arrays: Array) -> dict[str, Array]:
    kernel = kgen.jit(text, device=device)
    results = kernel(*arrays)
    return dict(zip(kernel.outputs, results if isinstance(results, tuple) else (results,), strict=True))


def wrong(device: str, name: str, got: Array, *args: Array) -> list[str]:
    found = errors(got, values(name, *args))
    return [
        f"{name}{tuple(a[i] for a in args)} = {got[i]!r}: {found[i]:.3g} ulp"
        for i in np.flatnonzero(found > BOUND[device])
    ]


@pytest.mark.parametrize(
    "part", [0, pytest.param(1, marks=pytest.mark.whole), pytest.param(2, marks=pytest.mark.whole)]
)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions(dtype: str, device: str, part: int) -> None:
    """Every function of one complex number is within the bound of its exact value: by default a third of them."""
    z = grid(dtype)[part::3]
    inside = np.abs(z) < np.sqrt(np.finfo(dtype).max) / 2  # a product overflows on the way, as the textbook's does
    for name, got in run("\n".join(f"{name}_ = {name}(z)" for name in UNARY), device, z).items():
        chosen = inside if name == "square_" else np.ones(z.shape, np.bool_)
        assert not wrong(device, name[:-1], got[chosen], z[chosen])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients(dtype: str, device: str) -> None:
    """Quotients of anything by anything, and products that do not overflow on the way."""
    rng = np.random.default_rng(1)
    a, b = rng.choice(grid(dtype, 10), (2, 1500))
    got = run("q = a / b\np = a * b\nr = 1 / b", device, a, b)
    assert not wrong(device, "divide", got["q"], a, b)
    assert not wrong(device, "reciprocal", got["r"], b)
    with np.errstate(all="ignore"):
        inside = np.maximum(np.abs(a.real), np.abs(a.imag)) * 2 < np.finfo(dtype).max / np.fmax(np.abs(b), 1)
    assert not wrong(device, "multiply", got["p"][inside], a[inside], b[inside])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_powers(dtype: str, device: str) -> None:
    """Powers keep all digits: of large exponents, near the unit circle, of tiny and huge numbers, by real exponents."""
    rng = np.random.default_rng(2)
    turn = np.exp(1j * rng.uniform(-np.pi, np.pi, 200))
    usual = rng.normal(0, 5, (4, 300))
    a = np.concatenate([usual[0] + 1j * usual[1], turn * np.exp(1e-3 * usual[0, :200]), turn * 10.0 ** usual[1, :200]])
    b = np.concatenate([usual[2] + 1j * usual[3], 300 * usual[2, :200] + 1j, usual[3, :200] + 0.1j])
    a, b = a.astype(dtype), b.astype(dtype)
    got = run("p = a ** b\nq = a ** 2.5\nr = a ** real(b)\ns = a ** 0.5\nt = a ** 7\nu = a ** -3", device, a, b)
    assert not wrong(device, "pow", got["p"], a, b)
    assert not wrong(device, "pow", got["q"], a, np.full_like(a, 2.5))
    assert not wrong(device, "pow", got["r"], a, b.real.astype(dtype))
    assert not wrong(device, "pow", got["s"], a, np.full_like(a, 0.5))
    moderate = np.abs(np.log(np.abs(a))) < 9
    for name, exponent in (("t", 7), ("u", -3)):
        found = errors(got[name][moderate], values("pow", a[moderate], np.full_like(a, exponent)[moderate]))
        assert found.max() < 16  # multiplications, one rounding each


@pytest.mark.parametrize("dtype", DTYPES)
def test_symmetry(dtype: str) -> None:
    """f(conj z) is conj f(z), and f(-z) is -f(z) of odd functions, in every bit: also zeros, infinities and cuts."""
    z = grid(dtype)
    ends = [0.0, -0.0, 1.0, np.inf]
    z = np.concatenate([z, np.array([complex(x, y) for x in (*ends, -np.inf) for y in ends], dtype)])
    text = "\n".join(f"{name}_ = {name}(z)" for name in UNARY if name not in ("abs", "sign"))
    here, mirrored, opposite = (run(text, "cpu", each) for each in (z, np.conj(z), -z))
    for name in here:
        np.testing.assert_array_equal(bits(mirrored[name]), bits(np.conj(here[name])), err_msg=name)
        if name[:-1] in ODD:
            np.testing.assert_array_equal(bits(opposite[name]), bits(-here[name]), err_msg=name)


def bits(z: Array) -> Array:
    """Both parts' bits; NaNs are alike."""
    parts = np.stack([z.real, z.imag])
    return np.where(np.isnan(parts), np.nan, parts).view(f"u{parts.itemsize}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_real_operands(dtype: str) -> None:
    """A real factor or divisor has no imaginary part whose product with infinity would be NaN."""
    z = np.array([complex(np.inf, 1), complex(-0.0, 2), complex(1, -np.inf), 3 - 4j], dtype)
    x = np.array([2, -1, 0.5, 2], z.real.dtype)
    got = run("a = z * 2\nb = 2 * z\nc = z / 2\nd = z * x\ne = x * z\nf = z / x", "cpu", z, x)
    for name, want in {"a": z.view(x.dtype) * 2, "c": z.view(x.dtype) / 2, "d": z.view(x.dtype) * x.repeat(2)}.items():
        np.testing.assert_array_equal(got[name].view(x.dtype), want)
    np.testing.assert_array_equal(got["b"], got["a"])
    np.testing.assert_array_equal(got["e"], got["d"])
    np.testing.assert_array_equal(got["f"].view(x.dtype), z.view(x.dtype) / x.repeat(2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_zero(dtype: str) -> None:
    """As exp(b log 0), the same whether the exponent is a literal or an array; 0 ** 0 is 1."""
    b = np.array([0, 1, 2.5, 1 + 2j, -1, -2, -1 + 1j, 2j], dtype)
    zero = np.zeros_like(b)
    got = run("p = a ** b\nl = a ** -1\nm = a ** 0\nn = a ** -2", "cpu", zero, b)
    nan, inf = np.nan, np.inf
    want = [1, 0, 0, 0, complex(inf, nan), complex(inf, nan), complex(inf, nan), complex(nan, nan)]
    np.testing.assert_array_equal(bits(got["p"]), bits(np.array(want, dtype)))
    np.testing.assert_array_equal(bits(got["l"][:1]), bits(got["p"][4:5]))
    np.testing.assert_array_equal(bits(got["m"][:1]), bits(got["p"][:1]))
    assert np.isinf(got["n"]).all()


def test_round() -> None:
    """Both parts, half to even."""
    z = np.array([0.5 + 1.5j, -2.5 - 0.2j, 3.7 + 2.5j])
    np.testing.assert_array_equal(run("r = round(z)", "cpu", z)["r"], np.round(z))
