"""Exact casts: every value is split into sign, integer mantissa and exponent, and rounded once.

This does not use the conversions of NumPy and ml_dtypes: they only round to nearest, convert to bfloat16 and fp8
through float32, and wrap where kgen saturates.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kgen.dtypes import DType
from kgen.records import dataclass

if TYPE_CHECKING:  # the adapter of NumPy, which most calls use, needs none of these
    from kgen.ir.graph import CastMode
    from kgen.syntax.tree import RoundingMode

Array = NDArray[Any]


@cache
def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype that holds a value of ``dtype``."""
    return np.dtype(getattr(ml_dtypes, dtype.name) if dtype.ml_dtypes else dtype.name)


def unsigned(values: Array) -> Array:
    """The bits of integers or floats, as unsigned integers of the same width."""
    return values.view(np.dtype(f"u{values.dtype.itemsize}"))


def bit_length(bits: Array) -> NDArray[np.int64]:
    """Position of the highest set bit of unsigned values, counted from 1 (0 for 0)."""
    wide = bits.astype(np.uint64)
    high = wide >> np.uint64(32)
    half = np.where(high != 0, high, wide)  # float64 holds 32 bits exactly
    return np.asarray(np.frexp(half.astype(np.float64))[1] + np.where(high != 0, 32, 0), np.int64)


@dataclass(frozen=True, slots=True)
class Parts:
    """Values as ``(-1)**negative * mantissa * 2**exponent``; meaningless where ``nan`` or ``inf``."""

    negative: NDArray[np.bool_]
    mantissa: NDArray[np.uint64]
    exponent: NDArray[np.int64]
    nan: NDArray[np.bool_]
    inf: NDArray[np.bool_]


def take_apart(values: Array, dtype: DType) -> Parts:
    """The exact parts of bool, integer or float values."""
    no = np.zeros(values.shape, np.bool_)
    if not dtype.is_float:
        negative = np.asarray(values < 0) if dtype.signed else no
        wide = values.astype(np.int64).view(np.uint64) if dtype.signed else values.astype(np.uint64)
        return Parts(negative, np.where(negative, -wide, wide), np.zeros(values.shape, np.int64), no, no)
    bits = unsigned(values).astype(np.uint64)
    negative = (bits >> np.uint64(dtype.bits - 1)) != 0
    magnitude = bits & np.uint64((1 << (dtype.bits - 1)) - 1)
    fraction = magnitude & np.uint64((1 << dtype.mantissa) - 1)
    field = (magnitude >> np.uint64(dtype.mantissa)).astype(np.int64)
    exponent = np.maximum(field, 1) + dtype.least_exponent - 1  # subnormals share the least exponent
    mantissa = np.where(field > 0, fraction | np.uint64(1 << dtype.mantissa), fraction)
    infinity = dtype.infinity_bits
    if infinity is None:
        return Parts(negative, mantissa, exponent, np.asarray(magnitude == np.uint64(dtype.nan_bits)), no)
    inf = np.asarray(magnitude == np.uint64(infinity))
    return Parts(negative, mantissa, exponent, np.asarray(magnitude > np.uint64(infinity)), inf)


def shift_right(parts: Parts, shift: NDArray[np.int64], mode: RoundingMode) -> NDArray[np.uint64]:
    """``mantissa / 2**shift`` as an integer, rounded by ``mode``; ``shift`` is positive or the result fits."""
    mantissa = parts.mantissa
    down = np.clip(shift, 0, 63).astype(np.uint64)
    kept = np.where(shift < 64, mantissa >> down, np.uint64(0)) << np.clip(-shift, 0, 63).astype(np.uint64)
    rest = np.where(shift <= 0, np.uint64(0), np.where(shift < 64, mantissa - ((mantissa >> down) << down), mantissa))
    if mode == "rne":
        half = np.uint64(1) << np.clip(shift - 1, 0, 63).astype(np.uint64)
        tie = (rest == half) & (shift <= 64)
        up = ((rest > half) & (shift <= 64)) | (tie & ((kept & np.uint64(1)) != 0))
        up &= shift > 0
    elif mode == "rz":
        up = np.zeros(kept.shape, np.bool_)
    else:
        up = (rest != 0) & (parts.negative if mode == "rd" else ~parts.negative)
    return np.asarray(kept + up, np.uint64)


