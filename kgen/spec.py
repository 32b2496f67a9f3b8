"""What is known of an array without its data: shape, dtype, strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgen.diagnostics import error
from kgen.dtypes import BY_NAME, DType


@dataclass(frozen=True, slots=True)
class Spec:
    """An array's metadata, accepted wherever only metadata matters.

    ``strides`` are in elements, may be negative or 0, and are always filled in (C order by default).
    """

    shape: tuple[int, ...]
    dtype: DType
    strides: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype.short}[{', '.join(map(str, self.shape))}]"


def spec(shape: int | Sequence[int], dtype: object, strides: Sequence[int] | None = None) -> Spec:
    """The metadata of an array.

    ``shape``: extents, at most 64 of them.  ``dtype``: a :class:`~kgen.dtypes.DType`, a name (``"bf16"``), or any
    library's dtype object.  ``strides``: in elements; C order when None.

    Raises :class:`~kgen.KgenError` for a negative extent, an unknown dtype, or strides of another length.
    """
    extents = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    if any(n < 0 for n in extents):
        raise error("bad-shape", f"a shape has a negative extent: {extents}", "extents are 0 or more")
    if len(extents) > 64:
        raise error("bad-shape", f"{len(extents)} dimensions; at most 64 are supported")
    steps = c_strides(extents) if strides is None else tuple(int(s) for s in strides)
    if len(steps) != len(extents):
        raise error(
            "bad-strides",
            f"{len(steps)} strides for {len(extents)} dimensions",
            "strides are in elements, one a dimension",
        )
    return Spec(extents, as_dtype(dtype), steps)


def c_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a C-ordered array without gaps."""
    out: list[int] = []
    step = 1
    for n in reversed(shape):
        out.append(step)
        step *= max(n, 1)
    return tuple(reversed(out))


def as_dtype(dtype: object) -> DType:
    """A :class:`DType` from itself, from a name, or from a library's dtype object (by its name).

    torch prints ``torch.float32``, NumPy ``float32``, a NumPy scalar type ``<class 'numpy.float32'>``.
    """
    if isinstance(dtype, DType):
        return dtype
    name = (
        dtype
        if isinstance(dtype, str)
        else getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    )
    found = BY_NAME.get(str(name).removeprefix("torch."))
    if found is None:
        raise error(
            "unknown-dtype",
            f"`{name}` is not a dtype of kgen",
            f"one of {', '.join(dict.fromkeys(t.short for t in BY_NAME.values()))}",
        )
    return found
