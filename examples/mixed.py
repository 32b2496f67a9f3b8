"""Three dtypes in one expression, and a row that is broadcast over the others."""

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
a = rng.standard_normal((256, 512), dtype=np.float32)
b = rng.standard_normal(512).astype(np.float16)
c = rng.integers(-1000, 1000, (256, 512), dtype=np.int32)

mixed = load("mixed")
check("mixed", mixed, mixed(array(a), array(b), array(c)), a * b.astype(np.float32) + c, 1e-6)
