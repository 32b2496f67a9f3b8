"""Primary contexts, which torch, CuPy and the CUDA runtime use too, so pointers and streams can be shared."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kgen.diagnostics import error
from kgen.runtime.cuda import libcuda as driver
from kgen.runtime.cuda.driver import check, explained, require

_contexts: dict[int, int] = {}
_lock = threading.Lock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_contexts.clear)  # so that the next use calls `require`, which raises


def primary(device: int) -> int:
    """The handle of the device's primary ``CUcontext``, retained for the life of the process."""
    found = _contexts.get(device)
    if found is not None:
        return found
    state = require()
    if not 0 <= device < state.device_count:
        have = f"{state.device_count} CUDA device{'s' if state.device_count > 1 else ''}"
        raise error("no-gpu", f"there is no device cuda:{device}", f"this machine has {have}, counted from 0")
    with _lock, explained(f"starting CUDA on cuda:{device}"):
        if device not in _contexts:
            handle = check("cuDeviceGet", driver.cuDeviceGet(device))
            _contexts[device] = check("cuDevicePrimaryCtxRetain", driver.cuDevicePrimaryCtxRetain(handle))
    return _contexts[device]


@contextmanager
def on(device: int) -> Iterator[int]:
    """Makes the device's primary context current, and restores the caller's afterwards.

    A thread without a context has none afterwards either; otherwise torch's current device would change.
    """
    context = primary(device)
    before = check("cuCtxGetCurrent", driver.cuCtxGetCurrent())
    if before == context:
        yield context
        return
    check("cuCtxSetCurrent", driver.cuCtxSetCurrent(context))
    try:
        yield context
    finally:
        # Unchecked: after a sticky error this fails as well, and the first error is the useful one.
        driver.cuCtxSetCurrent(before)


@contextmanager
def uncaptured(device: int) -> Iterator[None]:
    """Like :func:`on`, for calls that must not be captured, such as freeing memory in garbage collection.

    Without it they would break a capture in any thread.
    """
    with on(device):
        relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        status, before = driver.cuThreadExchangeStreamCaptureMode(relaxed)  # unchecked, as the context is
        try:
            yield
        finally:
            if int(status) == 0:
                driver.cuThreadExchangeStreamCaptureMode(before)
