"""The metadata of an array: shape, dtype, strides."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, overload

from kgen.diagnostics import KgenError, error, public, shown
from kgen.dtypes import BY_NAME, DType
from kgen.records import dataclass

Shape = int | Sequence[int]  #: extents as callers pass them: one, or a sequence
OpenShape: TypeAlias = Literal["?"] | Sequence[int | Literal["?"]]  #: some extents are open
MAX_DIMENSIONS = 64


@dataclass(frozen=True, slots=True)
class Spec:
    """An array's metadata, accepted wherever no data is needed.

    ``strides`` are in elements, may be negative or 0, and are always filled in (C order by default).
    """

    shape: tuple[int, ...]
    dtype: DType
    strides: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype.short}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class OpenSpec:
    """The metadata of arrays that differ in some extents, which are None here: what a file is made for.

    ``strides`` are in elements; None is C order.
    """

    shape: tuple[int | None, ...]
    dtype: DType
    strides: tuple[int, ...] | None

    def __str__(self) -> str:
        return f"{self.dtype.short}[{', '.join('?' if n is None else str(n) for n in self.shape)}]"


@overload
def spec(  # type: ignore[overload-overlap]  # integers alone are also an OpenShape
    shape: Shape, dtype: object, strides: Sequence[int] | None = None
) -> Spec: ...
@overload
def spec(shape: OpenShape, dtype: object, strides: Sequence[int] | None = None) -> OpenSpec: ...
@public
def spec(shape: Shape | OpenShape, dtype: object, strides: Sequence[int] | None = None) -> Spec | OpenSpec:
    """The metadata of an array.

    ``shape``: extents, at most 64 of them.  ``"?"`` is any extent, for :meth:`~kgen.Kernel.source`, ``cubin`` and
    ``ptx``.  ``dtype``: a :class:`~kgen.dtypes.DType`, a name (``"bf16"``), or any library's dtype object.
    ``strides``: in elements; C order when None.

    Raises :class:`~kgen.KgenError` for a negative extent, an unknown dtype, or strides of another length.
    """
    extents = as_open_shape(shape) if is_open(shape) else as_shape(shape)
    steps = None if strides is None else _integers(strides)
    if strides is not None and steps is None:
        raise error(
            "bad-strides", f"strides are integers, not {shown(strides)}", "give one integer per dimension, in elements"
        )
    if steps is not None and len(steps) != len(extents):
        raise error(
            "bad-strides",
            f"{counted(len(steps), 'stride')} for {counted(len(extents), 'dimension')}",
            "give one stride per dimension, in elements",
        )
    known = [n for n in extents if n is not None]
    if len(known) < len(extents):
        return OpenSpec(extents, as_dtype(dtype), steps)
    return Spec(tuple(known), as_dtype(dtype), c_strides(known) if steps is None else steps)


def is_open(shape: object) -> bool:
    """Whether a shape has an open extent."""
    return isinstance(shape, str | tuple | list) and any(isinstance(n, str) and n == "?" for n in shape)


def as_open_shape(shape: object) -> tuple[int | None, ...]:
    """Extents of a shape that :func:`is_open`: None for each ``"?"``.  Raises as :func:`as_shape`."""
    assert isinstance(shape, str | tuple | list)
    known = iter(as_shape([n for n in shape if n != "?"]))
    if len(shape) > MAX_DIMENSIONS:
        raise _too_many(len(shape))
    return tuple(None if n == "?" else next(known) for n in shape)


def as_shape(shape: object) -> tuple[int, ...]:
    """Extents from an integer or a sequence of them, as NumPy takes them.

    Raises :class:`~kgen.KgenError` (``bad-shape``) for anything else, for extents that no array has, and for more
    than 64 of them.
    """
    extents = _integers(shape)
    if extents is None:
        raise error("bad-shape", f"a shape consists of integers, not {shown(shape)}", "such as 4 or (4, 3)")
    if any(n < 0 for n in extents):
        raise error("bad-shape", f"a shape has a negative extent: {shown(extents)}", "extents are 0 or more")
    if len(extents) > MAX_DIMENSIONS:
        raise _too_many(len(extents))
    if 0 not in extents and math.prod(extents) >= 2**63:
        raise error("bad-shape", f"the shape {shown(extents)} has too many elements", "at most 2^63 - 1")
    return extents


def _too_many(dimensions: int) -> KgenError:
    return error("bad-shape", f"{dimensions} dimensions; at most {MAX_DIMENSIONS} are supported")


def _integers(values: object) -> tuple[int, ...] | None:
    """One integer or several; None for anything else."""
    try:
        if isinstance(values, Iterable):
            return tuple(operator.index(n) for n in values)
        return (operator.index(values),)  # type: ignore[arg-type]  # raises for other types
    except TypeError:
        return None


def counted(number: int, noun: str) -> str:
    """``1 stride``, ``2 strides``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def c_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a C-ordered array without gaps; an extent of 0 counts as 1, as in PyTorch."""
    out: list[int] = []
    step = 1
    for n in reversed(shape):
        out.append(step)
        step *= max(n, 1)
    return tuple(reversed(out))


def known_strides(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """The strides of an array; where it has no elements, those of C order.  NumPy's are 0 then, which would say that
    there is one element for all along an axis, to be read ahead.
    """
    return c_strides(shape) if 0 in shape else tuple(strides)


def as_dtype(dtype: object) -> DType:
    """A :class:`DType` from itself, from a name, or from a library's dtype object (by its name).

    torch prints ``torch.float32``, NumPy ``float32``, a NumPy scalar type ``<class 'numpy.float32'>``.
    """
    if isinstance(dtype, DType):
        return dtype
    name = (
        dtype
        if isinstance(dtype, str)
        else getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or shown(dtype)
    )
    found = BY_NAME.get(str(name).removeprefix("torch."))
    if found is None:
        raise error(
            "unknown-dtype",
            f"`{name}` is not a dtype of kgen",
            f"one of {', '.join(dict.fromkeys(t.short for t in BY_NAME.values()))}",
        )
    return found
