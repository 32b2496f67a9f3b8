"""``kgen build``: libraries for C and C++, by NVRTC and the host's compiler, and what goes wrong with them."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import shutil
import subprocess
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import pytest

from kgen import KgenError
from kgen.cli.build_ import command
from kgen.dtypes import FLOAT16, FLOAT32
from kgen.library import doors, toolkit
from kgen.runtime.cuda.driver import probe
from tests.launcher.host import BAD_DTYPE, NULL_ARRAY, array

AXPY = "param a: float = 2.0\nout = a * x + y\n"


def has_tools() -> bool:
    try:
        toolkit.find("nvrtc")
    except KgenError:
        return False
    return True


needs_tools = pytest.mark.skipif(not has_tools(), reason="no C++ compiler, or no CUDA headers")


def build(*arguments: str | Path) -> None:
    command.main([str(a) for a in arguments], standalone_mode=False)


def refused(*arguments: str | Path) -> KgenError:
    with pytest.raises(KgenError) as caught:
        build(*arguments)
    return caught.value


@pytest.fixture
def axpy(tmp_path: Path) -> Path:
    path = tmp_path / "axpy.k"
    path.write_text(AXPY, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two programs, one of them for two sets of dtypes."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "axpy.k").write_text(AXPY, encoding="utf-8")
    (folder / "twice.k").write_text("out = 2 * x\n", encoding="utf-8")
    make(folder)
    return folder / "libmine.so"


def make(folder: Path) -> None:
    programs: list[str | Path] = [folder / "axpy.k", folder / "twice.k", "-o", folder / "libmine.so"]
    kernels = ["--dtypes", "f16; f32", "--layout", "contiguous", "--arch", "sm_90", "--compiler", "nvrtc"]
    build(*programs, *kernels, "--depfile", folder / "mine.d")


@needs_tools
def test_a_library_has_the_functions_of_its_header(library: Path) -> None:
    """And no other: nothing of CUDA's runtime, which is linked in."""
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    functions = {line.split()[2] for line in listed.stdout.splitlines()}
    bases = [f"{program}{dtypes}" for program in ("axpy", "twice") for dtypes in ("", "_f16", "_f32")]
    assert functions == {f"{base}_{what}" for base in bases for what in ("launch", "workspace_size", "error_string")}
    header = library.with_name("mine.h").read_text(encoding="utf-8")
    assert all(f" {name}(" in header or f"*{name}(" in header or f"* {name}(" in header for name in functions)
    needed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    assert "Library soname: [libmine.so]" in needed
    assert "cudart" not in needed
    assert "stdc++" not in needed


@needs_tools
def test_its_functions_check_their_arguments(library: Path) -> None:
    functions = ctypes.CDLL(str(library))
    arrays = [array(4096 * n, (100,), None, FLOAT32) for n in (1, 2, 3)]
    rest = (ctypes.c_double(2.0), ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p())
    assert functions.axpy_launch(None, None, None, *rest) == 256 + NULL_ARRAY
    halves = [ctypes.byref(array(4096, (100,), None, FLOAT16)), *map(ctypes.byref, arrays[1:])]
    assert functions.axpy_launch(*halves, *rest) % 256 == BAD_DTYPE
    if not probe().available:  # else these addresses would be read
        status = functions.axpy_launch(*map(ctypes.byref, arrays), *rest)
        functions.axpy_error_string.restype = ctypes.c_char_p
        assert status < 0
        assert b"kernel image" not in functions.axpy_error_string(status)


@needs_tools
def test_equal_libraries_are_left_alone(library: Path) -> None:
    """The same programs give the same bytes, which are not written again."""
    before = library.stat().st_mtime_ns
    make(library.parent)
    assert library.stat().st_mtime_ns == before


@needs_tools
def test_what_it_depends_on(library: Path) -> None:
    made, needed = library.with_name("mine.d").read_text(encoding="utf-8").strip().split(": ")
    assert made == str(library)
    programs = [str(library.with_name(name)) for name in ("axpy.k", "twice.k")]
    assert needed.split()[:2] == programs
    assert needed.split()[2].endswith("kgen/version.py")


