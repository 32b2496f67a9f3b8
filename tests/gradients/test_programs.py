"""Gradients of programs: broadcasts, reductions, lets, defs, coordinates, compared with differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .oracle import check_gradients

_REDUCTIONS = ("sum", "mean", "prod", "max", "min", "var", "std", "norm", "logsumexp")
_AXES = (
    ", axis=1", ", axis=(0, 2), keepdims=true", "", ", axis=(0, 2)", ", axis=0, keepdims=true",
    ", axis=0", ", axis=-1", ", axis=(1, 2), keepdims=true", ", axis=()",
)  # fmt: skip
_PAIRS = (
    ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (3, 4)), ((3, 1, 4), (2, 1)),
    ((3, 4), (3, 4)), ((1, 4), (3, 1)), ((4,), (3, 4)), ((1,), (3,)),
)  # fmt: skip
whole = pytest.mark.whole


def real(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).uniform(0.5, 2, shape)


def both(*shape: int) -> Any:
    return real(*shape) + 1j * np.random.default_rng(7).uniform(-1, 1, shape)


def run(text: str, **values: Any) -> None:
    check_gradients(text, values, [n for n, v in values.items() if np.asarray(v).dtype.kind in "fc"])


@pytest.mark.parametrize("axis", [*_AXES[:2], *(pytest.param(a, marks=whole) for a in _AXES[2:])])
@pytest.mark.parametrize("name", _REDUCTIONS)
def test_reductions(name: str, axis: str) -> None:
    run(f"out = {name}(x{axis})", x=real(3, 4, 2))
    if name in ("var", "std"):
        run(f"out = {name}(x{axis}, correction=0.5)", x=real(3, 4, 2))
    if name not in ("max", "min"):
        run(f"out = {name}(z{axis})", z=both(3, 4, 2))


@pytest.mark.parametrize("name", _REDUCTIONS)
def test_reductions_of_broadcasts(name: str) -> None:
    run(f"out = {name}(x * y, axis=1) * w", x=real(3, 4, 2), y=real(4, 1), w=real(2))
    run(f"out = {name}(x + 1)", x=real(3, 1, 2))
    run(f"out = {name}(b) * x", x=real(3, 2), b=real(1, 1))


@pytest.mark.parametrize("shapes", [*_PAIRS[:2], *(pytest.param(p, marks=whole) for p in _PAIRS[2:])])
@pytest.mark.parametrize("op", ["+", "-", "*", "/", "**", "%", "//"])
def test_operators(op: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    first, second = shapes
    run(f"out = a {op} b", a=real(*first) + 3, b=real(*second))
    if op not in ("//", "%"):
        for a, b in ((both, both), (real, both), (both, real)):
            run(f"out = a {op} b", a=a(*first), b=b(*second))


@pytest.mark.parametrize("exponent", ["0", "1", "2", "3", "-1", "0.5", "2.5", "-0.5"])
def test_powers(exponent: str) -> None:
    run(f"out = a ** {exponent}", a=real(3, 2))
    run(f"out = a ** {exponent}", a=both(3, 2))


PROGRAMS: dict[str, dict[str, Any]] = {
    "out = -a + (+b) - -c": {"a": real(3), "b": real(3), "c": real(3)},
    "param s = 2.0\nout = x * s + s * 2": {"x": real(3, 2), "s": 1.5},
    "param s\nout = sum(x * exp(s), axis=0)": {"x": real(3, 2), "s": 0.5},
    "out = sum(x + b)": {"x": real(3, 4), "b": real(4)},
    "out = mean(x + b) * w": {"x": real(3, 4), "b": real(4), "w": real(3, 1)},
    "out = sum(x) * 0 + y": {"x": real(3, 4), "y": real(2)},
    "out = sum(sum(x * y, axis=0) * z)": {"x": real(3, 4), "y": real(1, 4), "z": real(4)},
    "out = x * index(0) + index(1)": {"x": real(3, 4)},
    "out = sum(x * index(1), axis=1)": {"x": real(3, 4)},
    "out = sum(w * (index(0) * y), axis=0)": {"w": real(4), "y": real(3, 4)},
    "let i = index(0) * 2 + size(1)\nout = x * i * w": {"x": real(3, 4), "w": real(4)},
    "let i = x * index(1)\nout = i + sum(i, axis=1, keepdims=true)": {"x": real(3, 4)},
    "out = expand(w, axis=(1, 2)) * x": {"w": real(3), "x": real(3, 4, 2)},
    "out = expand(w * w, axis=0) + 1": {"w": real(3)},
    "out = expand(sum(x, axis=1), axis=1) * x": {"x": real(3, 4)},
    "def f(a, b) = a * b + a\ndef g(u) = f(u, u * 2) / u\nout = g(x) + f(x, y + 1)": {"x": real(3, 4), "y": real(4)},
    "a = x * 2\nb = a * a\nc = sum(b * a)": {"x": real(3, 4)},
    "out = max(x, y, z * x, 0.7)": {"x": real(3, 4), "y": real(4), "z": real(3, 1)},
    "out = w[ids, :] * v[ids + 1]": {"w": real(3, 4), "v": real(3, 1), "ids": np.array([1, -1, 0, 1, 7])},
    "out = logsumexp(x, axis=-1) - x[index(0), y]": {"x": real(3, 5), "y": np.array([4, 0, 2])},
    "out = silu(x[ids, 1:3]) * sum(x, axis=0)[1:3]": {"x": real(3, 4), "ids": np.array([2, 2])},
    "out = x[::2, ::-1] * w[1::2, None]": {"x": real(5, 3), "w": real(6)},
    "out = (x[1:] - x[:-1]) * x[:1] + x[1:-1][:1]": {"x": real(4)},
    "let t = x[index(0), y][:, None]\nout = w * d / (2 + t * sin(t))": {
        "x": real(3, 5), "y": np.array([4, 0, 2]), "w": real(3, 4), "d": real(3, 1),
    },
    "out = x / (2 + x[index(0), y][:, None])": {"x": real(3, 5), "y": np.array([4, 0, 2])},
    "out = exp(x[index(0), y]) * w": {"x": real(3, 5), "y": np.array([4, 0, 2]), "w": real(3)},
    "out = z[i] * z[0]": {"z": both(4), "i": np.array([0, 3, 3, 1, 0, 0])},
    "out = repeat(x * x, 3, axis=0)": {"x": real(2)},
    "out = take(x, i, axis=-1, mode='wrap') * take(w, i, mode='clamp')": {
        "x": real(2, 3), "w": real(4), "i": np.array([5, -1, 2, 5, 9]),
    },
    "let s = sum(x * w, axis=1)\nout = s[i] * u + sum(s)": {
        "x": real(3, 4), "w": real(4), "u": real(5), "i": np.array([0, 2, 2, 1, -1]),
    },
    "let t = x * w\nout = (t[1:] - t[:-1]) * t[0] + t[::2, 0][:1]": {"x": real(3, 4), "w": real(4)},
    "let t = x * w\nlet u = t[i]\nout = u * t[i, j][:, None] + t[:3] + sum(u[j])": {
        "x": real(4, 3), "w": real(3), "i": np.array([0, 2, 2]), "j": np.array([1, 1, -1]),
    },
    "out = take(exp(x), i, axis=0, mode='clamp') * mean(x, axis=0)[j]": {
        "x": real(3, 4), "i": np.array([0, 9, 2]), "j": np.array([0, 3, 3, 2]),
    },
    "let t = x * w\nlet d = max(t, axis=-1) - t[index(0), i]\nout = d * d": {
        "x": real(5, 4), "w": real(4), "i": np.array([0, -1, 3, 2, 1]),
    },
    "out = sum(x, axis=1)[index(0), i] + mean(x, axis=(1, 2))": {"x": real(5, 3, 4), "i": np.array([0, -1, 3, 2, 1])},
    "out = x[index(0), index(1), i] + sum(x, axis=2)": {"x": real(2, 3, 4), "i": np.array([[0, -1, 3], [2, 1, 9]])},
    "out = x[i, index(0)] * w + sum(x, axis=0)": {"x": real(4, 5), "w": real(5), "i": np.array([0, -1, 3, 2, 1])},
    "let p = x / sum(x, axis=-1, keepdims=true)\nout = log(p[index(0), i]) * x[:, 0]": {
        "x": real(5, 4), "i": np.array([0, 1, 3, 2, 1], np.uint8),
    },
    "let s = split(x, axis=1, by=2)\nlet n = s / sum(s, axis=2, keepdims=true)\nout = merge(n, axis=(1, 2)) * w": {
        "x": real(3, 6), "w": real(6),
    },
    "out = x[1::2] * x[::2]\nt = sum(x * y, axis=1)\nq = x[i]": {
        "x": real(8, 3), "y": real(3), "i": np.array([2, 2, 1]),
    },
    "out = x[:, 1::2, :] * w * x[:, ::2]": {"x": real(3, 6, 2), "w": real(2)},
    "out = sum(x[:, 1::2], axis=1) * sum(x[:, ::2], axis=1)": {"x": real(3, 7)},
    "let n = x * rsqrt(mean(x * x, axis=-1, keepdims=true))\nout = n[:, ::2] * c - n[:, 1::2] * s": {
        "x": real(3, 8), "c": real(4), "s": real(4),
    },
    "out = w[:, None] * x + w[None, :]": {"x": real(3, 3), "w": real(3)},
    "let z = a * a\nout = z[i] * b": {"a": both(4), "b": both(3), "i": np.array([0, 2, 2])},
    "out = x > 1 ? x * y : y": {"x": real(3, 4), "y": real(4)},
    "out = where(m, x, y)": {"m": real(3, 4) > 1, "x": real(3, 4), "y": real(4)},
    "out = complex(a, b) * z": {"a": real(3, 4), "b": real(4), "z": both(3, 1)},
    "out = real(z) * imag(z) + abs(z * x)": {"z": both(3), "x": real(3)},
    "out = real(z * x)": {"z": both(3, 2), "x": real(2)},
    "out = cast<f64>(x) * 2 + cast<int>(x)": {"x": real(3) + 0.1},
    "out = 2 / x + x / 2 + 3 ** x": {"x": real(3)},
    "out = i * x + hypot(i, x) + x / i": {"i": np.arange(90, 102, dtype=np.int8).reshape(3, 4), "x": real(3, 4)},
    "let m = max(x, axis=-1, keepdims=true)\nlet e = exp(x - m)\nout = e / sum(e, axis=-1, keepdims=true)": {
        "x": real(3, 5)
    },
    "let m = mean(x, axis=-1, keepdims=true)\nlet r = rsqrt(var(x, axis=-1, keepdims=true) + 1e-5)\n"
    "out = (x - m) * r * w + b": {"x": real(3, 5), "w": real(5), "b": real(5)},
    "let x_grad = x * y\nlet out_grad = exp(x_grad)\nout = out_grad * v1\nlet v2 = 1": {
        "x": real(3), "y": real(3), "v1": real(3),
    },
}  # fmt: skip

ARRANGED: dict[str, dict[str, Any]] = {
    "let h = size(x, -1) // 2\nout = silu(x[..., :h]) * x[..., h:]": {"x": real(4, 8)},
    "let h = size(x, -1) // 2\nlet a = x[:, :h]\nlet b = x[:, h:]\nlo = a * c - b * s\nhi = b * c + a * s": {
        "x": real(4, 8), "c": real(4, 4), "s": real(4, 4),
    },
    "out = x[1:] * 2 + sum(x[:, :3])": {"x": real(4, 3)},
    "out = x[:, 1:-1]": {"x": real(4, 8)},
    "out = x[1:3, 2:] * y": {"x": real(4, 8), "y": real(2, 6)},
    "out = x[0] * y": {"x": real(4, 8), "y": real(3, 8)},
    "out = x[:, None, 2] * y": {"x": real(4, 8), "y": real(4, 3)},
    "out = x[:, 0] * x[:, 2] + x[:, 1]": {"x": real(4, 3)},
    "out = (x * x)[1:] + y": {"x": real(4, 8), "y": real(8)},
    "out = transpose(x, (1, 0)) * y": {"x": real(4, 8), "y": real(8, 4)},
    "out = sum(transpose(x, (2, 0, 1)), axis=0) * 2": {"x": real(2, 3, 4)},
    "out = sum(transpose(x)) * x": {"x": real(2, 3)},
    "out = flip(x, axis=1) * y + flip(x * x)": {"x": real(4, 8), "y": real(8)},
    "let g = split(x, axis=-1, by=4)\nout = sum(g * g, axis=-1)": {"x": real(3, 8)},
    "let y = split(x, by=4) * 2\nout = y * rsqrt(mean(y * y, axis=(-2, -1), keepdims=true))": {"x": real(3, 8)},
    "out = mean(split(x, by=2), axis=-1)": {"x": real(3, 8)},
    "out = sum(x[:, 2:] + b)": {"x": real(3, 8), "b": real(6)},
    "out = concat(x, y, axis=1) * 2": {"x": real(3, 2), "y": real(3, 5)},
    "out = stack(x, y * y, axis=-1)": {"x": real(3, 2), "y": real(3, 2)},
    "let p = split(y, by=2)\n"
    "out = merge(stack(p[..., 0] * c - p[..., 1] * s, p[..., 1] * c + p[..., 0] * s, axis=-1))": {
        "y": real(3, 8), "c": real(4), "s": real(4),
    },
}  # fmt: skip


@pytest.mark.parametrize("text", ARRANGED)
def test_indices_and_views(text: str) -> None:
    run(text, **ARRANGED[text])


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs(text: str) -> None:
    run(text, **PROGRAMS[text])


def test_values_that_are_named_as_functions() -> None:
    """Rules call functions of these names, so that values take others; outputs keep theirs."""
    x = np.linspace(-1, 1, 5)
    check_gradients("let sigmoid = x * 2\nout = silu(x) * sigmoid", {"x": x}, ["x"])
    check_gradients("cos = sin(x)\nlet exp = tanh(x)\nout = cos * exp", {"x": x}, ["x"])


def test_names_of_functions_that_rules_call() -> None:
    """Arguments and temporaries keep their names, beside these functions."""
    rng = np.random.default_rng(0)
    values = {name: rng.uniform(1, 2, shape) for name, shape in (("sum", (4,)), ("x", (3, 4)), ("sign", (3, 1)))}
    text = "input sum, x, sign\nlet exp = abs(x) * sign\nout = exp / sum + exp(x)"
    check_gradients(text, values, list(values))
