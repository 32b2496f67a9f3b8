"""Device times: medians of CUDA events around queued launches, or around CUDA graphs, which exclude the host's time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

Run = Callable[[], Any]
LONG = 500e-6  # seconds of a launch for which the host is always fast enough


def device_time(torch: Any, run: Run, repeats: int = 25) -> float:
    """Median seconds of one call, launches queued ahead so that the host's time stays outside."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    pairs: list[tuple[Any, Any]] = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        pairs.append((start, end))
    torch.cuda.synchronize()
    return float(median(start.elapsed_time(end) for start, end in pairs)) * 1e-3


class Graph:
    """A graph of ``launches``, which takes the runs (each on buffers of its own) in turn."""

    def __init__(self, torch: Any, runs: Sequence[Run], launches: int) -> None:
        self.torch = torch
        self.launches = launches
        self.runs = runs  # kept, with the memory that they use
        for run in runs:
            run()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for number in range(launches):
                runs[number % len(runs)]()

    def time(self, repeats: int = 10) -> float:
        """Median seconds of one launch in it."""
        return device_time(self.torch, self.graph.replay, repeats) / self.launches


def launch_time(torch: Any, run: Run) -> float:
    """Median seconds of one launch, without the host's time: short ones are timed in a graph."""
    taken = device_time(torch, run, 5)
    return taken if taken > LONG else Graph(torch, [run], 20).time(5)


class Copy:
    """The yardstick: a plain device copy that reads and writes ``total`` bytes in all."""

    def __init__(self, torch: Any, total: int) -> None:
        half = max(total // 2 // 16 * 16, 16)
        self.source = torch.empty(half, dtype=torch.uint8, device="cuda").random_()
        self.target = torch.empty_like(self.source)

    def __call__(self) -> None:
        self.target.copy_(self.source)
