"""Mean squared error."""

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
predicted, target = (rng.standard_normal((1000, 333), dtype=np.float32) for _ in range(2))

mse = load("mse")
expected = np.mean((predicted.astype(float) - target) ** 2)
check("mse", mse, mse(array(predicted), array(target)), expected, 1e-6)
