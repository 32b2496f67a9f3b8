"""Measures what a call costs the host, for kgen and its peers, in one run on one GPU: a table, JSON and a plot.

    python -m benchmarks.calls [--out benchmarks/results] [--fresh]

Times are medians of several rounds of thousands of calls, in microseconds.  The rounds of all candidates alternate, so
that changes of the clock affect all of them.  First calls, in ms, are made in new processes or of new programs.  They
run outside of the checkout, so that an installed kgen is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

Call = Callable[..., Any]
N = 1024


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--fresh", action="store_true", help="also fresh processes of every peer: 2 minutes more")
    options = parser.parse_args()
    check_extension()
    calls = call_times(9, 1500)
    first = first_calls(2)
    fresh = fresh_processes(2) if options.fresh else {}
    text = report(calls, first, fresh)
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "calls.md").write_text(text, encoding="utf-8")
    facts = {"calls_us": calls, "first_calls_ms": first, "fresh_processes_ms": fresh}
    (options.out / "calls.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def check_extension() -> None:
    """Exit where kgen has no C extension: every call would take a microsecond longer than users see."""
    from kgen.call.extension import extension

    if extension() is None:
        sys.exit(
            "kgen was installed without its C extension: build a wheel where there is a C compiler, and install that"
        )


def call_times(rounds: int, number: int) -> dict[str, float]:
    """Microseconds of one call of each candidate."""
    import torch

    candidates = {**_torch_candidates(torch), **_cupy_candidates()}
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for call in candidates.values():
        for _ in range(20):
            call()
    for _ in range(rounds):
        for name, call in candidates.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(number):
                call()
            times[name].append((time.perf_counter() - start) / number)
    found = {name: median(t) * 1e6 for name, t in times.items()}
    return found | _new_layouts(torch)


def _torch_candidates(torch: Any) -> dict[str, Call]:
    import kgen
    import kgen.torch

    a, b, c = (torch.randn(N, device="cuda") for _ in range(3))
    out = torch.empty_like(a)
    prepared = _prepared(a, b, c, out)
    fused, add = kgen.jit("out = a * b + c"), kgen.jit("out = a + b")
    plan = fused.plan(a, b, c, out=out)
    graph = plan.graph()
    op = kgen.torch.op("kgen_bench::add", "out = a + b")
    cheapest = _cheapest_op(torch, add)
    custom = _custom_op(torch, add)
    compiled = torch.compile(lambda x, y: x + y)
    return {
        "cuda.core.launch, prepared": prepared,
        "kgen, out=, 3 inputs": lambda: fused(a, b, c, out=out),
        "kgen, allocating, 3 inputs": lambda: fused(a, b, c),
        "kgen, plan()": plan,
        "kgen, plan(a, b, c)": lambda: plan(a, b, c),
        "kgen, plan.graph()()": graph,
        "kgen, allocating, x + y": lambda: add(a, b),
        "torch, x + y": lambda: a + b,
        "torch, add(out=)": lambda: torch.add(a, b, out=out),
        "torch.compile, x + y": lambda: compiled(a, b),
        "kgen.torch.op": lambda: op(a, b),
        "torch.library, Library.impl of the kernel": lambda: cheapest(a, b),
        "torch.library, custom_op of the kernel": lambda: custom(a, b),
    }


def _prepared(a: Any, b: Any, c: Any, out: Any) -> Call:
    """A launch through cuda.core with everything made beforehand."""
    from cuda import core

    device = core.Device()
    device.set_current()
    text = (
        'extern "C" __global__ void f(float* o, const float* a, const float* b, const float* c, long long n) {'
        " long long i = blockIdx.x * 256ll + threadIdx.x; if (i < n) o[i] = a[i] * b[i] + c[i]; }"
    )
    code = core.Program(text, "c++", core.ProgramOptions(arch=f"sm_{device.arch}")).compile("cubin")
    kernel, stream = code.get_kernel("f"), core.Stream.from_handle(0)
    config = core.LaunchConfig(grid=-(-N // 256), block=256)
    arguments = (out.data_ptr(), a.data_ptr(), b.data_ptr(), c.data_ptr(), N)
    launch = core.launch
    return lambda: launch(stream, config, kernel, *arguments)


def _cheapest_op(torch: Any, kernel: Any) -> Any:
    """The same kernel behind torch's plainest registration."""
    library = torch.library.Library("kgen_bench_peer", "FRAGMENT")
    library.define("add(Tensor a, Tensor b) -> Tensor")
    library.impl("add", lambda a, b: kernel(a, b), "CUDA")
    _cheapest_op.__dict__["kept"] = library  # the operator lives as long as it
    return torch.ops.kgen_bench_peer.add.default


