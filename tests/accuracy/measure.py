"""Measures functions on a device: many functions in one program, each over arguments of its own."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt

import kgen

from .references import EDGE, ROWS, Row

Array = npt.NDArray[Any]
DTYPES = ("float32", "float64")

#: Results below are counted in units of this: what is made of a subnormal has as few digits as that.
FLOOR = {"float32": 2.0**-142, "float64": 2.0**-1064}
_BATCH = 12
_SCREENED = 1 << 20
_CHECKED = 96


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest error, in units in the last place, and the arguments that give it."""

    ulp: float
    at: tuple[float, ...]


def measure(device: str, dtype: str, count: int, names: Iterable[str] = ROWS) -> dict[str, Worst]:
    """The largest error of each function over ``count`` sets of arguments.

    In float32 these are the worst of a million, found by running the same program in float64.
    """
    found: dict[str, Worst] = {}
    asked = list(names)
    for batch in (asked[i : i + _BATCH] for i in range(0, len(asked), _BATCH)):
        screened = dtype == "float32" and count > _CHECKED
        arguments = {n: grid(n, dtype, _SCREENED if screened else count) for n in batch}
        results = _run(device, arguments)
        if screened:
            wide = _run(device, {n: [x.astype(np.float64) for x in xs] for n, xs in arguments.items()})
            for n in batch:
                keep = _suspects(results[n], wide[n], count)
                arguments[n], results[n] = [x[keep] for x in arguments[n]], results[n][keep]
        for n in batch:
            found[n] = worst(ROWS[n], dtype, results[n], arguments[n])
    return found


def _run(device: str, arguments: dict[str, list[Array]]) -> dict[str, Array]:
    """The functions of a batch as the outputs of one program, contraction and all as it is by default."""
    lines: list[str] = []
    inputs: dict[str, Any] = {}
    for name, values in arguments.items():
        of = [f"{name}_{k}" for k in range(len(values))]
        inputs |= dict(zip(of, values, strict=True))
        call = (ROWS[name].call or f"{name}(*)").replace("*", ", ".join(of))
        lines.append(f"out_{name} = {call}")
    made = kgen.jit("\n".join(lines), device=device)(**inputs)
    return dict(zip(arguments, made if len(arguments) > 1 else [made], strict=True))


def _suspects(narrow: Array, wide: Array, count: int) -> npt.NDArray[np.int64]:
    """The places where float32 is farthest from float64, and some others."""
    with np.errstate(all="ignore"):
        unit = np.maximum(np.spacing(np.abs(wide).astype(np.float32)).astype(np.float64), FLOOR["float32"])
        error = np.nan_to_num(np.abs(narrow.astype(np.float64) - wide) / unit, nan=0, posinf=0)
    half = count // 2
    return np.concatenate([np.argsort(error)[-half:], np.arange(0, error.size, max(error.size // half, 1))])


def worst(row: Row, dtype: str, results: Array, arguments: Sequence[Array]) -> Worst:
    """Against mpmath, value by value."""
    largest = Worst(0.0, ())
    with mp.workprec(180):
        for value, *at in zip(results.tolist(), *(x.tolist() for x in arguments), strict=True):
            error = _error(row, dtype, float(value), tuple(at))
            if error > largest.ulp:
                largest = Worst(error, tuple(at))
    return largest


def _error(row: Row, dtype: str, value: float, at: tuple[float, ...]) -> float:
    try:
        exact = row.of(*map(mp.mpf, at))
    except (ValueError, ZeroDivisionError):  # a pole
        return 0.0
    if isinstance(exact, mp.mpc) and exact.imag:
        return 0.0
    exact = mp.re(exact)
    top = float(np.finfo(dtype).max)
    if not mp.isfinite(exact) or abs(exact) >= top:
        return 0.0 if not math.isfinite(value) or abs(value) >= top * (1 - 1e-6) else math.inf
    scale = abs(exact) if row.scale is None else max(abs(exact), row.scale(*map(mp.mpf, at)))
    if not math.isfinite(value):
        return math.inf if scale < top * (1 - 1e-6) else 0.0
    return float(abs(mp.mpf(value) - exact) / _unit(scale, dtype))


def _unit(value: Any, dtype: str) -> Any:
    """The distance of neighbours at ``value``."""
    if value == 0:
        return mp.mpf(FLOOR[dtype])
    digits = 24 if dtype == "float32" else 53
    return max(mp.mpf(2) ** (int(mp.frexp(value)[1]) - digits), mp.mpf(FLOOR[dtype]))


# --- arguments ------------------------------------------------------------------------------------


def grid(name: str, dtype: str, count: int) -> list[Array]:
    """Arguments of ``name``: over all exponents, evenly, and closer and closer to where it is delicate."""
    row, random = ROWS[name], np.random.default_rng(zlib.crc32(f"{name} {dtype}".encode()))
    drawn = [_draw(random, dtype, low, high, row.dense, count) for low, high in row.ranges]
    for later in drawn[1:]:  # arguments that are near each other, where there are several
        near = random.random(count) < 0.3
        close = drawn[0] * (1 + random.normal(size=count) * 2.0 ** random.integers(-20, 2, count))
        low, high = _bounds(row.ranges[1], dtype)
        later[:] = np.where(near & (close >= low) & (close <= high), close, later)
    return [x.astype(dtype) for x in drawn]


def _bounds(ends: tuple[float, float], dtype: str) -> tuple[float, float]:
    edge = 103.0 if dtype == "float32" else 745.0
    low, high = (min(max(x, -edge), edge) if abs(x) == EDGE else x for x in ends)
    return low, high


def _draw(
    random: np.random.Generator, dtype: str, low: float, high: float, dense: Sequence[float], count: int
) -> Array:
    low, high = _bounds((low, high), dtype)
    least = -149 if dtype == "float32" else -1074
    sign = random.choice([-1.0, 1.0], count)
    spread = sign * np.ldexp(1 + random.random(count), random.integers(least, 100, count))
    moderate = sign * np.ldexp(1 + random.random(count), random.integers(-30, 12, count))
    even = random.uniform(max(low, -40.0), min(high, 40.0), count)
    centre = random.choice(dense, count) if dense else even
    close = centre + np.ldexp(
        random.normal(size=count) * np.maximum(np.abs(centre), 1.0), random.integers(-50, 0, count)
    )
    kind = random.integers(0, 10, count)
    x = np.choose(np.minimum(kind // 2, 3) if dense else kind % 3, [spread, moderate, even, close])
    x = x.astype(dtype).astype(np.float64)
    # The ends belong to the range where they are numbers, and poles may be rounded to.
    return np.where((x >= low) & (x <= high), x, even.astype(dtype).astype(np.float64)).clip(low, high)
