"""Rows that lie at computed places and are stored at others, by every schedule: NumPy's results."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.kernel import Kernel
from tests.fuzz import rows
from tests.fuzz.batch import Batch, Collected, collecting, running
from tests.fuzz.reach import Program

from .way import Way
from .ways import as_tuple, launches_of, ways


def distinct(program: Program, variant: int, batch: Batch) -> list[tuple[Way, Kernel]]:
    """The ways that give different kernels or launches, with a kernel each; the first call adds its text."""
    found: dict[object, tuple[Way, Kernel]] = {}
    for number, way in enumerate(ways()):
        name = f"p{variant}_{number}"
        kernel = kgen.jit(program.text, device="cpu", fmad=False, name=name, deterministic=program.deterministic)
        with way.taken(), collecting(batch), suppress(Collected):
            kernel(*(program.inputs[n].copy("K") for n in kernel.inputs))
        found.setdefault((batch.code_of(name), *map(str, launches_of(kernel))), (way, kernel))
    return list(found.values())


@pytest.mark.whole
@pytest.mark.parametrize("seed", [800_006, 800_019, *range(800_021, 800_025)])
def test_every_way(seed: int) -> None:
    batch, variants = Batch(), [rows.generate(seed, variant) for variant in range(2)]
    chosen = [distinct(program, variant, batch) for variant, program in enumerate(variants)]
    batch.compile()
    with running(batch):
        for program, those in zip(variants, chosen, strict=True):
            assert len(those) > 1
            for way, kernel in those:
                given: dict[str, Any] = {n: program.inputs[n].copy("K") for n in kernel.inputs}
                with way.taken():
                    results = kernel(**given)
                found = given | dict(zip(kernel.outputs, () if results is None else as_tuple(results), strict=True))
                for name, want in (program.inputs | program.want).items():
                    np.testing.assert_array_equal(found.get(name, want), want, err_msg=f"{name}, {way.name}")
