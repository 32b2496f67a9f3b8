"""The CUDA driver: whether it works, and its errors.

``probe`` has to make the first call to the driver.  Without libcuda the first call through a cuda.core object fails
with a lock held, and the *next* driver call hangs; loading the library fails cleanly.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kgen.diagnostics import KgenError, error
from kgen.records import dataclass
from kgen.runtime.cuda import libcuda as driver

OLDEST_DRIVER = 13000  # the CUDA version that a driver of branch 580 reports
_UPGRADE = "CUDA 13 needs an NVIDIA driver of version 580 or newer"

#: Errors after which every further call in the process fails, whoever makes it.
STICKY = frozenset({700, 702, 709, 710, 714, 715, 716, 717, 718, 719})
OUT_OF_MEMORY = 2
NOT_INITIALIZED = 3
NO_DEVICE = 100
INVALID_CONTEXT = 201
INVALID_HANDLE = 400


@dataclass(frozen=True, slots=True)
class DriverState:
    """The result of :func:`probe`.  ``code``, ``reason`` and ``hint`` explain why it is not ``available``.

    ``version`` is the newest CUDA version that the driver supports, as (13, 0).
    """

    available: bool
    code: str = ""
    reason: str = ""
    hint: str | None = None
    version: tuple[int, int] | None = None
    device_count: int = 0

    def problem(self) -> KgenError:
        return error(self.code, self.reason, self.hint)


class DriverError(Exception):
    """A driver call failed.  Callers turn it into a :class:`~kgen.KgenError` with the operation."""

    def __init__(self, call: str, code: int, name: str) -> None:
        super().__init__(f"{call}: {name}")
        self.call = call
        self.code = code
        self.name = name

    @property
    def is_sticky(self) -> bool:
        return self.code in STICKY


_lock = threading.Lock()
_state: DriverState | None = None
_forked = False  # whether this process was forked from one that used the driver


def probe() -> DriverState:
    """The state of the driver, determined once per process."""
    global _state
    if _state is None:
        with _lock:
            if _state is None:
                _state = _probe()
    return _state


def require() -> DriverState:
    """The state if there is a usable GPU; raises :class:`~kgen.KgenError` otherwise."""
    state = probe()
    if not state.available:
        raise state.problem()
    return state


def _probe() -> DriverState:
    if _forked:
        return _forked_state()
    try:
        status, number = driver.cuDriverGetVersion()
    except (OSError, AttributeError) as problem:  # there is no library, or another one of its name
        reason = " ".join(str(problem).split())
        hint = "on a machine with an NVIDIA GPU, install NVIDIA's driver"
        return DriverState(False, "no-driver", f"the CUDA driver cannot be loaded: {reason}", hint)
    if int(status) != 0:
        return _failed("cuDriverGetVersion", int(status), None)
    version = (number // 1000, number % 1000 // 10)
    if number < OLDEST_DRIVER:
        reason = f"this driver supports CUDA {version[0]}.{version[1]} only"
        return DriverState(False, "driver-too-old", reason, _UPGRADE, version)
    try:
        (status,) = driver.cuInit(0)
        if int(status) != 0:
            return _failed("cuInit", int(status), version)
        status, count = driver.cuDeviceGetCount()
    except AttributeError as problem:
        return DriverState(False, "no-driver", f"the CUDA driver cannot be used: {problem}", None, version)
    if int(status) != 0 or count == 0:
        return _failed("cuDeviceGetCount", int(status) or NO_DEVICE, version)
    return DriverState(True, version=version, device_count=count)


def _failed(call: str, code: int, version: tuple[int, int] | None) -> DriverState:
    if code == NOT_INITIALIZED:
        # cuInit returns this only in a child process whose parent had initialised the driver, by any library.
        return _forked_state()
    name = driver.error_name(code)
    if code == NO_DEVICE:
        hint = "is CUDA_VISIBLE_DEVICES empty?" if "CUDA_VISIBLE_DEVICES" in os.environ else None
        return DriverState(False, "no-gpu", f"the CUDA driver finds no GPU ({name})", hint, version)
    return DriverState(False, "no-driver", f"the CUDA driver does not work: {call} gives {name}", None, version)


def _forked_state() -> DriverState:
    return DriverState(
        False,
        "forked-process",
        "CUDA was in use before this process was forked, and does not work in the child",
        'start worker processes with multiprocessing.get_context("spawn")',
    )


def _after_fork() -> None:
    global _forked, _state, _lock
    _lock = threading.Lock()  # another thread of the parent may have held it
    if _state is not None and _state.available:
        _forked = True
        _state = _forked_state()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def check(call: str, result: tuple[Any, ...]) -> Any:
    """The value of a driver call ``(status, value...)``; raises :class:`DriverError` if it failed."""
    status = int(result[0])
    if status != 0:
        if _forked:
            raise _forked_state().problem()
        raise DriverError(call, status, driver.error_name(status))
    if len(result) == 1:
        return None
    return result[1] if len(result) == 2 else result[1:]


def launch_failed(what: str, problem: DriverError) -> KgenError:
    """A driver error as a diagnostic."""
    if problem.is_sticky:
        return error(
            "launch-failed",
            f"{what}: {problem.name}: a kernel that ran earlier, not necessarily kgen's, broke the CUDA context",
            "no CUDA call of this process will work any more; in a new one, CUDA_LAUNCH_BLOCKING=1 or "
            "`compute-sanitizer` names the kernel",
        )
    if problem.code == OUT_OF_MEMORY:
        return error("out-of-memory", f"{what}: {problem.name}", "free memory that this or another process holds")
    return error("launch-failed", f"{what}: {problem.name}")


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turns a driver error inside it into a :class:`~kgen.KgenError` that names the operation."""
    try:
        yield
    except DriverError as problem:
        raise launch_failed(what, problem) from problem
