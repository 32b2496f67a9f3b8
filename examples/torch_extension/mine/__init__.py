"""Operators that kgen made: ``torch.ops.mine.*``."""

from pathlib import Path

import torch

torch.ops.load_library(next(Path(__file__).parent.glob("_C*.so")))

from mine import axpy_torch  # noqa: E402, F401 (after the library: it says what torch needs to know of the operator)

axpy = torch.ops.mine.axpy
