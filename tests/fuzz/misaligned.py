"""Calls on arrays that begin anywhere between aligned addresses, in rows of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kgen.dtypes import DType
from tests.fuzz.arrays import Recipe
from tests.fuzz.program import Call, Node, Statement

#: Elements from an aligned address to the first input, the second, and the output.
OFFSETS = ((1, 3, 0), (3, 1, 1), (0, 0, 5), (1, 1, 1), (7, 2, 3))
SHAPES = ((17,), (263,), (9, 40), (9, 41), (3, 257), (257, 3), (130, 129))


def misaligned(dtype: DType) -> Iterator[Call]:
    """``a - b``: alike, turned, padded rows, one row for all; into outputs that are dense and that are padded."""
    for offsets in OFFSETS:
        for shape in SHAPES:
            order = tuple(range(len(shape)))
            a, b, out = (Recipe(dtype, shape, order, (1,) * len(shape), k, k) for k in offsets)
            padded = replace(a, steps=(2,) * (len(shape) - 1) + (1,))
            row = replace(b, shape=shape[-1:], order=(0,), steps=(1,))
            yield _call(a, b, out)
            yield _call(padded, row, out)
            if len(shape) > 1:
                yield _call(replace(a, order=order[::-1]), b, out)
                yield _call(b, row, replace(padded, offset=out.offset))


def _call(a: Recipe, b: Recipe, out: Recipe) -> Call:
    return Call((Statement("out", Node("a - b")),), {"a": a, "b": b}, outs=(out,))