def _custom_op(torch: Any, kernel: Any) -> Any:
    def add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return kernel(a, b)

    add.__annotations__ = {"a": torch.Tensor, "b": torch.Tensor, "return": torch.Tensor}
    return torch.library.custom_op("kgen_bench_peer::custom", add, mutates_args=())


def _cupy_candidates() -> dict[str, Call]:
    try:
        import cupy
    except ImportError:
        return {}
    import kgen

    x, y = (cupy.random.rand(N, dtype=cupy.float32) for _ in range(2))
    out = cupy.empty_like(x)
    add = kgen.jit("out = a + b")
    element = cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x + y", "bench_add")
    return {
        "kgen on CuPy, allocating": lambda: add(x, y),
        "kgen on CuPy, out=": lambda: add(x, y, out=out),
        "CuPy ElementwiseKernel, allocating": lambda: element(x, y),
        "CuPy ElementwiseKernel, out": lambda: element(x, y, out),
        "CuPy, x + y": lambda: x + y,
    }


def _new_layouts(torch: Any) -> dict[str, float]:
    """Every call on extents and strides that the kernel has never seen; microseconds."""
    import kgen

    found: dict[str, float] = {}
    for name, (text, arrays) in _LAYOUTS.items():
        kernel = kgen.jit(text)
        some = [arrays(lambda *shape: torch.randn(*shape, device="cuda"), n) for n in range(16, 216)]
        candidates: dict[str, Call] = {f"kgen, new layout: {name}": kernel, f"torch, x + y, new layout: {name}": _sum}
        times: dict[str, list[float]] = {name: [] for name in candidates}
        for number, one in enumerate(some):
            for candidate, call in candidates.items():
                start = time.perf_counter()
                call(*one)
                if number >= 20:
                    times[candidate].append(time.perf_counter() - start)
        found |= {candidate: median(t) * 1e6 for candidate, t in times.items()}
    return found


def _sum(x: Any, y: Any) -> Any:
    return x + y


def _dense(new: Call, n: int) -> tuple[Any, Any]:
    return new(n, 16), new(n, 16)


def _strided(new: Call, n: int) -> tuple[Any, Any]:
    return new(n, 8 * n)[:, ::2], new(n, 8 * n)[:, 1::2]


def _broadcast(new: Call, n: int) -> tuple[Any, Any]:
    return new(n, 8 * n), new(8 * n)


def _transposed(new: Call, n: int) -> tuple[Any, Any]:
    return new(4 * n, 32), new(32, 4 * n).T


def _rows(new: Call, n: int) -> tuple[Any, Any]:
    return new(n, 1024), new(n, 1024)


_LAYOUTS: dict[str, tuple[str, Callable[[Call, int], tuple[Any, Any]]]] = {
    "dense": ("out = x + y", _dense),
    "strided": ("out = x + y", _strided),
    "broadcast": ("out = x + y", _broadcast),
    "transposed": ("out = x + y", _transposed),
    "row reduction": ("out = sum(x * y, axis=-1)", _rows),
}


_FIRST = """
import json, os, sys, time
import torch
import kgen
x = torch.randn(1024, device="cuda", dtype=getattr(torch, sys.argv[1]))
torch.cuda.synchronize()
if sys.argv[2] == "later":
    y = x.double()
    kgen.jit("out = a - b")(y, y)
    torch.cuda.synchronize()
if sys.argv[3] == "uncached":
    from kgen.runtime.cuda import nvrtc
    build = nvrtc.build
    nvrtc.build = lambda text, kind, *, name, options: build(text, kind, name=name, options=(*options, "--no-cache"))
start = time.perf_counter()
kernel = kgen.jit("out = a * b + c")
made = time.perf_counter()
kernel(x, x, x)
print(json.dumps([(time.perf_counter() - made) * 1e3, (made - start) * 1e3]))
"""


def first_calls(runs: int) -> dict[str, float]:
    """Milliseconds of the first call of a kernel, and of :func:`kgen.jit` before it; the CUDA context is live."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:  # fills Python's cache of compiled modules
        _python(_FIRST, folder, "bfloat16", "later", "uncached")
    for dtype in ("float32", "bfloat16"):
        for when, label in (("first", "the process's first kernel"), ("later", "a later kernel")):
            times: dict[str, list[list[float]]] = {"nothing cached": [], "on disk": []}
            for _ in range(runs):
                with tempfile.TemporaryDirectory() as folder:
                    for of in times.values():
                        of.append(_python(_FIRST, folder, dtype, when, "uncached"))
            for name, of in times.items():
                found[f"{dtype}, {label}, {name}"] = median(call for call, _ in of)
            made = median(jit for of in times.values() for _, jit in of)
            found[f"{dtype}, {label}: `kgen.jit` before it"] = made
    return found


_TORCH = "import torch\nx = torch.ones(1024, device='cuda')\n"
_CUPY = "import cupy\nx = cupy.ones(1024, 'f')\n"
_ELEMENT = """
f = cupy.ElementwiseKernel("float32 a, float32 b", "float32 z", "z = 2.5f*a + b", "fresh")
print(f(x, x)[0].item())
"""
_KGEN = "import kgen\nprint(kgen.jit('out = 2.5*a + b')(x, x)[0].item())"
_FRESH = {
    "kgen on torch": _TORCH + _KGEN,
    "torch eager": _TORCH + "print((2.5*x + x)[0].item())",
    "torch.compile": _TORCH + "print(torch.compile(lambda a, b: 2.5*a + b)(x, x)[0].item())",
    "kgen on CuPy": _CUPY + _KGEN,
    "CuPy ElementwiseKernel": _CUPY + _ELEMENT,
    "kgen on NumPy": "import numpy\nx = numpy.ones(1024, 'f')\n" + _KGEN,
}
_TRITON = """
import torch, triton
import triton.language as tl

@triton.jit
def axpy(a, b, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, 2.5 * tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)

x = torch.ones(1024, device="cuda")
o = torch.empty_like(x)
axpy[(1,)](x, x, o, 1024, BLOCK=1024)
print(o[0].item())
"""


def fresh_processes(runs: int) -> dict[str, tuple[float, float]]:
    """Milliseconds from ``python`` to a first result: with empty caches, and again with what that left behind."""
    found: dict[str, tuple[float, float]] = {}
    for name, text in {**_FRESH, "Triton": _TRITON}.items():
        pairs: list[tuple[float, float]] = []
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as folder:
                script = Path(folder, "fresh.py")
                script.write_text(text, encoding="utf-8")
                try:
                    pairs.append((_process(script, folder), _process(script, folder)))
                except subprocess.CalledProcessError:
                    break
        if pairs:
            found[name] = median(p[0] for p in pairs), median(p[1] for p in pairs)
    return found


def _environment(folder: str) -> dict[str, str]:
    """Every cache that one of the peers keeps, in an empty folder; compiled Python modules, as users have them."""
    caches = {
        name: str(Path(folder, name.lower()))
        for name in (
            "KGEN_CACHE_DIR",
            "CUPY_CACHE_DIR",
            "TRITON_CACHE_DIR",
            "TORCHINDUCTOR_CACHE_DIR",
            "CUDA_CACHE_PATH",
        )
    }
    modules = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir(), "bench-pycache"))}
    return {**os.environ, **caches, **modules}


def _process(script: Path, folder: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, str(script)], env=_environment(folder), check=True, capture_output=True, cwd=folder)
    return (time.perf_counter() - start) * 1e3


def _python(text: str, folder: str, *arguments: str) -> list[float]:
    command = [sys.executable, "-c", text, *arguments]
    found: list[float] = json.loads(subprocess.check_output(command, env=_environment(folder), text=True, cwd=folder))
    return found


TARGETS = {  # this line: at most so many times that line
    "kgen, out=, 3 inputs": (1.3, "cuda.core.launch, prepared"),
    "kgen, plan()": (1.1, "cuda.core.launch, prepared"),
    "kgen, plan(a, b, c)": (1.2, "cuda.core.launch, prepared"),
    "kgen, allocating, x + y": (0.9, "torch, x + y"),
    "kgen on CuPy, allocating": (0.85, "CuPy ElementwiseKernel, allocating"),
    "kgen.torch.op": (1.1, "torch.library, Library.impl of the kernel"),
}


def report(calls: dict[str, float], first: dict[str, float], fresh: dict[str, tuple[float, float]]) -> str:
    """The tables as Markdown."""
    import torch

    lines = [f"# What a call costs: {torch.cuda.get_device_name(0)}, torch {torch.__version__}", ""]
    lines += ["Written by `python -m benchmarks.calls`.", "", "| call, 1,024 elements | us | target |", "|---|---|---|"]
    for name, us in calls.items():
        target = ""
        if name in TARGETS and TARGETS[name][1] in calls:
            times, of = TARGETS[name]
            most = times * calls[of]
            target = f"{'met' if us <= most else 'not met'}: {times} × {of} = {most:.2f}"
        elif name.startswith("kgen, new layout"):
            most = min(15, 1.5 * calls[name.replace("kgen", "torch, x + y")])
            target = f"{'met' if us <= most else 'not met'}: 1.5 × torch, 15 at most = {most:.2f}"
        lines.append(f"| {name} | {us:.2f} | {target} |")
    lines += ["", "| first call, context live | ms |", "|---|---|"]
    lines += [f"| {name} | {ms:.1f} |" for name, ms in first.items()]
    if fresh:
        lines += ["", "| a fresh process, to its first result | cold, ms | again, ms |", "|---|---|---|"]
    lines += [f"| {name} | {cold:.0f} | {warm:.0f} |" for name, (cold, warm) in fresh.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
