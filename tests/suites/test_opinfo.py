"""torch's operators on the samples that torch tests itself with (OpInfo), where torch and expecttest are installed.

By default two samples of each operator run in float32; ``pytest -m whole`` runs all samples of all dtypes that kgen
has.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import pytest

import kgen
from kgen.kernel import Kernel
from tests.fuzz.batch import Batch, Collected, collecting, running
from tests.suites.opinfo_decided import DECIDED
from tests.suites.opinfo_programs import SPELLINGS

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("expecttest", reason="torch's own tests need it")

DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8, torch.int8,
    torch.int16, torch.bool, torch.complex64, torch.complex128,
)  # fmt: skip
NAMES = sorted(SPELLINGS)
GROUPS = 8
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@cache
def operators() -> dict[str, Any]:
    """torch's, by name.  Importing them takes seconds, which collecting tests should not."""
    methods = importlib.import_module("torch.testing._internal.common_methods_invocations")
    return {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in methods.op_db}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", range(GROUPS))
def test_first_samples(group: int) -> None:
    """Of every operator that has float32, compiled together."""
    names = [n for n in NAMES[group::GROUPS] if torch.float32 in operators()[n].supported_dtypes("cpu")]
    batch = Batch()
    with collecting(batch):
        _differences(names, "cpu", torch.float32, most=2)
    batch.compile()
    with running(batch):
        found = _differences(names, "cpu", torch.float32, most=2)
    assert not found, "\n".join(found)


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", NAMES)
def test_samples(name: str, device: str) -> None:
    """All samples of all dtypes."""
    supported = [dtype for dtype in DTYPES if dtype in operators()[name].supported_dtypes(device)]
    found = [line for dtype in supported for line in _differences([name], device, dtype, most=None)]
    assert not found, "\n".join(found)


def test_all_are_torchs() -> None:
    assert not set(SPELLINGS) - set(operators())
    assert not {name for name, *_ in DECIDED} - set(SPELLINGS)
    assert sum(torch.float32 in operators()[n].supported_dtypes("cpu") for n in NAMES) > 150


def _differences(names: Iterable[str], device: str, dtype: Any, *, most: int | None) -> list[str]:
    return [line for name in names for line in _check(name, device, dtype, most=most)]


def _check(name: str, device: str, dtype: Any, *, most: int | None) -> list[str]:
    """Where a sample gives something else than torch, which the contract does not decide."""
    op = operators()[name]
    found = []
    for number, sample in enumerate(_samples(op, device, dtype, most)):
        args = [sample.input, *sample.args]
        text = SPELLINGS[name](args, sample.kwargs)
        what = text and _difference(op, sample, text, number)
        if what and not any(_decided(row, name, dtype, what) for row in DECIDED):
            found.append(f"{name} in {dtype}: {text}: {what}")
    return found


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
def _kernel(text: str, device: str, sample: int) -> Kernel:
    """One for each sample: in a batch, kernels for other layouts need other names."""
    return kgen.jit(text, device=device, name=f"k{_kernel.cache_info().misses}")


def _difference(op: Any, sample: Any, text: str, number: int) -> str:
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
        got = _kernel(f"input {', '.join(used)}\nout = {text}", sample.input.device.type, number)(**given)
    except Collected:
        return ""
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
