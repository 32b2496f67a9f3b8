"""Rows that are no multiple of what threads read at once, or begin where nothing is aligned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from kgen.dtypes import BY_NAME
from tests.fuzz.arrays import Array, Recipe
from tests.fuzz.reductions import Program

#: What rows are put to, and the dtypes of what it reads.
TEXTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "softmax": (
        "let m = max(x, axis=-1, keepdims=true)\nlet e = exp(x - m)\nout0 = e / sum(e, axis=-1, keepdims=true)",
        ("bfloat16", "float32", "float16"),
    ),
    "layernorm": (
        "let d = x - mean(x, axis=-1, keepdims=true)\n"
        "out0 = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + y",
        ("bfloat16", "float32"),
    ),
    "shifted": (
        "out0 = (x - max(y, axis=-1, keepdims=true)) * w + sum(x * w, axis=-1, keepdims=true)",
        ("bfloat16", "float16", "int8"),
    ),
    "sum": ("out0 = sum(x, axis=-1)", ("bfloat16", "float64", "int8")),
    "argmax": ("out0 = argmax(x, axis=-1)\nout1 = min(x, axis=-1)", ("bfloat16", "uint8")),
    "var": ("out0 = var(x, axis=-1)\nout1 = logsumexp(x, axis=-1)", ("float16", "float32")),
    "quantise": (
        "out0 = max(max(abs(x), axis=-1, keepdims=true), 1e-12) / 127\nout1 = cast<i8, sat, rne>(x / out0)",
        ("bfloat16", "float32"),
    ),
}


@dataclass(frozen=True, slots=True)
class Rows(Program):
    """A program whose ``x`` and ``y`` have gaps between rows of ``width`` elements."""

    width: int

    def arrays(self, *, exact_size: bool = False) -> dict[str, Array]:
        found = super(Rows, self).arrays(exact_size=exact_size)
        return {name: array[..., : self.width] for name, array in found.items()}


def texts(turn: int | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every text with its dtypes; with ``turn``, with one of them."""
    for text, dtypes in TEXTS.values():
        yield text, dtypes if turn is None else (dtypes[turn % len(dtypes)],)


def in_turn(cases: Sequence[Any], rarely: Sequence[Any] = ()) -> list[Any]:
    """Parameters of a test: each case with a dtype in turn, and by ``-m whole`` with None, for all dtypes.

    ``rarely``: those cases that only ``-m whole`` has.
    """
    chosen = [pytest.param(case, turn, id=f"{case}-{turn}") for turn, case in enumerate(cases) if case not in rarely]
    return [*chosen, *(pytest.param(case, None, id=f"{case}-all", marks=pytest.mark.whole) for case in cases)]


def programs(rows: int, width: int, *, off: int = 0, gap: int = 0, turn: int | None = None) -> list[Rows]:
    """Every text with its dtypes.  ``off``: elements before ``x``; ``gap``: elements between its rows."""
    found: list[Rows] = []
    for text, dtypes in texts(turn):
        for dtype in dtypes:
            recipes = {"x": Recipe(BY_NAME[dtype], (rows, width + gap), (0, 1), (1, 1), off, 7)}
            if "* w" in text:
                wide = "sum(x * w" not in text
                recipes["w"] = Recipe(BY_NAME[dtype], (width,), (0,), (1,), 3 * wide, 8)
                recipes["y"] = Recipe(BY_NAME["float32" if wide else dtype], (rows, width), (0, 1), (1, 1), not wide, 9)
            found.append(Rows(text, recipes, width))
    return found


def across(outer: int, width: int, inner: int, turn: int | None = None) -> list[Program]:
    """Every text with its dtypes, over the middle axis of three."""
    found: list[Program] = []
    for text, dtypes in texts(turn):
        for dtype in dtypes:
            shape, order, steps = (outer, width, inner), (0, 1, 2), (1, 1, 1)
            recipes = {"x": Recipe(BY_NAME[dtype], shape, order, steps, 0, 7)}
            if "* w" in text:
                other = BY_NAME["float32" if "sum(x * w" not in text else dtype]
                recipes["w"] = Recipe(BY_NAME[dtype], (width, 1), (0, 1), (1, 1), 0, 8)
                recipes["y"] = Recipe(other, shape, order, steps, 0, 9)
            found.append(Program(text.replace("axis=-1", "axis=1"), recipes))
    return found
