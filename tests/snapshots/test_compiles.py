"""Every file of ``generated/`` is accepted by NVRTC and nvcc, and becomes the machine code that its text promises."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from kgen import KgenError
from kgen.runtime.cuda import nvrtc
from kgen.runtime.cuda.compiler import flags, nvrtc_version
from kgen.schedule.target import ARCHITECTURES
from tests.snapshots.cases import CASES, Case

try:
    nvrtc_version()
except KgenError as problem:
    if os.environ.get("CI") == "true":
        raise
    pytest.skip(f"no NVRTC: {problem.diagnostics[0].message}", allow_module_level=True)

NVCC = shutil.which("nvcc")
CLANG_TIDY = shutil.which("clang-tidy")
CUOBJDUMP = shutil.which("cuobjdump")
# Large arguments of sin are reduced by way of a table in local memory; rare quotients are a call.
LOCAL_MEMORY = re.compile(r"\b(sin|cos|tan|sincos)f?\(|\bdivide\(")
SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}


def options(case: Case, arch: str) -> tuple[str, ...]:
    return flags(arch, fmad="--fmad off" not in case.options, fast="--fast" in case.options, warnings=True)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.whole)], ids=["one", "every"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nvrtc(case: Case, every: bool) -> None:
    """NVRTC takes the text for the architectures, without a warning and without spilling a register."""
    text = case.path.read_text(encoding="utf-8")
    architectures = [a for a in ARCHITECTURES if int(a.removeprefix("sm_")) >= case.oldest]
    if not every:  # one of them in turn
        architectures = [architectures[CASES.index(case) % len(architectures)]]

    def build(arch: str) -> str:
        more = (*options(case, arch), "--ptxas-options=-v")
        return nvrtc.build(text, "cubin", name=case.path.name, options=more)[1]

    with ThreadPoolExecutor(2) as pool:
        logs = list(pool.map(build, architectures))
    for arch, log in zip(architectures, logs, strict=True):
        assert "warning" not in log, f"{arch}: {log}"
        used = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log)
        assert used, log
        for stack, *spilled in used:
            assert spilled == ["0", "0"], f"{arch}: {log}"
            assert stack == "0" or LOCAL_MEMORY.search(text), f"{arch}: {log}"


@cache
def ptx_of(case: Case, arch: str) -> str:
    text = case.path.read_text(encoding="utf-8")
    return nvrtc.build(text, "ptx", name=case.path.name, options=options(case, arch))[0].decode()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kernels_wait_before_they_access_memory(case: Case) -> None:
    """From sm_90 on, kernels wait ahead of every global access; those of larger blocks let the next one start."""
    text = case.path.read_text(encoding="utf-8")
    kernels = ptx_of(case, "compute_90").split(".visible .entry")[1:]
    assert len(kernels) == text.count('extern "C" __global__')
    for kernel in kernels:
        before, wait, after = kernel.partition("griddepcontrol.wait;")
        assert wait
        assert not re.search(r"\b(ld|st|atom|red|call)\b(?!\.(param|shared))", before)
        # Compilers move these ahead of the wait; the math library's tables are constant.
        assert "ld.global.nc" not in kernel or LOCAL_MEMORY.search(text)
        accesses, start, _ = after.partition("griddepcontrol.launch_dependents;")
        assert re.search(r"\b(st|red|atom)\b(?!\.shared)", accesses)
        threads = re.search(r"\.maxntid (\d+)", kernel)
        assert threads
        assert bool(start) is (int(threads[1]) > 64)
    if case.oldest < 90 and CASES.index(case) % 4 == 0:  # they have the function that does it in common
        assert "griddepcontrol" not in ptx_of(case, "compute_80")


def packs(text: str) -> Counter[tuple[str, int]]:
    """The accesses by pack of all kernels of a text: loads and stores by their bytes."""
    found: Counter[tuple[str, int]] = Counter()
    for function in text.split("\n}\n"):
        shared = re.search(r"^template <.*Count>\nstatic .*\n(\w+)\(", function, re.MULTILINE)
        kernels = text.count(f"    {shared[1]}(") if shared else 1
        for const, width in re.findall(r"\*reinterpret_cast<(const )?Pack<[\w ]+, \d+, (\d+)>\*>", function):
            found["ld" if const else "st", int(width)] += kernels
    return found


@pytest.mark.parametrize("case", [case for case in CASES if case.is_contiguous], ids=lambda case: case.name)
def test_vector_accesses(case: Case) -> None:
    """Each pack of a contiguous kernel moves in one instruction of its full width."""
    text = case.path.read_text(encoding="utf-8")
    found: Counter[tuple[str, int]] = Counter()
    for kind, lanes, bits in re.findall(r"\b(ld|st)\.global(?:\.nc)?\.v(\d)\.[a-z](\d+)", ptx_of(case, "compute_90")):
        found[kind, int(lanes) * SIZES[bits]] += 1
    assert found >= packs(text)  # the parts of a complex number make vectors of their own
    assert found


@pytest.mark.skipif(NVCC is None, reason="no nvcc on this machine")
@pytest.mark.parametrize(
    ("arch", "part"),
    [(90, 0), *(pytest.param(90, part, marks=pytest.mark.whole) for part in (1, 2))]
    + [pytest.param(arch, part, marks=pytest.mark.whole) for arch in (75, 120) for part in (0, 1, 2)],
)
def test_nvcc(arch: int, part: int, tmp_path: Path) -> None:
    """nvcc takes the same texts with their launchers: one as it is, others together, as any number may be.

    Warnings of nvcc and of the host's compiler are errors.

    Most of its time goes into its own headers; that no text lacks one, NVRTC has seen.
    """
    assert NVCC is not None
    cases = [case for case in CASES if case.oldest <= arch]
    together = tmp_path / "together.cu"
    together.write_text("".join(f'#include "{case.path}"\n' for case in cases[1 + part :: 3]))
    target = f"-arch=compute_{arch}", f"-code=compute_{arch}"
    command = [NVCC, "-c", *target, "-std=c++17", "-Werror", "all-warnings"]
    command += ["-Xcompiler", "-Wall,-Wextra,-Werror", "-odir", str(tmp_path)]
    paths = [cases[0].path, together] if part == 0 else [together]
    running = [subprocess.Popen([*command, str(path)], stderr=subprocess.PIPE, text=True) for path in paths]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors


@pytest.mark.whole
@pytest.mark.skipif(NVCC is None or CLANG_TIDY is None, reason="no nvcc or no clang-tidy on this machine")
@pytest.mark.parametrize("side", ["device", "host"])
@pytest.mark.parametrize("arch", [75, 90, 120])
def test_clang(arch: int, side: str, tmp_path: Path) -> None:
    """clang's front end takes all texts together without a warning: that of clang-tidy, which has a wheel."""
    assert NVCC is not None
    assert CLANG_TIDY is not None
    together = tmp_path / "together.cu"
    together.write_text("".join(f'#include "{case.path}"\n' for case in CASES if case.oldest <= arch))
    (tmp_path / "curand_mtgp32_kernel.h").touch()  # clang includes it, and not every toolkit has it
    includes = subprocess.run([NVCC, "-dryrun", str(together)], capture_output=True, text=True, check=False).stderr
    toolkit = re.search(r"^#\$ TOP=(.*)", includes, re.MULTILINE)
    assert toolkit is not None, includes
    command = [
        CLANG_TIDY,
        "--quiet",
        "--checks=-*,clang-diagnostic-*",
        "--allow-no-checks",
        "--header-filter=.*",
        str(together),
        "--",
    ]
    command += ["-x", "cuda", f"--cuda-{side}-only", f"--cuda-path={Path(toolkit[1]).resolve()}", "-std=c++17"]
    command += [f"--cuda-gpu-arch=sm_{arch}", "-Wall", "-Wextra", f"-isystem{tmp_path}"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "warning:" not in found.stdout, found.stdout
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.skipif(CUOBJDUMP is None, reason="no cuobjdump on this machine")
@pytest.mark.parametrize("case", [case for case in CASES if case.is_contiguous], ids=lambda case: case.name)
def test_machine_code(case: Case, tmp_path: Path) -> None:
    """In machine code, 16-byte packs are 128-bit accesses, and nothing goes through local memory."""
    assert CUOBJDUMP is not None
    text = case.path.read_text(encoding="utf-8")
    path = tmp_path / "kernel.cubin"
    path.write_bytes(nvrtc.build(text, "cubin", name=case.path.name, options=options(case, "sm_90"))[0])
    sass = subprocess.run([CUOBJDUMP, "-sass", str(path)], check=True, capture_output=True, text=True).stdout
    wanted = packs(text)
    assert sass.count("LDG.E.128") >= wanted["ld", 16]
    assert sass.count("STG.E.128") >= wanted["st", 16]
    assert LOCAL_MEMORY.search(text) or not re.search(r"\b(LDL|STL)\b", sass)
