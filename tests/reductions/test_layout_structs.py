"""The layout structs of kernels with reductions hold what the kernels read, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import kgen

TEXTS = [
    "out = sum(x, axis=0)",
    "out = max(x, axis=1) + 1",
    "out = var(x, axis=(0, 2))",
    "out = x / sum(x, axis=-1, keepdims=true)",
    "out = x / sum(x, axis=1, keepdims=true)",
    "out = argmax(x, axis=1)",
    "out = x - max(x, axis=(0, 2), keepdims=true)",
    "out = sum(x * y, axis=(0, 1))",
]
SHAPES: list[tuple[tuple[int, int, int], tuple[int, int, int]]] = [
    ((40, 50, 64), (3200, 64, 1)),
    ((40, 50, 64), (1, 40, 2000)),
    ((40, 50, 63), (6400, 127, 2)),
    ((3000, 70, 33), (33, 99000, 1)),
]


def entries(text: str) -> Iterator[tuple[str, bool]]:
    """Every entry of every struct, and whether what follows reads it."""
    for struct in re.finditer(r"struct (\w+)_layout \{\n(.*?)\n\};(.*?)(?=\nstruct \w+_layout|\Z)", text, re.S):
        for line in struct[2].splitlines():
            field = re.match(r"\s+[\w ]+? (\w+)(?:\[(\d+)\])?;", line)
            assert field is not None
            places = [f"[{i}]" for i in range(int(field[2]))] if field[2] else [""]
            for place in places:
                yield f"{struct[1]}: {field[1]}{place}", f"layout.{field[1]}{place}" in struct[3]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(("shape", "strides"), SHAPES, ids=str)
def test_every_entry_is_read(text: str, shape: tuple[int, int, int], strides: tuple[int, int, int]) -> None:
    arrays: dict[str, Any] = {
        name: kgen.spec(shape, "f32", strides=strides) for name in "xy" if re.search(rf"\b{name}\b", text)
    }
    source = kgen.jit(text).source(**arrays)
    found = list(entries(source))
    assert [name for name, read in found if not read] == []
    assert found or "layout" not in source


def test_what_is_the_same_for_all_columns() -> None:
    """A number that another kernel left is read down columns without a stride."""
    x = np.random.default_rng(0).standard_normal((2, 16))
    got = kgen.jit("out = mean(x + norm(x, keepdims=true), axis=-2)", device="cpu")(x)
    np.testing.assert_allclose(got, (x + np.linalg.norm(x)).mean(0), rtol=1e-12)
