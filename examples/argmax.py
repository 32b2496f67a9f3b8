"""The first greatest element of each row."""

import numpy as np
from common import array, check, load

x = np.random.default_rng(0).integers(-500, 500, (128, 777)).astype(np.float32)

argmax = load("argmax")
at, top = argmax(array(x))
check("argmax", argmax, at, x.argmax(axis=-1), 0)
check("max", argmax, top, x.max(axis=-1), 0)
