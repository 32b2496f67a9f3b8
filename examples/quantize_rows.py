"""Quantisation by rows: the codes and their scales from one pass."""

import numpy as np
from common import array, check, load

x = np.random.default_rng(0).standard_normal((64, 4096), dtype=np.float32)

quantize = load("quantize_rows")
scale, q = quantize(array(x))
expected = np.abs(x).max(axis=-1, keepdims=True) / np.float32(127)
check("scales", quantize, scale, expected, 1e-7)
check("codes", quantize, q, np.rint(x / expected), 0)
