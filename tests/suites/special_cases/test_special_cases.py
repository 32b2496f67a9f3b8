"""The array API standard's special cases, for float32, float64, complex64 and complex128.

Every function is run once on all combinations of the samples; each row is compared where its condition holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.runtime.cuda.driver import probe

from .rules import SAMPLES, Rule, rules

Array = np.ndarray[Any, Any]
Pair = tuple[float, ...]

REAL = list(rules("real.txt"))
COMPLEX = list(rules("complex.txt"))
DEVICES = [
    "cpu",
    pytest.param("cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not probe().available, reason="needs a GPU")]),
]

#: Rows that do not hold, and why.
PYTHON = "as Python and NumPy have it, so that x is y * (x // y) + x % y, which the standard allows"
EXCEPTIONS: dict[str, str] = {
    "floor_divide: +inf, positive -> +inf": PYTHON,
    "floor_divide: +inf, negative -> -inf": PYTHON,
    "floor_divide: -inf, positive -> -inf": PYTHON,
    "floor_divide: -inf, negative -> +inf": PYTHON,
    "floor_divide: positive, -inf -> -0": PYTHON,
    "floor_divide: negative, +inf -> -0": PYTHON,
}


def _swap(z: Pair) -> Pair:
    return z[::-1]


def _same(z: Pair) -> Pair:
    return z


def _over(factor: float) -> Callable[[Pair], Pair]:
    return lambda z: (z[0] * factor, z[1] * factor)


#: What the standard says by way of another function: its name, and that function's argument and result.
#: -i sinh(i z) is sinh with the parts of z and of the result exchanged.
DERIVED: dict[str, tuple[str, Callable[[Pair], Pair], Callable[[Pair], Pair]]] = {
    "sin": ("sinh", _swap, _swap),
    "tan": ("tanh", _swap, _swap),
    "asin": ("asinh", _swap, _swap),
    "atan": ("atanh", _swap, _swap),
    "cos": ("cosh", lambda z: (-z[1], z[0]), _same),
    "log2": ("log", _same, _over(math.log(2))),
    "log10": ("log", _same, _over(math.log(10))),
}


def results(names: list[str], device: str, *arrays: Array) -> dict[str, Array]:
    args = ", ".join("xy"[: len(arrays)])
    text = "\n".join([f"input {args}", *(f"{name}_ = {name}({args})" for name in names)])
    kernel = kgen.jit(text, device=device)
    found = kernel(*arrays)
    return dict(zip(names, found if isinstance(found, tuple) else (found,), strict=True))


def broken(table: list[Rule], got: dict[str, list[Pair]], args: list[Pair], eps: float) -> dict[str, str]:
    """The rows that do not hold, with the first arguments where."""
    wrong: dict[str, str] = {}
    for rule in table:
        rows = [(a, g) for a, g in zip(args, got[rule.name], strict=True) if rule.applies(a)]
        assert rows, f"no sample for {rule}"
        bad = [f"of {a}: {g}" for a, g in rows if not rule.allows(g, a, eps)]
        if bad:
            wrong[str(rule)] = bad[0]
    return wrong


def _rows(array: Array) -> list[Pair]:
    return [(complex(v).real, complex(v).imag) if array.dtype.kind == "c" else (float(v),) for v in array]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real(dtype: str, device: str) -> None:
    """Functions of one and of two real numbers."""
    x = np.array(SAMPLES, dtype)
    a, b = (side.ravel() for side in np.meshgrid(x, x, indexing="ij"))
    wrong: dict[str, str] = {}
    for arrays in ([x], [a, b]):
        table = [rule for rule in REAL if len(rule.condition) == len(arrays)]
        got = results(list(dict.fromkeys(rule.name for rule in table)), device, *arrays)
        args = list(zip(*(array.tolist() for array in arrays), strict=True))
        wrong |= broken(table, {n: _rows(r) for n, r in got.items()}, args, float(np.finfo(dtype).eps))
    assert wrong.keys() == EXCEPTIONS.keys(), wrong


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex(dtype: str, device: str) -> None:
    """Functions of one complex number; a row holds for conjugates too."""
    real, imag = (side.ravel() for side in np.meshgrid(SAMPLES, SAMPLES, indexing="ij"))
    z = np.empty(real.shape, dtype)
    z.real, z.imag = real, imag
    names = list(dict.fromkeys(rule.name for rule in COMPLEX))
    found = {name: _rows(one) for name, one in results([*names, *DERIVED], device, z).items()}
    got: dict[str, list[Pair]] = {name: [(*g, 0.0)[:2] for g in rows] for name, rows in found.items()}
    args = _rows(z)
    eps = float(np.finfo(dtype).eps)
    wrong = broken(COMPLEX, got, args, eps)
    conjugates: dict[str, list[Pair]] = {
        name: [(g[0], -g[1] if name != "abs" else g[1]) for g in rows] for name, rows in got.items()
    }
    both_signs = [rule for rule in COMPLEX if rule.name not in ("round", "sign")]
    wrong |= {
        f"conjugate of {r}": w for r, w in broken(both_signs, conjugates, [(x, -y) for x, y in args], eps).items()
    }
    for name, (of, argument, result) in DERIVED.items():
        table = [rule for rule in COMPLEX if rule.name == of]
        rows = {of: [result(g) for g in got[name]]}
        wrong |= {f"{name} as {r}": w for r, w in broken(table, rows, [argument(a) for a in args], eps).items()}
    assert not wrong
