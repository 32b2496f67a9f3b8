"""Gradients of random programs are those of torch.autograd, of the same programs in torch's functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kgen.diagnostics import KgenError

torch: Any = pytest.importorskip("torch", reason="it is the reference")
from .oracle import gradients, random_like  # noqa: E402
from .test_random import program_of  # noqa: E402
from .torch_reference import IllConditionedError, function_of  # noqa: E402


def check(seed: int) -> bool:
    """Whether there are gradients to compare: those of a part of a value that is reduced, too, are refused so far."""
    text, values = program_of(seed, views=True)
    leaves = {name: torch.from_numpy(value).requires_grad_() for name, value in values.items()}
    try:
        outputs = function_of(text)(**leaves)
    except IllConditionedError:
        return False
    rng = np.random.default_rng(seed)
    cotangents = {name: random_like(rng, value.detach().numpy()) for name, value in outputs.items()}
    given = [torch.from_numpy(value) for value in cotangents.values()]
    want = torch.autograd.grad([*outputs.values()], [*leaves.values()], given)
    try:
        found = gradients(text, values, list(values), cotangents)
    except KgenError as problem:
        if problem.code == "not-yet":
            return False
        raise
    for name, expected in zip(leaves, want, strict=True):
        np.testing.assert_allclose(found[name], expected, rtol=1e-7, atol=1e-9, err_msg=f"{seed}: d/d{name} of\n{text}")
    return True


@pytest.mark.parametrize("seeds", [range(200), pytest.param(range(200, 2200), marks=pytest.mark.whole)])
def test_gradients_are_torchs(seeds: range) -> None:
    assert sum(map(check, seeds)) >= 0.95 * len(seeds)
