"""Other ways to compute a workload, each as a function that runs it once on arguments that are there already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.timing import Run
from benchmarks.workloads import Workload

Reference = Callable[..., Any]


def eager(torch: Any, workload: Workload, reference: Reference, args: dict[str, Any]) -> Run:
    """PyTorch without compilation."""
    return lambda: reference(*args.values())


def compiled(torch: Any, workload: Workload, reference: Reference, args: dict[str, Any]) -> Run:
    """``torch.compile`` as it comes."""
    torch._dynamo.reset()
    function = torch.compile(reference)
    return lambda: function(*args.values())


def autotuned(torch: Any, workload: Workload, reference: Reference, args: dict[str, Any]) -> Run:
    """``torch.compile`` with every configuration tried."""
    torch._dynamo.reset()
    function = torch.compile(reference, mode="max-autotune-no-cudagraphs")
    return lambda: function(*args.values())


def cupy(torch: Any, workload: Workload, reference: Reference, args: dict[str, Any]) -> Run | None:
    """CuPy's ElementwiseKernel, where the workload has a body for it."""
    if workload.cupy is None:
        return None
    import cupy as cp

    arrays = [cp.asarray(a) for a in args.values()]
    out = cp.asarray(reference(*args.values()))
    declared = ", ".join(f"{letter} {name}" for letter, name in zip("ABCDEF", args, strict=False))
    kernel = cp.ElementwiseKernel(declared, "Z out", workload.cupy)
    # Both libraries are on the legacy default stream here.
    return lambda: kernel(*arrays, out)


PEERS: dict[str, Callable[..., Run | None]] = {
    "eager": eager,
    "compile": compiled,
    "autotune": autotuned,
    "cupy": cupy,
}
