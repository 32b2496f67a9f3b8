"""The CMake package: what it builds, and what it builds again."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.library.tools import copied, missing, sh

PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(mine LANGUAGES CXX)
find_package(kgen 0.1 REQUIRED)
set(CMAKE_CUDA_ARCHITECTURES 90-real)
kgen_add_kernels(kernels "axpy.k" twice.k DTYPES f32 "x=f16" LAYOUT contiguous NO_FMAD)
add_executable(mine main.cpp)
target_link_libraries(mine PRIVATE kernels)
"""
MAIN = """\
#include "kernels.h"
int main()
{
    return axpy_launch(nullptr, nullptr, nullptr, 2.0, nullptr, 0, nullptr) % 256 == KGEN_NULL_ARRAY &&
           twice_f32_launch(nullptr, nullptr, nullptr, 0, nullptr) % 256 == KGEN_NULL_ARRAY ? 0 : 1;
}
"""


def project(folder: Path) -> Path:
    """A folder with a project."""
    examples = copied(folder)
    made = folder / "a project"
    made.mkdir()
    shutil.copy(examples / "axpy.k", made)
    (made / "twice.k").write_text("out = 2 * x\n", encoding="utf-8")
    (made / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    (made / "main.cpp").write_text(MAIN, encoding="utf-8")
    return made


@pytest.mark.whole
@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
def test_what_is_built_again(generator: str, tmp_path: Path) -> None:
    """After a change of a program or an option, and no header of equal content."""
    if why := missing("cmake", "ninja" if generator == "Ninja" else "make"):
        pytest.skip(why)
    made = project(tmp_path)
    sh(f"cmake -S . -B build -G '{generator}' -Dkgen_DIR=$(kgen --cmake-dir)", made)

    def builds() -> bool:
        return "Building kernels" in sh("cmake --build build", made)

    header = made / "build" / "kernels.kgen" / "kernels.h"
    assert builds()
    sh("build/mine", made)
    assert not builds()

    written = header.stat().st_mtime_ns
    os.utime(made / "twice.k")
    assert builds()
    assert header.stat().st_mtime_ns == written
    assert not builds()

    (made / "CMakeLists.txt").write_text(PROJECT.replace(" NO_FMAD", " FAST"), encoding="utf-8")
    assert builds()
    assert not builds()

    (made / "twice.k").write_text("out = 3 * y\n", encoding="utf-8")
    (made / "CMakeLists.txt").write_text(PROJECT.replace('"x=f16"', "f16"), encoding="utf-8")
    assert builds()
    assert "y_array" in header.read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("kgen 0.1", "kgen 99"), "version"),
        (('"axpy.k" twice.k', ""), "no program is named"),
    ],
)
def test_wrong_projects(change: tuple[str, str], says: str, tmp_path: Path) -> None:
    made = project(tmp_path)
    (made / "CMakeLists.txt").write_text(PROJECT.replace(*change).replace("CXX", "NONE"), encoding="utf-8")
    package = subprocess.run([tmp_path / "bin" / "kgen", "--cmake-dir"], capture_output=True, text=True, check=True)
    argv = [str(shutil.which("cmake")), "-S", ".", "-B", "build", f"-Dkgen_DIR={package.stdout.strip()}"]
    argv += [f"-DKGEN_EXECUTABLE={tmp_path / 'bin' / 'kgen'}"]
    done = subprocess.run(argv, cwd=made, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert says in done.stderr
