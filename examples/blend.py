"""bfloat16 layers and a mask of bytes."""

import ml_dtypes
import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
over, under = rng.uniform(0, 1, (2, 120, 160)).astype(ml_dtypes.bfloat16)
mask = rng.integers(0, 256, (120, 160), dtype=np.uint8)

blend = load("blend")
a, b, t = over.astype(float), under.astype(float), mask / 255
check("blend", blend, blend(array(over), array(under), array(mask)), b + t * (a - b), 1e-2)
