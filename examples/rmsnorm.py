"""RMS normalisation of half-precision rows."""

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
x = rng.standard_normal((64, 4096), dtype=np.float32).astype(np.float16)
weight = rng.standard_normal(4096, dtype=np.float32).astype(np.float16)

rmsnorm = load("rmsnorm")
wide = x.astype(float)
expected = wide / np.sqrt((wide * wide).mean(axis=-1, keepdims=True) + 1e-6) * weight
check("rmsnorm", rmsnorm, rmsnorm(array(x), array(weight)), expected, 2e-3)
