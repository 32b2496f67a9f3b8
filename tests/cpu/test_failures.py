"""A kernel that crashes or hangs is a Python exception, and the process goes on."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from kgen.diagnostics import KgenError
from kgen.runtime.cpu.module import CpuModule

from .harness import launch

_KERNELS = Path(__file__).parent / "kernels"
NULL = ctypes.c_void_p(0)


@pytest.fixture(scope="module")
def plain() -> CpuModule:
    return CpuModule.load((_KERNELS / "faulty.cu").read_text(), ["null_pointer", "divide", "trap", "fine"])


@pytest.fixture(scope="module")
def fibers() -> CpuModule:
    kernels = ["null_pointer", "trap", "overflow", "deadlock", "deserter", "fine"]
    return CpuModule.load((_KERNELS / "faulty_fibers.cu").read_text(), kernels)


def _still_works(module: CpuModule) -> None:
    out = np.zeros(64 * 8, np.int32)
    launch(module, "fine", out, grid=8, block=64, threads=2)
    assert (out == 5).all()


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    ("kernel", "words"),
    [("null_pointer", r"null_pointer: invalid .* at address .* block"), ("trap", r"__trap, line 5, in .* block")],
)
def test_a_fault_without_barriers_is_an_exception(plain: CpuModule, kernel: str, words: str, workers: int) -> None:
    """On the calling thread and on others; the next launch is as good as any."""
    for _ in range(3):
        with pytest.raises(KgenError, match=words) as caught:
            launch(plain, kernel, NULL, grid=8, block=64, threads=workers)
        assert caught.value.code == "kernel-failed"
        _still_works(plain)


def test_integer_division_by_zero_is_an_exception(plain: CpuModule) -> None:
    """Where the CPU traps it."""
    out = np.zeros(1, np.int32)
    launch(plain, "divide", out, ctypes.c_int(2))
    assert out[0] == 3
    with pytest.raises(KgenError, match="division by zero"):
        launch(plain, "divide", out, ctypes.c_int(0))


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("null_pointer", r"address 0x84, in thread \(33,0,0\) of block"),
        ("trap", r"__trap, line 9, in block \(1,0,0\)"),
        ("overflow", r"stack overflow, in thread \(63,0,0\)"),
        ("deadlock", r"deadlock: .*\(0,0,0\) waits at __syncwarp, line 22; thread \(1,0,0\) waits at .*, line 24"),
    ],
)
def test_a_fault_with_barriers_names_thread_and_block(fibers: CpuModule, kernel: str, words: str, workers: int) -> None:
    """Crash, trap, stack overflow, deadlock."""
    out = np.zeros(64, np.int32)
    argument = out if kernel == "overflow" else NULL
    for _ in range(3):
        with pytest.raises(KgenError, match=words):
            launch(fibers, kernel, argument, grid=4, block=64, threads=workers)
        _still_works(fibers)


def test_blocks_do_not_wait_for_one_that_failed(fibers: CpuModule) -> None:
    """In a cooperative launch, whoever sleeps in a spin loop is stopped."""
    with pytest.raises(KgenError, match="__trap"):
        launch(fibers, "deserter", np.zeros(1, np.int32), grid=4, block=32, cooperative=True)
    _still_works(fibers)


def test_former_signal_handlers_come_back(plain: CpuModule) -> None:
    """Python's own, after a fault as after a success."""
    former = signal.signal(signal.SIGFPE, lambda *_: None)
    try:
        before = signal.getsignal(signal.SIGFPE)
        with pytest.raises(KgenError):
            launch(plain, "null_pointer", NULL)
        _still_works(plain)
        assert signal.getsignal(signal.SIGFPE) is before
    finally:
        signal.signal(signal.SIGFPE, former)


def test_a_crash_elsewhere_still_kills() -> None:
    """After a caught fault the default is back: a bad pointer outside of kernels ends the process."""
    program = (
        "import ctypes, sys\n"
        "from pathlib import Path\n"
        "from kgen.diagnostics import KgenError\n"
        "from kgen.runtime.cpu.module import CpuModule\n"
        f"text = Path({str(_KERNELS / 'faulty.cu')!r}).read_text()\n"
        "module = CpuModule.load(text, ['null_pointer'])\n"
        "params = (ctypes.c_void_p * 1)(ctypes.addressof(ctypes.c_void_p(0)))\n"
        "null = ctypes.c_void_p(0)\n"
        "params[0] = ctypes.addressof(null)\n"
        "try:\n"
        "    module.launch('null_pointer', (1, 1, 1), (1, 1, 1), ctypes.addressof(params))\n"
        "except KgenError:\n"
        "    print('caught', flush=True)\n"
        "ctypes.string_at(16)\n"
        "print('unreachable')\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stdout == "caught\n"
    assert ran.returncode == -signal.SIGSEGV


@pytest.mark.filterwarnings("ignore:os.fork")  # says JAX, where other tests have imported it
def test_a_process_forked_during_a_launch_can_launch(fibers: CpuModule) -> None:
    """Whatever the other threads were holding at that moment."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            _still_works(fibers)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of a fork beside threads
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    signal.alarm(20)  # a child that hangs fails the test
                    try:
                        _still_works(fibers)
                        os._exit(0)
                    finally:
                        os._exit(1)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()


def test_launches_from_many_python_threads_do_not_mix(plain: CpuModule, fibers: CpuModule) -> None:
    """Each gets its own error, or its own result."""
    wrong: list[str] = []

    def work(module: CpuModule, kernel: str, words: str) -> None:
        for _ in range(50):
            try:
                launch(module, kernel, NULL, grid=4, block=64, threads=2)
                wrong.append(f"{kernel} went through")
            except KgenError as problem:
                if words not in str(problem):
                    wrong.append(str(problem))

    def good(module: CpuModule) -> None:
        for _ in range(50):
            _still_works(module)

    threads = [
        threading.Thread(target=work, args=(plain, "null_pointer", "null_pointer: invalid")),
        threading.Thread(target=work, args=(fibers, "deadlock", "deadlock: deadlock")),
        threading.Thread(target=work, args=(fibers, "trap", "__trap, line 9")),
        threading.Thread(target=good, args=(plain,)),
        threading.Thread(target=good, args=(fibers,)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
