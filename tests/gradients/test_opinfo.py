"""Gradients of functions on the samples of torch's own tests (OpInfo): broadcasts, empty arrays, ends of ranges."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np
import pytest

from kgen.functions import FUNCTIONS
from kgen.gradients.rules import RULES

from .oracle import derived, gradients, random_like

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


_REDUCTIONS = {
    "sum": "sum", "mean": "mean", "prod": "prod", "var": "var", "std": "std", "amax": "max", "amin": "min",
    "logsumexp": "logsumexp", "linalg.vector_norm": "norm",
}  # fmt: skip
_WORDS = {"dim": "axis", "keepdim": "keepdims", "correction": "correction"}


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
            leaves = [x.detach().contiguous().requires_grad_() for x in given]
            text = f"out = {name}({', '.join('abcd'[: len(leaves)])})"
            found = differences(text, op(*leaves), leaves, op.supports_gradgrad)
            problems += [] if found is None else found
            compared += found is not None
    assert not problems, "\n".join(problems)
    assert compared >= least


@pytest.mark.parametrize(("dtype", "least"), [("float64", 90), ("complex128", 15)])
def test_samples_of_reductions(dtype: str, least: int) -> None:
    problems, compared = [], 0
    for name, own in _REDUCTIONS.items():
        op, kind = operators()[name], getattr(torch, dtype)
        if not op.supports_dtype(kind, "cpu") or (kind.is_complex and own not in ("sum", "mean", "prod")):
            continue
        for sample in op.sample_inputs("cpu", kind, requires_grad=True):
            words = _words(own, sample)
            if words is None:
                continue
            leaf = sample.input.detach().contiguous().requires_grad_()
            out = op(leaf, *sample.args, **sample.kwargs)
            found = differences(f"out = {own}({', '.join(['a', *words])})", out, [leaf], op.supports_gradgrad)
            problems += [] if found is None else found
            compared += found is not None
    assert not problems, "\n".join(problems)
    assert compared >= least


def _words(own: str, sample: Any) -> list[str] | None:
    """The keywords of a reduction; None for what has another meaning here."""
    given = {**dict(zip(("dim", "keepdim"), sample.args, strict=False)), **sample.kwargs}
    dims, rank = given.get("dim", 0), sample.input.ndim
    if not given.keys() <= _WORDS.keys() or len(sample.args) > 2 or not rank or dims == ():
        return None
    words = [f"{_WORDS[word]}={str(value).lower()}" for word, value in given.items() if value is not None]
    return words if own not in ("var", "std") or given.get("correction") is not None else [*words, "correction=1"]


def differences(text: str, out: Any, leaves: list[Any], twice: bool) -> list[str] | None:
    """What differs from torch's gradients, and from theirs where it has some; None where there are none."""
    if not out.requires_grad or not out.numel():
        return None
    cotangent = random_like(np.random.default_rng(0), out.detach().resolve_conj().numpy())
    values = {c: x.detach().numpy() for c, x in zip("abcd", leaves, strict=False)}
    seed = torch.from_numpy(cotangent).requires_grad_()
    want = torch.autograd.grad(out, leaves, seed, allow_unused=True, create_graph=True)
    found = gradients(text, values, list(values), {"out": cotangent})
    problems = _compared(text, values, found, want)
    firsts = {c: x for c, x in zip(values, want, strict=True) if x is not None and x.requires_grad}
    if not twice or not firsts:
        return problems
    again = {f"{c}_grad": random_like(np.random.default_rng(1), found[c]) for c in firsts}
    seeds = [torch.from_numpy(x) for x in again.values()]
    want = torch.autograd.grad([*firsts.values()], [*leaves, seed], seeds, allow_unused=True)
    given = {**values, "out_grad": cotangent}
    found = gradients(derived(text, values, list(firsts)), given, list(given), again)
    return problems + _compared(f"twice {text}", given, found, want)


def _compared(text: str, values: dict[str, Any], found: dict[str, Any], want: Any) -> list[str]:
    problems = []
    for name, other in zip(values, want, strict=True):
        expected = np.zeros_like(values[name]) if other is None else other.resolve_conj().numpy(force=True)
        if not np.allclose(found[name], expected, rtol=1e-7, atol=1e-9, equal_nan=True):
            problems.append(f"{text}, by {name} of {values}: {found[name]}, and torch has {expected}")
    return problems
