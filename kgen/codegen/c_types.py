"""The C type of each dtype, in memory and in a register."""

from __future__ import annotations

from kgen.dtypes import DType

_STORAGE = {
    "bool": "unsigned char",  # any non-zero byte is true: reading one as C's bool would be undefined
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "float32": "float",
    "float64": "double",
    "float8_e4m3fn": "__nv_fp8_e4m3",
    "float8_e5m2": "__nv_fp8_e5m2",
    "complex64": "float2",
    "complex128": "double2",
}

_HEADERS = {
    "float16": ("cuda_fp16.h",),
    "bfloat16": ("cuda_bf16.h",),
    "float8_e4m3fn": ("cuda_fp8.h",),
    "float8_e5m2": ("cuda_fp8.h",),
}


def storage_type(dtype: DType) -> str:
    """The type of an array's elements."""
    return _STORAGE[dtype.name]


def register_type(dtype: DType) -> str:
    """The type of a value in an expression."""
    return "bool" if dtype.is_bool else _STORAGE[dtype.name]


def headers_of(dtype: DType) -> tuple[str, ...]:
    """What declares the type: CUDA's headers for the narrow floats, nothing for the others."""
    return _HEADERS.get(dtype.name, ())
