"""A channels-last batch of images: the result comes out channels-last as well."""

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
image = rng.integers(0, 256, (8, 48, 64, 3), dtype=np.uint8).transpose(0, 3, 1, 2)  # (batch, channel, y, x)
mu = np.array([0.485, 0.456, 0.406], np.float32)
sigma = np.array([0.229, 0.224, 0.225], np.float32)

normalize = load("normalize")
out = normalize(array(image), array(mu), array(sigma))
exact = (image / 255 - mu[:, None, None]) / sigma[:, None, None]
check("normalize", normalize, out, exact, 1e-3)
print("strides, in elements:", normalize.meta(image, mu, sigma).strides)
