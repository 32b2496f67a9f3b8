"""int8 and fp8 from one pass; what does not fit is clamped to the ends of the range."""

import ml_dtypes
import numpy as np
from common import array, check, load

x = np.random.default_rng(0).standard_normal(50_000, dtype=np.float32) * 300

quantize = load("quantize")
as_int8, as_fp8 = quantize(array(x), inv_scale=0.5)
check("int8", quantize, as_int8, np.clip(np.rint(x / 2), -128, 127), 0)
check("fp8", quantize, as_fp8, np.clip(x / 2, -448, 448).astype(ml_dtypes.float8_e4m3fn).astype(float), 0)
