"""How often each value of a picture occurs: updates of few elements, which each block combines first."""

import numpy as np
from common import array, check, load

picture = np.random.default_rng(0).integers(0, 256, (480, 640), dtype=np.uint8)

histogram = load("histogram")
bins = array(np.zeros(256, np.int32))
histogram(array(picture), bins)
check("histogram", histogram, bins, np.bincount(picture.ravel(), minlength=256), 0)
