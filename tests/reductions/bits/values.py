"""Rows whose elements are where exact reductions go wrong: zeros of both signs, NaN, infinities, denormals, ties."""

from __future__ import annotations

import numpy as np

from kgen.dtypes import BY_NAME
from kgen.ir.rounding import numpy_dtype
from tests.fuzz.arrays import Array, edges


def special_rows(dtype: str, rows: int, width: int, seed: int = 0) -> Array:
    """Each row is of a kind of its own, the kinds repeat; what decides a row may be anywhere in it."""
    known = BY_NAME[dtype]
    rng = np.random.default_rng(seed)
    if known.is_bool:
        return np.asarray(rng.random((rows, width)) < np.linspace(0, 1, rows)[:, None])
    if known.is_int:
        found = rng.choice(edges(known), (rows, width))
        found[::3] = rng.integers(0, 3, found[::3].shape)
        return found
    kind = numpy_dtype(known)
    x = rng.normal(size=(rows, width))
    x[rng.random(x.shape) < 0.2] = 0
    x = np.where(rng.random(x.shape) < 0.5, x, -x)  # half of the zeros are -0.0
    for row in range(rows):
        at = rng.integers(width, size=3)
        match row % 11:
            case 1:
                x[row] = -0.0
            case 2:
                x[row] = np.where(rng.random(width) < 0.5, 0.0, -0.0)
            case 3:
                x[row, at[0]] = np.inf
            case 4:
                x[row, at] = -np.inf
            case 5:
                x[row, at[:2]] = np.nan
            case 6:
                x[row] = -np.inf
            case 7:
                x[row] = np.round(x[row])  # ties
            case 8:
                x[row] *= float(edges_of(dtype)[0]) * 4  # denormals
            case 9:
                x[row] *= float(edges_of(dtype)[1]) / 8
            case 10:
                x[row] = -np.abs(x[row])
            case _:
                pass
    with np.errstate(all="ignore"):
        return x.astype(kind)


def edges_of(dtype: str) -> tuple[float, float]:
    """The least and the greatest positive number."""
    values = edges(BY_NAME[dtype]).astype(np.float64)
    values = values[np.isfinite(values) & (values > 0)]
    return float(values.min()), float(values.max())
