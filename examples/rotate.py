"""Rotary position embedding: complex numbers, and angles that are broadcast over the batch."""

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
z = rng.standard_normal((4, 128, 32)) + 1j * rng.standard_normal((4, 128, 32))
theta = np.arange(128)[:, None] / 10_000 ** (np.arange(32) / 32)

rotate = load("rotate")
out = rotate(array(z.astype(np.complex64)), array(theta.astype(np.float32)))
check("rotate", rotate, out, z * np.exp(1j * theta), 2e-5)
