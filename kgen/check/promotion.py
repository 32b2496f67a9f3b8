"""The common dtype of two operands: PyTorch's lattice (``torch.result_type``), extended where PyTorch refuses.

``docs/language.md``, "Types", says what it is.
"""

from __future__ import annotations

from kgen.dtypes import BY_NAME, COMPLEX128, FLOAT32, FLOAT64, UINT64, DType, Kind


def promote(a: DType, b: DType) -> DType | None:
    """The common dtype of two array operands, or None where a cast has to be written.

    None: uint64 with a signed integer; fp8 with an integer array or with the other fp8 format.
    """
    if a is b:
        return a
    if a.kind > b.kind or (a.kind == b.kind and a.size < b.size):
        a, b = b, a  # from here: b has the higher kind, or the same kind and a's size >= b's
    if a.kind is Kind.BOOL:
        return b
    if a.kind is Kind.INT:
        if b.kind is Kind.INT:
            return _promote_ints(a, b)
        return None if b.is_fp8 else b  # an integer never widens a float
    if a.kind is Kind.FLOAT:
        if b.kind is Kind.COMPLEX:
            return COMPLEX128 if a is FLOAT64 else b
        return _promote_floats(a, b)
    return COMPLEX128  # two different complex dtypes


def _promote_ints(wide: DType, narrow: DType) -> DType | None:
    if wide.signed == narrow.signed:
        return wide
    signed, unsigned = (wide, narrow) if wide.signed else (narrow, wide)
    if signed.size > unsigned.size:
        return signed
    if unsigned is UINT64:
        return None
    return BY_NAME[f"int{unsigned.bits * 2}"]


def _promote_floats(wide: DType, narrow: DType) -> DType | None:
    if wide.size > narrow.size:
        return wide
    return FLOAT32 if wide.size == 2 else None  # float16 with bfloat16; the two fp8 formats


def lift(dtype: DType) -> DType:
    """The dtype of ``/`` and of float functions: float32 for integers and bool."""
    return dtype if dtype.kind >= Kind.FLOAT else FLOAT32


def cast_to_write(a: DType, b: DType) -> str:
    """The hint for two dtypes without a common one."""
    if a.is_fp8 or b.is_fp8:
        return "write cast<float>(...) around the fp8 operand"
    return "write cast<int64>(...) around the uint64 operand, or cast<uint64>(...) around the other"
