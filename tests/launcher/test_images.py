"""The host half of a file for compilers that do not know CUDA compiles without a warning."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from kgen import KgenError, pipeline
from kgen.aot import aot_module, aot_sets
from kgen.cli import options
from kgen.cli.compile_ import command
from kgen.cli.request import Request, prepare
from kgen.codegen.kernels import Module
from kgen.compile_spec import CompileSpec
from kgen.launcher.images import Image, host_text
from kgen.library import toolkit
from kgen.options import Options
from tests.snapshots.cases import CASES, EXAMPLES, Case


def headers() -> Path | None:
    try:
        return toolkit.find("nvrtc").include
    except KgenError:
        return None


COMPILER = shutil.which("g++") or shutil.which("clang++")
HEADERS = headers()

#: Scratch memory, clusters, scalars of narrow and complex types, layout structs.
SPECS = {
    "batch_stats": {"": CompileSpec("f32", {"image": (64, 256, 56, 56)})},
    "softmax": {"": CompileSpec("bf16", {"x": (2048, 131072)}, arch="sm_90")},
    "rotate": {"": CompileSpec({"z": "c64", "theta": "f32"})},
    "axpy": {"f16": CompileSpec("f16"), "bf16": CompileSpec("bf16")},
}


pytestmark = pytest.mark.skipif(COMPILER is None or HEADERS is None, reason="no C++ compiler, or no CUDA headers")


def compiles(name: str, module: Module, folder: Path) -> None:
    (folder / "image").write_bytes(b"an image")
    images = [Image(f"kgen_image_{n}", str(folder / "image"), 8 + n, 0, 9, n == 0) for n in range(2)]
    (folder / "host.cpp").write_text(host_text(name, module.host, images), encoding="utf-8")
    warnings = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-function")
    command = [str(COMPILER), "-std=c++17", *warnings, "-isystem", str(HEADERS), "-fsyntax-only", "host.cpp"]
    subprocess.run(command, check=True, cwd=folder, timeout=120)


@pytest.mark.parametrize("name", SPECS)
def test_it_compiles(name: str, tmp_path: Path) -> None:
    program = pipeline.load((EXAMPLES / f"{name}.k").read_text(encoding="utf-8"), f"{name}.k")
    specs = SPECS[name]
    one = specs.get("")
    module = aot_module(program, name, Options(), one) if one else aot_sets(program, name, Options(), specs)
    compiles(name, module, tmp_path)


@pytest.mark.whole
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_generated_file(case: Case, tmp_path: Path) -> None:
    file = str(EXAMPLES / f"{case.example}.k")
    given = command.make_context("compile", [file, *shlex.split(case.options)]).params
    request = Request(**{one.name: given[one.name] for one in fields(Request)})
    compiles(case.name, prepare(*options.read(file, None, case.name), request).module, tmp_path)
