"""The types of a program's arguments: what typing takes."""

from __future__ import annotations

from kgen.dtypes import DType, Kind
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class ArrayArg:
    """An array argument: its dtype and the extents that are known (None: any size)."""

    dtype: DType
    shape: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class ScalarArg:
    """A by-value argument of a fixed dtype: a typed ``param``, or a 0-d array of the host."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class WeakArg:
    """A by-value Python scalar: it takes the dtype of the operands it is combined with."""

    kind: Kind


ArgType = ArrayArg | ScalarArg | WeakArg
