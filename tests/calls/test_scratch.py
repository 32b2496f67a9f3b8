"""Calls of several kernels, which share memory between them: whose it is, and for how long."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np
import pytest

import kgen
from kgen.diagnostics import error
from kgen.kernel import Kernel
from kgen.runtime.cpu.module import CpuModule, Scratch
from kgen.runtime.launcher import PER_THREAD_STREAM

#: A buffer between two kernels; what blocks leave for the last one, which counts them.
TEXTS = {"buffer": "out = x - sum(x, axis=1) * s", "split": "out = sum(x * s)"}
SHAPES = {"buffer": (64, 64), "split": (64, 1000)}


class Memory(Scratch):
    """Memory that can tell whether a kernel has written to it."""

    def mark(self) -> None:
        self._memory.raw = b"\xab" * len(self._memory)

    @property
    def is_marked(self) -> bool:
        return self._memory.raw == b"\xab" * len(self._memory)


class Allocations:
    """What kernels were given to share.  ``capturing``: whether every stream says that it is being captured."""

    def __init__(self) -> None:
        self.made: list[Memory] = []
        self.of_graphs: list[Memory] = []
        self.capturing = False
        self.is_full = False

    def scratch(self, size: int) -> Memory:
        if self.is_full:
            raise error("out-of-memory", "no memory to share")
        self.made.append(Memory(size))
        return self.made[-1]


@pytest.fixture
def allocations(monkeypatch: pytest.MonkeyPatch) -> Allocations:
    found = Allocations()
    monkeypatch.setattr(CpuModule, "scratch", staticmethod(found.scratch))
    monkeypatch.setattr(CpuModule, "is_capturing", staticmethod(lambda stream: found.capturing))
    monkeypatch.setattr(CpuModule, "keep_for_graph", staticmethod(lambda _, memory: found.of_graphs.append(memory)))
    return found


@pytest.fixture(params=TEXTS)
def case(request: pytest.FixtureRequest) -> tuple[Kernel, Any]:
    """A kernel with such memory, and an array for it."""
    name: str = request.param
    x = (np.random.default_rng(3).integers(-8, 9, SHAPES[name]) / 8).astype(np.float32)
    return kgen.jit("param s: float = 1.0\n" + TEXTS[name], device="cpu"), x


def wanted(x: Any, s: float) -> Any:
    return np.float32(s) * x.sum() if x.shape == SHAPES["split"] else x - x.sum(axis=1) * np.float32(s)


def learnt(kernel: Kernel, x: Any) -> Any:
    """What recognises the call from now on."""
    for _ in range(3):
        kernel(x, s=1.0)
    assert kernel._fast_calls
    return kernel._fast_calls[0]


def test_recognised(case: tuple[Kernel, Any], how: str, allocations: Allocations) -> None:
    """By the C extension, too; other values and other data give their own results, in the same memory."""
    kernel, x = case
    quick = learnt(kernel, x)
    assert (type(quick).__module__ == "kgen._call") is (how == "c")
    for s in (2.0, 3.0, -1.0):
        assert np.array_equal(kernel(x, s=s), wanted(x, s))
        assert np.array_equal(kernel(x + 1, s=s), wanted(x + 1, s))
    assert len(allocations.made) == 1
    assert quick((x,), None, None, {"s": 2.0}) is not NotImplemented


def test_plans(case: tuple[Kernel, Any], allocations: Allocations) -> None:
    """A plan runs again, and on other data, in the memory that it had."""
    kernel, x = case
    plan = kernel.plan(x, s=2.0)
    for _ in range(3):
        assert np.array_equal(plan(), wanted(x, 2.0))
        assert np.array_equal(plan(x + 1), wanted(x + 1, 2.0))
        x += 1
    assert len(allocations.made) == 1


def test_captures_have_their_own(case: tuple[Kernel, Any], allocations: Allocations) -> None:
    """What a graph captures is shared with no other launch, then or later, and stays where it is."""
    kernel, x = case
    learnt(kernel, x)
    plan = kernel.plan(x, s=3.0)
    plan()
    before = len(allocations.made)
    calls: list[tuple[Callable[[], Any], float]] = [(lambda: kernel(x, s=2.0), 2.0), (plan, 3.0)]
    for run, s in calls * 2:
        allocations.capturing = True
        assert np.array_equal(run(), wanted(x, s))
        allocations.capturing = False
        allocations.made[-1].mark()
        assert np.array_equal(run(), wanted(x, s))
        assert allocations.made[-1].is_marked
    assert len(allocations.made) == before + 4
    assert allocations.of_graphs == allocations.made[before:]


def test_no_memory(case: tuple[Kernel, Any], allocations: Allocations) -> None:
    """Where there is none, the error says so, and the kernel works once there is."""
    kernel, x = case
    learnt(kernel, x)
    plan = kernel.plan(x, s=1.0)
    allocations.capturing = allocations.is_full = True
    calls: list[Callable[[], Any]] = [lambda: kernel(x, s=1.0), plan]
    for run in calls:
        with pytest.raises(kgen.KgenError, match="out-of-memory"):
            run()
    allocations.capturing = False
    assert np.array_equal(kernel(x, s=1.0), wanted(x, 1.0))
    allocations.is_full = False
    assert np.array_equal(plan(), wanted(x, 1.0))


def test_threads(case: tuple[Kernel, Any]) -> None:
    """Threads that launch on one stream do not meet in the same memory."""
    kernel, x = case
    learnt(kernel, x)
    plans = {float(s): kernel.plan(x, s=float(s)) for s in range(8)}
    wrong: list[float] = []

    def work(s: float) -> None:
        found = [(kernel(x, s=s), plans[s]().copy()) for _ in range(30)]
        wrong.extend(s for pair in found if not all(np.array_equal(one, wanted(x, s)) for one in pair))

    threads = [threading.Thread(target=work, args=(s,)) for s in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_one_plan_in_many_threads(case: tuple[Kernel, Any]) -> None:
    """A plan that several threads launch gives each its own memory while its kernels run."""
    kernel, x = case
    plan = kernel.plan(x, s=2.0)
    right: list[bool] = []

    def work() -> None:
        right.extend(np.array_equal(plan(), wanted(x, 2.0)) for _ in range(50))  # the same values, whoever writes them

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(right) == 400
    assert all(right)


def test_parameter_buffers_are_released(case: tuple[Kernel, Any]) -> None:
    """A call keeps no reference to its memory."""
    kernel, x = case
    plan = kernel.plan(x, s=1.0)
    plan()
    (parameters,) = plan._launcher.ready[0]
    before = sys.getrefcount(parameters)
    for _ in range(50):
        plan()
        plan(x)
    assert plan._launcher.ready[0] == [parameters]
    assert sys.getrefcount(parameters) == before


def test_only_the_graph_keeps_its_memory(case: tuple[Kernel, Any], how: str, allocations: Allocations) -> None:
    """What a captured call shares is gone with its graph, though the kernel is still there."""
    kernel, x = case
    learnt(kernel, x)
    allocations.made.clear()
    allocations.capturing = True
    kernel(x, s=1.0)
    kept = [ref(memory) for memory in allocations.made]
    assert len(kept) == 1
    allocations.made.clear()
    allocations.of_graphs.clear()
    gc.collect()
    assert all(one() is None for one in kept)


def test_each_thread_has_a_stream(case: tuple[Kernel, Any]) -> None:
    """Under the handle that stands for the calling thread's own stream."""
    kernel, x = case
    kernel(x, s=1.0)
    (launcher,) = (b for record in kernel._engine._records.values() for b in record.launchers.values())
    mine = launcher.acquire(PER_THREAD_STREAM)
    launcher.release(PER_THREAD_STREAM, mine)
    assert launcher.acquire(PER_THREAD_STREAM) is mine
    launcher.release(PER_THREAD_STREAM, mine)
    theirs: list[Any] = []
    thread = threading.Thread(target=lambda: theirs.append(launcher.acquire(PER_THREAD_STREAM)))
    thread.start()
    thread.join()
    assert theirs[0] is not mine
    assert launcher.acquire(PER_THREAD_STREAM) is mine
