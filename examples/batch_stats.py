"""Batch statistics over (N, H, W), whether channels come first or last in memory."""

import numpy as np
from common import array, check, load

image = np.random.default_rng(0).standard_normal((8, 16, 28, 28), dtype=np.float32) + 3

stats = load("batch_stats")
mu, sigma2 = stats(array(image))
check("mean", stats, mu, image.mean(axis=(0, 2, 3), dtype=float), 1e-5)
check("var", stats, sigma2, image.var(axis=(0, 2, 3), dtype=float), 1e-5)
