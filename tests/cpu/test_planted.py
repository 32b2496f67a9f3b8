"""Known bugs must be found, each by the tool that is there for it; correct kernels must pass them all."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kgen.runtime.cpu import toolchain

from .sanitized import CASES, PLANTED

_ROOT = Path(__file__).parents[2]
Results = dict[str, tuple[int, str]]

ADDRESS = {
    "write_past_end": r"heap-buffer-overflow.*write_past_end\.cu:4",
    "vector_tail": r"heap-buffer-overflow.*vector_tail\.cu:7",
    "tile_row_short": r"tile_row_short\.cu:4.*index 31 out of bounds",
    "dynamic_shared_short": r"heap-buffer-overflow.*dynamic_shared_short\.cu:4",
    "misaligned_vector": r"misaligned_vector\.cu:6.*misaligned address",
    "shift_too_far": r"shift_too_far\.cu:2.*shift exponent 32",
    "signed_overflow": r"signed_overflow\.cu:2.*signed integer overflow",
}
THREAD = {
    "missing_barrier": r"data race.*missing_barrier\.cu:5",
    "reused_shared": r"data race.*reused_shared\.cu:[67]",
    "cross_block_add": r"data race.*cross_block_add\.cu:3",
    "in_place_shift": r"data race.*in_place_shift\.cu:4",
}
# What the scheduler finds by itself, in the plain build.
RUNTIME = {
    "divergent_barrier": r"divergent barrier.*line 4.*line 7",
    "half_warp_shuffle": r"deadlock.*\(0,0,0\) waits at __syncthreads, line 7.*\(1,0,0\) waits at a shuffle, line 5",
    "lane_outside_mask": r"without being in its mask",
    "return_before_barrier": r"strict mode",
    "read_before_write": r"wrong result",
    "in_place_shift": r"wrong result",
    "wild_pointer": r"invalid or misaligned memory access",
}


def _library(name: str) -> str:
    compiler = toolchain.find().command[0]
    return subprocess.run(
        [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()


def _run(mode: str, cases: list[str], preload: str | None = None, **environment: str) -> Results:
    command = [sys.executable, "-m", "tests.cpu.sanitized", mode, *cases]
    if preload == "libtsan.so":
        # Old ThreadSanitizers do not know the layout that more random bits give.
        bits = Path("/proc/sys/vm/mmap_rnd_bits")
        if bits.exists() and int(bits.read_text()) > 28:
            command = ["setarch", "-R", *command]
    env = {**os.environ, **environment, "PYTHONMALLOC": "malloc", "OPENBLAS_NUM_THREADS": "1"}
    if preload is not None:
        env["LD_PRELOAD"] = _library(preload)
    ran = subprocess.run(command, cwd=_ROOT, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    results: dict[str, list[object]] = json.loads(ran.stdout.splitlines()[-1])
    return {case: (int(str(status)), str(output)) for case, (status, output) in results.items()}


@pytest.fixture(scope="module")
def address(precompile: Callable[..., str]) -> Results:
    options = {"KGEN_CXXFLAGS": precompile("-O0", "address,undefined")}
    options |= {"ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1", "UBSAN_OPTIONS": "print_stacktrace=0"}
    return _run("address,undefined", [*ADDRESS, "clean"], "libasan.so", **options)


@pytest.fixture(scope="module")
def thread() -> Results:
    options = {
        "TSAN_OPTIONS": "halt_on_error=1:report_signal_unsafe=0:die_after_fork=0",
        "GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=524288",
    }
    return _run("thread", [*THREAD, "clean"], "libtsan.so", **options)


@pytest.fixture(scope="module")
def reversed_order() -> Results:
    return _run("none", list(RUNTIME), KGEN_SCHED="1", KGEN_STRICT="1")


def _flagged(results: Results, case: str, pattern: str) -> None:
    status, output = results[case]
    assert status != 0, "not found"
    assert re.search(pattern, output, re.DOTALL), output


@pytest.mark.parametrize("case", ADDRESS)
def test_address_sanitizer_names_the_line(address: Results, case: str) -> None:
    """Out of bounds in global, static and dynamic shared memory; misalignment; undefined arithmetic."""
    _flagged(address, case, ADDRESS[case])


@pytest.mark.parametrize("case", THREAD)
def test_thread_sanitizer_names_the_line(thread: Results, case: str) -> None:
    """A missing barrier, reuse of shared memory, a sum across blocks, an overlap in place."""
    _flagged(thread, case, THREAD[case])


@pytest.mark.parametrize("case", RUNTIME)
def test_the_scheduler_finds_it_without_a_sanitizer(reversed_order: Results, case: str) -> None:
    """Strict barriers, reversed order, NaN-filled shared memory, faults turned into errors."""
    _flagged(reversed_order, case, RUNTIME[case])


def test_correct_kernels_pass_every_sanitizer(address: Results, thread: Results) -> None:
    """No false positives."""
    for results in (address, thread):
        status, output = results["clean"]
        assert status == 0, output


def test_every_planted_bug_is_looked_for() -> None:
    """Each file of planted/ has a case, and each case a tool that must find it."""
    assert {p.stem for p in PLANTED.glob("*.cu")} == set(CASES) == {*ADDRESS, *THREAD, *RUNTIME}
