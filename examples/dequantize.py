"""int8 with one scale a row, back to half."""

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
q = rng.integers(-128, 128, (64, 1000), dtype=np.int8)
scale = rng.uniform(0.001, 0.1, (64, 1)).astype(np.float32)

dequantize = load("dequantize")
check("dequantize", dequantize, dequantize(array(q), array(scale)), (q * scale).astype(np.float16), 0)
