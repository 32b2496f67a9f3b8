"""Promotion: every pair of dtypes, against PyTorch's lattice and NumPy's where PyTorch has none."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen.check.promotion import promote
from kgen.dtypes import BY_NAME, DTYPES, FLOAT32, DType, Kind
from tests.check.typing import NAMED_SCALARS, result

TABLE: dict[str, Any] = json.loads((Path(__file__).parent.parent / "data" / "torch_promotion.json").read_text())


def lattice(a: DType, b: DType) -> DType | None:
    """What the contract says of two arrays."""
    known = TABLE["array_array"][f"{a},{b}"]
    if known is not None:
        return BY_NAME[known]
    if a.is_fp8 or b.is_fp8:
        fp8, other = (a, b) if a.is_fp8 else (b, a)
        if other.is_int or (other.is_fp8 and other is not fp8):
            return None
        return fp8 if other.is_bool or other is fp8 else other
    if a.is_complex or b.is_complex:
        return a if a.is_complex else b
    joined = BY_NAME[np.promote_types(a.name, b.name).name]
    if joined.is_float:  # uint64 with a signed integer
        return None
    return joined


@pytest.mark.parametrize("a", DTYPES, ids=lambda t: t.short)
def test_two_arrays(a: DType) -> None:
    """The lattice: an integer never widens a float; unsigned integers join as in NumPy; fp8 gives way."""
    for b in DTYPES:
        wanted = lattice(a, b)
        if wanted is not None and not (a.is_int and b.is_float) and not (a.is_float and b.is_int):
            assert promote(a, b) is wanted, b
        assert promote(a, b) is promote(b, a), b
        op = "==" if wanted is None and a.is_int and b.is_int else "+"
        expected = "bool" if op == "==" else "no-common-dtype" if wanted is None else wanted.short
        assert result(f"out = a {op} b", f"a={a.short} b={b.short}") == expected, b


@pytest.mark.parametrize("a", DTYPES, ids=lambda t: t.short)
def test_rank_never_matters(a: DType) -> None:
    """A 0-d array, even one passed by value, promotes as an array; so does a typed param."""
    for b in DTYPES:
        expected = result("out = a + b", f"a={a.short} b={b.short}")
        assert result("out = a + b", f"a={a.short} b={b.short}()") == expected, b
        assert result(f"param b: {b}\nout = a + b", f"a={a.short}") == expected, b


@pytest.mark.parametrize(("dtype", "kind"), list(product(DTYPES, NAMED_SCALARS)), ids=str)
def test_array_with_python_scalar(dtype: DType, kind: str) -> None:
    """A weak value takes the array's dtype when its kind allows, else the default of its own kind."""
    wanted = TABLE["array_pyscalar"][f"{dtype},{kind}"]
    if wanted is None:
        assert dtype.is_fp8
        wanted = "complex64" if kind == "complex" else dtype.name
    wanted = {"complex32": "complex64", "bcomplex32": "complex64"}.get(wanted, wanted)  # kgen has no complex half
    literal = {"bool": "true", "int": "2", "float": "2.5", "complex": "2j"}[kind]
    expected = BY_NAME[wanted].short
    assert result("out = a + b", f"a={dtype.short} b=<{kind}>") == expected
    assert result(f"out = a + {literal}", f"a={dtype.short}") == expected
    assert result(f"param k = {literal}\nout = a + k", f"a={dtype.short}") == expected


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.short)
def test_float_functions_lift(dtype: DType) -> None:
    """``/`` and float functions make float32 of integers and bool, and keep every other dtype."""
    lifted = FLOAT32.short if dtype.kind < Kind.FLOAT else dtype.short
    assert result("out = a / a", f"a={dtype.short}") == lifted
    assert result("out = exp(a)", f"a={dtype.short}") == lifted


@pytest.mark.parametrize("dtype", [t for t in DTYPES if t.kind is not Kind.COMPLEX], ids=lambda t: t.short)
def test_functions_that_keep_integers(dtype: DType) -> None:
    """``abs sign floor ceil trunc round clip min max fmin fmax`` have their argument's dtype."""
    for text in ("abs(a)", "sign(a)", "floor(a)", "ceil(a)", "trunc(a)", "round(a)"):
        assert result(f"out = {text}", f"a={dtype.short}") == ("no-function" if dtype.is_bool else dtype.short)
    for text in ("clip(a, a, a)", "min(a, a)", "max(a, a)", "fmin(a, a)"):
        assert result(f"out = {text}", f"a={dtype.short}") == dtype.short
