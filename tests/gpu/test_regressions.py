"""Programs that once failed, on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from kgen import jit
from kgen.runtime.cuda.driver import probe
from tests.fuzz.subjects import alone, subject
from tests.fuzz.test_regressions import LEAST, NEGATED, OVER_MINUS_ZERO, SIGNS, SPILLED, WHOLE, spilled

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("poisoned"),
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]


@pytest.mark.parametrize(("text", "expected"), NEGATED)
def test_the_least_short_is_its_own_negative(text: str, expected: int) -> None:
    """ptxas of CUDA 13.0 widens a negated short without cutting it to 16 bits."""
    np.testing.assert_array_equal(jit(text, device="cuda")(LEAST), np.full(len(LEAST), expected))


def test_a_quotient_by_minus_zero_is_negative() -> None:
    """NVVM of CUDA 13.0 takes ``u / -0.0`` for no negative number where ``u`` is not: the floor was -0, not -1."""
    u = np.array([2049, 1, 7], np.uint32)
    floor = jit("out = (u * 3) // ((u and 2) / -0.0)", device="cuda")(u)
    np.testing.assert_array_equal(floor, np.full(3, -1, np.float32))


@pytest.mark.parametrize("text", OVER_MINUS_ZERO)
def test_a_quotient_by_a_chosen_minus_zero_is_negative(text: str) -> None:
    """The same compiler removed the comparison where it saw -0.0 among what the divisor may be."""
    np.testing.assert_array_equal(jit(text, device="cuda")(WHOLE, SIGNS), SIGNS < 0)


@pytest.mark.parametrize("seed", [160_009_935, 160_023_207, 160_088_121, 160_104_144, 160_108_305])
def test_seeds_whose_bounds_were_too_strict(seed: int) -> None:
    """Sums that cancel, a float32 result stored as float64, and complex powers of which one part overflows."""
    with np.errstate(all="ignore"):
        alone(subject(seed), "cuda")


def test_registers_that_would_spill() -> None:
    """ptxas of CUDA 13.0 had one place on the stack for two values: ``q`` was 127."""
    torch = pytest.importorskip("torch", reason="arrays must lie on the GPU, 8 bytes past a multiple of 16")
    given = {name: torch.from_numpy(np.ascontiguousarray(a)).cuda() for name, a in spilled().items()}
    given["p"] = torch.full((3,), -1, dtype=torch.int64, device="cuda")[1:].reshape(2, 1)
    jit(SPILLED, fmad=False)(**given)
    assert given["q"].tolist() == [0]