def to_float(parts: Parts, dtype: DType, mode: CastMode) -> Array:
    """Round once to a float dtype."""
    least = dtype.least_exponent
    leading = parts.exponent + bit_length(parts.mantissa) - 1
    quantum = np.where(parts.mantissa == 0, least, np.maximum(leading - dtype.mantissa, least))
    kept = shift_right(parts, quantum - parts.exponent, mode.rounding)
    # A carry out of the mantissa increments the exponent field, also when a subnormal becomes normal.
    field = (quantum - least).astype(np.uint64) << np.uint64(dtype.mantissa)
    bits = np.where(parts.inf | parts.nan, np.uint64(0), kept + field)

    largest, infinity, nan = np.uint64(dtype.largest_bits), dtype.infinity_bits, np.uint64(dtype.nan_bits)
    overflow = nan if infinity is None else np.uint64(infinity)
    # Rounding towards zero stops at the largest finite value, and so does saturation.
    outwards = {"rne": parts.negative | True, "rz": parts.negative & False, "ru": ~parts.negative, "rd": parts.negative}
    past = largest if mode.saturate else np.where(outwards[mode.rounding], overflow, largest)
    bits = np.where(bits > largest, past, bits)
    bits = np.where(parts.inf, largest if mode.saturate else overflow, bits)
    bits = np.where(parts.nan, nan, bits)
    bits = bits | (parts.negative.astype(np.uint64) << np.uint64(dtype.bits - 1))
    return np.asarray(bits.astype(np.dtype(f"u{dtype.size}")).view(numpy_dtype(dtype)))


def to_int(parts: Parts, dtype: DType, rounding: RoundingMode) -> Array:
    """Round once to an integer dtype and clamp to its range; NaN gives 0."""
    magnitude = shift_right(parts, -parts.exponent, rounding)
    huge = parts.inf | (parts.exponent + bit_length(parts.mantissa) > 64)
    limit = np.where(parts.negative, np.uint64(-dtype.int_min), np.uint64(dtype.int_max))
    magnitude = np.where(huge, limit, np.minimum(magnitude, limit))
    magnitude = np.where(parts.nan, np.uint64(0), magnitude)
    return _signed(magnitude, parts.negative, dtype)


def _signed(magnitude: NDArray[np.uint64], negative: NDArray[np.bool_], dtype: DType) -> Array:
    bits = np.where(negative, -magnitude, magnitude)
    return np.asarray(bits.astype(np.dtype(f"u{dtype.size}"))).view(numpy_dtype(dtype))


def cast(values: Array, source: DType, target: DType, mode: CastMode) -> Array:
    """``values`` of ``source`` as ``target``: one rounding from the exact value."""
    with np.errstate(all="ignore"):
        if source.is_complex or target.is_complex:
            return _cast_complex(values, source, target, mode)
        parts = take_apart(np.asarray(values), source)
        if target.is_bool:
            return np.asarray((parts.mantissa != 0) | parts.nan | parts.inf)
        if target.is_float:
            return to_float(parts, target, mode)
        if source.is_float or mode.saturate:
            return to_int(parts, target, mode.rounding)
        return _signed(parts.mantissa, parts.negative, target)


def _cast_complex(values: Array, source: DType, target: DType, mode: CastMode) -> Array:
    real = cast(np.asarray(values.real), source.real, target.real, mode)
    if not target.is_complex:
        if target.is_bool:
            return np.asarray(values != 0)
        raise TypeError(f"no cast from {source} to {target}: take `real` first")
    result = np.zeros(values.shape, numpy_dtype(target))
    result.real = real
    if source.is_complex:
        result.imag = cast(np.asarray(values.imag), source.real, target.real, mode)
    return result
