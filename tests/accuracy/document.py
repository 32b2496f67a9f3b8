"""The part of docs/functions.md that says how accurate functions are, and what they make of NaN and infinities."""

from __future__ import annotations

from kgen.ir.ops import OPS

from .data import Table, table
from .references import ROWS

_INTRODUCTION = """\
## Accuracy

The largest error found, in units in the last place of the result: on the CPU target and on a GPU, against mpmath, over
all exponents and close to every zero, pole and threshold (`python -m tests.accuracy` measures again). `≤` is the bound
that CUDA documents (of float32 `normcdf`, kgen's own), where nothing was measured. Functions that are not listed are
exact, or rounded once.

- Results below 2^-119 (float32) and 2^-1012 (float64) are counted in units of 2^-142 and 2^-1064: what is made of
  subnormal numbers has no more digits than these.
- Where a column names a unit, the error is in units in the last place of that, if it is larger than the result: next to
  a zero of these functions only the absolute error is small.
- Halves and fp8 are computed in float32 and rounded once.

| function | float32, CPU | GPU | float64, CPU | GPU | unit |
| --- | --- | --- | --- | --- | --- |
"""

_ENDS = """
## NaN, infinities and zeros

NaN in any argument gives NaN, but for these, by definition:

- `fmin` and `fmax` ignore a NaN beside a number; `pow(x, 0)` and `pow(1, y)` are 1, `hypot` and its kin are `inf` (and
  their reciprocals 0) beside an infinity, whatever else they are given.
- A choice looks at one side: `heaviside(x, h)` reads `h` at 0 only, `leaky_relu(x, slope)` reads `slope` below 0 only,
  `hardshrink(x, k)` of a NaN `k` is `x`, and `copysign` reads the sign alone.
- What is no float has no NaN: comparisons with NaN are false (`!=` true), `lrint` and `lround` of NaN are 0, and
  of too large numbers the nearest integer that there is.

As in PyTorch, `0 * inf` and `inf - inf` are NaN where a definition has them: `silu`, `gelu`, `gelu_tanh`,
`quick_gelu`, `mish` and `hardswish` of `-inf`, `softsign` and `sinc` of both infinities, `lerp` of one. `logit` is NaN
outside 0 to 1. `xlogy(0, y)` and `xlog1py(0, y)` are 0 for every `y` but NaN. `lerp` is exactly `a` at 0 and `b` at 1
and never turns back between them. `nextafter` steps in the dtype that its arguments have, halves and fp8 too.
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
