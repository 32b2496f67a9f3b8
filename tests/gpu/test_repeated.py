"""Calls again and again on a GPU: streams, threads, graphs, plans, memory, failures."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.runtime.cuda.driver import probe

from .sanitizer import sized, without_sanitizer

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")


@pytest.fixture
def pair() -> tuple[Any, Any]:
    return torch.randn(1003, 37, device="cuda"), torch.randn(1003, 37, device="cuda")


def test_streams_in_turn(pair: tuple[Any, Any]) -> None:
    """A recognised call and a plan run on the stream that is current, or on the one that is given."""
    x, y = pair
    kernel = kgen.jit("out = a * b")
    plan = kernel.plan(x, y)
    streams = [torch.cuda.Stream() for _ in range(4)]
    expected = x * y
    torch.cuda.synchronize()
    for _ in range(5):
        for stream in streams:
            with torch.cuda.stream(stream):
                # Only a launch on this very stream can see what it was made to wait for.
                late = torch.zeros_like(x)
                torch.cuda._sleep(200_000)
                late.copy_(x)
                out = kernel(late, y)
            given = kernel(late, y, stream=stream)
            planned = plan(stream=stream)
            stream.synchronize()
            for result in (out, given, planned):
                assert torch.equal(result, expected)


def test_outputs_on_a_stream_that_is_given(pair: tuple[Any, Any]) -> None:
    """A result on ``stream=`` is not in memory that the current stream still uses, nor reused before it is written."""
    x, y = pair
    kernel = kgen.jit("out = a * b")
    stream = torch.cuda.Stream()
    expected = x * y
    torch.cuda.synchronize()
    for _ in range(4):
        old = torch.empty_like(x)
        torch.cuda._sleep(2_000_000)
        old.fill_(7.0)  # late, on the current stream
        del old  # its memory is free for this stream, and for no other
        found = kernel(x, y, stream=stream)
        torch.cuda.synchronize()
        assert torch.equal(found, expected)


def test_capture_and_replay(pair: tuple[Any, Any]) -> None:
    """A call, a plan and a plan's own graph, captured or not, compute on the data of the moment."""
    x, y = pair
    kernel = kgen.jit("s = a + b; d = a - cast<double>(b)")
    plan = kernel.plan(x, y)
    for _ in range(3):
        kernel(x, y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        s, d = kernel(x, y)
        plan()
    own = plan.graph()
    for _ in range(3):
        x.normal_()
        plan.out[0].zero_()
        graph.replay()
        assert torch.equal(s, x + y)
        assert torch.equal(d, x - y.double())
        assert torch.equal(plan.out[0], s)
        plan.out[0].zero_()
        own()
        assert torch.equal(plan.out[0], s)
        assert torch.equal(plan.out[1], d)


@pytest.mark.parametrize("how", ["torch", "plan", "cupy"])
def test_graphs_free_their_memory(how: str) -> None:
    """Each graph has scratch memory of its own: 64 MiB here.  A hundred of them, one after the other, do not add up.

    What 89 would take is 5.6 GiB; other processes on the GPU may take something meanwhile.
    """
    x = torch.randn(1 << 24, 2, device="cuda")
    kernel = kgen.jit("let y = sum(x, axis=-1)\nout = max(y, axis=0) + mean(y, axis=0)")
    expected = kernel(x)
    plan = kernel.plan(x)

    def captured() -> Callable[[], Any]:
        if how == "plan":
            return plan.graph()
        if how == "cupy":
            cupy = pytest.importorskip("cupy", reason="captures with CuPy")
            with cupy.cuda.Stream(non_blocking=True) as stream:
                stream.begin_capture()
                plan(stream=stream)
                graph = stream.end_capture()
            return lambda: graph.launch(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            plan()
        replay: Callable[[], Any] = graph.replay
        return replay

    torch.cuda.synchronize()
    least = 1 << 60
    for number in range(100):
        replay = captured()
        plan.out.zero_()
        torch.cuda.synchronize()
        replay()
        torch.cuda.synchronize()
        assert torch.equal(plan.out, expected)
        if number == 10:
            least = torch.cuda.mem_get_info()[0]
        del replay
    assert torch.cuda.mem_get_info()[0] > least - (3 << 30)


def test_many_threads_and_streams() -> None:
    """Sixteen threads with four streams each run random kernels on random shapes; every result is right."""
    programs = ["out = a * {i} + b", "out = max(a, b) - {i}"]
    kernels = [(i, p, kgen.jit(p.format(i=i), fmad=False)) for i in range(3) for p in programs]
    wrong: list[str] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        streams = [torch.cuda.Stream() for _ in range(4)]
        try:
            for _ in range(sized(120, 6)):
                i, program, kernel = kernels[int(generator.integers(len(kernels)))]
                shape = tuple(int(n) for n in generator.integers(2, 40, 2))
                with torch.cuda.stream(streams[int(generator.integers(4))]):
                    a = torch.randn(shape, device="cuda")
                    b = torch.randn(shape[generator.integers(2) :], device="cuda")
                    found = kernel(a, b)
                    expected = a * i + b if "*" in program else torch.maximum(a, b) - i
                    if not torch.equal(found, expected):
                        wrong.append(f"{program} {shape}")
        except Exception as problem:
            wrong.append(repr(problem))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_thread_of_its_own(pair: tuple[Any, Any]) -> None:
    """A thread in which nothing has touched CUDA yet."""
    x, y = pair
    kernel = kgen.jit("out = a * b")
    plan = kernel.plan(x, y)
    for _ in range(3):
        kernel(x, y)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend([kernel(x, y), plan().clone()]))
    thread.start()
    thread.join()
    assert torch.equal(found[0], x * y)
    assert torch.equal(found[1], x * y)


def test_a_million_calls_keep_nothing() -> None:
    """Host and device memory are flat over a million calls."""
    import resource

    x, y = torch.randn(256, device="cuda"), torch.randn(256, device="cuda")
    out = torch.empty_like(x)
    kernel = kgen.jit("out = a * b")
    for _ in range(sized(20_000, 100)):
        kernel(x, y, out=out)
        kernel(x, y)
    torch.cuda.synchronize()
    device, host = torch.cuda.memory_allocated(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(sized(500_000, 100)):
        kernel(x, y, out=out)
        kernel(x, y)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == device
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - host < 4096  # KiB


def test_out_of_memory(pair: tuple[Any, Any]) -> None:
    """An output that does not fit raises torch's own error, and the kernel works on."""
    x, y = pair
    kernel = kgen.jit("out = a * b")
    for _ in range(3):
        kernel(x, y)
    total = torch.cuda.get_device_properties(0).total_memory
    huge = torch.zeros(1, device="cuda").expand(total // 2)
    with pytest.raises(torch.cuda.OutOfMemoryError):
        kernel(huge, huge)
    torch.cuda.empty_cache()
    assert torch.equal(kernel(x, y), x * y)


@without_sanitizer
def test_a_broken_context_is_reported() -> None:
    """After somebody's faulty kernel, a call names its kernel and says that it was not at fault."""
    text = """
import torch, kgen
x = torch.ones(8, device="cuda")
kernel = kgen.jit("out = a * 2", name="doubled")
for _ in range(3): kernel(x, out=x)
index = torch.tensor([10**9], device="cuda")
try:
    x[index] = 1.0
    torch.cuda.synchronize()
except Exception:
    pass
try:
    kernel(x, out=x)
except kgen.KgenError as problem:
    print(problem)
"""
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False)
    assert "launch-failed" in ran.stdout, ran.stderr
    assert "doubled" in ran.stdout
    assert "earlier" in ran.stdout


def test_cupy_streams_and_pool() -> None:
    """CuPy's current stream, its memory pool, its capture."""
    cupy = pytest.importorskip("cupy", reason="cupy is not installed")
    x = cupy.arange(1001, dtype=cupy.float32)
    kernel = kgen.jit("out = x * x")
    for _ in range(3):
        kernel(x)
    used = cupy.get_default_memory_pool().used_bytes()
    kept = kernel(x)
    assert cupy.get_default_memory_pool().used_bytes() > used
    with cupy.cuda.Stream(non_blocking=True) as stream:
        out = kernel(x)
        stream.synchronize()
    assert (out == x * x).all()
    assert (kept == x * x).all()


def test_two_gpus(pair: tuple[Any, Any]) -> None:
    """One kernel on the arrays of two devices in turn, whatever device is current; mixed ones are refused."""
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    kernel = kgen.jit("out = a * b")
    here = [tuple(x.to(f"cuda:{d}") for x in pair) for d in (0, 1)]
    plans = [kernel.plan(*xs) for xs in here]
    for current in (0, 1):
        with torch.cuda.device(current):
            for _ in range(4):
                for device, (x, y) in enumerate(here):
                    out = kernel(x, y)
                    assert out.device == torch.device("cuda", device)
                    assert torch.equal(out, x * y)
                    assert torch.equal(plans[device](), x * y)
                    with torch.cuda.stream(torch.cuda.Stream(device)):
                        assert torch.equal(kernel(x, y), x * y)
            assert torch.cuda.current_device() == current
    with pytest.raises(kgen.KgenError, match="mixed-devices"):
        kernel(here[0][0], here[1][1])
