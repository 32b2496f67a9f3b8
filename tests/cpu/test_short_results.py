"""Functions that only go into results of 16 bits keep the bound that docs/language.md states."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kgen
from kgen.runtime.cuda.driver import probe

FUNCTIONS = (
    "normcdf(x)", "gelu(x)", "tanh(x)", "exp(x)", "sigmoid(x)", "silu(x)", "softplus(x)", "logsigmoid(x)", "mish(x)",
    "gelu_tanh(x)", "tanh(x) / 3.5", "tanh(x) / n", "gelu_derivative(x)",
)  # fmt: skip
BITS = np.arange(1 << 16, dtype=np.uint16)
DTYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
#: Digits that count, and the exponent of the smallest unit.
DIGITS = {"f16": (11, -24), "bf16": (8, -133)}


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda",
            marks=(
                pytest.mark.gpu,
                pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
            ),
        ),
    ],
)
@pytest.mark.parametrize("name", DTYPES)
def test_every_operand_of_16_bits(name: str, device: str) -> None:
    """Every float of 16 bits: what is rounded is within 2^-16 of the true result, twice that for two functions."""
    dtype, (digits, least) = DTYPES[name], DIGITS[name]
    x = BITS.view(dtype)
    n = np.arange(1, 1 + len(x), dtype=np.uint16)
    texts = [f"out{i}: {name} = {f}" for i, f in enumerate(FUNCTIONS)]
    wide = [f"wide{i} = {f.replace('(x)', '(cast<double>(x))')}" for i, f in enumerate(FUNCTIONS)]
    short = kgen.jit("\n".join(texts), device=device)(x, n)
    exact = kgen.jit("\n".join(wide), device="cpu")(x, n)
    for text, got, want in zip(FUNCTIONS, short, exact, strict=True):
        with np.errstate(all="ignore"):
            rounded = want.astype(np.float32).astype(dtype)
            unit = np.exp2(np.maximum(np.floor(np.log2(np.abs(want))) - digits + 1, least))
            error = np.abs(got.astype(np.float64) - want)
        assert np.array_equal(np.isnan(got), np.isnan(want)), text
        ends = ~np.isfinite(rounded.astype(np.float64)) | ~np.isfinite(want) | (want == 0)
        assert np.array_equal(got[ends], rounded[ends], equal_nan=True), text
        assert np.all(error[~ends] <= 0.5 * unit[~ends] + 2**-15 * np.abs(want[~ends])), text


def helpers_of(text: str, arrays: dict[str, Any]) -> set[str]:
    """The approximations in the text of a program."""
    source = kgen.jit(text).source(**arrays)
    names = ("normal_cdf_fast", "gelu_derivative_fast", "exp_short", "log1p_short", "tanh_short", "divide_approx")
    return {name for name in names if f" {name}(float" in source}


X = np.ones(4, np.float16)
Y = np.ones(4, np.float32)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("out = gelu(x)", {"normal_cdf_fast"}),
        ("out: f16 = gelu(y) * y", {"normal_cdf_fast"}),
        ("out = x + gelu(cast<f16>(y))", {"normal_cdf_fast"}),
        ("out = softplus(x)", {"exp_short", "log1p_short"}),
        ("out: f16 = tanh(y) / (y + 3)", {"tanh_short", "divide_approx"}),
        ("out = gelu(y) + x * 0", set()),  # a result of 32 bits
        ("out = x - gelu(x)", set()),  # may cancel
        ("out = 1 - tanh(x) * tanh(x)", set()),
        ("out = log1p(x)", set()),  # no fraction
        ("out = x / (1 + abs(x))", set()),  # arithmetic stays exact
        ("out: int8 = tanh(x)", set()),
        ("out: bool = tanh(x) > 0.5", set()),
        ("a = gelu(x)\nb: f32 = gelu(x)", set()),
        ("out = x * gelu_derivative(x)", {"gelu_derivative_fast"}),
        ("a = gelu(x)\nb = sum(x)", set()),  # reductions may be cut into other kernels
    ],
)
def test_which_results_are_short(text: str, wanted: set[str]) -> None:
    """``x`` has 16 bits, ``y`` 32."""
    names = set(re.findall(r"\b[xy]\b", text))
    assert helpers_of(text, {name: a for name, a in {"x": X, "y": Y}.items() if name in names}) == wanted
