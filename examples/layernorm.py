"""Layer normalisation with weights."""

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
x = rng.standard_normal((64, 768), dtype=np.float32)
weight, bias = (rng.standard_normal(768, dtype=np.float32) for _ in range(2))

layernorm = load("layernorm")
d = x - x.mean(axis=-1, keepdims=True, dtype=float)
expected = d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5) * weight + bias
check("layernorm", layernorm, layernorm(array(x), array(weight), array(bias)), expected, 1e-5)
