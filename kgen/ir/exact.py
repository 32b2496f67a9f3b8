"""The oracle of exact ops in NumPy: integer operations, basic arithmetic, selection, classification.

Everything runs under ``np.errstate(all="ignore")``: integers wrap, floats follow IEEE 754.
"""

from __future__ import annotations

import math

import numpy as np

from kgen.ir.rounding import Array, bit_length, unsigned

INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1


def is_float(x: Array) -> bool:
    return x.dtype.kind == "f"


def sign(x: Array) -> Array:
    """-1, 0 or 1; NaN for NaN, and +0.0 for either zero (as in NumPy)."""
    return np.sign(x)


def powi(x: Array, exponent: int) -> Array:
    """``x**exponent`` by squaring: 3 is ``(x*x)*x``, 7 is ``((x**4)*(x**2))*x``; 0 gives 1, for NaN too."""
    result: Array | None = None
    square = x
    squares = []
    while exponent:
        if exponent & 1:
            squares.append(square)
        exponent >>= 1
        if exponent:
            square = square * square
    for factor in reversed(squares):  # the highest power first
        result = factor if result is None else result * factor
    return np.ones_like(x) if result is None else result


def minimum(x: Array, y: Array) -> Array:
    """NaN wins; -0.0 is below +0.0."""
    if not is_float(x):
        return np.minimum(x, y)
    less = (x < y) | ((x == y) & np.signbit(x)) | np.isnan(x)
    return np.where(less, x, y)


def maximum(x: Array, y: Array) -> Array:
    """NaN wins; -0.0 is below +0.0."""
    if not is_float(x):
        return np.maximum(x, y)
    more = (x > y) | ((x == y) & ~np.signbit(x)) | np.isnan(x)
    return np.where(more, x, y)


def fmin(x: Array, y: Array) -> Array:
    """NaN loses; -0.0 is below +0.0."""
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, minimum(x, y)))


def fmax(x: Array, y: Array) -> Array:
    """NaN loses; -0.0 is below +0.0."""
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, maximum(x, y)))


def _shift(x: Array, amount: Array) -> tuple[Array, Array]:
    """Which amounts are below the width, and the amounts with all others replaced by 0."""
    width = x.dtype.itemsize * 8
    good = (amount >= 0) & (amount < width)
    return good, np.where(good, amount, amount.dtype.type(0)).astype(amount.dtype)


def shl(x: Array, amount: Array) -> Array:
    good, by = _shift(x, amount)
    return np.where(good, (unsigned(x) << unsigned(by)).view(x.dtype), x.dtype.type(0))


def shr(x: Array, amount: Array) -> Array:
    """Logical for unsigned, arithmetic for signed values; amounts beyond the width give 0 or the sign."""
    good, by = _shift(x, amount)
    far = x >> x.dtype.type(x.dtype.itemsize * 8 - 1) if x.dtype.kind == "i" else np.zeros_like(x)
    return np.where(good, x >> by, far)


def int_pow(x: Array, exponent: Array) -> Array:
    """Wrapping; a negative exponent gives 0, but 1 for base 1 and ±1 for base -1."""
    base, rest = np.broadcast_arrays(unsigned(x), unsigned(exponent))
    one = base.dtype.type(1)
    result = np.ones_like(base)
    for _ in range(x.dtype.itemsize * 8):
        result = np.where(rest & one, result * base, result)
        base, rest = base * base, rest >> one
    power = np.asarray(result).view(x.dtype)
    if x.dtype.kind == "u":
        return power
    odd = (exponent & x.dtype.type(1)) != 0
    unit = np.where(x == 1, x, np.where(x == -1, np.where(odd, x, -x), x.dtype.type(0)))
    return np.where(exponent < 0, unit, power)


def popcount(x: Array) -> Array:
    bits = unsigned(x).astype(np.uint64)
    for shift, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        bits = (bits & np.uint64(mask)) + ((bits >> np.uint64(shift)) & np.uint64(mask))
    return ((bits * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype(np.int32)


def clz(x: Array) -> Array:
    """Leading zeros within the value's own width: ``clz(int8(1))`` is 7."""
    return (x.dtype.itemsize * 8 - bit_length(unsigned(x))).astype(np.int32)


def ffs(x: Array) -> Array:
    """Position of the lowest set bit counted from 1; 0 for 0."""
    bits = unsigned(x)
    return bit_length(bits & (~bits + bits.dtype.type(1))).astype(np.int32)


def fmod(x: Array, y: Array) -> Array:
    """C's remainder, with the sign of ``x``; of integers by 0 it is 0."""
    if is_float(x):
        return np.fmod(x, y)
    floored = np.remainder(x, y)
    away = (floored != 0) & ((x < 0) != (y < 0))
    return np.where(away, floored - y, floored)


def fdim(x: Array, y: Array) -> Array:
    return np.where(np.isnan(x) | np.isnan(y), x + y, np.where(x > y, x - y, x.dtype.type(0)))


def logb(x: Array) -> Array:
    _, exponent = np.frexp(x)
    result = np.where(x == 0, -np.inf, exponent - 1.0)
    return np.where(np.isfinite(x), result, np.abs(x)).astype(x.dtype)


def ilogb(x: Array) -> Array:
    """As CUDA documents it: INT_MIN for zero and NaN, INT_MAX for infinities (whatever FP_ILOGB0 is on the host)."""
    _, exponent = np.frexp(x)
    result = np.where((x == 0) | np.isnan(x), INT_MIN, exponent.astype(np.int64) - 1)
    return np.where(np.isinf(x), INT_MAX, result).astype(np.int32)


def fma(x: Array, y: Array, z: Array) -> Array:
    """``x*y + z`` with one rounding."""
    return _fma32(x, y, z) if x.dtype == np.float32 else _fma64(x, y, z)


def _fma32(x: Array, y: Array, z: Array) -> Array:
    """The product is exact in float64, and the sum is rounded to odd there, so that the second rounding is correct."""
    product, addend = x.astype(np.float64) * y.astype(np.float64), z.astype(np.float64)
    total = np.asarray(product + addend)
    part = total - product
    error = (product - (total - part)) + (addend - part)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    away = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    inexact = np.isfinite(total) & np.isfinite(error) & (error != 0)
    return np.where(inexact & even, away, total).astype(np.float32)


def _fma64(x: Array, y: Array, z: Array) -> Array:
    """Element by element in Python integers, whose true division rounds correctly, also to subnormals."""
    x, y, z = np.broadcast_arrays(x, y, z)
    values = [_fma_one(*row) for row in zip(x.ravel().tolist(), y.ravel().tolist(), z.ravel().tolist(), strict=True)]
    return np.array(values, np.float64).reshape(x.shape)


def _fma_one(x: float, y: float, z: float) -> float:
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z
    (a, b), (c, d), (e, f) = x.as_integer_ratio(), y.as_integer_ratio(), z.as_integer_ratio()
    numerator = a * c * f + e * b * d
    if numerator == 0:
        # The sign of a zero is that of the rounded operations, unless x*y underflows to zero.
        return 0.0 if a * c else x * y + z
    try:
        return numerator / (b * d * f)
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf
