"""What the examples share: arrays on torch's GPU if there is one, else NumPy's, and a check against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import kgen

FOLDER = Path(__file__).parent
_VIA_INTEGERS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}  # torch.from_numpy refuses


def load(name: str) -> Any:
    """The kernel of ``<name>.k``."""
    return kgen.jit(path=FOLDER / f"{name}.k")


def array(values: np.ndarray) -> Any:
    """The values as a CUDA tensor of torch if that is possible, else as they are."""
    torch = _torch()
    if torch is None:
        return values
    stored = _VIA_INTEGERS.get(values.dtype.name)
    if stored is None:
        return torch.from_numpy(values).cuda()
    return torch.from_numpy(values.view(stored)).cuda().view(getattr(torch, values.dtype.name))


def numpy(result: Any) -> np.ndarray:
    """A result as float64 (or complex128) in NumPy, to compare with."""
    if not isinstance(result, np.ndarray):
        result = (result.to(_torch().float32) if str(result.dtype).startswith("torch.float8") else result).cpu()
        result = result.float().numpy() if str(result.dtype) == "torch.bfloat16" else result.numpy()
    return result.astype(np.complex128 if result.dtype.kind == "c" else np.float64)


def check(name: str, kernel: Any, result: Any, expected: Any, tolerance: float) -> None:
    """Compare and say what ran."""
    got = numpy(result)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    library = type(result).__module__.partition(".")[0]
    print(f"{name}: {library} {result.dtype} {tuple(result.shape)} on {kernel.ran_on}, as NumPy says")


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None