@needs_tools
def test_a_static_library_links_into_a_c_program(axpy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = axpy.parent
    build(axpy, "-o", folder / "axpy.a", "--arch", "sm_90", "--layout", "contiguous", "--compiler", "nvrtc", "--json")
    said = json.loads(capsys.readouterr().out)
    assert said["written"] == [str(folder / "axpy.h"), str(folder / "axpy.a")]
    assert said["compiler"] == "nvrtc"
    text = '#include "axpy.h"\nint main(void) { return axpy_launch(0, 0, 0, 2.0, 0, 0, 0) == 257 ? 0 : 1; }\n'
    (folder / "main.c").write_text(text, encoding="utf-8")
    compiler = shutil.which("gcc") or shutil.which("cc")
    assert compiler is not None
    runtime = toolkit.find("nvrtc").cudart
    flags = ["-Wall", "-Wextra", "-Werror", "main.c", "axpy.a", str(runtime), "-ldl", "-lrt", "-lpthread"]
    subprocess.run([compiler, *flags, "-o", "main"], check=True, cwd=folder, timeout=60)
    subprocess.run([folder / "main"], check=True, timeout=60)


def test_names_that_clash(tmp_path: Path) -> None:
    """Also of a program and of another one's set of dtypes."""
    for name, other in (("axpy", "axpy"), ("axpy", "axpy_f16")):
        one, two = tmp_path / "one" / f"{name}.k", tmp_path / "two" / f"{other}.k"
        for path in (one, two):
            path.parent.mkdir(exist_ok=True)
            path.write_text(AXPY, encoding="utf-8")
        problem = refused(one, two, "-o", tmp_path / "lib.so", "--dtypes", "f16; f32")
        assert problem.code == "bad-name"
        assert f"{one} and {two} both have functions called `{other}_launch`" in str(problem)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], "bad-option", "-o libaxpy.so"),
        (["-o", "mine"], "bad-option", "-o libmine.so"),
        (["-o", "mine.dll"], "bad-option", "which kind of library"),
        (["-o", "lib.so", "--arch", "banana"], "unknown-arch", "banana"),
        (["-o", "lib.so", "--arch", ","], "unknown-arch", "`,`"),
        (["-o", "lib.so", "--arch", "sm_90,sm_1"], "unknown-arch", "sm_1"),
        (["-o", "lib.so", "--name", "a b"], "bad-name", "a_b"),
        (["other.k", "-o", "lib.so", "--name", "mine"], "bad-option", "--name is for one program"),
        (["missing.k", "-o", "lib.so"], "unreadable-file", "missing.k"),
        (["-o", "lib.a", "--abi", "xla"], "bad-option", "-o lib.so"),
        (["-o", "lib.so", "--abi", "banana"], "bad-option", "tvm-ffi, torch, xla"),
        (["-o", "lib.so", "--depfile", "lib.h"], "bad-option", "--depfile lib.h is a file that is made"),
    ],
)
def test_wrong_options(axpy: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: str, says: str) -> None:
    monkeypatch.chdir(axpy.parent)
    problem = refused("axpy.k", *arguments)
    assert problem.code == code
    assert says in str(problem)
    assert [p.name for p in axpy.parent.iterdir()] == ["axpy.k"]


def test_no_compiler(axpy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(axpy.parent))
    monkeypatch.delenv("CXX", raising=False)
    assert refused(axpy, "-o", axpy.with_name("lib.so"), "--compiler", "nvrtc").code == "no-host-compiler"
    monkeypatch.setenv("CXX", "/nowhere/g++ -m64")
    assert "no such program" in str(refused(axpy, "-o", axpy.with_name("lib.so")))
    monkeypatch.setattr(toolkit, "_INSTALLED", axpy.parent)
    assert refused(axpy, "-o", axpy.with_name("lib.so"), "--compiler", "nvcc").code == "no-nvcc"
    assert [p.name for p in axpy.parent.iterdir()] == ["axpy.k"]


@needs_tools
def test_a_compiler_that_fails(axpy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it printed is shown, and nothing is written."""
    broken = axpy.with_name("cxx")
    broken.write_text("#!/bin/sh\necho 'no space for the\x1b[31m register file'; exit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    problem = refused(axpy, "-o", axpy.with_name("lib.so"), "--compiler", "nvrtc", "--arch", "sm_90")
    assert problem.code == "build-failed"
    assert "exit status 3" in str(problem)
    assert "no space for the" in str(problem)
    assert sorted(p.name for p in axpy.parent.iterdir()) == ["axpy.k", "cxx"]


@needs_tools
def test_an_unwritable_place(axpy: Path) -> None:
    place = axpy.with_name("nowhere") / "lib.so"
    assert (
        refused(axpy, "-o", place, "--compiler", "nvrtc", "--arch", "sm_90", "--layout", "contiguous").code
        == "unwritable"
    )


def test_packages_that_are_not_installed(axpy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor for CUDA: said before anything is compiled."""
    empty = ModuleSpec("torch", None, origin=str(axpy.with_name("__init__.py")))
    for spec, says in ((None, "`torch`, which is not installed"), (empty, "no libtorch_cuda.so")):
        monkeypatch.setattr(doors, "find_spec", {"torch": spec}.get)
        problem = refused(axpy, "-o", axpy.with_name("lib.so"), "--abi", "torch")
        assert problem.code == "no-package"
        assert says in str(problem)
    assert [p.name for p in axpy.parent.iterdir()] == ["axpy.k"]


@needs_tools
@pytest.mark.parametrize("abi", ["tvm-ffi", pytest.param("xla", marks=pytest.mark.whole)])
def test_functions_of_other_libraries(axpy: Path, abi: str) -> None:
    """TVM-FFI's refuses what is no tensor; JAX's is registered."""
    if find_spec(doors.DOORS[abi].package) is None:
        pytest.skip(f"{doors.DOORS[abi].pip} is not installed")
    library = axpy.with_name("libaxpy.so")
    build(axpy, "-o", library, "--abi", abi, "--arch", "sm_90", "--layout", "contiguous", "--compiler", "nvrtc")
    if abi == "tvm-ffi":
        function = importlib.import_module("tvm_ffi").load_module(str(library)).axpy
        with pytest.raises(TypeError, match="axpy"):
            function(1, 2, 3, 2.0)
    else:
        spec = importlib.util.spec_from_file_location("axpy_xla", axpy.with_name("axpy_xla.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.register(library)


@pytest.mark.whole
@pytest.mark.skipif(toolkit.find_nvcc() is None, reason="no nvcc")
def test_nvcc_builds_the_same_functions(axpy: Path) -> None:
    build(axpy, "-o", axpy.with_name("libaxpy.so"), "--arch", "sm_90", "--compiler", "nvcc")
    functions = ctypes.CDLL(str(axpy.with_name("libaxpy.so")))
    rest = (ctypes.c_double(2.0), ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p())
    assert functions.axpy_launch(None, None, None, *rest) == 256 + NULL_ARRAY
