"""Seconds that a launch takes on the GPU, without the host's time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kgen.runtime.cuda import libcuda as driver
from kgen.runtime.cuda.context import on
from kgen.runtime.cuda.driver import check, explained
from kgen.runtime.cuda.graph import CudaGraph
from kgen.runtime.cuda.memory import own_stream

_SHORT = 30e-6  # seconds of a launch that the host may take longer to queue: such are timed in a graph
_MOST = 20  # launches that are timed together
_ENOUGH = 2e-3  # seconds of these
_LEAST = 1e-6  # seconds that events tell apart, about
_REPEATS = 5


def launch_seconds(device: int, launch: Callable[[int], None], prepare: Callable[[Any], None] | None) -> float:
    """The least seconds of several launches.  ``launch`` takes a stream.

    ``prepare``: what has to come ahead of each launch, on a stream, and is not timed; then each is timed alone.
    """
    stream = own_stream(device)

    def run(launches: int, where: int = int(stream)) -> None:
        for _ in range(launches):
            launch(where)

    _seconds(device, stream, partial(run, 1), prepare)  # the first one also loads code
    alone = min(_seconds(device, stream, partial(run, 1), prepare) for _ in range(_REPEATS))
    launches = min(_MOST, int(_ENOUGH / max(alone, _LEAST)))
    if launches < 2 or prepare is not None:
        return alone
    together: Callable[[], None] = partial(run, launches)
    if alone < _SHORT:
        together = CudaGraph.capture(device, partial(run, launches), lambda: int(stream), lambda: None, None)
    return min(_seconds(device, stream, together, None) for _ in range(_REPEATS + 1)) / launches


def _seconds(device: int, stream: Any, run: Callable[[], None], prepare: Callable[[Any], None] | None) -> float:
    with on(device), explained("timing a kernel"):
        start, end = (check("cuEventCreate", driver.cuEventCreate(0)) for _ in range(2))
        try:
            if prepare is not None:
                prepare(stream)
            check("cuEventRecord", driver.cuEventRecord(start, stream))
            run()
            check("cuEventRecord", driver.cuEventRecord(end, stream))
            check("cuEventSynchronize", driver.cuEventSynchronize(end))
            return float(check("cuEventElapsedTime", driver.cuEventElapsedTime(start, end))) * 1e-3
        finally:
            for event in (start, end):
                driver.cuEventDestroy(event)
