"""GELU with a bias that is broadcast over the rows."""

import math

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
x = rng.standard_normal((128, 768), dtype=np.float32)
bias = rng.standard_normal(768, dtype=np.float32)

gelu = load("gelu")
z = (x + bias).astype(float)
exact = 0.5 * z * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))
check("gelu", gelu, gelu(array(x), array(bias)), exact, 1e-5)
