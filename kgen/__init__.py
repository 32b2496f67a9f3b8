"""kgen: a line of text in, an expert's CUDA kernel out.

import kgen
k = kgen.jit("out = a * b + cast<float>(c)")
y = k(a, b, c)          # torch, CuPy, JAX, Numba or NumPy arrays
print(k.source(a, b, c))  # the standalone .cu
"""

from typing import TYPE_CHECKING, Any

from kgen.diagnostics import Diagnostic, KgenError
from kgen.dtypes import (
    BFLOAT16 as bfloat16,
    BOOL as bool_,
    COMPLEX64 as complex64,
    COMPLEX128 as complex128,
    FLOAT8_E4M3FN as float8_e4m3fn,
    FLOAT8_E5M2 as float8_e5m2,
    FLOAT16 as float16,
    FLOAT32 as float32,
    FLOAT64 as float64,
    INT8 as int8,
    INT16 as int16,
    INT32 as int32,
    INT64 as int64,
    UINT8 as uint8,
    UINT16 as uint16,
    UINT32 as uint32,
    UINT64 as uint64,
    DType,
)
from kgen.jit import jit
from kgen.kernel import Kernel
from kgen.lints import LintWarning
from kgen.spec import OpenSpec, Spec, spec
from kgen.version import VERSION as __version__

_DERIVATIVES = ("grad", "jvp", "vjp")

if TYPE_CHECKING:
    from kgen import jax as jax, torch as torch
    from kgen.autodiff import grad as grad, jvp as jvp, vjp as vjp
else:

    def __getattr__(name: str) -> Any:
        """``kgen.jax``, ``kgen.torch`` and derivatives, when they are first used."""
        import importlib

        if name in ("jax", "torch"):
            return importlib.import_module(f"kgen.{name}")
        if name in _DERIVATIVES:
            return getattr(importlib.import_module("kgen.autodiff"), name)
        raise AttributeError(f"module 'kgen' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_DERIVATIVES, "jax", "torch"]


__all__ = [
    "DType",
    "Diagnostic",
    "Kernel",
    "KgenError",
    "LintWarning",
    "OpenSpec",
    "Spec",
    "__version__",
    "bfloat16",
    "bool_",
    "complex64",
    "complex128",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "jit",
    "spec",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]  # fmt: skip
