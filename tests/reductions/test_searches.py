"""Searches by predicted time take right ways only: here they take the fastest of the others, whatever it gains."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import kgen
from tests.forced import AS_MANY, Tuned, forced

#: Usual ways are left for any other one.
ALWAYS: Tuned = {
    **AS_MANY,
    "columns": {"gain": 1e6, "gain_of_others": 1e6, "enough_waves": 1 << 20},
    "column_tiles": {"gain": 1e6},
    "resident_columns": {"gain": 1e6},
    "rows": {"gain_in_place": 1e6},
    "traffic": {"slow": 0, "gain": 1e6},
}
EXTENTS = (1, 2, 3, 5, 7, 8, 16, 20, 36, 52, 100, 256, 500)
MOST = 1 << 17  # elements


def operand(rng: Random, shape: tuple[int, ...], seed: int) -> Any:
    """Small whole numbers, whose sums are exact, in any order of axes and with gaps between rows."""
    order = rng.sample(range(len(shape)), len(shape))
    values = np.random.default_rng(seed).integers(-6, 7, [shape[a] + rng.choice((0, 0, 1, 3)) for a in order])
    dtype = rng.choice((np.float32, np.float32, np.int8, np.float64, np.float16))
    return values.astype(dtype)[tuple(slice(shape[a]) for a in order)].transpose(np.argsort(order))


def check(seed: int) -> None:
    rng = Random(seed)
    shape = tuple(rng.choice(EXTENTS) for _ in range(rng.choice((2, 3, 3, 3, 4))))
    while np.prod(shape) > MOST:
        shape = (*shape[:-1], rng.choice(EXTENTS[:6])) if shape[-1] > EXTENTS[5] else shape[1:]
    axes = tuple(sorted(rng.sample(range(len(shape)), rng.randint(1, 2))))
    arrays = {name: operand(rng, shape, seed + n) for n, name in enumerate(rng.choice(("ab", "abc")))}
    text = "let z = " + " * ".join(f"cast<f32>({name})" for name in arrays)
    z = np.prod([x.astype(np.float32) for x in arrays.values()], axis=0)
    if rng.random() < 0.7:
        text, wanted = f"{text}\ns = sum(z, axis={axes})\nm = max(z, axis={axes})", [z.sum(axes), z.max(axes)]
    else:
        text, wanted = f"{text}\nout = z - max(z, axis={axes[0]}, keepdims=true)", [z - z.max(axes[0], keepdims=True)]
    with forced(ALWAYS):
        results = kgen.jit(text, device="cpu")(**arrays)
    for found, want in zip(results if isinstance(results, tuple) else (results,), wanted, strict=True):
        assert np.array_equal(found, want), (seed, text, shape)


@pytest.mark.parametrize("seed", range(10))
def test_the_fastest_of_other_ways(seed: int) -> None:
    check(seed)


@pytest.mark.whole
@pytest.mark.parametrize("seed", range(100, 700, 50))
def test_more_of_other_ways(seed: int) -> None:
    for one in range(seed, seed + 50):
        check(one)
