"""An activation and its derivative from one kernel: two outputs come as a tuple."""

import numpy as np
from common import array, check, load

x = np.linspace(-8, 8, 10_001, dtype=np.float32)

mish = load("mish")
y, dy = mish(array(x))
t = np.tanh(np.logaddexp(x.astype(float), 0))
check("mish", mish, y, x * t, 1e-5)
check("its derivative", mish, dy, t + x / (1 + np.exp(-x.astype(float))) * (1 - t * t), 1e-5)
