"""Softmax over the last axis."""

import numpy as np
from common import array, check, load

x = np.random.default_rng(0).standard_normal((64, 1024), dtype=np.float32) * 4

softmax = load("softmax")
e = np.exp(x - x.max(axis=-1, keepdims=True), dtype=float)
check("softmax", softmax, softmax(array(x)), e / e.sum(axis=-1, keepdims=True), 1e-6)
