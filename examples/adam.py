"""Three AdamW steps in place: nothing is returned, the arrays that were passed change."""

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
shape = (1000, 33)
p0 = rng.standard_normal(shape, dtype=np.float32)
gradients = rng.standard_normal((3, *shape), dtype=np.float32)

adam = load("adam")
p, m, v = array(p0.copy()), array(np.zeros(shape, np.float32)), array(np.zeros(shape, np.float32))
for step, g in enumerate(gradients, 1):
    adam(array(g), p, m, v, lr=0.01, fix1=1 / (1 - 0.9**step), fix2=1 / (1 - 0.999**step))

P, M, V = p0.astype(float), 0.0, 0.0
for step, G in enumerate(gradients.astype(float), 1):
    M, V = 0.9 * M + 0.1 * G, 0.999 * V + 0.001 * G * G
    P = P - 0.01 * (M / (1 - 0.9**step) / (np.sqrt(V / (1 - 0.999**step)) + 1e-8) + 0.01 * P)
check("adam", adam, p, P, 1e-5)
