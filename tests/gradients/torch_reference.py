"""Programs of real numbers as functions of torch: their text is Python's but for casts, their functions are torch's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch

F = torch.nn.functional


def _axes(x: Any, axis: Any) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return function(x, _axes(x, axis), keepdim=keepdims)

    return reduce


def _extreme(of_two: Callable[..., Any], of_many: Callable[..., Any]) -> Callable[..., Any]:
    """``max(a, b)``, or ``max(x, axis=...)``."""
    reduced = _reduction(of_many)

    def extreme(x: Any, *others: Any, **words: Any) -> Any:
        return of_two(x, torch.as_tensor(others[0], dtype=x.dtype)) if others else reduced(x, **words)

    return extreme


def _prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    for number in sorted(_axes(x, axis), reverse=True):
        x = torch.prod(x, number, keepdim=keepdims)
    return x


class IllConditionedError(Exception):
    """Gradients are rounding errors: the standard deviation of equal values."""


def _std(x: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    found = torch.std(x, axes, correction=0, keepdim=keepdim)
    if bool((found < 1e-9).any()):
        raise IllConditionedError
    return found


def _clip(x: Any, low: Any, high: Any) -> Any:
    """``torch.clamp`` does not broadcast ``x``."""
    low, high = (torch.as_tensor(end, dtype=x.dtype) for end in (low, high))
    return torch.clamp(*torch.broadcast_tensors(x, low, high))


MEANINGS: dict[str, Any] = {
    **{n: getattr(torch, n) for n in (
        "sin", "tanh", "sigmoid", "exp", "sqrt", "log", "atan", "erf", "abs", "rsqrt", "square", "where", "hypot",
        "atan2", "logaddexp",
    )},
    **{n: getattr(F, n) for n in ("silu", "gelu", "softplus", "mish", "elu", "softsign")},
    **{n: _reduction(getattr(torch, n)) for n in ("sum", "mean", "logsumexp")},
    "var": _reduction(lambda x, axes, keepdim: torch.var(x, axes, correction=0, keepdim=keepdim)),
    "std": _reduction(_std),
    "norm": _reduction(lambda x, axes, keepdim: torch.linalg.vector_norm(x, dim=axes, keepdim=keepdim)),
    "max": _extreme(torch.maximum, torch.amax), "min": _extreme(torch.minimum, torch.amin), "prod": _prod,
    "normcdf": torch.special.ndtr, "fma": lambda a, b, c: a * b + c, "lerp": lambda a, b, t: a + t * (b - a),
    "leaky_relu": lambda x, slope: torch.where(x > 0, x, x * slope), "clip": _clip,
    "transpose": torch.permute, "flip": lambda x, axis: torch.flip(x, (axis,)), "true": True,
}  # fmt: skip


def function_of(text: str) -> Callable[..., dict[str, Any]]:
    """The outputs of a program by name, as a function of its inputs by name."""
    plain = re.sub(r"cast<f64>", "", text)

    def call(**inputs: Any) -> dict[str, Any]:
        names = {**MEANINGS, **inputs}
        outputs: dict[str, Any] = {}
        for line in plain.splitlines():
            name, _, value = line.partition(" = ")
            head, _, function = name.partition(" ")
            if head == "def":
                own, _, words = function.partition("(")
                names[own] = eval(f"lambda {words.rstrip(')')}: {value}", names)
            else:
                names[function or head] = made = eval(value, names)
                outputs |= {} if function else {head: made}
        return outputs

    return call
