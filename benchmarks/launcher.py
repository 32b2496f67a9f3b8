"""Measures files of ``kgen compile`` as C++ calls them: calls, kernels beside those of Python, size and build time.

    python -m benchmarks.launcher [--out benchmarks/results]

Calls are timed in C++ (``launcher.cu``).  Kernels are timed in CUDA graphs that go through sets of arrays larger than
L2; the copy beside them moves as many bytes.  Needs torch and nvcc; calls through TVM-FFI are timed where
apache-tvm-ffi is installed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import torch

import kgen
from benchmarks.calls import check_extension
from benchmarks.timing import Copy, Graph
from kgen import pipeline
from kgen.aot import aot_module
from kgen.compile_spec import CompileSpec
from kgen.options import Options
from kgen.spec import as_dtype

SETS, LAUNCHES = 3, 12
ADD = "param a: float = 2.0; out = a * x + y"
SOFTMAX = "let e = exp(x - max(x, axis=-1, keepdims=true)); out = e / sum(e, axis=-1, keepdims=true)"
NORM = "out = x * rsqrt(mean(x * x, axis=-1, keepdims=true)) * w"
OPEN = (None, None)

#: The text and the spec of each file.
FILES: dict[str, tuple[str, CompileSpec]] = {
    "axpy": (ADD, CompileSpec("f32")),
    "axpy_f16": (ADD, CompileSpec("f16")),
    "axpy_contiguous": (ADD, CompileSpec("f32", layout="contiguous")),
    "axpy_rows": (ADD, CompileSpec("f32", layout="rows")),
    "softmax": (SOFTMAX, CompileSpec("bf16", {"x": (None, 4096)})),
    "softmax_any": (SOFTMAX, CompileSpec("bf16", {"x": OPEN})),
    "rmsnorm": (NORM, CompileSpec("bf16", {"x": (None, 4096), "w": (4096,)})),
    "rmsnorm_any": (NORM, CompileSpec("bf16")),
    "columns": ("out = sum(x, axis=0)", CompileSpec("f32", {"x": OPEN})),
    "columns_64": ("out = sum(x, axis=0)", CompileSpec("f32", {"x": (None, 64)})),
}

Arrays = Callable[[], list[Any]]


def _new(*shape: int, dtype: torch.dtype = torch.float32) -> Any:
    return torch.randn(*shape, device="cuda").to(dtype)


#: The file, and new inputs, of each workload.
WORKLOADS: dict[str, tuple[str, Arrays]] = {
    "contiguous": ("axpy", lambda: [_new(4096, 4096), _new(4096, 4096)]),
    "unaligned": ("axpy", lambda: [_new(1 + (1 << 24))[1:], _new(3 + (1 << 24))[3:]]),
    "bias": ("axpy", lambda: [_new(4096, 4096), _new(4096)]),
    "bias, f16": ("axpy_f16", lambda: [_new(4096, 8192, dtype=torch.float16), _new(8192, dtype=torch.float16)]),
    "one a row": ("axpy", lambda: [_new(4096, 4096), _new(4096, 1)]),
    "slices": ("axpy", lambda: [_new(4096, 5000)[:, 8:4104], _new(4096, 4096)]),
    "odd slices": ("axpy", lambda: [_new(4096, 5000)[:, 9:4010], _new(4096, 4001)]),
    "odd slices, f16": (
        "axpy_f16",
        lambda: [_new(4096, 9000, dtype=torch.float16)[:, 9:8010], _new(4096, 8001, dtype=torch.float16)],
    ),
    "planes": ("axpy", lambda: [_new(64, 512, 512), _new(64, 1, 512)]),
    "transposed": ("axpy", lambda: [_new(4096, 4096), _new(4096, 4096).T]),
    "rows of 7": ("axpy", lambda: [_new(1 << 21, 9)[:, 1:8], _new(1 << 21, 7)]),
    "channels last": (
        "axpy",
        lambda: [_new(32, 64, 96, 96).to(memory_format=torch.channels_last), _new(64, 1, 1)],
    ),
    "softmax of 4096": ("softmax", lambda: [_new(8192, 4096, dtype=torch.bfloat16)]),
    "softmax of 4096, ?x?": ("softmax_any", lambda: [_new(8192, 4096, dtype=torch.bfloat16)]),
    "softmax of 128, ?x?": ("softmax_any", lambda: [_new(1 << 18, 128, dtype=torch.bfloat16)]),
    "rmsnorm of 4096": ("rmsnorm", lambda: [_new(8192, 4096, dtype=torch.bfloat16), _new(4096, dtype=torch.bfloat16)]),
    "rmsnorm of 4096, any rank": (
        "rmsnorm_any",
        lambda: [_new(64, 128, 4096, dtype=torch.bfloat16), _new(4096, dtype=torch.bfloat16)],
    ),
    "sums of 4096 columns, ?x?": ("columns", lambda: [_new(8192, 4096)]),
    "sums of 64 columns, ?x?": ("columns", lambda: [_new(1 << 19, 64)]),
    "sums of 64 columns": ("columns_64", lambda: [_new(1 << 19, 64)]),
}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with ThreadPoolExecutor(8) as pool:
            files = dict(zip(FILES, pool.map(lambda n: build(n, folder), FILES), strict=True))
        calls = call_times(folder)
        python = python_times(folder) if find_spec("tvm_ffi") else {}
        kernels = {what: times(file, folder, arrays) for what, (file, arrays) in WORKLOADS.items()}
    text = report(calls, python, kernels, files)
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "launcher.md").write_text(text, encoding="utf-8")
    facts = {"calls_us": calls, "python_calls_us": python, "kernels_us": kernels, "files": files}
    (options.out / "launcher.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def build(name: str, folder: Path) -> dict[str, float]:
    """A file and its library; the file's size in bytes, its kernels, and the seconds of nvcc."""
    text, spec = FILES[name]
    module = aot_module(pipeline.load(text), name, Options(), spec)
    (folder / f"{name}.cu").write_text(module.text, encoding="utf-8")
    start = time.perf_counter()
    nvcc(folder, f"{name}.cu", f"{name}.so")
    seconds = time.perf_counter() - start
    return {"bytes": len(module.text.encode()), "kernels": len(module.entries), "nvcc_s": seconds}


