"""torch's operators on the samples that torch tests itself with (OpInfo), where torch and expecttest are installed.

By default two samples of each operator run in float32; ``pytest -m whole`` runs all samples of all dtypes that kgen
has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import kgen
from kgen.jit import Kernel
from tests.suites.opinfo_decided import DECIDED
from tests.suites.opinfo_programs import SPELLINGS

torch = pytest.importorskip("torch", reason="torch is not installed")
methods = pytest.importorskip(
    "torch.testing._internal.common_methods_invocations", reason="torch's own tests need expecttest"
)

DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8, torch.int8,
    torch.int16, torch.bool, torch.complex64, torch.complex128,
)  # fmt: skip
OPERATORS = {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in methods.op_db}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(n for n in SPELLINGS if torch.float32 in OPERATORS[n].supported_dtypes("cpu")))
def test_first_samples(name: str) -> None:
    _check(name, "cpu", torch.float32, most=2)


def _supported(device: str) -> list[Any]:
    marks = [pytest.mark.gpu] if device == "cuda" else []
    return [
        pytest.param(name, device, dtype, marks=marks, id=f"{device}-{name}-{dtype}")
        for name in sorted(SPELLINGS)
        for dtype in DTYPES
        if dtype in OPERATORS[name].supported_dtypes(device)
    ]


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "device", "dtype"), [*_supported("cpu"), *_supported("cuda")])
def test_samples(name: str, device: str, dtype: Any) -> None:
    _check(name, device, dtype, most=None)


def test_all_are_torchs() -> None:
    assert not set(SPELLINGS) - set(OPERATORS)
    assert not {name for name, *_ in DECIDED} - set(SPELLINGS)


def _check(name: str, device: str, dtype: Any, *, most: int | None) -> None:
    """Each sample gives what torch gives, or what the contract decides instead."""
    op = OPERATORS[name]
    found = []
    for sample in _samples(op, device, dtype, most):
        args = [sample.input, *sample.args]
        text = SPELLINGS[name](args, sample.kwargs)
        what = text and _difference(op, sample, text)
        if what and not any(_decided(row, name, dtype, what) for row in DECIDED):
            found.append(f"{text}: {what}")
    assert not found, "\n".join(found)


def _samples(op: Any, device: str, dtype: Any, most: int | None) -> Iterator[Any]:
    torch.manual_seed(0)
    for number, sample in enumerate(op.sample_inputs(device, dtype, requires_grad=False)):
        if number == most:
            return
        if isinstance(sample.input, torch.Tensor):
            yield sample


def _decided(row: tuple[str, str, str, str], name: str, dtype: Any, what: str) -> bool:
    operator, dtypes, outcome, _ = row
    return operator == name and bool(re.search(dtypes, str(dtype))) and outcome in what


@cache
def _kernel(text: str, device: str) -> Kernel:
    return kgen.jit(text, device=device)


def _difference(op: Any, sample: Any, text: str) -> str:
    """What kgen does otherwise than torch; empty where that is nothing."""
    values = dict(zip("abcdefgh", [sample.input, *sample.args], strict=False))
    used = [letter for letter in values if re.search(rf"\b{letter}\b", text)]
    given = {n: v.resolve_conj() if isinstance(v := values[n], torch.Tensor) else v for n in used}
    refusal: Exception | None = None
    try:
        expected = op(sample.input, *sample.args, **sample.kwargs)
    except Exception as problem:  # whatever torch raises
        refusal = problem
    try:
        got = _kernel(f"input {', '.join(used)}\nout = {text}", sample.input.device.type)(**given)
    except kgen.KgenError as problem:
        return "" if refusal else f"{problem.code}: {problem}"
    if refusal:
        return ""  # kgen does more
    expected = expected.resolve_conj().resolve_neg()
    if got.shape != expected.shape:
        return f"shape {tuple(got.shape)} instead of {tuple(expected.shape)}"
    try:
        torch.testing.assert_close(got.to(expected.dtype), expected, equal_nan=True)
    except AssertionError as problem:
        return f"values of {got.dtype}: {problem}"
    return "" if got.dtype == expected.dtype else f"dtype {got.dtype} instead of {expected.dtype}"
