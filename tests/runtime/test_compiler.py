"""NVRTC: what is compiled, for which architectures, and what is said when it cannot be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kgen
from kgen.call import inspection
from kgen.diagnostics import KgenError
from kgen.runtime.cuda import compiler, nvrtc
from kgen.runtime.cuda.compiler import CompilerBug, compile_cubin, compile_ptx, flags
from kgen.runtime.cuda.usage import Usage, usage
from kgen.runtime.store import Store
from kgen.schedule.target import ARCHITECTURES
from tests.fuzz.test_regressions import SPILLED, spilled

PLAIN = 'extern "C" __global__ void plain(float* x) { x[threadIdx.x] = x[threadIdx.x] * 2.5f + 1.0f; }\n'
NARROW = """\
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
extern "C" __global__ void narrow(__half* h, __nv_bfloat16* b, __nv_fp8_e4m3* q) {
  float sum = __half2float(h[0]) + __bfloat162float(b[0]) + float(q[0]);
  h[1] = __float2half(sum);
}
"""


def _nvrtc_problem() -> str:
    try:
        nvrtc.nvrtc_version()
    except KgenError as problem:
        return str(problem)
    return ""


_problem = _nvrtc_problem()
# On CI a missing NVRTC is a failure of the set-up, not a reason to test less.
pytestmark = pytest.mark.skipif(bool(_problem) and not os.environ.get("CI"), reason=_problem or "NVRTC is there")


@pytest.fixture
def memory() -> Store:
    return Store(None)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture(arch: str, memory: Store) -> None:
    """Half, bfloat16 and fp8 headers compile to machine code for every architecture that kgen promises."""
    cubin = compile_cubin(NARROW, name="narrow.cu", arch=arch, options=flags(arch), cache=memory)
    assert cubin.startswith(b"\x7fELF")
    assert b"narrow" in cubin


LOCAL = """
extern "C" __global__ void indexed(float* x) {
  float kept[64];
  for (int i = 0; i < 64; ++i) kept[(int)x[i]] = x[i + 64];
  x[0] = kept[(int)x[64]];
}
extern "C" __global__ void squeezed(float* x) __launch_bounds__(1024, 2);
extern "C" __global__ void squeezed(float* x) {
  float kept[96];
  #pragma unroll
  for (int i = 0; i < 96; ++i) kept[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 96; ++i) x[threadIdx.x * 96 + 95 - i] = kept[i];
}
extern "C" __global__ void tidy(float* x) {
  __shared__ float tile[256];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[255 - threadIdx.x];
}
"""


def test_usage() -> None:
    """Each kernel of a text with its registers and shared memory; local memory and spills are told apart."""
    found = usage(LOCAL, name="local.cu", arch="sm_90", options=flags("sm_90"))
    assert set(found) == {"indexed", "squeezed", "tidy"}
    assert (found["tidy"].shared, found["tidy"].local, found["tidy"].spilled) == (1024, 0, 0)
    assert 0 < found["tidy"].registers < 32
    assert (found["indexed"].local, found["indexed"].spilled) == (256, 0)
    assert found["squeezed"].spilled > 0
    assert found["squeezed"].registers <= 32


def test_registers_are_not_lowered_until_values_spill() -> None:
    """ptxas alone would, to have more blocks on an SM, and may then confuse values (13.0 to 13.5)."""
    text = kgen.jit(SPILLED, fmad=False, name="k").source(**spilled(), arch="sm_90")
    found = usage(text, name="k.cu", arch="sm_90", options=flags("sm_90", fmad=False))
    assert len(found) == 3
    assert not any(used.spilled for used in found.values())


def test_explain_is_loud(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spills and local memory are the first word of their line."""
    kernel, x = kgen.jit("out = a + 1"), kgen.spec((64,), "f32")
    for usage_of, word in ((Usage("sm_90", 255, 0, 16, 32), "SPILLS"), (Usage("sm_90", 32, 0, 16, 0), "LOCAL MEMORY")):
        monkeypatch.setattr(inspection, "usage_for", lambda *_, found=usage_of: {"kernel_contiguous": found})
        assert f"  - {word} on sm_90: {usage_of.registers} registers" in str(kernel.explain(x))


def test_ptx(memory: Store) -> None:
    """PTX is text for the architecture asked for, made without a driver."""
    ptx = compile_ptx(PLAIN, name="plain.cu", arch="sm_90", options=flags("sm_90")).decode()
    assert ".target sm_90" in ptx
    assert ".entry plain" in ptx
    assert "\0" not in ptx


@pytest.mark.parametrize(("fmad", "found"), [(True, True), (False, False)])
def test_contraction_is_a_flag(fmad: bool, found: bool) -> None:
    """fmad=False keeps the multiplication and the addition apart."""
    ptx = compile_ptx(PLAIN, name="plain.cu", arch="sm_90", options=flags("sm_90", fmad)).decode()
    assert ("fma.rn.f32" in ptx) is found


def test_fast_math_is_a_flag() -> None:
    """fast=True allows approximate division."""
    text = 'extern "C" __global__ void f(float* x) { x[0] = x[1] / x[2]; }'
    ptx = compile_ptx(text, name="f.cu", arch="sm_90", options=flags("sm_90", fast=True)).decode()
    assert "div.approx" in ptx or "div.full" in ptx


def test_headers_give_no_warnings() -> None:
    """With warnings on, CUDA's own headers are silent, so that a warning is about kgen's text."""
    _, log = nvrtc.build(NARROW, "ptx", name="narrow.cu", options=flags("sm_90", warnings=True))
    assert log == ""


