"""Device functions alone, on the CPU target."""

from __future__ import annotations

import ctypes
from pathlib import Path

from kgen.codegen.helpers import HELPERS, helper_texts
from kgen.runtime.cpu.module import CpuModule
from tests.cpu.harness import Array, launch

#: The compiler may contract as it likes, as a GPU's does by default.
CONTRACTED = "-ffp-contract=fast -mfma"


def has_fma() -> bool:
    """Whether this CPU is one that :data:`CONTRACTED` is for."""
    info = Path("/proc/cpuinfo")
    return info.exists() and " fma " in info.read_text()


def module(helpers: list[str], kernels: dict[str, str]) -> CpuModule:
    """The texts of ``kernels``, below those of the helpers that they call."""
    headers = dict.fromkeys(f"#include <{header}>" for name in helpers for header in HELPERS[name].headers)
    return CpuModule.load("\n".join([*headers, KEPT, *helper_texts(helpers), *kernels.values()]), list(kernels))


def _kept(name: str, c_type: str, symbol: str) -> str:
    kept = f"kept_{name}"
    text = f"__attribute__((noinline)) static {c_type} {kept}({c_type} a, {c_type} b) {{ return a {symbol} b; }}"
    return f"{text}\n#define __{name} {kept}"


#: What CUDA never contracts, as functions that the host's compiler does not see into.
KEPT = "\n".join(
    _kept(f"{letter}{word}_rn", c_type, symbol)
    for letter, c_type in (("f", "float"), ("d", "double"))
    for word, symbol in (("add", "+"), ("sub", "-"), ("mul", "*"))
)


def for_each(name: str, parameters: str, body: str) -> str:
    """A kernel that does something for each ``i`` below ``n``."""
    return f"""
extern "C" __global__ void {name}({parameters}, const int n)
{{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {{
{body}
    }}
}}
"""


def run(built: CpuModule, name: str, *arrays: Array, n: int) -> None:
    launch(built, name, *arrays, ctypes.c_int(n), grid=16, block=128)
