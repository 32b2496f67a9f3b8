"""Elements that several threads may update: CUDA's atomic functions, and device functions of kgen where it has none."""

from __future__ import annotations

from kgen.codegen.helpers import STORE_SCATTERED
from kgen.dtypes import INT32, UINT32, DType
from kgen.records import dataclass
from kgen.syntax.tree import Combine


@dataclass(frozen=True, slots=True)
class Update:
    """The function that updates an element, of its address and a value, and the helpers that it is."""

    function: str
    helpers: tuple[str, ...]


def update_of(combine: Combine, dtype: DType) -> Update:
    """How elements of a dtype are combined with values; not for ``set``."""
    if _is_native(combine, dtype):
        return Update(f"atomic{combine.capitalize()}", ())
    own = f"atomic_{combine}"
    is_template = dtype.is_int and dtype.size < 4  # of all integers of 8 and 16 bits
    return Update(own, (own if is_template else f"{own}_{dtype.short}",))


def accumulator_of(dtype: DType) -> DType:
    """The dtype in which a block combines updates of elements: one that CUDA updates at once.

    Halves are rounded once a block.  Integers wrap there, or keep their order, as in their own dtype.
    """
    if dtype.is_int and dtype.size < INT32.size:
        return INT32 if dtype.signed else UINT32
    return dtype.compute


def _is_native(combine: Combine, dtype: DType) -> bool:
    """Whether CUDA has the atomic function."""
    if dtype.is_int:
        return dtype.size >= 4 and not (combine == "add" and dtype.signed and dtype.size == 8)
    return dtype.is_float and combine == "add"


def group_update_of(combine: Combine, dtype: DType) -> Update:
    """How groups of rows are written, or combined with values."""
    if combine == "set":
        return Update("store_scattered", (STORE_SCATTERED,))
    if combine == "add" and dtype.is_float and dtype.size < 8:  # sm_90 adds 16 bytes of these at a time
        return Update("add_scattered", (f"add_scattered_{dtype.short}",))
    element = update_of(combine, dtype)
    suffix = "_own" if element.helpers else ""
    return Update(f"{combine}_scattered{suffix}", (*element.helpers, f"{combine}_scattered{suffix}"))
