"""What is said where CUDA cannot be used; in processes of their own, for the driver's state is a process's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kgen.diagnostics import KgenError
from kgen.runtime.cuda import driver
from kgen.runtime.cuda.driver import DriverError, DriverState, check, launch_failed


def run(code: str, **environment: str) -> str:
    """The output of a fresh interpreter; a hang, which a careless first call ends in, is an error."""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    return ran.stdout.strip()


def test_probe_always_answers() -> None:
    """With or without a GPU, probing twice gives the same frozen answer, with a reason where there is none."""
    out = run(
        "from kgen.runtime.cuda.driver import probe; s = probe(); assert probe() is s;"
        "print(s.available or bool(s.code and s.reason))"
    )
    assert out == "True"


def test_no_visible_device() -> None:
    """Without a GPU every entrance gives the same KgenError, and none of them hangs."""
    code = """
from kgen.diagnostics import KgenError
from kgen.runtime.cuda.device import devices, device_info
from kgen.runtime.cuda.memory import Staging, DeviceBuffer, device_of
from kgen.runtime.cuda.module import CudaModule
for attempt in (devices, lambda: device_info(0), lambda: Staging(0), lambda: DeviceBuffer(0, 4),
                lambda: CudaModule.load(b"", 0), lambda: device_of(4096)):
    try:
        attempt()
    except KgenError as problem:
        print(problem.code)
"""
    codes = run(code, CUDA_VISIBLE_DEVICES="").split()
    assert len(codes) == 6
    assert len(set(codes)) == 1
    assert codes[0] in ("no-driver", "no-gpu", "driver-too-old")


def test_import_touches_no_driver() -> None:
    """Importing the runtime loads neither the bindings nor cuda.core."""
    out = run(
        "import sys, kgen.runtime.cuda.compiler, kgen.runtime.cuda.module, kgen.runtime.cuda.memory;"
        "print([m for m in sys.modules if m.startswith('cuda')])"
    )
    assert out == "[]"


class FakeDriver:
    """The few driver calls that probing makes."""

    def __init__(self, *, version: int = 13000, init: int = 0, count: int = 1) -> None:
        self.version, self.init, self.count = version, init, count

    def cuDriverGetVersion(self) -> tuple[int, int]:
        return 0, self.version

    def cuInit(self, _flags: int) -> tuple[int]:
        return (self.init,)

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return 0, self.count

    @staticmethod
    def error_name(code: int) -> str:
        return f"CUDA_ERROR_{code}"


def probe_with(monkeypatch: pytest.MonkeyPatch, fake: FakeDriver) -> DriverState:
    monkeypatch.setattr(driver, "driver", fake)
    return driver._probe()


@pytest.mark.parametrize(
    ("fake", "code", "text"),
    [
        (FakeDriver(version=12040), "driver-too-old", "CUDA 12.4 only"),
        (FakeDriver(init=100), "no-gpu", "finds no GPU"),
        (FakeDriver(count=0), "no-gpu", "finds no GPU"),
        (FakeDriver(init=803), "no-driver", "CUDA_ERROR_803"),
        (FakeDriver(init=3), "forked-process", "forked"),
    ],
)
def test_probe_says_why_not(monkeypatch: pytest.MonkeyPatch, fake: FakeDriver, code: str, text: str) -> None:
    """Each reason for which CUDA cannot be used has its own code and words."""
    state = probe_with(monkeypatch, fake)
    assert (state.available, state.code) == (False, code)
    assert text in state.reason
    assert state.problem().code == code


def test_probe_finds_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A working driver gives its version and the number of devices."""
    state = probe_with(monkeypatch, FakeDriver(version=13020, count=2))
    assert state == DriverState(True, version=(13, 2), device_count=2)


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="this system does not fork")
def test_use_after_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the child of a process that used CUDA, the error says so instead of a driver's riddle."""
    monkeypatch.setattr(driver, "_state", DriverState(True, device_count=1))
    monkeypatch.setattr(driver, "_forked", False)
    monkeypatch.setattr(driver, "_lock", driver._lock)
    driver._after_fork()
    with pytest.raises(KgenError, match="spawn") as raised:
        driver.require()
    assert raised.value.code == "forked-process"


def test_fork_before_any_use_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child of a process that had not touched CUDA may use it."""
    monkeypatch.setattr(driver, "_state", None)
    monkeypatch.setattr(driver, "_forked", False)
    monkeypatch.setattr(driver, "_lock", driver._lock)
    driver._after_fork()
    assert not driver._forked


def test_check_returns_values() -> None:
    """What a driver call returns becomes its value, its values, or nothing."""
    assert check("call", (0,)) is None
    assert check("call", (0, 7)) == 7
    assert check("call", (0, 7, 8)) == (7, 8)


def test_sticky_errors_say_that_the_context_is_gone() -> None:
    """An error that outlives its launch is reported as such, others are not."""
    sticky = launch_failed("k", DriverError("cuLaunchKernel", 700, "CUDA_ERROR_ILLEGAL_ADDRESS"))
    plain = launch_failed("k", DriverError("cuLaunchKernel", 1, "CUDA_ERROR_INVALID_VALUE"))
    assert sticky.code == plain.code == "launch-failed"
    assert "broke the CUDA context" in str(sticky)
    assert "broke" not in str(plain)
    assert "k: CUDA_ERROR_INVALID_VALUE" in str(plain)
