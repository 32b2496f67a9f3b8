"""The host half of a file for compilers that do not know CUDA compiles without a warning, and exports its functions."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kgen import pipeline
from kgen.aot import aot_module, aot_sets
from kgen.compile_spec import CompileSpec
from kgen.launcher.images import Image, host_text
from kgen.options import Options
from tests.snapshots.cases import EXAMPLES

COMPILER = shutil.which("g++") or shutil.which("clang++")
HEADERS = next((f for f in ("/usr/local/cuda/include",) if Path(f, "crt/host_defines.h").is_file()), None)

#: Scratch memory, clusters, scalars of narrow and complex types, layout structs.
SPECS = {
    "batch_stats": {"": CompileSpec("f32", {"image": (64, 256, 56, 56)})},
    "softmax": {"": CompileSpec("bf16", {"x": (2048, 131072)}, arch="sm_90")},
    "rotate": {"": CompileSpec({"z": "c64", "theta": "f32"})},
    "axpy": {"f16": CompileSpec("f16"), "bf16": CompileSpec("bf16")},
}


@pytest.mark.skipif(COMPILER is None or HEADERS is None, reason="no C++ compiler, or no CUDA headers")
@pytest.mark.parametrize("name", SPECS)
def test_it_compiles(name: str, tmp_path: Path) -> None:
    program = pipeline.load((EXAMPLES / f"{name}.k").read_text(encoding="utf-8"), f"{name}.k")
    specs = SPECS[name]
    one = specs.get("")
    module = aot_module(program, name, Options(), one) if one else aot_sets(program, name, Options(), specs)
    (tmp_path / "image").write_bytes(b"an image")
    images = [Image(f"kgen_image_{n}", str(tmp_path / "image"), 8 + n, 0, 9, n == 0) for n in range(2)]
    (tmp_path / "host.cpp").write_text(host_text(name, module.host, images), encoding="utf-8")
    warnings = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-function")
    command = [str(COMPILER), "-std=c++17", "-O2", "-fPIC", *warnings, "-isystem", str(HEADERS), "-c", "host.cpp"]
    subprocess.run(command, check=True, cwd=tmp_path, timeout=120)
    symbols = subprocess.run(["nm", "-g", "--defined-only", "host.o"], cwd=tmp_path, capture_output=True, text=True)
    bases = [name, *(f"{name}_{text}" for text in specs if text)]
    wanted = {f"{base}_{what}" for base in bases for what in ("launch", "workspace_size", "error_string")}
    assert {line.split()[2] for line in symbols.stdout.splitlines()} == wanted
