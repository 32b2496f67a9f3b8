"""The peers: other ways to compute a workload.  Each gives a function that runs it once, on allocated arguments.

A run returns its result, so that it can be checked against the reference.  None: the peer cannot do this workload.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import cub as cub_
from benchmarks.row_peers import ROW_PEERS, missing
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
    """``torch.compile`` with every configuration tried; CUDA graphs are ours, the same for all."""
    torch._dynamo.reset()
    function = torch.compile(reference, mode="max-autotune-no-cudagraphs")
    return lambda: function(*args.values())


def cupy(torch: Any, workload: Workload, reference: Reference, args: dict[str, Any]) -> Run | None:
    """CuPy: its ElementwiseKernel where the workload has a body for it, or a call of its own."""
    if workload.cupy is None and workload.cupy_call is None:
        return None
    import cupy as cp

    if workload.cupy_call is not None:
        call, given = workload.cupy_call, {name: cp.asarray(a) for name, a in args.items()}
        return lambda: torch.as_tensor(call(cp, given), device="cuda")
    arrays = [cp.asarray(a) for a in (workload.sees(args) if workload.sees else args).values()]
    result = torch.empty_like(reference(*args.values()))
    out = cp.asarray(result)
    declared = ", ".join(f"{letter} {name}" for letter, name in zip("ABCDEF", args, strict=False))
    kernel = cp.ElementwiseKernel(declared, "Z out", workload.cupy)

    def run() -> Any:  # both libraries are on the legacy default stream here
        kernel(*arrays, out)
        return result

    return run


def cub(torch: Any, workload: Workload, reference: Reference, args: dict[str, Any]) -> Run | None:
    """``cub::DeviceTransform``, where all is contiguous."""
    result = reference(*args.values())
    outputs = [torch.empty_like(r) for r in (result if isinstance(result, tuple) else (result,))]
    run: Run | None = cub_.function(workload.name, list(args.values()), outputs)
    return run


PEERS: dict[str, Callable[..., Run | None]] = {
    "eager": eager,
    "compile": compiled,
    "autotune": autotuned,
    "cupy": cupy,
    "cub": cub,
    **ROW_PEERS,
}


def usable(names: list[str], notes: list[str]) -> list[str]:
    """The peers that can run here, with a note on each that cannot."""
    found: list[str] = []
    for name in names:
        why = _missing(name)
        if why is None:
            found.append(name)
        else:
            notes.append(f"no column {name}: {why}")
    return found


def _missing(name: str) -> str | None:
    if name not in PEERS:
        return f"it is none of {', '.join(PEERS)}"
    if name == "cupy":
        try:
            import cupy  # noqa: F401
        except ImportError:
            return "CuPy is not installed"
    if name in ROW_PEERS:
        return missing(name)
    if name == "cub":
        try:
            cub_.library()
        except cub_.Unavailable as problem:
            return str(problem)
    return None
