"""axpy, called as a function of arrays; the parameter goes by keyword."""

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
x, y = rng.standard_normal((2, 100_000), dtype=np.float32)

axpy = load("axpy")
check("axpy", axpy, axpy(array(x), array(y)), 2.0 * x + y, 1e-6)
check("axpy, a=0.5", axpy, axpy(array(x), array(y), a=0.5), 0.5 * x + y, 1e-6)
