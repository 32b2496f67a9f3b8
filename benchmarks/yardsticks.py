"""Copies, memsets and conversions that bound what kernels can reach, measured before anything else."""

from __future__ import annotations

from typing import Any

from benchmarks.timing import Copy, device_time

#: A thread reads 4 bytes and writes 16: the bound of every conversion from 1 byte to 4.
_WIDEN = """
extern "C" __global__ void widen(const uchar4* x, float4* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const uchar4 v = x[i];
        y[i] = make_float4(v.x, v.y, v.z, v.w);
    }
}
"""


def measure(torch: Any, notes: list[str]) -> list[dict[str, Any]]:
    """Gigabytes a second, read plus written, and the share of a copy of the same bytes."""
    found: list[dict[str, Any]] = []
    for gib in (1, 4):
        total = gib * 2**30
        copy = Copy(torch, total)
        reached = device_time(torch, copy)
        found.append(_row(f"copy, {gib} GiB read and written", total, reached, reached))
        found.append(_row(f"memset, {gib} GiB written", total, device_time(torch, _filled(torch, total)), reached))
    total = 5 * 2**29
    reached = device_time(torch, Copy(torch, total))
    widen = _widen(torch, 2**29, notes)
    if widen is not None:
        found.append(_row("1 byte read for 4 written, 2.5 GiB", total, device_time(torch, widen), reached))
    return found


def _row(name: str, total: int, seconds: float, copy: float) -> dict[str, Any]:
    return {"name": name, "gigabytes_per_second": total / seconds / 1e9, "share": copy / seconds}


def _filled(torch: Any, total: int) -> Any:
    from cuda.bindings import driver

    array = torch.empty(total // 4, dtype=torch.int32, device="cuda")
    # The legacy default stream, torch's here.
    return lambda: driver.cuMemsetD32Async(array.data_ptr(), 0, array.numel(), 0)


def _widen(torch: Any, n: int, notes: list[str]) -> Any:
    try:
        import cupy as cp
    except ImportError:
        notes.append("no figure for 1 byte read for 4 written: CuPy, which compiles that kernel, is not installed")
        return None
    x = cp.asarray(torch.randint(0, 256, (n,), device="cuda", dtype=torch.uint8))
    y = cp.asarray(torch.empty(n, device="cuda"))
    kernel = cp.RawKernel(_WIDEN, "widen")
    # Both libraries are on the legacy default stream here.
    return lambda: kernel((n // 4 // 256,), (256,), (x, y, cp.int32(n // 4)))
