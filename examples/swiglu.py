"""SwiGLU in half precision: computed in float32, rounded once."""

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
gate, up = rng.standard_normal((2, 64, 1024)).astype(np.float16)

swiglu = load("swiglu")
exact = gate.astype(float) / (1 + np.exp(-gate.astype(float))) * up
check("swiglu", swiglu, swiglu(array(gate), array(up)), exact, 1e-3)
