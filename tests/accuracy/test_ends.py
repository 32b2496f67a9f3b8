"""NaN, infinities and zeros: what every entry of the prelude gives for them, and PyTorch's word where it has one."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import kgen
from kgen.functions import FUNCTIONS

Array = npt.NDArray[Any]
NAN, INF = math.nan, math.inf
DTYPES = ["float16", "float32", "float64"]
LOG2 = math.log(2)
_SELU = -1.0507009873554805 * 1.6732632423543772

#: name -> the values at nan, inf, -inf, 0 and -0
UNARY: dict[str, tuple[float, float, float, float, float]] = {
    "sigmoid": (NAN, 1, 0, 0.5, 0.5),
    "relu": (NAN, INF, 0, 0, 0),
    "relu6": (NAN, 6, 0, 0, 0),
    "silu": (NAN, INF, NAN, 0, -0.0),
    "gelu": (NAN, INF, NAN, 0, -0.0),
    "gelu_tanh": (NAN, INF, NAN, 0, -0.0),
    "quick_gelu": (NAN, INF, NAN, 0, -0.0),
    "softplus": (NAN, INF, 0, LOG2, LOG2),
    "mish": (NAN, INF, NAN, 0, -0.0),
    "elu": (NAN, INF, -1, 0, -0.0),
    "celu": (NAN, INF, -1, 0, -0.0),
    "selu": (NAN, INF, _SELU, 0, -0.0),
    "softsign": (NAN, NAN, NAN, 0, -0.0),
    "tanhshrink": (NAN, INF, -INF, 0, -0.0),
    "hardtanh": (NAN, 1, -1, 0, -0.0),
    "hardsigmoid": (NAN, 1, 0, 0.5, 0.5),
    "hardswish": (NAN, INF, NAN, 0, -0.0),
    "logsigmoid": (NAN, 0, -INF, -LOG2, -LOG2),
    "logit": (NAN, NAN, NAN, -INF, -INF),
    "square": (NAN, INF, INF, 0, 0),
    "reciprocal": (NAN, 0, -0.0, INF, -INF),
    "saturate": (NAN, 1, 0, 0, 0),
    "deg2rad": (NAN, INF, -INF, 0, -0.0),
    "rad2deg": (NAN, INF, -INF, 0, -0.0),
    "sinc": (NAN, NAN, NAN, 1, 1),
    "lrint": (0, 2.0**63 - 1, -(2.0**63), 0, 0),
    "lround": (0, 2.0**63 - 1, -(2.0**63), 0, 0),
}

#: name -> arguments and the value
SEVERAL: dict[str, list[tuple[tuple[float, ...], float]]] = {
    "leaky_relu": [((NAN, 0.1), NAN), ((-1, NAN), NAN), ((1, NAN), 1), ((-INF, 0.5), -INF), ((-0.0, 0.5), -0.0)],
    "softshrink": [((NAN, 0.5), NAN), ((1, NAN), NAN), ((INF, 0.5), INF), ((-INF, 0.5), -INF), ((0.5, 0.5), 0)],
    "hardshrink": [((NAN, 0.5), NAN), ((1, NAN), 1), ((INF, 0.5), INF), ((-INF, 0.5), -INF), ((0.5, 0.5), 0)],
    "step": [((NAN, 1), NAN), ((1, NAN), NAN), ((1, INF), 1), ((1, -INF), 0), ((0, -0.0), 1)],
    "heaviside": [((NAN, 1), NAN), ((0, NAN), NAN), ((1, NAN), 1), ((-0.0, 0.5), 0.5), ((-INF, 0.5), 0)],
    "xlogy": [((NAN, 1), NAN), ((0, NAN), NAN), ((0, INF), 0), ((0, -1), 0), ((1, 0), -INF), ((1, INF), INF)],
    "xlog1py": [((NAN, 1), NAN), ((0, NAN), NAN), ((0, INF), 0), ((0, -2), 0), ((1, -1), -INF), ((1, INF), INF)],
    "logaddexp": [((NAN, 1), NAN), ((1, NAN), NAN), ((INF, INF), INF), ((-INF, -INF), -INF), ((-INF, 1), 1)],
    "logaddexp2": [((NAN, 1), NAN), ((1, NAN), NAN), ((INF, INF), INF), ((-INF, -INF), -INF), ((-INF, 1), 1)],
    "clip": [((NAN, 0, 1), NAN), ((0.5, NAN, 1), NAN), ((0.5, 0, NAN), NAN), ((INF, 0, 1), 1), ((-0.0, -1, 1), -0.0)],
    "lerp": [((NAN, 1, 0.5), NAN), ((1, NAN, 0.5), NAN), ((1, 2, NAN), NAN), ((-1, 2, NAN), NAN), ((1, INF, 0.5), NAN)],
    "smoothstep": [((NAN, 1, 0), NAN), ((0, NAN, 0), NAN), ((0, 1, NAN), NAN), ((0, 1, INF), 1), ((0, 1, -INF), 0)],
}

TORCH: dict[str, Callable[[Any, Any], Any]] = {
    "sigmoid": lambda t, x: t.sigmoid(x),
    "silu": lambda t, x: t.nn.functional.silu(x),
    "gelu_tanh": lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
    "softplus": lambda t, x: t.nn.functional.softplus(x),
    "mish": lambda t, x: t.nn.functional.mish(x),
    "elu": lambda t, x: t.nn.functional.elu(x),
    "selu": lambda t, x: t.nn.functional.selu(x),
    "softsign": lambda t, x: t.nn.functional.softsign(x),
    "tanhshrink": lambda t, x: t.nn.functional.tanhshrink(x),
    "hardtanh": lambda t, x: t.nn.functional.hardtanh(x),
    "hardsigmoid": lambda t, x: t.nn.functional.hardsigmoid(x),
    "hardswish": lambda t, x: t.nn.functional.hardswish(x),
    "logsigmoid": lambda t, x: t.nn.functional.logsigmoid(x),
    "relu": lambda t, x: t.relu(x),
    "relu6": lambda t, x: t.nn.functional.relu6(x),
    "logit": lambda t, x: t.logit(x),
    "sinc": lambda t, x: t.sinc(x),
    "softshrink": lambda t, x: t.nn.functional.softshrink(x),
    "hardshrink": lambda t, x: t.nn.functional.hardshrink(x),
}


@cache
def _program(several: bool) -> kgen.Kernel:
    """All of them as the outputs of one program."""
    if not several:
        return kgen.jit("\n".join(f"out_{name} = {name}(x)" for name in UNARY), device="cpu")
    lines = []
    for name, rows in SEVERAL.items():
        lines.append(f"out_{name} = {name}({', '.join(f'{name}_{k}' for k in range(len(rows[0][0])))})")
    return kgen.jit("\n".join(lines), device="cpu")


def _same(got: Array, expected: list[float], *, signs: bool = True) -> None:
    wanted = np.array(expected, got.dtype if got.dtype.kind == "f" else np.float64)
    np.testing.assert_allclose(got, wanted, rtol=4 * float(np.finfo(wanted.dtype).eps))
    zero = wanted == 0
    if signs and got.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(wanted[zero]), err_msg="signs of zeros")


def test_the_whole_prelude_is_here() -> None:
    """No entry without its ends."""
    assert {*UNARY, *SEVERAL} == {f.target for f in FUNCTIONS.values() if f.rule in ("prelude", "lifted")}


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_one_argument_at_the_ends(dtype: str) -> None:
    """At nan, inf, -inf, 0 and -0."""
    results = _program(several=False)(np.array([NAN, INF, -INF, 0.0, -0.0], dtype))
    for name, got in zip(UNARY, results, strict=True):
        try:
            _same(got, list(UNARY[name]))
        except AssertionError as error:
            raise AssertionError(name) from error


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_several_arguments_at_the_ends(dtype: str) -> None:
    """Each row of the table; shorter lists are filled up with their first row."""
    longest = max(map(len, SEVERAL.values()))
    rows = {name: [*given, *given[:1] * (longest - len(given))] for name, given in SEVERAL.items()}
    inputs: dict[str, Any] = {
        f"{name}_{k}": np.array([arguments[k] for arguments, _ in given], dtype)
        for name, given in rows.items()
        for k in range(len(given[0][0]))
    }
    for name, got in zip(SEVERAL, _program(several=True)(**inputs), strict=True):
        try:
            _same(got, [value for _, value in rows[name]])
        except AssertionError as error:
            raise AssertionError(name) from error


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ends_are_those_of_pytorch(dtype: str) -> None:
    """For the names that are PyTorch's."""
    torch = pytest.importorskip("torch")
    x = np.array([NAN, INF, -INF, 0.0, -0.0, 0.5, -0.5, 2.0, -2.0], dtype)
    calls = [f"out_{n} = {n}(x{', 0.5' if n in SEVERAL else ''})" for n in TORCH]
    results = kgen.jit("\n".join(calls), device="cpu")(x)
    for name, got in zip(TORCH, results, strict=True):
        expected = TORCH[name](torch, torch.from_numpy(x)).numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lerp_reaches_both_ends_and_never_turns_back(dtype: str) -> None:
    """Exactly a at 0 and b at 1, and monotone between them, for numbers of any size and sign."""
    random = np.random.default_rng(3)
    a, b = (random.normal(size=(400, 1)) * 10.0 ** random.integers(-9, 10, (400, 1)) for _ in "ab")
    a, b = a.astype(dtype), b.astype(dtype)
    top = np.finfo(dtype).max
    a[:3], b[:3] = [[1e8], [-top], [5]], [[1], [top], [5]]
    t = np.concatenate([np.linspace(0, 1, 41), 0.5 + np.arange(-3, 4) * float(np.finfo(dtype).eps) / 4]).astype(dtype)
    t = np.sort(np.clip(t, 0, 1))
    got = kgen.jit("out = lerp(a, b, t)", device="cpu")(a, b, t[None, :])
    np.testing.assert_array_equal(got[:, :1], a)
    np.testing.assert_array_equal(got[:, -1:], b)
    earlier, later = got[:, :-1], got[:, 1:]
    assert np.where(a < b, earlier <= later, earlier >= later).all()


