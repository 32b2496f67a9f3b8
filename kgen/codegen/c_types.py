"""The C type of each dtype, in memory and in a register, and those of a kernel's indices and layout struct."""

from __future__ import annotations

from kgen.dtypes import DType
from kgen.schedule.schedule import Schedule


def storage_type(dtype: DType) -> str:
    """The type of an array's elements."""
    return dtype.storage


def register_type(dtype: DType) -> str:
    """The type of a value in an expression."""
    return dtype.register


def headers_of(dtype: DType) -> tuple[str, ...]:
    """The headers that declare the type: CUDA's for the narrow floats, none for the others."""
    return dtype.headers


def index_types(schedule: Schedule) -> tuple[str, str]:
    """What ``Index`` and ``Count`` are in a kernel."""
    return ("int", "unsigned int") if schedule.index_bits == 32 else ("long long", "unsigned long long")


def layout_type(struct: str, schedule: Schedule, *, is_template: bool) -> str:
    """The type of a kernel's layout parameter.  ``struct``: the name of the struct, or of the template."""
    return f"{struct}<{schedule.rank}, {', '.join(index_types(schedule))}>" if is_template else struct
