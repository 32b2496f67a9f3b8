"""The oracle of ``reduce`` in NumPy: accumulates in a wider type and rounds once; integers wrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgen.dtypes import COMPLEX128, FLOAT64, DType
from kgen.ir.graph import NO_IDENTITY, CastMode, Reduction
from kgen.ir.rounding import Array, cast, numpy_dtype

_NEAREST = CastMode("rne", False)


def reduce(values: Array, source: DType, target: DType, attr: Reduction) -> Array:
    """``values`` of ``source`` reduced over ``attr.axes`` (moved to one last axis first), as ``target``."""
    kept = [axis for axis in range(values.ndim) if axis not in attr.axes]
    moved = np.transpose(values, (*kept, *attr.axes))
    outer = tuple(values.shape[axis] for axis in kept)
    count = int(np.prod([values.shape[axis] for axis in attr.axes], dtype=np.int64))
    rows = np.ascontiguousarray(moved).reshape((*outer, count))
    if count == 0 and attr.kind in NO_IDENTITY:
        raise ValueError(f"{attr.kind} of nothing has no value")
    with np.errstate(all="ignore"):
        result = np.asarray(_rows(rows, source, target, attr))
    if attr.keepdims:
        shape = tuple(1 if axis in attr.axes else extent for axis, extent in enumerate(values.shape))
        return result.reshape(shape)
    return result.reshape(outer)


def _rows(rows: Array, source: DType, target: DType, attr: Reduction) -> Array:
    match attr.kind:
        case "min" | "max":
            return _extreme(rows, source, attr.kind)
        case "argmin" | "argmax":
            return _position(rows, source, attr.kind)
        case "any" | "all" | "count_nonzero":
            return _TRUTHS[attr.kind](rows != 0)  # NaN is true
        case kind if source.is_complex:
            value = np.asarray(_COMPLEX[kind](rows.astype(np.clongdouble)))
            return cast(value.astype(np.complex128), COMPLEX128, target, _NEAREST)
        case "sum" | "prod" if not (source.is_float or target.is_float):
            return _integers(rows, target, attr.kind)
        case _:
            return _floats(rows, source, target, attr)


def _position(rows: Array, source: DType, kind: str) -> Array:
    """NumPy's rule: the first of equal elements, and the first NaN before all others."""
    values = cast(rows, source, FLOAT64, _NEAREST) if source.is_narrow else rows
    return np.asarray(values.argmin(axis=-1) if kind == "argmin" else values.argmax(axis=-1), np.int64)


def _integers(rows: Array, target: DType, kind: str) -> Array:
    """A sum or product modulo 2^64, cut to the target's width."""
    wide = rows.astype(np.uint64 if target.is_int and not target.signed else np.int64)
    total = np.asarray(wide.sum(axis=-1) if kind == "sum" else wide.prod(axis=-1))
    return total.astype(numpy_dtype(target))


def _floats(rows: Array, source: DType, target: DType, attr: Reduction) -> Array:
    if source.is_narrow:
        rows = cast(rows, source, FLOAT64, _NEAREST)
    if attr.kind == "norm":  # squares are in the result's dtype, as in NumPy and PyTorch, and may overflow in it
        rounded_rows = rows.astype(numpy_dtype(target))
        squares = np.sum(rounded_rows * rounded_rows, axis=-1, dtype=np.longdouble)
        return np.asarray(np.sqrt(squares.astype(rounded_rows.dtype)))
    # Twice the result's precision.
    accumulator = np.longdouble if target is FLOAT64 or attr.kind == "prod" else np.float64
    value = np.asarray(_FLOATS[attr.kind](rows.astype(accumulator), attr.correction))
    rounded = cast(value.astype(np.float64), FLOAT64, target, _NEAREST)
    return np.asarray(np.sqrt(rounded)) if attr.kind == "std" else rounded


def _extreme(rows: Array, source: DType, kind: str) -> Array:
    if not source.is_float:
        return np.asarray(rows.min(axis=-1) if kind == "min" else rows.max(axis=-1))
    wide = cast(rows, source, FLOAT64, _NEAREST)
    bits = wide.view(np.int64)
    keys = np.where(bits < 0, bits ^ np.int64((1 << 63) - 1), bits)  # sorts like the values, with -0.0 below +0.0
    best = np.asarray(keys.min(axis=-1) if kind == "min" else keys.max(axis=-1))
    value = np.where(best < 0, best ^ np.int64((1 << 63) - 1), best).view(np.float64)
    value = np.where(np.isnan(wide).any(axis=-1), np.nan, value)
    return cast(value, FLOAT64, source, _NEAREST)


def _mean(rows: Array) -> Any:
    return np.sum(rows, axis=-1) / rows.shape[-1]


def _var(rows: Array, correction: float) -> Any:
    """The variance about the mean; as in NumPy, a negative divisor counts as 0."""
    distance = rows - np.asarray(_mean(rows))[..., None]
    return np.sum(distance * distance, axis=-1) / rows.dtype.type(max(rows.shape[-1] - correction, 0))


def _logsumexp(rows: Array, _: float) -> Any:
    if rows.shape[-1] == 0:
        return np.full(rows.shape[:-1], -np.inf, rows.dtype)
    peak = np.max(rows, axis=-1, keepdims=True)
    finite = np.where(np.isfinite(peak), peak, 0)
    return np.log(np.sum(np.exp(rows - finite), axis=-1)) + finite[..., 0]


def _exp_sum(rows: Array, _: float) -> Any:
    return np.sum(np.exp(rows - np.max(rows, axis=-1, keepdims=True)), axis=-1)


def _complex_logsumexp(rows: Array) -> Any:
    """Relative to the greatest real part, which may be infinite; elements with real part -inf count as 0."""
    if rows.shape[-1] == 0:
        return np.full(rows.shape[:-1], -np.inf, rows.dtype)
    peak = np.max(rows.real, axis=-1, keepdims=True)
    below = np.where(rows.real == peak, 0, rows.real - peak)
    terms = np.where(np.isneginf(rows.real), 0, np.exp(below) * (np.cos(rows.imag) + 1j * np.sin(rows.imag)))
    return np.log(np.sum(terms, axis=-1)) + peak[..., 0]


_TRUTHS: dict[str, Callable[[Array], Array]] = {
    "any": lambda true: np.asarray(true.any(axis=-1)),
    "all": lambda true: np.asarray(true.all(axis=-1)),
    "count_nonzero": lambda true: np.asarray(true.sum(axis=-1, dtype=np.int64)),
}

_COMPLEX: dict[str, Callable[[Array], Any]] = {
    "prod": lambda rows: np.prod(rows, axis=-1),
    "logsumexp": _complex_logsumexp,
}

_FLOATS: dict[str, Callable[[Array, float], Any]] = {
    "sum": lambda rows, _: np.sum(rows, axis=-1),
    "prod": lambda rows, _: np.prod(rows, axis=-1),
    "mean": lambda rows, _: _mean(rows),
    "var": _var,
    "std": _var,  # _floats takes the square root
    "logsumexp": _logsumexp,
    "exp_sum": _exp_sum,
}
