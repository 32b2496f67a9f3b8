"""What kgen does of its own accord breaks no graph that somebody is capturing; with a driver that only watches."""

from __future__ import annotations

import ctypes
import gc
import types
import weakref
from typing import Any

import pytest

import kgen.runtime.cuda.driver
from kgen.runtime.cuda import context, graph, graph_memory, memory
from kgen.runtime.cuda.graph import CudaGraph


class Watching:
    """A driver while some stream is captured: most calls break that, unless the thread is relaxed."""

    CUstreamCaptureMode = types.SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED="relaxed")
    CUstream_flags = types.SimpleNamespace(CU_STREAM_NON_BLOCKING=1)

    def __init__(self) -> None:
        self.mode = "global"
        self.broken: list[str] = []
        self.called: list[str] = []

    def cuCtxGetCurrent(self) -> tuple[int, int]:
        return 0, 1

    def cuThreadExchangeStreamCaptureMode(self, mode: str) -> tuple[int, str]:
        before, self.mode = self.mode, mode
        return 0, before

    def __getattr__(self, name: str) -> Any:
        def unsafe(*_: Any) -> tuple[int, int]:
            self.called.append(name)
            if self.mode != "relaxed":
                self.broken.append(name)
            return 0, 256

        return unsafe


def use(monkeypatch: pytest.MonkeyPatch, driver: Watching) -> None:
    for module in (context, graph, graph_memory, memory, kgen.runtime.cuda.driver):
        monkeypatch.setattr(module, "driver", driver)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Watching:
    found = Watching()
    use(monkeypatch, found)
    monkeypatch.setattr(context, "_contexts", {0: 1})
    monkeypatch.setattr(memory, "_streams", {})
    return found


def test_memory_that_is_collected(driver: Watching) -> None:
    """Kernels die with whatever refers to them in circles: when garbage is collected, be it during a capture."""
    circle: list[Any] = [memory.zeros(0, 64)]
    circle.append(circle)
    driver.called.clear()
    del circle
    gc.collect()
    assert driver.called == ["cuMemFree"]
    assert driver.broken == []
    assert driver.mode == "global"


def test_memory_that_is_made(driver: Watching) -> None:
    """Kernels that share memory get it, and kgen's own stream with the first of it, also inside a capture."""
    made = memory.zeros(0, 64)
    assert made.address == 256
    assert driver.called == ["cuStreamCreate", "cuMemAlloc", "cuMemsetD8Async", "cuStreamSynchronize"]
    assert driver.broken == []
    assert driver.mode == "global"


def test_graphs_that_are_collected(driver: Watching) -> None:
    """So with a plan's graph that nobody has any more."""
    made = CudaGraph(0, 7, lambda: 0, lambda: None, None)
    del made
    assert driver.called == ["cuGraphExecDestroy"]
    assert driver.broken == []


class Capturing(Watching):
    """A driver with one captured graph, which owns an object: a pointer, and the function that takes it at the end."""

    CUuserObject_flags = types.SimpleNamespace(CU_USER_OBJECT_NO_DESTRUCTOR_SYNC=1)
    CUuserObjectRetain_flags = types.SimpleNamespace(CU_GRAPH_USER_OBJECT_MOVE=1)
    CUstream = CUhostFn = int
    error_name = staticmethod(lambda code: f"CUDA_ERROR_{code}")

    def __init__(self, status: int = 0) -> None:
        super().__init__()
        self.status = status
        self.owned: list[tuple[int, int]] = []

    def cuStreamGetCaptureInfo(self, stream: int) -> tuple[int, ...]:
        return self.status, 1, 5, 77

    def cuUserObjectCreate(self, pointer: int, function: int, *_: int) -> tuple[int, tuple[int, int]]:
        return 0, (pointer, function)

    def cuGraphRetainUserObject(self, graph: int, made: tuple[int, int], *_: int) -> tuple[int]:
        assert graph == 77
        self.owned.append(made)
        return (0,)

    def destroy_graph(self) -> None:
        for pointer, function in self.owned:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)(pointer)


class Memory:
    """Something that may be kept."""


@pytest.mark.parametrize("status", [0, 901])
def test_memory_of_a_graph(status: int, driver: Watching, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there as long as the graph, and for good where the driver does not say which graph that is."""
    capturing = Capturing(status)
    use(monkeypatch, capturing)
    monkeypatch.setattr(graph_memory, "_kept", [])
    made = Memory()
    kept = weakref.ref(made)
    graph_memory.keep(3, made)
    del made
    graph_memory.free_dropped()
    assert kept() is not None
    capturing.destroy_graph()
    assert kept() is not None
    graph_memory.free_dropped()
    assert (kept() is None) is (status == 0)


def test_the_watcher_sees(driver: Watching) -> None:
    """What is called as it comes breaks a capture here, as it would there."""
    memory.release(0, 256)
    assert driver.broken == ["cuMemFree"]
