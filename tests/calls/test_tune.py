"""``Kernel.tune`` on the CPU target, with a clock that a test sets: what does not need a GPU's."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.call import tune
from kgen.call.engine import PreparedCall
from kgen.diagnostics import error

TEXT = "out = sum(x, axis=0)"
X = np.random.default_rng(0).standard_normal((300, 70)).astype(np.float32)


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[PreparedCall], float]], None]:
    """Says how long a call takes.  Nothing was found earlier."""
    monkeypatch.setenv("KGEN_CACHE_DIR", str(tmp_path))

    def on_the_cpu(wanted: str | None, values: Any) -> Any:
        return SimpleNamespace(device=SimpleNamespace(kind="cuda"))

    monkeypatch.setattr(tune, "choose_backend", on_the_cpu)
    monkeypatch.setattr(tune, "device_info", lambda _: SimpleNamespace(name="a clock"))
    monkeypatch.setattr(tune, "synchronise", lambda *_: None)
    return lambda seconds: monkeypatch.setattr(tune, "_seconds", lambda call, _: seconds(call))


def test_another_tables_kernel_is_taken_where_it_is_faster(clock: Any) -> None:
    kernel, usual = kgen.jit(TEXT, device="cpu"), list[Any]()

    def seconds(call: PreparedCall) -> float:
        usual.append(call.lowered.schedules)
        return 2.0 if usual[-1] == usual[0] else 1.0

    clock(seconds)
    tuned = kernel.tune(X)
    assert tuned.options.tuning > 0
    np.testing.assert_allclose(tuned(X), kernel(X), rtol=1e-5, atol=1e-5)


def test_a_table_whose_kernels_fail_is_left_out(clock: Any) -> None:
    kernel, seen = kgen.jit(TEXT, device="cpu"), list[Any]()

    def seconds(call: PreparedCall) -> float:
        seen.append(call.lowered.schedules)
        if seen[-1] == seen[0]:
            return 1.0
        raise error("launch-failed", "by this table only")

    clock(seconds)
    assert kernel.tune(X) is kernel
    assert any(schedules != seen[0] for schedules in seen)


def test_a_failure_of_the_usual_kernels_is_the_callers(clock: Any) -> None:
    def fails(_: PreparedCall) -> float:
        raise error("launch-failed", "by every table")

    clock(fails)
    with pytest.raises(kgen.KgenError) as caught:
        kgen.jit(TEXT, device="cpu").tune(X)
    assert caught.value.diagnostics[0].code == "launch-failed"


def test_results_of_one_call_are_in_memory(clock: Any) -> None:
    alive: list[int] = []

    def seconds(_: PreparedCall) -> float:
        gc.collect()
        alive.append(sum(isinstance(one, PreparedCall) for one in gc.get_objects()))
        return 1.0

    clock(seconds)
    kgen.jit(TEXT, device="cpu").tune(X)
    assert len(alive) > 1
    assert set(alive) == {1}


def test_an_input_may_be_called_progress(clock: Any) -> None:
    clock(lambda _: 1.0)
    kernel = kgen.jit("input progress\nout = sum(progress, axis=0)", device="cpu")
    assert kernel.tune(progress=X) is kernel


def test_launches_that_differ_in_blocks_are_timed(clock: Any) -> None:
    grids: list[Any] = []

    def seconds(call: PreparedCall) -> float:
        grids.append(tuple(step.launch.grid for step in call.lowered.steps))
        return 1.0

    clock(seconds)
    kgen.jit(TEXT, device="cpu").tune(np.ones((20000, 300), np.float32))
    assert len({grid for grid in grids if len(grid) == 1 and grid[0][0] == grids[0][0][0]}) > 1