def test_integers_beside_float64_keep_their_digits() -> None:
    """They become float64 as in any promotion, not float32 first."""
    whole, one = np.array([2**24 + 1], np.int32), np.ones(1)
    got = kgen.jit("a = lerp(i, x, 0); b = hardshrink(i, x); c = xlogy(i, e * x)", device="cpu")(i=whole, x=one)
    np.testing.assert_allclose(np.concatenate(got), 2**24 + 1, rtol=1e-15)


def test_lerp_of_whole_and_complex_numbers() -> None:
    """Integers are converted before they are subtracted; complex numbers have no order and need none."""
    lerp = kgen.jit("out = lerp(a, b, t)", device="cpu")
    half = np.array([0.5, 1], np.float32)
    np.testing.assert_array_equal(lerp(np.array([5, 5], np.uint8), np.array([1, 1], np.uint8), half), [3, 1])
    got = lerp(np.array([1e8 + 1j, 2j], np.complex64), np.array([4j, 1], np.complex64), half[::-1].copy())
    np.testing.assert_array_equal(got, np.array([4j, 0.5 + 1j], np.complex64))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_zero_minus_zero_is_plus_zero(dtype: str) -> None:
    """GCC takes ``0.0f - (float)i`` for ``-(float)i`` unless it is told that the sign of a zero matters."""
    program = (
        "a = 0.0 - cast<float>(x); b = 0.0 - cast<double>(x); c = 0.0 - abs(cast<float>(x)); d = -0.0 - cast<float>(x)"
    )
    results = kgen.jit(program, device="cpu")(np.zeros(3, dtype))
    assert [bool(np.signbit(r).any()) for r in results] == [False, False, False, True]
