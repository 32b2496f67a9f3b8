"""Python and NumPy scalars as the bytes that a kernel's by-value parameter holds."""

from __future__ import annotations

import sys
from typing import Any

from kgen.diagnostics import error, shown
from kgen.dtypes import DType, Kind
from kgen.ir.graph import to_bytes

_LARGEST = int(sys.float_info.max)


def pack(name: str, value: Any, dtype: DType) -> bytes:
    """The bytes of ``value`` as ``dtype``, rounded to nearest even.

    Raises :class:`~kgen.KgenError` (``value-out-of-range``) for an integer that does not fit, and (``bad-value``)
    for a value of a higher kind than the dtype.
    """
    if isinstance(value, int) and not dtype.is_int and not dtype.is_bool and abs(value) > _LARGEST:
        raise error("value-out-of-range", f"`{name}` is an integer too large for {dtype}", "pass a float")
    if dtype.is_complex:
        z = complex(value)
        part = dtype.real
        return pack(name, z.real, part) + pack(name, z.imag, part)
    if dtype.is_int:
        number = _integer(name, value, dtype)
        if not dtype.int_min <= number <= dtype.int_max:
            raise error(
                "value-out-of-range",
                f"`{name}` is {shown(number)}, which does not fit {dtype} ({dtype.int_min} to {dtype.int_max})",
                "pass a value that fits, or cast the array operand to a wider dtype",
            )
        return to_bytes(number, dtype)
    if dtype.is_bool:
        return to_bytes(bool(value), dtype)
    if isinstance(value, complex):
        raise error("bad-value", f"`{name}` is complex and its dtype is {dtype}", "pass value.real")
    return to_bytes(value if isinstance(value, int) else float(value), dtype)


def _integer(name: str, value: Any, dtype: DType) -> int:
    if isinstance(value, complex) or (isinstance(value, float) and not value.is_integer()):
        raise error("bad-value", f"`{name}` is {shown(value)} and its dtype is {dtype}", "pass a whole number")
    return int(value)


def kind_of_value(value: object) -> Kind | None:
    """The weak kind of a Python scalar, or None for anything else (NumPy's scalars are arrays here)."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    if type(value).__module__ == "numpy":
        return None
    return next((k for t, k in _KINDS.items() if isinstance(value, t)), None)


_KINDS: dict[type, Kind] = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, complex: Kind.COMPLEX}
