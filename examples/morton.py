"""Bit tricks on integers, checked bit by bit."""

import numpy as np
from common import array, check, load

x, y = np.random.default_rng(0).integers(0, 2**16, (2, 5000), dtype=np.uint16)

morton = load("morton")
exact = sum(((x.astype(int) >> i & 1) << 2 * i) + ((y.astype(int) >> i & 1) << 2 * i + 1) for i in range(16))
check("morton", morton, morton(array(x), array(y)), exact, 0)
