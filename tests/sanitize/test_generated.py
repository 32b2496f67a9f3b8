"""Address and undefined-behaviour sanitizers watch generated kernels in three thread orders; planted bugs are found."""

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

from .mutants import MUTANTS

ROOT = Path(__file__).parents[2]
#: Elementwise ones: sums of edge values are compared with a tolerance, in ``tests/fuzz/test_reductions.py``.
EXAMPLES = sorted(p.stem for p in (ROOT / "examples").glob("*.k") if not re.search(r"axis=|mean\(", p.read_text()))
FIRST_SEED = 50_000
Results = dict[str, tuple[int, str]]


def sanitized(jobs: list[str], cache: Path, cxxflags: str) -> Results:
    """What became of each job."""
    compiler = toolchain.find().command[0]
    library = subprocess.run(
        [compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    env = {
        **os.environ,
        "LD_PRELOAD": library,
        # Kernels access memory of NumPy and of ExactScratch: Python has its own allocator, in half of the time.
        "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:malloc_context_size=1:quarantine_size_mb=16:redzone=512",
        "OPENBLAS_NUM_THREADS": "1",
        "KGEN_STRICT": "1",
        "KGEN_CACHE_DIR": str(cache),
        "KGEN_CXXFLAGS": cxxflags,
    }
    command = [sys.executable, "-m", "tests.sanitize.sanitized", *jobs]
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    results: dict[str, list[object]] = json.loads(ran.stdout.splitlines()[-1])
    return {job: (int(str(status)), str(output)) for job, (status, output) in results.items()}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all jobs, which share the scheduler."""
    return tmp_path_factory.mktemp("sanitized")


@pytest.fixture(scope="session")
def cxxflags(precompile: Callable[..., str]) -> str:
    return precompile("-O0", "address,undefined")


JOBS = {
    "random programs": [f"fuzz:{FIRST_SEED + 8 * k}:8" for k in range(6)],
    "random reductions": [f"reductions:{60_000 + 6 * k}:6" for k in range(6)],
    "odd rows": ["rows:3:1001:1:0", "rows:300:7:1:2", "rows:37:63:0:1", "partials:0"],
    "rows that lie across memory": ["across:5:7:40:0", "across:40:33:50:1", "across:3:300:70:2"],
    "tiles whose rows begin at sectors": ["skewed:301:377", "skewed:345:451"],
    "elements at computed places": [
        *(f"places:reach:{70_000 + 13 * k}:13" for k in range(2)),
        *(f"places:rows:{70_000 + 5 * k}:5" for k in range(2)),
    ],
    "examples": [":".join(["examples", *EXAMPLES[part::3]]) for part in range(3)],
    "arrays that begin and end anywhere": ["misaligned:int8:0", "misaligned:float16:1", "misaligned:float32:2"],
}


#: How many jobs of each kind run without ``-m whole``.
BY_DEFAULT = 1


@pytest.mark.parametrize("half", range(2))
def test_clean(half: int, cache: Path, cxxflags: str) -> None:
    """No access outside an array, no undefined arithmetic, and the right values, in every order of threads.

    Two processes, since one takes a second to start with a sanitizer.
    """
    jobs = [job for what in [*JOBS][half::2] for job in JOBS[what][:BY_DEFAULT]]
    clean(sanitized(jobs, cache, cxxflags))


@pytest.mark.whole
@pytest.mark.parametrize("what", JOBS)
def test_the_others_are_clean(what: str, cache: Path, cxxflags: str) -> None:
    clean(sanitized(JOBS[what][BY_DEFAULT:], cache, cxxflags))


def clean(results: Results) -> None:
    bad = {job: output for job, (status, output) in results.items() if status != 0}
    assert not bad, "\n".join(f"{job}:\n{output}" for job, output in bad.items())


def test_planted_bugs_are_found(cache: Path, cxxflags: str) -> None:
    """Each bug in a text is seen by the sanitizer or in the values.  One test, because they are compiled together."""
    wanted = {f"mutant:{name}": planted.found for name, planted in MUTANTS.items()}
    wanted["partials:256"] = "heap-buffer-overflow"  # the first of them is right behind the 1024 bytes
    found = sanitized([*wanted], cache, cxxflags)
    missed = {
        job: output for job, (status, output) in found.items() if status == 0 or not re.search(wanted[job], output)
    }
    assert not missed, "\n".join(f"{name}:\n{output}" for name, output in missed.items())
