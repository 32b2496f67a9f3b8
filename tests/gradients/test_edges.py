"""At ties, zeros, infinities and ends of ranges, gradients are PyTorch's; at NaN they are NaN or those beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .oracle import derived, gradients

torch: Any = pytest.importorskip("torch", reason="these are gradients of torch")
F: Any = torch.nn.functional

X = np.array([-np.inf, -6.0, -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0, np.inf])
UNARY: dict[str, Callable[[Any], Any]] = {
    "abs(x)": torch.abs, "sqrt(x)": torch.sqrt, "rsqrt(x)": torch.rsqrt, "sign(x)": torch.sign, "floor(x)": torch.floor,
    "relu(x)": torch.relu, "relu6(x)": F.relu6, "hardtanh(x)": F.hardtanh,
    "leaky_relu(x, 0.1)": lambda x: F.leaky_relu(x, 0.1),
    "elu(x)": F.elu, "selu(x)": F.selu, "celu(x)": F.celu, "hardsigmoid(x)": F.hardsigmoid, "hardswish(x)": F.hardswish,
    "softshrink(x, 0.5)": F.softshrink, "hardshrink(x, 0.5)": F.hardshrink,
    # As torch.clamp since 2.14.
    "clip(x, -1, 1)": F.hardtanh, "saturate(x)": lambda x: F.hardtanh(x, 0, 1),
    "x ** 0": lambda x: x**0, "x ** 1": lambda x: x**1, "x ** 2": lambda x: x**2, "x ** 0.5": lambda x: x**0.5,
    "x > 0 ? x : 0": lambda x: torch.where(x > 0, x, 0), "sum(x) * 0": lambda x: x.sum() * 0,
    "max(x)": torch.amax, "log(x)": torch.log, "reciprocal(x)": torch.reciprocal, "sinc(x)": torch.sinc,
}  # fmt: skip
PAIRS = np.array([-np.inf, -1.0, -0.5, 0.0, 0.5, 1.0, np.inf])
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "max(x, y)": torch.maximum, "min(x, y)": torch.minimum,
    "fmax(x, y)": torch.maximum, "fmin(x, y)": torch.minimum,  # as torch.fmax and fmin since 2.14
    "x ** y": torch.pow, "xlogy(x, y)": torch.xlogy, "x * y": torch.mul, "copysign(x, y)": torch.copysign,
    "atan2(x, y)": torch.atan2, "hypot(x, y)": torch.hypot,
}  # fmt: skip
TIES = np.array([[1.0, 3.0, 3.0], [0.0, 0.0, 0.0], [2.0, 0.0, 5.0]])
REDUCED: dict[str, Callable[[Any], Any]] = {
    "max(x, axis=1)": lambda x: x.amax(1), "min(x, axis=1)": lambda x: x.amin(1), "max(x)": lambda x: x.amax(),
    "prod(x, axis=1)": lambda x: x.prod(1), "norm(x, axis=1)": lambda x: x.norm(dim=1),
    "std(x, axis=1, correction=1)": lambda x: x.std(1), "logsumexp(x, axis=1)": lambda x: x.logsumexp(1),
}  # fmt: skip


def compare(text: str, function: Callable[..., Any], **values: Any) -> None:
    tensors = [torch.tensor(v, requires_grad=True) for v in values.values()]
    result = function(*tensors)
    cotangent = torch.linspace(1, 2, result.numel(), dtype=torch.float64).reshape(result.shape)
    result.backward(cotangent)
    found = gradients(f"out = {text}", values, list(values), {"out": cotangent.numpy()})
    for name, tensor in zip(values, tensors, strict=True):
        np.testing.assert_allclose(found[f"{name}"], tensor.grad.numpy(), rtol=1e-7, err_msg=f"{text}: d/d{name}")


@pytest.mark.parametrize("text", UNARY)
def test_unary(text: str) -> None:
    compare(text, UNARY[text], x=X)


@pytest.mark.parametrize("text", BINARY)
def test_binary(text: str) -> None:
    x, y = (grid.ravel().copy() for grid in np.meshgrid(PAIRS, PAIRS))
    compare(text, BINARY[text], x=x, y=y)


def test_clip_between_operands() -> None:
    """At an end the operand and the end have half each; where both ends are equal, one operand has all of it."""
    values = dict(zip("xyz", (grid.ravel().copy() for grid in np.meshgrid(PAIRS, PAIRS, PAIRS)), strict=True))
    differ = {name: value[values["y"] != values["z"]] for name, value in values.items()}
    compare("clip(x, y, z)", lambda x, y, z: torch.minimum(torch.maximum(x, y), z), **differ)
    found = gradients("out = clip(x, y, z)", values, list(values), {"out": np.full(len(values["x"]), 3.0)})
    np.testing.assert_array_equal(sum(found.values()), 3)


@pytest.mark.parametrize("text", REDUCED)
def test_reductions(text: str) -> None:
    compare(text, REDUCED[text], x=TIES)


def test_sinc_near_0() -> None:
    """In float32 too the derivative keeps its digits, where the cosine and sinc are nearly equal."""
    x = np.concatenate([10.0 ** np.arange(-12, 0), [0.0, 0.1249, 0.1251, 0.5, 3.25]])
    wide = x.astype(np.float32).astype(float)
    with np.errstate(all="ignore"):
        series = wide * (-(np.pi**2) / 3 + wide**2 * np.pi**4 / 30 - wide**4 * np.pi**6 / 840)
        exact = np.where(wide < 0.02, series, (np.cos(np.pi * wide) - np.sinc(wide)) / wide)
    found = gradients("out = sinc(x)", {"x": x.astype(np.float32)}, ["x"], {"out": np.ones(len(x), np.float32)})["x"]
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize("function", ["i1(x)", "j1(x)", "copysign(x, 2)"])
def test_second_derivatives_at_0(function: str) -> None:
    x = np.array([-0.0, 0.0])
    first = derived(f"out = {function}", {"x": x}, ["x"])
    found = gradients(first, {"x": x, "out_grad": np.ones(2)}, ["x"], {"x_grad": np.ones(2)})["x"]
    np.testing.assert_array_equal(found, 0)


def test_second_derivatives_of_products() -> None:
    """With up to four factors that are 0."""
    x = np.array([[1, 2, 3, 4], [0, 2, 3, 4], [1, 0, 3, 0], [0, 5, 0, 0], [0, 0, 0, 0]], np.float64)
    cotangent, direction = np.linspace(1, 2, 5), np.linspace(-1, 2, 20).reshape(x.shape)
    first = derived("out = prod(x, axis=1)", {"x": x}, ["x"])
    found = gradients(first, {"x": x, "out_grad": cotangent}, ["x", "out_grad"], {"x_grad": direction})
    leaves = torch.tensor(x, requires_grad=True), torch.tensor(cotangent, requires_grad=True)
    (grad,) = torch.autograd.grad(leaves[0].prod(1), leaves[0], leaves[1], create_graph=True)
    for got, want in zip(found.values(), torch.autograd.grad(grad, leaves, torch.tensor(direction)), strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-12)
