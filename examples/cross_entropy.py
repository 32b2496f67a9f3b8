"""Log-softmax and cross-entropy: a whole row and one number for each."""

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
logits = rng.standard_normal((64, 1000), dtype=np.float32) * 4
label = rng.integers(0, 1000, 64)

cross_entropy = load("cross_entropy")
log_p, loss = cross_entropy(array(logits), array(label))
wide = logits.astype(float)
expected = wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True))
check("log_softmax", cross_entropy, log_p, expected, 1e-5)
check("cross_entropy", cross_entropy, loss, -expected[np.arange(64), label], 1e-5)
