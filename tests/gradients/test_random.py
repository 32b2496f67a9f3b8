"""Random programs of smooth functions, broadcasts and reductions: gradients agree with differences."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from kgen.gradients.derive import request_for
from kgen.gradients.saved import backward_text, chosen, forward_text
from kgen.load import load

from .oracle import check_gradients, gradients, run, types

SHAPES = ((3, 4), (3, 4), (4,), (3, 1), ())
UNARY = (
    "sin({})", "tanh({})", "sigmoid({})", "silu({})", "gelu({})", "softplus({})", "exp(-{0} * {0})",
    "sqrt(1 + {0} * {0})",
    "log(2 + {0} * {0})", "atan({})", "erf({})", "abs({})", "-{}", "{} ** 2", "{} ** 3", "mish({})", "elu({})",
    "cast<f64>({})", "normcdf({})", "rsqrt(2 + {0} * {0})", "{0} * 0.5", "softsign({})", "square({})",
)  # fmt: skip
BINARY = (
    "{} + {}", "{} - {}", "{} * {}", "{0} / (2 + {1} * {1})", "max({}, {})", "min({}, {})",
    "where({0} > {1}, {0}, {1} * 2)",
    "atan2({}, 2 + tanh({}))", "hypot({}, 1 + {})", "logaddexp({}, {})", "(1.5 + tanh({})) ** tanh({})",
    "fma({0}, {1}, {0})",
    "lerp({0}, {1}, 0.3)", "leaky_relu({}, {})", "twice({}, {})", "clip({0}, -0.7, {1} * {1} + 1)",
)  # fmt: skip
REDUCTIONS = ("sum", "mean", "max", "min", "var", "std", "norm", "logsumexp", "prod")
#: By rank, with the shapes of the results.
VIEWS: dict[int, tuple[tuple[str, Callable[..., tuple[int, ...]]], ...]] = {
    1: (
        ("{}[1:3]", lambda n: (2,)), ("flip({}, axis=0)", lambda n: (n,)), ("{}[None]", lambda n: (1, n)),
        ("{}[2]", lambda n: ()),
    ),
    2: (
        ("{}[1:]", lambda m, n: (m - 1, n)), ("{}[..., :2]", lambda m, n: (m, 2)), ("{}[0]", lambda m, n: (n,)),
        ("transpose({}, (1, 0))", lambda m, n: (n, m)), ("flip({}, axis=1)", lambda m, n: (m, n)),
        ("{}[:, -1]", lambda m, n: (m,)),
    ),
}  # fmt: skip
AXES = {
    1: ("", ", axis=-1"),
    2: ("", ", axis=0", ", axis=1, keepdims=true", ", axis=0, keepdims=true", ", keepdims=true"),
}


class Generator:
    """One program in the making.  ``values``: names with their shapes; ``views``: whether it has views of values."""

    def __init__(self, seed: int, views: bool) -> None:
        self.views = views
        self.rng = Random(seed)
        self.lines = ["def twice(u, v) = u * tanh(v) + v * u"]
        count = self.rng.randint(1, 4)
        self.values: dict[str, tuple[int, ...]] = {
            f"{'xywz'[i]}": self.rng.choice(SHAPES) if i else (3, 4) for i in range(count)
        }
        self.inputs = dict(self.values)

    def program(self) -> str:
        for number in range(self.rng.randint(2, 6)):
            self.statement(f"t{number}", "let ")
        used = [n for n in self.values if n not in self.inputs]
        last = used[-1] if self.values[used[-1]] in SHAPES else f"sum({used[-1]})"
        self.lines.append(f"out = {' + '.join([last, *self.inputs])}")
        if self.rng.random() < 0.3:
            self.statement("other", "")
        return "\n".join(self.lines)

    def statement(self, name: str, word: str) -> None:
        text, shape = self.expression(2)
        if self.views and min(shape, default=0) > 2 and self.rng.random() < 0.3:
            view, viewed = self.rng.choice(VIEWS[len(shape)])
            text, shape = view.format(f"({text})"), viewed(*shape)
        if shape and self.rng.random() < 0.35:
            text, shape = self.reduction(text, shape)
        self.lines.append(f"{word}{name} = {text}")
        self.values[name] = shape

    def expression(self, depth: int) -> tuple[str, tuple[int, ...]]:
        if depth == 0 or self.rng.random() < 0.2:
            name = self.rng.choice(list(self.values))
            return name, self.values[name]
        if self.rng.random() < 0.5:
            text, shape = self.expression(depth - 1)
            return self.rng.choice(UNARY).format(f"({text})"), shape
        (a, first), (b, second) = self.expression(depth - 1), self.expression(depth - 1)
        try:
            shape = np.broadcast_shapes(first, second)
        except ValueError:
            b, shape = f"sum({b})", first
        return self.rng.choice(BINARY).format(f"({a})", f"({b})"), shape

    def reduction(self, text: str, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
        words = self.rng.choice(AXES[len(shape)])
        axis = 0 if "axis=0" in words else 1 if "axis=1" in words else -1 if "axis=-1" in words else None
        found = np.sum(np.zeros(shape), axis=axis, keepdims="keepdims" in words).shape
        return f"{self.rng.choice(REDUCTIONS)}({text}{words})", found


def program_of(seed: int, views: bool = False) -> tuple[str, dict[str, Any]]:
    """A program, and values of its inputs."""
    generator = Generator(seed, views)
    text, rng = generator.program(), np.random.default_rng(seed)
    return text, {name: np.asarray(rng.uniform(-1.5, 1.5, shape)) for name, shape in generator.inputs.items()}


def check(seed: int) -> None:
    text, values = program_of(seed)
    check_gradients(text, values, list(values))


def is_steep(seed: int) -> bool:
    """Whether values are so large that differences say nothing, as of the sine of 1e59."""
    text, values = program_of(seed)
    outputs = run(load(text), values)
    cotangents = {name: np.ones_like(value) for name, value in outputs.items()}
    return any(np.abs(g).max() > 1e9 for g in gradients(text, values, list(values), cotangents).values())


@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed: int) -> None:
    check(seed)


@pytest.mark.whole
@pytest.mark.parametrize("seed", range(1000, 3000, 100))
def test_more_random_programs(seed: int) -> None:
    for one in range(seed, seed + 100):
        if not is_steep(one):
            check(one)


def check_pair(seed: int) -> int:
    """Both programs of a pair agree with the program and with its gradients; returns how many values are saved."""
    text, values = program_of(seed)
    rng = np.random.default_rng(seed)
    program, args = load(text), types(values)
    outputs = run(program, values)
    request = request_for(list(values), list(outputs), list(values))
    saved = chosen(program, args, request, None).saved
    cotangents = {name: np.asarray(rng.standard_normal(value.shape)) for name, value in outputs.items()}
    forward = run(load(forward_text(program, args, request, saved)), values)
    for name, value in outputs.items():
        np.testing.assert_allclose(forward[name], value, rtol=1e-12, atol=1e-12)
    backward = load(backward_text(program, args, request, saved))
    known = {**values, **forward, **{request.cotangents[name]: value for name, value in cotangents.items()}}
    found = run(backward, {a.name: known[a.name] for a in backward.arguments})
    for name, value in gradients(text, values, list(values), cotangents).items():
        np.testing.assert_allclose(found[request.results[name]], value, rtol=1e-7, atol=1e-9)
    return len(saved)


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(1000, 1300), marks=pytest.mark.whole)])
def test_random_pairs(monkeypatch: pytest.MonkeyPatch, seeds: range) -> None:
    """Where rows of 4 elements count as long, so that their statistics are saved, too."""
    monkeypatch.setattr("kgen.gradients.saved._LONG", 3)
    assert sum(map(check_pair, seeds)) >= len(seeds) // 8
