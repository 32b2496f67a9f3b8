"""An oracle for rounding to small float formats: search in the table of all their values, in exact arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .harness import Array


@dataclass(frozen=True)
class Format:
    """A binary format with ``exponent`` and ``fraction`` bits; ``top`` is the code that follows the largest number."""

    exponent: int
    fraction: int
    top: int

    @cached_property
    def magnitudes(self) -> Array:
        """The value of every non-negative code, and as last the value that would follow the largest."""
        codes = np.arange(self.top + 1)
        bias = (1 << (self.exponent - 1)) - 1
        field, fraction = codes >> self.fraction, codes & ((1 << self.fraction) - 1)
        significand = fraction + np.where(field > 0, 1 << self.fraction, 0)
        values: Array = np.ldexp(significand.astype(np.longdouble), np.maximum(field, 1) - bias - self.fraction)
        return values

    def round(self, values: Array, mode: str) -> Array:
        """The codes of ``values``, which must not be NaN."""
        x = values.astype(np.longdouble)
        sign, magnitude = np.signbit(x), np.abs(x)
        table = self.magnitudes
        low = np.clip(np.searchsorted(table, magnitude, side="right") - 1, 0, self.top)
        high = np.minimum(low + 1, self.top)
        below, above = magnitude - table[low], table[high] - magnitude
        if mode == "rn":
            up = (below > above) | ((below == above) & (low % 2 == 1))
        elif mode == "rz":
            up = np.zeros_like(sign)
        else:
            up = (below > 0) & (sign == (mode == "rd"))
        code = np.where(up, high, low)
        if mode != "rn":  # a finite number never passes the largest one towards zero
            away = np.zeros_like(sign) if mode == "rz" else sign == (mode == "rd")
            code = np.where((code == self.top) & np.isfinite(x) & ~away, self.top - 1, code)
        packed: Array = (code | (sign.astype(np.int64) << (self.exponent + self.fraction))).astype(
            np.uint16 if self.exponent + self.fraction > 7 else np.uint8
        )
        return packed

    def probes(self, source: type[np.floating]) -> Array:
        """Every value, every midpoint, their neighbours in ``source``, and random bit patterns; both signs."""
        table = self.magnitudes
        middle = table[:-1] + np.diff(table) / 2
        with np.errstate(over="ignore"):
            points = np.concatenate([table, middle]).astype(source)
        around = [points, np.nextafter(points, source(np.inf)), np.nextafter(points, source(0))]
        word = np.uint32 if source is np.float32 else np.uint64
        noise = np.random.default_rng(7).integers(0, np.iinfo(word).max, 100_000, word).view(source)
        spread = np.exp2(np.random.default_rng(8).uniform(-30, 20, 50_000)).astype(source)
        both = np.concatenate([*around, noise[~np.isnan(noise)], spread, np.array([0, np.inf], source)])
        return np.concatenate([both, -both])


HALF = Format(5, 10, 0x7C00)
BFLOAT = Format(8, 7, 0x7F80)
E5M2 = Format(5, 2, 0x7C)
E4M3 = Format(4, 3, 0x7F)
