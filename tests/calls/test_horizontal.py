"""Kernels of steps that do not depend on each other, in one launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen
from tests.forced import forced
from tests.llm.references import both_rotated, cached, rotated
from tests.llm.test_kernels import FOLDER

Array = np.ndarray[Any, Any]
ALWAYS = {"elementwise": {"pair_threads": 1}}
TWO = "input i, w\ninout x, y\nx = x + w[i]\ny = y * expand(w[i], axis=1)"


def templates(k: Any, *arguments: Any) -> list[str]:
    return [s["schedule"]["template"] for s in k.explain(*arguments).to_dict()["kernels"]]


def test_rotary(device: str, rng: np.random.Generator) -> None:
    """Repeated calls with other numbers of tokens and heads, one of them none."""
    k: Any = kgen.jit(path=FOLDER / "rotary_embedding.k", device=device)
    table = rng.standard_normal((50, 64)).astype("float32")
    for tokens, heads in ((1, 3), (7, 3), (7, 3), (70, 1), (33, 3), (9, 0), (0, 3), (8, 5), (8, 5)):
        positions = rng.integers(0, 50, tokens)
        query, key = (rng.standard_normal((tokens, h, 64)).astype("float32") for h in (8, heads))
        wanted = both_rotated(rotated, positions, table, query, key)
        assert tokens * heads == 0 or templates(k, positions, table, query, key) == ["horizontal"]
        k(positions, table, query, key)
        for found, want in zip((query, key), wanted, strict=True):
            np.testing.assert_allclose(found, want, 1e-5, 1e-5)


def test_parts_of_other_ranks_and_batches(device: str, rng: np.random.Generator) -> None:
    """Each has its own space, and may take several groups a thread."""
    k: Any = kgen.jit(TWO, device=device)
    w, i = rng.standard_normal((9, 24)).astype("f4"), rng.integers(0, 9, 50)
    for forcing in ({}, ALWAYS):
        x, y = rng.standard_normal((50, 24)).astype("f4"), rng.standard_normal((50, 3, 24)).astype("f4")
        expected = x + w[i], y * w[i][:, None]
        with forced(forcing):
            assert templates(k, i, w, x, y) == ["horizontal"]
            k(i, w, x, y)
        np.testing.assert_array_equal(x, expected[0])
        np.testing.assert_array_equal(y, expected[1])


def test_parts_of_a_concatenation(device: str, rng: np.random.Generator) -> None:
    """Of any lengths, some of which are not aligned."""
    k: Any = kgen.jit("out = concat(a, b * 2, c, axis=-1)", device=device)
    for lengths in ((64, 128, 32), (33, 20, 47), (33, 20, 47), (40, 1, 40)):
        a, b, c = (rng.standard_normal((50, n)).astype("f4") for n in lengths)
        assert 1 in lengths or templates(k, a, b, c) == ["horizontal"]
        np.testing.assert_array_equal(k(a, b, c), np.concatenate([a, b * 2, c], -1))


def test_views_of_one_cache(device: str, rng: np.random.Generator) -> None:
    """Parts may write between each other."""
    k: Any = kgen.jit(path=FOLDER / "concat_and_cache_mla.k", device=device)
    cache, slots = np.zeros((3, 4, 96), "f4"), np.array([7, -1, 0, 11, 4])
    c, pe = rng.standard_normal((5, 64)).astype("f4"), rng.standard_normal((5, 32)).astype("f4")
    k(c, pe, slots, cache[..., :64], cache[..., 64:])
    np.testing.assert_array_equal(cache, cached(np.concatenate([c, pe], -1), slots, np.zeros((3, 4, 96), "f4")))


@pytest.mark.parametrize(
    "text",
    [
        "inout x, y\nx = x + y[:, :1]\ny = y * 2",  # one reads what the other updates
        "s = sum(x, axis=1)\nout = x[:, ::-1] + 1",  # one reduces
        "out = x + 1",
    ],
)
def test_steps_that_have_launches_of_their_own(device: str, text: str) -> None:
    """Where they depend on each other, reduce, or are one."""
    arguments = {n: np.ones((8, 8), "f4") for n in ("x", "y") if n in text}
    k: Any = kgen.jit(text, device=device)
    assert "horizontal" not in templates(k, *arguments.values())


def test_parts_in_memory_order(device: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """As copies of NumPy's arrays on a GPU may lie, when those that the launch was decided for do not."""
    monkeypatch.setattr("kgen.pipeline.fuse_horizontally", lambda schedules: True)
    k: Any = kgen.jit("p = a + 1\nq = concat(b, b * 2, axis=0)", device=device)
    for extent in (256, 7):
        a, b = rng.standard_normal((50, extent)).astype("f4"), rng.standard_normal((9, 3, extent)).astype("f4")
        assert device == "cuda" or templates(k, a, b) == ["horizontal"]
        p, q = k(a, b)
        np.testing.assert_array_equal(p, a + 1)
        np.testing.assert_array_equal(q, np.concatenate([b, b * 2]))


@pytest.mark.parametrize("width", [256, 7])
def test_arrays_with_gaps(device: str, rng: np.random.Generator, width: int) -> None:
    """NumPy's, of which a GPU has dense copies."""
    a, b = (
        rng.standard_normal((50, 264)).astype("f4")[:, :width],
        rng.standard_normal((9, 3, 264)).astype("f4")[..., :width],
    )
    p, q = kgen.jit("p = a + 1\nq = concat(b, b * 2, axis=0)", device=device)(a, b)
    np.testing.assert_array_equal(p, a + 1)
    np.testing.assert_array_equal(q, np.concatenate([b, b * 2]))
