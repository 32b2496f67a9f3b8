"""Rules that a review found broken once, each by the program that showed it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen

U8 = np.array([0, 1, 200], np.uint8)
F3 = np.arange(3, dtype=np.float32)
F23 = np.zeros((2, 3), np.float32)


def run(text: str, *args: Any, **named: Any) -> Any:
    return kgen.jit(text, device="cpu", fmad=False)(*args, **named)


@pytest.mark.parametrize(
    ("text", "named", "expected"),
    [
        ("out = u > n - 5", {"n": 3}, [True, True, True]),
        ("out = u > -n", {"n": 3}, [True, True, True]),
        ("out = u < n * 100", {"n": 3}, [True, True, True]),
        ("out = u + n // 100", {"n": 300}, [3, 4, 203]),
        ("out = u + n % 3", {"n": 1000}, [1, 2, 201]),
    ],
)
def test_weak_whole_numbers_are_exact(text: str, named: dict[str, int], expected: list[Any]) -> None:
    """Arithmetic of Python integers has its exact value, and only the result takes the array's dtype."""
    assert run(f"param n = 1\n{text}", U8, **named).tolist() == expected


def test_weak_functions_stay_weak() -> None:
    """Powers, ``abs`` and ``max`` of Python scalars take the dtype that they meet."""
    one = np.ones(1)
    assert run("param a = 0.1\nout = d * a ** 2", one)[0] == 0.1 * 0.1
    assert run("param a = 0.1\nout = d * max(a, 0)", one)[0] == 0.1
    assert run("param n = 3\nout = x * abs(n)", np.ones(2, np.int8)).dtype == np.int8
    assert run("param a = 0.1\nout = h * a ** 2", np.ones(2, np.float16)).dtype == np.float16


def test_an_output_reads_with_its_own_shape() -> None:
    """What was stored reads back with the shape of the array, not that of the value."""
    assert run("inout p\np = 2.0\nq = p + 1", F23.copy()).shape == (2, 3)
    assert run("inout p\ninput b\np = b\nq = p", F23.copy(), F3).shape == (2, 3)
    assert run("out = 1.0\nq = size(out, 0) + 0", shape=(4,))[1].tolist() == [4, 4, 4, 4]


def test_defs_depend_on_the_shape_of_their_arguments() -> None:
    """Two arguments that hold the same value in other shapes are two calls."""
    assert run("def f(t) = t + 1\nout = f(imag(a)) * 0 + f(imag(b))", F3, F23).shape == (2, 3)
    text = "def f(t) = size(t, 0)\nout = f(real(complex(v, a))) * 10 + f(v) + a * 0"
    assert run(text, F3, F23)[0, 0] == 2 * 10 + 3


def test_expand_does_not_take_index() -> None:
    """``index`` counts axes of the statement, so it cannot stand inside ``expand``."""
    with pytest.raises(kgen.KgenError, match="not-yet"):
        run("out = expand(w * index(0), axis=1)", F3)


def test_zeros_of_literals_are_ordered() -> None:
    """-0.0 is below +0.0 in ``min`` and ``max`` of literals too."""
    assert run("out = x * 0 + copysign(1, min(0.0, -0.0))", F3)[0] == -1
    assert run("out = x * 0 + copysign(1, max(-0.0, 0.0))", F3)[0] == 1


def test_a_let_reads_inout_at_its_line() -> None:
    """A ``let`` with ``index`` is lowered where it is used, but an inout argument is read as at the let."""
    assert run("inout p; let t = index(0) + p; p = p * 100; out = t", np.ones(3, np.float32)).tolist() == [1, 2, 3]


def test_activations_lift_integers() -> None:
    """Activations of unsigned integers and bools do not wrap."""
    assert run("out = sigmoid(x)", np.array([0, 1], np.uint8))[0] == 0.5
    assert run("out = silu(x)", np.array([False, True])).dtype == np.float32


def test_complex_division_by_zero() -> None:
    """A complex number over zero has NumPy's infinities."""
    a, b = np.array([1, 1 + 1j, 0, -1 + 2j], np.complex64), np.zeros(4, np.complex64)
    with np.errstate(all="ignore"):
        assert np.array_equal(run("out = z / w", a, b), a / b, equal_nan=True)


def test_names_of_methods_parameters() -> None:
    """An input may have any name that is not a call keyword."""
    assert run("input self\nout = self + 1", self=F3).tolist() == [1, 2, 3]


def test_source_takes_arrays_or_classes() -> None:
    """Arrays say their own dtypes, so ``dtypes=`` beside them is an error."""
    with pytest.raises(kgen.KgenError, match="bad-call"):
        kgen.jit("out = x").source(F3, dtypes="f16")


def test_huge_scalars() -> None:
    """An integer that no float holds is an error that names it."""
    with pytest.raises(kgen.KgenError, match=r"value-out-of-range.*`a`"):
        run("param a = 0.1\nout = r * a", F3, a=10**400)
