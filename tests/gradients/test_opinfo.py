"""Gradients of functions on the samples of torch's own tests (OpInfo): broadcasts, empty arrays, ends of ranges."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np
import pytest

from kgen.functions import FUNCTIONS
from kgen.gradients.rules import RULES

from .oracle import gradients, random_like

torch: Any = pytest.importorskip("torch", reason="its samples are the cases")
pytest.importorskip("expecttest", reason="torch's own tests need it")
pytestmark = [pytest.mark.whole, pytest.mark.filterwarnings("ignore")]  # torch's own

#: What torch calls otherwise.
_NAMES = {
    "nn.functional.silu": "silu", "nn.functional.mish": "mish", "nn.functional.softsign": "softsign",
    "nn.functional.relu": "relu", "nn.functional.relu6": "relu6", "nn.functional.hardsigmoid": "hardsigmoid",
    "nn.functional.hardswish": "hardswish", "nn.functional.logsigmoid": "logsigmoid", "nn.functional.selu": "selu",
    "nn.functional.tanhshrink": "tanhshrink", "special.i1": "i1", "special.ndtr": "normcdf", "special.erfcx": "erfcx",
    "special.xlog1py": "xlog1py", "special.ndtri": "normcdfinv",
}  # fmt: skip
#: torch has no gradient of them, or takes arguments that are not operands here.
_LEFT_OUT = {"round", "where", "clamp", "logit", "cat", "copysign", "floor_divide", "ldexp", "heaviside"}
CASES = [
    name for name, row in FUNCTIONS.items() if row.target in RULES and row.rule != "reduction" and name not in _LEFT_OUT
]


@cache
def operators() -> dict[str, Any]:
    """torch's, by kgen's names.  Importing them takes seconds, which collecting tests should not."""
    methods = importlib.import_module("torch.testing._internal.common_methods_invocations")
    return {_NAMES.get(op.name, op.name): op for op in methods.op_db if not op.variant_test_name}


@pytest.mark.parametrize(("dtype", "least"), [("float64", 180), ("complex128", 60)])
def test_samples(dtype: str, least: int) -> None:
    """``least``: how many samples there are, so that none is left out unseen."""
    problems, compared = [], 0
    for name in CASES:
        op, kind = operators().get(name), getattr(torch, dtype)
        if op is None or not op.supports_dtype(kind, "cpu") or (kind.is_complex and not FUNCTIONS[name].is_complex):
            continue
        for sample in list(op.sample_inputs("cpu", kind, requires_grad=True))[:12]:
            given = [sample.input, *sample.args]
            if sample.kwargs or not all(torch.is_tensor(x) and x.dtype == kind for x in given):
                continue
            found = differences(name, op, [x.detach().contiguous().requires_grad_() for x in given])
            problems += [] if found is None else found
            compared += found is not None
    assert not problems, "\n".join(problems)
    assert compared >= least


def differences(name: str, op: Any, leaves: list[Any]) -> list[str] | None:
    """What differs from torch's gradients; None where there are none."""
    out = op(*leaves)
    if not out.requires_grad or not out.numel():
        return None
    cotangent = random_like(np.random.default_rng(0), out.detach().resolve_conj().numpy())
    want = torch.autograd.grad(out, leaves, torch.from_numpy(cotangent), allow_unused=True)
    letters = "abcd"[: len(leaves)]
    values = {c: x.detach().numpy() for c, x in zip(letters, leaves, strict=True)}
    found = gradients(f"out = {name}({', '.join(letters)})", values, list(letters), {"out": cotangent})
    problems = []
    for letter, other in zip(letters, want, strict=True):
        expected = np.zeros_like(values[letter]) if other is None else other.resolve_conj().numpy()
        if not np.allclose(found[letter], expected, rtol=1e-7, atol=1e-9, equal_nan=True):
            problems.append(f"{name}, by {letter} of {values}: {found[letter]}, and torch has {expected}")
    return problems
