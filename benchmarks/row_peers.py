"""Peers that are libraries of row kernels: Liger (Triton) and QuACK (CuTe), where they are installed.

Each has kernels for some of the workloads, found by the workload's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from benchmarks.timing import Run
from benchmarks.workloads import Workload

Reference = Callable[..., Any]


def _liger(torch: Any) -> Mapping[str, Callable[..., Any]]:
    norms, layers = import_module("liger_kernel.ops.rms_norm"), import_module("liger_kernel.ops.layer_norm")
    sums, products = import_module("liger_kernel.ops.fused_add_rms_norm"), import_module("liger_kernel.ops.swiglu")
    shares = import_module("liger_kernel.ops.softmax")
    return {
        "softmax": lambda x: shares.LigerSoftmaxFunction.apply(x),
        # Not in place: else its gradient overwrites the cotangent.
        "rmsnorm": lambda x, w: norms.LigerRMSNormFunction.apply(x, w, 1e-6, 0.0, "llama", False),
        "layernorm": lambda x, w, b: layers.LigerLayerNormFunction.apply(x, w, b, 1e-5),
        "add_rmsnorm": lambda x, r, w: sums.LigerFusedAddRMSNormFunction.apply(x, r, w, 1e-6)[::-1],
        "silu_mul": lambda g, u: products.LigerSiLUMulFunction.apply(g, u),
    }


def _quack(torch: Any) -> Mapping[str, Callable[..., Any]]:
    norms, shares = import_module("quack.rmsnorm"), import_module("quack.softmax")
    # Its layernorm takes float32 weights: converted once, outside what is timed, and kept with those of this id.
    wide: dict[int, tuple[Any, Any]] = {}

    def layernorm(x: Any, w: Any, b: Any) -> Any:
        for weight in (w, b):
            if id(weight) not in wide:
                wide[id(weight)] = weight, weight.float()
        return norms.layernorm_fwd(x, wide[id(w)][1], wide[id(b)][1], 1e-5)

    return {
        "softmax": shares.softmax,
        "rmsnorm": lambda x, w: norms.rmsnorm(x, w, eps=1e-6),
        "layernorm": layernorm,
        "add_rmsnorm": lambda x, r, w: norms.rmsnorm_fwd(x, w, residual=r, eps=1e-6)[1::-1],
    }


_LIBRARIES = {"liger": (_liger, "liger_kernel.ops.softmax"), "quack": (_quack, "quack.softmax")}


def functions_of(torch: Any, name: str) -> Mapping[str, Callable[..., Any]]:
    """A library's kernels by workload."""
    return _LIBRARIES[name][0](torch)


def _peer(name: str) -> Callable[[Any, Workload, Reference, dict[str, Any]], Run | None]:
    def peer(torch: Any, workload: Workload, reference: Reference, args: dict[str, Any]) -> Run | None:
        function = functions_of(torch, name).get(workload.name.partition("_")[0])
        given = list(args.values())
        if function is None or workload.name.endswith("f32") or workload.kind == "across memory":
            return None
        try:
            right = torch.allclose(function(*given), reference(*given), rtol=2e-2, atol=2e-2)
        except Exception as problem:  # any of theirs: rows that are too long for it, or of an odd length
            print(f"{workload.name}: {name} cannot: {str(problem).splitlines()[:1]}", flush=True)
            return None
        if not right:
            print(f"{workload.name}: the result of {name} is wrong", flush=True)
        return (lambda: function(*given)) if right else None

    return peer


ROW_PEERS = {name: _peer(name) for name in _LIBRARIES}


def missing(name: str) -> str | None:
    """Why a library cannot be used here."""
    try:
        import_module(_LIBRARIES[name][1])
    except Exception as problem:  # an import may fail in any way: a driver, another version of torch
        return f"{type(problem).__name__}: {problem}"
    return None
