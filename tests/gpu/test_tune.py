"""``Kernel.tune``: kernels that were timed, on arrays that they did not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.call import tune
from kgen.diagnostics import error
from kgen.options import OTHER_TABLES
from kgen.runtime.cuda.driver import probe
from kgen.schedule.tables import with_table
from kgen.schedule.target import HOPPER

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")

#: Down columns of bytes beside float64: several tables give other kernels.
TEXT = "out = max(cast<float>(max(a, b) + min(b, c)), axis=(0,))"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that an earlier run found."""
    monkeypatch.setenv("KGEN_CACHE_DIR", str(tmp_path))


def _given(rows: int = 4000) -> dict[str, Any]:
    narrow = [torch.randint(0, 99, (rows, 4750), device="cuda", dtype=torch.uint8) for _ in range(2)]
    return {"a": narrow[0], "b": torch.rand(rows, 4750, device="cuda", dtype=torch.float64), "c": narrow[1]}


def test_tuned_kernels_are_the_fastest_of_all_tables() -> None:
    """No table's kernel takes much less than the tuned one's; its results are the same."""
    given, kernel = _given(), kgen.jit(TEXT)
    tuned = kernel.tune(**given)
    assert torch.equal(tuned(**given), kernel(**given))
    taken: dict[int, float] = {}
    for number in (tuned.options.tuning, *range(OTHER_TABLES + 1)):
        with kgen.jit(TEXT, tuning=number)._engine.prepare((), given, out=None, stream=None, shape=None) as call:
            taken.setdefault(number, tune._seconds(call, 0))
    assert taken[tuned.options.tuning] < 1.1 * min(taken.values())


def test_a_later_process_reads_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is timed again for the same arrays, and it is for others."""
    given, timed = _given(), list[int]()
    real = tune._seconds

    def seconds(call: Any, device: int) -> float:
        timed.append(device)
        return real(call, device)

    monkeypatch.setattr(tune, "_seconds", seconds)
    first = kgen.jit(TEXT, name="first").tune(**given)
    assert timed
    timed.clear()
    again = kgen.jit(TEXT, name="first", pdl=True)
    assert again.tune(**given).options == first.options
    assert not timed
    again.tune(**_given(2000))
    assert timed


def test_what_a_program_updates_is_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that are timed update copies, also those of views and of arrays at a step."""
    monkeypatch.setattr(tune, "_distinct", _usual_twice)
    base = torch.rand(2048, 512, device="cuda")
    x, y = base[::2, 1::2], torch.rand(1024, 256, device="cuda").t().contiguous().t()
    before, others = base.clone(), y.clone()
    tuned = kgen.jit("inout x; x = x * 2 + y; out = sum(x, axis=0)").tune(x, y)
    assert torch.equal(base, before)
    assert torch.equal(y, others)
    result = tuned(x, y)
    assert torch.equal(x, before[::2, 1::2] * 2 + y)
    assert torch.allclose(result, x.sum(0), rtol=1e-4)


def test_computed_places_that_are_updated_stay_in_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every launch that is timed finds the places as the caller has them."""
    monkeypatch.setattr(tune, "_distinct", _usual_twice)
    ids = torch.arange(1 << 16, device="cuda", dtype=torch.int64)
    table = torch.rand(1 << 16, device="cuda")
    kernel = kgen.jit("inout ids; out = table[ids]; ids = ids + 60000")
    kernel.tune(table=table, ids=ids)
    torch.cuda.synchronize()
    assert torch.equal(ids, torch.arange(1 << 16, device="cuda"))
    out = kernel(table=table, ids=ids)
    assert torch.equal(out, table)


def test_numpy_arrays_are_tuned_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are copied there, and keep their values."""
    monkeypatch.setattr(tune, "_distinct", _usual_twice)
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    kernel = kgen.jit("inout x; x = x * 2")
    tuned = kernel.tune(x)
    assert np.array_equal(x, np.arange(12, dtype=np.float32).reshape(3, 4))
    tuned(x)
    assert np.array_equal(x, 2 * np.arange(12, dtype=np.float32).reshape(3, 4))


def test_a_table_that_needs_too_much_memory_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are timed; where the usual kernels do not fit, that is said."""
    real = tune._seconds

    def seconds(call: Any, device: int) -> float:
        if call.lowered.target.tuning is not HOPPER.tuning or fails:
            raise error("out-of-memory", "too much")
        return real(call, device)

    monkeypatch.setattr(tune, "_seconds", seconds)
    fails, given, kernel = False, _given(), kgen.jit(TEXT)
    assert kernel.tune(**given) is kernel
    fails = True
    with pytest.raises(kgen.KgenError, match="too much"):
        kernel.tune(**_given(2000))


def test_one_kernel_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all tables give the same kernel, it is the kernel that was asked."""
    monkeypatch.setattr(tune, "_seconds", None)
    kernel = kgen.jit("out = a * b")
    x = torch.rand(1000, device="cuda")
    assert kernel.tune(x, x) is kernel


def test_graphs_are_not_tuned_in() -> None:
    """A graph that is captured cannot wait."""
    x = torch.rand(64, 64, device="cuda")
    kernel = kgen.jit("out = sum(x, axis=0)")
    kernel(x)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        kernel(x)
        with pytest.raises(kgen.KgenError, match="bad-call"):
            kernel.tune(x)
    assert torch.allclose(kernel(x), x.sum(0), rtol=1e-4)


def _usual_twice(engine: Any, operands: Any, target: Any) -> dict[int, Any]:
    """Two tables, whatever kernels they give, so that these are timed."""
    return {number: engine.lowering(operands, with_table(target, number)) for number in (0, 1)}
