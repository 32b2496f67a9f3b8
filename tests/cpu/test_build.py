"""Compiling: the cache, concurrent builds, compilers that are missing or fail, what the driver does to a text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kgen.diagnostics import KgenError
from kgen.runtime.cpu import build, driver, toolchain
from kgen.runtime.cpu.module import CpuModule

from . import clean_kernels
from .harness import launch

NOP = 'extern "C" __global__ void nop() {}\n'
_PROGRAM = (
    "import sys\n"
    "from kgen.runtime.cpu.module import CpuModule\n"
    "for k in range(4):\n"
    "    text = f'extern \"C\" __global__ void f{k}() {{ __syncthreads(); }}'\n"
    "    CpuModule.load(text, [f'f{k}']).launch(f'f{k}', (1, 1, 1), (8, 1, 1), 0)\n"
)


def test_many_processes_may_build_the_same_texts(tmp_path: Path) -> None:
    """Each gets whole files, and nothing else is left behind."""
    env = {**os.environ, "KGEN_CACHE_DIR": str(tmp_path)}
    running = [subprocess.Popen([sys.executable, "-c", _PROGRAM], env=env) for _ in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    left = sorted(path.name.partition("-")[0] for path in (tmp_path / "cpu").iterdir())
    assert len(left) == 5  # four kernels and the scheduler
    assert all(path.suffix == ".so" for path in (tmp_path / "cpu").iterdir())


def test_a_text_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second load runs no compiler; another text, name or flag is another library."""
    first = build.recipe(NOP, ["nop"])
    stamp = first.build().path.stat().st_ino
    with monkeypatch.context() as no_compiler:
        no_compiler.setattr(build, "compile_library", None)
        assert build.recipe(NOP, ["nop"]).build().path.stat().st_ino == stamp
        # Comments are not what a library depends on, the lines that errors name are.
        assert build.recipe(NOP.replace("\n", "// no\n"), ["nop"]).build().path.stat().st_ino == stamp
    assert build.recipe("\n" + NOP, ["nop"]).key != first.key
    assert build.recipe(NOP, ["nop"], name="other.cu").key != first.key
    monkeypatch.setenv("KGEN_CXXFLAGS", "-DSOMETHING=1")
    assert build.recipe(NOP, ["nop"]).key != first.key


def test_a_text_that_does_not_compile_shows_the_compiler_log() -> None:
    """With the line of the text, under its own name, whatever that name is."""
    name = 'odd "name"\\ with\nlines.cu'
    with pytest.raises(KgenError) as caught:
        CpuModule.load("\n\nint broken = nonsense;\n", [], name=name)
    assert caught.value.code == "cpu-compile-failed"
    assert "nonsense" in str(caught.value)
    assert "lines.cu:3:" in str(caught.value)


def test_a_warp_operation_that_the_driver_does_not_see_fails_to_compile() -> None:
    """Names pasted together escape the search; they are not declared, so nothing runs wrongly."""
    text = '#define P(a, b) a##b\nextern "C" __global__ void k() { P(__sync, threads)(); }\n'.replace(
        "__sync,", "__sy,"
    )
    text = text.replace("threads)", "ncthreads)")
    assert not driver.needs_fibers(text)
    with pytest.raises(KgenError, match="cpu-compile-failed"):
        CpuModule.load(text, ["k"])


def test_comments_and_strings_do_not_ask_for_fibers() -> None:
    """Only code does."""
    assert not driver.needs_fibers('// __syncthreads()\n/* __shfl_sync */ const char* s = "__ballot_sync";')
    assert driver.needs_fibers("if (x) __syncwarp();")


