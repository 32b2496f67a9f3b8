"""The part of docs/functions.md that says how accurate functions are, and what they make of NaN and infinities."""

from __future__ import annotations

from kgen.ir.ops import OPS

from .data import Table, table
from .references import ROWS

_INTRODUCTION = """\
## Accuracy

The largest error that was found on the CPU target and on a GPU, in units in the last place of the result. The
reference is mpmath, over all exponents and close to every zero, pole and threshold (`python -m tests.accuracy`
measures again). `≤` marks a bound where nothing was measured: the one that CUDA documents, and kgen's own for float32
`normcdf`. Functions that are not listed are exact, or rounded once.

- Errors of results below 2^-119 (float32) and 2^-1012 (float64) are in units of 2^-142 and 2^-1064, because subnormal
  intermediate values have no more digits than these.
- Where the last column names a unit, the error is in units in the last place of that quantity, if it is larger than
  the result: next to a zero of these functions only the absolute error is small.
- Halves and fp8 are computed in float32 and rounded once.

| function | float32, CPU | GPU | float64, CPU | GPU | unit |
| --- | --- | --- | --- | --- | --- |
"""

_ENDS = """
## NaN, infinities and zeros

NaN in any argument gives NaN, except by definition in these cases:

- `fmin` and `fmax` ignore a NaN if the other argument is a number. `pow(x, 0)` and `pow(1, y)` are 1. `hypot`,
  `norm3d` and `norm4d` are `inf` (and their reciprocals 0) if any argument is infinite.
- Some functions ignore an argument: `heaviside(x, h)` uses `h` only at 0, `leaky_relu(x, slope)` uses `slope` only
  below 0, `hardshrink(x, k)` is `x` where `k` is NaN, and `copysign` uses only the sign of its second argument.
- Results that are not floats cannot be NaN: comparisons with NaN are false (`!=` is true), `lrint` and `lround` of
  NaN are 0, and of numbers that are too large the nearest int64.

As in PyTorch, `0 * inf` and `inf - inf` are NaN where a definition contains them: `silu`, `gelu`, `gelu_tanh`,
`quick_gelu`, `mish` and `hardswish` of `-inf`, `softsign` and `sinc` of both infinities, `lerp` of one. `logit` is
NaN outside 0 to 1. `xlogy(0, y)` and `xlog1py(0, y)` are 0 for every `y` except NaN. `lerp` is exactly `a` at 0 and
`b` at 1, and monotone between them. `nextafter` steps in the dtype of its arguments, halves and fp8 included.
"""


def accuracy_section() -> str:
    known = table()
    return _INTRODUCTION + "".join(_row(known, name) for name in ROWS if _inexact(known, name)) + _ENDS


def _inexact(known: Table, name: str) -> bool:
    """Whether it has a bound, or an error beyond that of one rounding was found."""
    if name in OPS and OPS[name].ulp != (0, 0):
        return True
    return any(rows.get(name, [0])[0] > 0.5 for dtypes in known.values() for rows in dtypes.values())


def _row(known: Table, name: str) -> str:
    cells = [_cell(known, device, dtype, name) for dtype in ("float32", "float64") for device in ("cpu", "cuda")]
    return f"| `{name}` | {' | '.join(cells)} | {ROWS[name].note} |\n"


def _cell(known: Table, device: str, dtype: str, name: str) -> str:
    measured = known.get(device, {}).get(dtype, {}).get(name)
    if measured is not None:
        return f"{measured[0]:.1f}"
    bound = OPS[name].ulp[dtype == "float64"] if name in OPS else 0
    return f"≤ {bound:g}" if bound else ""