def test_a_refused_text_is_a_bug_with_its_log(memory: Store) -> None:
    """A text that does not compile is kgen's fault: the exception holds NVRTC's log and the text, and pickles."""
    import pickle

    with pytest.raises(CompilerBug) as raised:
        compile_cubin("this is no C++", name="wrong.cu", arch="sm_90", options=flags("sm_90"), cache=memory)
    assert "wrong.cu" in raised.value.log
    assert raised.value.code == "cuda-compile-failed"
    assert raised.value.log in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (again.log, again.text) == (raised.value.log, "this is no C++")


def test_a_failure_of_nvrtc_is_a_diagnostic(monkeypatch: pytest.MonkeyPatch, memory: Store) -> None:
    """Such as for want of memory."""
    monkeypatch.setattr(nvrtc._library(), "nvrtcCreateProgram", lambda *_: 1)
    with pytest.raises(KgenError, match="OUT_OF_MEMORY") as raised:
        compile_cubin(PLAIN, name="plain.cu", arch="sm_90", options=flags("sm_90"), cache=memory)
    assert raised.value.code == "cuda-compile-failed"


def test_unknown_architecture(memory: Store) -> None:
    """An architecture that NVRTC does not know is the user's mistake, and the hint lists those it knows."""
    with pytest.raises(KgenError, match="sm_90") as raised:
        compile_cubin(PLAIN, name="plain.cu", arch="sm_12345", options=flags("sm_12345"), cache=memory)
    assert raised.value.code == "unknown-arch"


def test_missing_headers(monkeypatch: pytest.MonkeyPatch, memory: Store) -> None:
    """Without CUDA's headers a text that needs none still compiles, and one that does names the package."""
    monkeypatch.setattr(nvrtc, "header_directory", lambda: None)
    assert compile_cubin(PLAIN, name="plain.cu", arch="sm_90", options=flags("sm_90"), cache=memory)
    with pytest.raises(KgenError, match="pip install") as raised:
        nvrtc.build(NARROW, "cubin", name="narrow.cu", options=flags("sm_90"))
    assert raised.value.code == "no-cuda-headers"


def test_missing_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without NVRTC the error says what to install."""

    class Absent:
        @staticmethod
        def nvrtcVersion(*_: Any) -> int:
            raise RuntimeError("libnvrtc.so.13: not found")

    nvrtc.nvrtc_version.cache_clear()
    monkeypatch.setattr(nvrtc, "_library", lambda: Absent)
    try:
        with pytest.raises(KgenError, match="pip install") as raised:
            nvrtc.nvrtc_version()
        assert raised.value.code == "no-nvrtc"
    finally:
        nvrtc.nvrtc_version.cache_clear()


def test_a_kernel_on_disk_needs_no_nvrtc(tmp_path: Path) -> None:
    """A process that finds its kernel on disk does not load NVRTC, and none imports what is slow to import."""
    text = (
        "import sys\nfrom pathlib import Path\nfrom kgen.runtime.cuda.compiler import compile_cubin, flags\n"
        "from kgen.runtime.store import Store\n"
        f"cache = Store(Path({str(tmp_path)!r}))\n"
        f"compile_cubin({PLAIN!r}, name='p.cu', arch='sm_90', options=flags('sm_90'), cache=cache)\n"
        "from kgen.runtime.cuda import nvrtc\n"
        "print(nvrtc._library.cache_info().currsize, [m for m in sys.modules if m.startswith('cuda')])"
    )
    found = [subprocess.check_output([sys.executable, "-c", text], text=True).split() for _ in range(2)]
    assert found == [["1", "[]"], ["0", "[]"]]


def test_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second process, here a second store, finds the machine code on disk and does not start the compiler."""
    options = flags("sm_90")
    first = compile_cubin(PLAIN, name="plain.cu", arch="sm_90", options=options, cache=Store(tmp_path))
    monkeypatch.setattr(nvrtc, "build", None)
    assert compile_cubin(PLAIN, name="plain.cu", arch="sm_90", options=options, cache=Store(tmp_path)) == first


@pytest.mark.parametrize("change", ["text", "name", "arch", "options", "version", "nvrtc", "headers"])
def test_key_holds_everything(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code made under other circumstances is another entry."""
    text, name, arch, options = NARROW, "k.cu", "sm_90", flags("sm_90")
    before = compiler._key(text, name, arch, options)
    assert compiler._key(text, name, arch, options) == before
    match change:
        case "text":
            text += " "
        case "name":
            name = "l.cu"
        case "arch":
            arch = "sm_80"
        case "options":
            options = flags("sm_90", fmad=False)
        case "version":
            monkeypatch.setattr(compiler, "VERSION", "0.0")
        case "nvrtc":
            monkeypatch.setattr(nvrtc, "identity", lambda: "another")
        case _:
            monkeypatch.setattr(nvrtc, "header_digest", lambda: "other")
    assert compiler._key(text, name, arch, options) != before


@pytest.mark.skipif(sys.platform != "linux", reason="wheels for Linux")
def test_both_libraries_of_a_wheel_are_loaded() -> None:
    """NVRTC of CUDA 13.0 does not find its second library where nothing else has loaded it."""
    files = [str(file) for file in nvrtc._of_wheels("lib/libnvrtc-builtins.so.*")]
    code = "from kgen.runtime.cuda import nvrtc; nvrtc._library(); print(open('/proc/self/maps').read())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [file for file in files if file not in done.stdout] == []