def nvcc(folder: Path, source: str, library: str, *more: str) -> None:
    major, minor = torch.cuda.get_device_capability()
    command = ["nvcc", "-O2", "-shared", f"-arch=sm_{major}{minor}", "-std=c++17", "-Xcompiler", "-fPIC", *more]
    subprocess.run([*command, "-o", library, source], check=True, cwd=folder)


def call_times(folder: Path) -> dict[str, float]:
    """Microseconds of calls from C++."""
    source = Path(__file__).with_suffix(".cu")
    nvcc(folder, str(source), "calls.so", f"-I{folder}")
    library, found = ctypes.CDLL(str(folder / "calls.so")), (ctypes.c_double * 3)()
    arrays = [torch.zeros(4000, device="cuda") for _ in range(3)]
    stream = torch.cuda.current_stream().cuda_stream
    status = library.measure(*(ctypes.c_void_p(x.data_ptr()) for x in arrays), ctypes.c_void_p(stream), found)
    assert status == 0, status
    return dict(zip(("cuLaunchKernel", "launcher, contiguous", "launcher, rows"), found, strict=True))


def python_times(folder: Path, rounds: int = 9, number: int = 1500) -> dict[str, float]:
    """Microseconds of calls from Python, by kgen and through TVM-FFI, in rounds that alternate."""
    import tvm_ffi

    check_extension()
    (folder / "axpy.k").write_text(ADD, encoding="utf-8")
    build = ["build", "axpy.k", "-o", "libaxpy.so", "--dtypes", "f32", "--abi", "tvm-ffi"]
    major, minor = torch.cuda.get_device_capability()
    subprocess.run([sys.executable, "-m", "kgen", *build, "--arch", f"sm_{major}{minor}"], check=True, cwd=folder)
    function, kernel = tvm_ffi.load_module(str(folder / "libaxpy.so")).axpy, kgen.jit(ADD)
    x, y, out = (torch.zeros(2000, device="cuda") for _ in range(3))
    plan = kernel.plan(x, y, out=out)
    ways: dict[str, Callable[[], Any]] = {
        "kgen, out=": lambda: kernel(x, y, out=out, a=2.0),
        "TVM-FFI": lambda: function(x, y, out, 2.0),
        "kgen, plan()": plan,
        "torch.add(out=)": lambda: torch.add(y, x, alpha=2.0, out=out),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, call in ways.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(number):
                call()
            found[name].append((time.perf_counter() - start) / number)
    return {name: median(values[1:]) * 1e6 for name, values in found.items()}


class Call:
    """A launcher with its arguments."""

    def __init__(self, library: ctypes.CDLL, name: str, arrays: Sequence[Any], scalars: Sequence[float]) -> None:
        self.kept = [described(x) for x in arrays]
        self.launch = getattr(library, f"{name}_launch")
        given = [ctypes.byref(struct_) for struct_, *_ in self.kept]
        size = ctypes.c_size_t()
        assert getattr(library, f"{name}_workspace_size")(*given, ctypes.byref(size)) == 0
        self.workspace = torch.empty(max(size.value, 1), dtype=torch.uint8, device="cuda")
        values = [ctypes.c_double(s) for s in scalars]
        self.arguments = [*given, *values, ctypes.c_void_p(self.workspace.data_ptr()), size]

    def __call__(self) -> None:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = self.launch(*self.arguments, stream)
        assert status == 0, status


def described(x: Any) -> tuple[Any, ...]:
    """A ``kgen_array``, and the extents and strides that it points to."""
    shape, strides = ((ctypes.c_int64 * max(x.dim(), 1))(*values) for values in (x.shape, x.stride()))
    dtype = as_dtype(str(x.dtype).removeprefix("torch."))
    places = ctypes.addressof(shape), ctypes.addressof(strides)
    packed = struct.pack("QiiiBBHQQQ", x.data_ptr(), 2, 0, x.dim(), dtype.dlpack, dtype.bits, 1, *places, 0)
    return ctypes.create_string_buffer(packed, len(packed)), shape, strides, x


def times(name: str, folder: Path, arrays: Arrays) -> dict[str, float]:
    """Microseconds of the kernels that Python and that the file launch, and of a copy of as many bytes."""
    text, _ = FILES[name]
    kernel, library = kgen.jit(text), ctypes.CDLL(str(folder / f"{name}.so"))
    here: list[Callable[[], Any]] = []
    there: list[Callable[[], Any]] = []
    scalars = [2.0] if "param" in text else []
    for _ in range(SETS):
        inputs = arrays()
        out = kernel(*inputs)
        wanted = out.clone()
        here.append(lambda inputs=inputs, out=out: kernel(*inputs, out=out))
        there.append(Call(library, name, [*inputs, out], scalars))
        out.zero_()
        there[-1]()
        assert torch.allclose(out.float(), wanted.float(), rtol=1e-2, atol=1e-2), name
    moved = sum(x.numel() * x.element_size() for x in (*inputs, out))
    copies = [Copy(torch, moved) for _ in range(SETS)]
    graphs = {n: Graph(torch, runs, LAUNCHES) for n, runs in (("copy", copies), ("python", here), ("file", there))}
    found: dict[str, list[float]] = {n: [] for n in graphs}
    for _ in range(3):
        for n, graph in graphs.items():
            found[n].append(graph.time(7))
    return {n: sorted(values)[1] * 1e6 for n, values in found.items()}


def report(
    calls: dict[str, float],
    python: dict[str, float],
    kernels: dict[str, dict[str, float]],
    files: dict[str, dict[str, float]],
) -> str:
    """All tables."""
    lines = [f"# Generated files: {torch.cuda.get_device_name()}, torch {torch.__version__}", ""]
    lines += ["Written by `python -m benchmarks.launcher`.", ""]
    raw = calls["cuLaunchKernel"]
    lines += ["| call from C++, 2,000 elements | us | / cuLaunchKernel |", "|---|---|---|"]
    lines += [f"| {n} | {us:.2f} | {us / raw:.2f} |" for n, us in calls.items()]
    if python:
        lines += ["", "| call from Python, 2,000 elements | us | / kgen |", "|---|---|---|"]
        lines += [f"| {n} | {us:.2f} | {us / python['kgen, out=']:.2f} |" for n, us in python.items()]
    lines += ["", "| kernel | copy, us | Python, us | file, us | file / Python |", "|---|---|---|---|---|"]
    for what, t in kernels.items():
        ratio = t["file"] / t["python"]
        lines.append(f"| {what} | {t['copy']:.1f} | {t['python']:.1f} | {t['file']:.1f} | {ratio:.2f} |")
    lines += ["", "| file | kernels | kB | nvcc, s |", "|---|---|---|---|"]
    for name, f in files.items():
        lines.append(f"| {name} | {f['kernels']} | {f['bytes'] / 1000:.1f} | {f['nvcc_s']:.1f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
