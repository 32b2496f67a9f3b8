"""Two functions of one array, written where the caller says: out= takes a tuple for several outputs."""

import numpy as np
from common import array, check, load

x = np.linspace(-100, 100, 65_536, dtype=np.float32)

sincos = load("sincos")
s, c = array(np.empty_like(x)), array(np.empty_like(x))
sincos(array(x), out=(s, c))
check("sin", sincos, s, np.sin(x.astype(float)), 1e-6)
check("cos", sincos, c, np.cos(x.astype(float)), 1e-6)
