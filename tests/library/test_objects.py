"""Which images a library has, and which of them a device takes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kgen.library.objects import _devices, image_kinds
from kgen.resources import text

CASES = [
    (("sm_80", "sm_90"), {(7, 5): None, (8, 0): "sm_80", (8, 9): "sm_80", (9, 0): "sm_90", (10, 0): "ptx"}),
    (("sm_80", "sm_86"), {(8, 0): "sm_80", (8, 6): "sm_86", (8, 9): "sm_86", (9, 0): "ptx"}),
    (("sm_90a",), {(8, 9): None, (9, 0): "sm_90a", (10, 0): None}),
    (("sm_100a", "sm_100f"), {(10, 0): "sm_100f", (10, 3): "sm_100f", (11, 0): None}),
    (("sm_100a",), {(10, 0): "sm_100a", (10, 3): None}),
]

MAIN = """
#include <cstdio>
struct Image {{ int major, minor, last_minor; bool is_ptx; }};
static const Image images[] = {{ {images} }};
constexpr int IMAGES = {count};
enum {{ cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor }};
static int capability[2];
enum cudaError_t {{ cudaSuccess, cudaErrorNoKernelImageForDevice }};
static cudaError_t cudaGetDevice(int*) {{ return cudaSuccess; }}
static cudaError_t cudaDeviceGetAttribute(int* value, int which, int)
{{
    *value = capability[which];
    return cudaSuccess;
}}
{function}
int main()
{{
    for (int found = -1; std::scanf("%d %d", &capability[0], &capability[1]) == 2; found = -1) {{
        const bool is_found = image_for_device(&found) == cudaSuccess;
        std::printf("%d ", is_found ? found : -1);
    }}
}}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
@pytest.mark.parametrize(("archs", "wanted"), CASES, ids=["-".join(archs) for archs, _ in CASES])
def test_a_device_takes_the_newest_image_that_it_runs(
    archs: tuple[str, ...], wanted: dict[tuple[int, int], str | None], tmp_path: Path
) -> None:
    """The C function of the launcher decides."""
    kinds = image_kinds(archs)
    found = re.search(
        r"^static cudaError_t image_for_device\(.*?^\}\n", text("templates", "launcher/images.cu"), re.M | re.S
    )
    assert found
    images = ", ".join(f"{{{', '.join(map(str, _devices(arch)))}, {str(is_ptx).lower()}}}" for arch, is_ptx in kinds)
    main = MAIN.format(images=images, count=len(kinds), function=found[0])
    (tmp_path / "main.cpp").write_text(main, encoding="utf-8")
    subprocess.run(
        ["g++", "-Wall", "-Wextra", "-Werror", "main.cpp", "-o", "main"], cwd=tmp_path, check=True, timeout=60
    )
    devices = "\n".join(f"{major} {minor}" for major, minor in wanted)
    done = subprocess.run(
        ["./main"], cwd=tmp_path, input=devices, capture_output=True, text=True, check=True, timeout=60
    )
    names = {-1: None, **{n: "ptx" if is_ptx else arch for n, (arch, is_ptx) in enumerate(kinds)}}
    assert [names[int(n)] for n in done.stdout.split()] == list(wanted.values())
