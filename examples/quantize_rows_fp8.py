"""Quantisation by rows to fp8."""

import ml_dtypes
import numpy as np
from common import array, check, load

x = np.random.default_rng(0).standard_normal((64, 4096), dtype=np.float32)

quantize = load("quantize_rows_fp8")
scale, q = quantize(array(x))
expected = np.abs(x).max(axis=-1, keepdims=True) / np.float32(448)
check("scales", quantize, scale, expected, 1e-7)
check("codes", quantize, q, (x / expected).astype(ml_dtypes.float8_e4m3fn).astype(float), 0)