@pytest.mark.parametrize(
    "declaration",
    [
        "extern __shared__ float room[];",
        "extern __shared__ __align__(16) float room[];",
        "extern __align__(16) __shared__ float room[];",
        "extern __shared__ alignas(16)\n    unsigned long long room[];",
        "extern __shared__ Pair<int, 2> room[];",
    ],
)
def test_dynamic_shared_memory_keeps_the_line_numbers(declaration: str) -> None:
    """One statement on the same lines."""
    wrapped = driver.wrap(f"{{ {declaration}\n}}", [], "x.cu")
    assert "room = static_cast<" in wrapped
    assert "extern" not in wrapped
    assert wrapped.count("\n") - driver.wrap("{ }", [], "x.cu").count("\n") == declaration.count("\n") + 1


def test_dynamic_shared_memory_outside_a_function_is_refused() -> None:
    """There it could not be the launch's."""
    text = 'extern __shared__ float room[];\nextern "C" __global__ void k() { room[0] = 1; }\n'
    with pytest.raises(KgenError, match="cpu-compile-failed"):
        CpuModule.load(text, ["k"])


def test_kernels_may_have_names_of_the_c_library() -> None:
    """index, y1 and abs are functions there."""
    text = "".join(f'extern "C" __global__ void {k}(int* out) {{ *out += 1; }}\n' for k in ("index", "y1", "abs"))
    module = CpuModule.load(text, ["index", "y1", "abs"])
    out = np.zeros(1, np.int32)
    for kernel in ("index", "y1", "abs"):
        launch(module, kernel, out)
    assert out[0] == 3


def test_names_that_the_c_library_defines_as_macros_are_free() -> None:
    """As under NVRTC: an array may be called EOF, and INFINITY is not there."""
    text = 'extern "C" __global__ void k(const int* EOF, int* stdin) { int M_E = EOF[0], NAN = 1; *stdin = M_E + NAN; }'
    out = np.zeros(1, np.int32)
    launch(CpuModule.load(text, ["k"]), "k", np.full(1, 41, np.int32), out)
    assert out[0] == 42
    with pytest.raises(KgenError, match="INFINITY"):
        CpuModule.load('extern "C" __global__ void k(float* out) { *out = INFINITY; }', ["k"])


def test_ucontext_does_what_the_hand_written_switch_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fallback for other CPUs."""
    monkeypatch.setenv("KGEN_CXXFLAGS", "-DKGEN_UCONTEXT=1")
    clean_kernels.run_all(CpuModule.load(clean_kernels.TEXT, clean_kernels.KERNELS))


def test_no_compiler_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty PATH and no ziglang."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(KgenError) as caught:
        toolchain.find()
    assert caught.value.code == "no-host-compiler"
    assert "apt install g++" in str(caught.value)
    assert "kgen-cuda[cpu]" in str(caught.value)


@pytest.mark.parametrize("chosen", ["no-such-compiler", "'unclosed", " "])
def test_a_wrong_choice_of_compiler_is_named(monkeypatch: pytest.MonkeyPatch, chosen: str) -> None:
    """KGEN_CXX is never silently ignored."""
    monkeypatch.setenv("KGEN_CXX", chosen)
    with pytest.raises(KgenError, match="KGEN_CXX") as caught:
        toolchain.find()
    assert caught.value.code == "no-host-compiler"


def test_the_chosen_compiler_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its arguments; and doctor can tell what it is."""
    monkeypatch.setenv("KGEN_CXX", "g++ -DCHOSEN=3")
    chain = toolchain.find()
    assert chain.command[1:] == ("-DCHOSEN=3",)
    assert chain.describe()["found"] == "$KGEN_CXX"
    assert "(" in chain.describe()["version"]
    module = CpuModule.load('extern "C" __global__ void k(int* out) { *out = CHOSEN; }', ["k"])
    out = np.zeros(1, np.int32)
    launch(module, "k", out)
    assert out[0] == 3


def test_an_unknown_sanitizer_is_a_programming_error() -> None:
    """Not a user's mistake."""
    with pytest.raises(ValueError, match="sanitize"):
        CpuModule.load(NOP, ["nop"], sanitize="memory")
