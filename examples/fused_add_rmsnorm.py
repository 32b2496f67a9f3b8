"""The residual stream updated and normalised in one pass, in half precision."""

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
residual0 = rng.standard_normal((64, 4096), dtype=np.float32).astype(np.float16)
x = rng.standard_normal((64, 4096), dtype=np.float32).astype(np.float16)
weight = rng.standard_normal(4096, dtype=np.float32).astype(np.float16)

fused_add_rmsnorm = load("fused_add_rmsnorm")
residual = array(residual0.copy())
y = fused_add_rmsnorm(residual, array(x), array(weight))

updated = (residual0 + x).astype(float)  # rounded to half, as it is stored
expected = updated / np.sqrt((updated * updated).mean(axis=-1, keepdims=True) + 1e-6) * weight
check("fused_add_rmsnorm", fused_add_rmsnorm, y, expected, 2e-3)
check("its residual", fused_add_rmsnorm, residual, updated, 0)
