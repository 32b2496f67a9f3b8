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
    """The headers that declare the type: CUDA's for the narrow floats, none for the others."""
    return dtype.headers
