"""Cosine similarity of rows: three reductions in one pass."""

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
a, b = (rng.standard_normal((256, 512), dtype=np.float32) for _ in range(2))

cosine = load("cosine")
expected = np.einsum("ij,ij->i", a, b) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))
check("cosine", cosine, cosine(array(a), array(b)), expected, 1e-5)
