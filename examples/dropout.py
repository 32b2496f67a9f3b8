"""Dropout without a stored mask: the same seed drops the same elements."""

import numpy as np
from common import array, check, load


def scramble(h: np.ndarray, k: int) -> np.ndarray:
    return (h ^ (h >> np.uint32(16))) * np.uint32(k)


x = np.random.default_rng(0).standard_normal(100_000, dtype=np.float32)

dropout = load("dropout")
h = scramble(scramble(np.arange(x.size, dtype=np.uint32) ^ np.uint32(42), 0x7FEB352D), 0x846CA68B)
uniform = ((h ^ (h >> np.uint32(16))) >> np.uint32(8)) / 2**24
dropped = uniform < np.float32(0.25)
check("dropout", dropout, dropout(array(x), seed=42, p=0.25), np.where(dropped, 0, x / 0.75), 1e-6)
print(f"dropped {dropped.mean():.2%}")
