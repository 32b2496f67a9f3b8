"""The C type of each dtype, in memory and in a register."""

from __future__ import annotations

from kgen.dtypes import DType


def storage_type(dtype: DType) -> str:
    """The type of an array's elements."""
    return dtype.storage


def register_type(dtype: DType) -> str:
    """The type of a value in an expression."""
    return dtype.register


def headers_of(dtype: DType) -> tuple[str, ...]:
    """What declares the type: CUDA's headers for the narrow floats, nothing for the others."""
    return dtype.headers
