"""No function is farther from its true value than ``worst.json`` and docs/functions.md say."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.functions import FUNCTIONS
from kgen.ir.ops import OPS
from kgen.runtime.cuda.driver import probe

from .data import table
from .measure import DTYPES, measure, worst
from .references import ROWS

#: A batch is one program.  A smaller grid than the one behind the figures may still hit a place that they missed.
_BATCHES = [list(ROWS)[i : i + 12] for i in range(0, len(ROWS), 12)]
_MARGIN = 0.5

#: Formulas that four units in the last place do not do, in float32: a polynomial, and a square of a quotient.
_MORE = {"normcdf": 5.0, "gelu": 5.5, "smoothstep": 6.0}


def test_every_function_has_a_true_value() -> None:
    """What is not exact, the square root, and the whole prelude."""
    inexact = {name for name, row in OPS.items() if row.ulp != (0, 0)}
    prelude = {f.target for f in FUNCTIONS.values() if f.rule in ("prelude", "lifted")}
    assert set(ROWS) == inexact | prelude | {"sqrt"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_recorded_errors_are_small(dtype: str) -> None:
    """On the CPU target within four units in the last place, but for the few that are named."""
    recorded = table()["cpu"][dtype]
    assert set(recorded) == set(ROWS)
    large = {
        name: error
        for name, (error, *_) in recorded.items()
        if error > (_MORE.get(name, 4) if dtype == "float32" else 4)
    }
    assert not large


@pytest.mark.parametrize("batch", _BATCHES, ids=lambda batch: batch[0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_are_as_accurate_as_recorded(dtype: str, batch: list[str], request: pytest.FixtureRequest) -> None:
    """Measured against mpmath on a small grid; ``--accuracy N`` takes N values a function."""
    recorded = table()["cpu"][dtype]
    found = measure("cpu", dtype, request.config.getoption("--accuracy") or 60, batch)
    worse = {name: what for name, what in found.items() if what.ulp > recorded[name][0] + _MARGIN}
    assert not worse


@pytest.mark.gpu
@pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU")
@pytest.mark.parametrize("batch", _BATCHES, ids=lambda batch: batch[0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_a_gpu_are_as_accurate_as_documented(
    dtype: str, batch: list[str], request: pytest.FixtureRequest
) -> None:
    """Within what was recorded on a GPU, else within CUDA's own bound."""
    recorded = table().get("cuda", {}).get(dtype, {})
    found = measure("cuda", dtype, request.config.getoption("--accuracy") or 200, batch)
    wide = dtype == "float64"
    bounds = {
        name: recorded[name][0] if name in recorded else OPS[name].ulp[wide]
        for name in batch
        if name in recorded or name in OPS
    }
    worse = {name: found[name] for name, bound in bounds.items() if found[name].ulp > bound + 0.5 + _MARGIN}
    assert not worse


def test_measuring_sees_an_error() -> None:
    """A result that is one unit off is measured as that, and a NaN as infinitely far."""
    x = np.array([2.0])
    assert worst(ROWS["square"], "float64", np.nextafter(x * x, 9), [x]).ulp == 1
    assert worst(ROWS["square"], "float64", np.array([np.nan]), [x]).ulp == float("inf")
    assert worst(ROWS["square"], "float64", x * x, [x]).ulp == 0
