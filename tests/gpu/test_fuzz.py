"""Random programs, and edge values through everything there is, give on the GPU what the oracle says."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from kgen import KgenError, jit
from kgen.dtypes import DTYPES, FLOAT16, FLOAT32, INT8, DType
from kgen.runtime.cuda.driver import probe
from tests.edge.table import Table, tables
from tests.edge.test_edges import differences
from tests.forced import AS_MANY, forced
from tests.fuzz.generate import generate
from tests.fuzz.harness import REFUSED_WITH_OUT, Refused, compare, failure, invoke, prepare, verify
from tests.fuzz.misaligned import misaligned
from tests.fuzz.program import Call
from tests.fuzz.tensors import on_torch, to_array

from .sanitizer import sized

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("poisoned"),
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

GROUPS = 10
FIRST_SEED = 20_000


def seeds(request: pytest.FixtureRequest, group: int) -> range:
    wanted = request.config.getoption("--fuzz", default=None)
    each = -(-int(sized(300, 30) if wanted is None else wanted) // GROUPS)
    return range(FIRST_SEED + group * each, FIRST_SEED + (group + 1) * each)


def on_numpy(call: Call) -> None:
    """A call with NumPy arrays, copied to the device and back."""
    one = prepare(call, "kernel", device="cuda")
    verify(one, invoke(one))
    assert one.kernel.ran_on == "cuda:0"


def with_torch(call: Call) -> None:
    """A call with CUDA tensors, without a copy."""
    import torch

    one = prepare(call, "kernel", device="cuda")
    tensors = on_torch(torch, one.arguments, "cuda")
    if not any(isinstance(t, torch.Tensor) for t in (*tensors.inputs.values(), *(tensors.outs or ()))):
        return
    kernel = jit(call.text, fmad=False)
    try:
        result = kernel(*tensors.inputs.values(), **tensors.keywords)
    except KgenError as problem:
        if {d.code for d in problem.diagnostics} <= REFUSED_WITH_OUT:
            raise Refused(problem.code) from problem
        raise
    results = () if result is None else result if isinstance(result, tuple) else (result,)
    given: tuple[Any, ...] = tensors.outs or (None,) * len(results)
    words = {n: v for n, v in tensors.keywords.items() if n != "out"}
    specs: Any = kernel.meta(*tensors.inputs.values(), **words) if results else ()
    specs = specs if isinstance(specs, tuple) else (specs,)
    for name, tensor, out, spec in zip(kernel.outputs, results, given, specs, strict=True):
        want = one.reference.expected[name].value
        if out is not None:
            assert (tensor.data_ptr(), tensor.stride()) == (out.data_ptr(), out.stride())
        else:
            assert tuple(tensor.shape) == spec.shape
            assert all(s == t for s, t, n in zip(tensor.stride(), spec.strides, spec.shape, strict=True) if n > 1)
        compare(name, to_array(torch, tensor, want.dtype), one)
    for name in call.inout:
        compare(name, to_array(torch, tensors.inputs[name], one.reference.expected[name].value.dtype), one)


def attempt(run: Any, call: Call) -> None:
    try:
        run(call)
    except Refused:
        return
    except Exception as problem:
        raise failure(call, problem, run) from None


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_programs(request: pytest.FixtureRequest, group: int) -> None:
    """NumPy arrays: results, shapes, dtypes and strides, bit for bit where one result is defined.

    Every other group takes its few elements as many are.
    """
    with forced(AS_MANY if group % 2 else {}):
        for seed in seeds(request, group):
            attempt(on_numpy, generate(seed))


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_programs_on_tensors(request: pytest.FixtureRequest, group: int) -> None:
    """CUDA tensors of torch: the same values, in place, with ``out=``, on layouts of every kind."""
    with forced(AS_MANY if group % 2 else {}):
        for seed in seeds(request, group):
            attempt(with_torch, generate(seed))


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("dtype", [INT8, FLOAT16, FLOAT32], ids=str)
def test_misaligned(dtype: DType) -> None:
    """CUDA tensors that begin anywhere between aligned addresses, as inputs and as outputs."""
    with forced(AS_MANY):
        for call in misaligned(dtype):
            attempt(with_torch, call)


@pytest.mark.parametrize("dtype", sorted(t.short for t in DTYPES))
def test_edge_values(dtype: str) -> None:
    """Every operator, function and cast on edge values of every dtype."""
    wrong: list[str] = []
    with forced(AS_MANY):
        for table in (t for t in tables() if t.of[0].short == dtype):
            wrong += on_device(table)
    assert not wrong, "\n" + "\n".join(wrong)


def on_device(table: Table) -> list[str]:
    given = table.arrays()
    results = jit(table.text, device="cuda", fmad=False)(*given)
    assert all(isinstance(r, np.ndarray) for r in (results if isinstance(results, tuple) else (results,)))
    return differences(table, given, results)


def test_arrays_of_no_dimensions() -> None:
    """NumPy scalars alone are arrays; they pass by value only beside an array on the device; inout ones are updated."""
    add = jit("out = a + b", device="cuda", fmad=False)
    assert add(np.float32(2), np.float32(3)) == 5
    assert add(np.float32(2), np.ones(3, np.float32)).tolist() == [3, 3, 3]
    total = np.array(1.0, np.float32)
    jit("inout t\nt = t + x", device="cuda")(total, np.float32(2))
    assert total == 3
