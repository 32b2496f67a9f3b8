"""Groups of floats that are stored as fp8, to nearest, saturated: they are rounded four at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kgen.dtypes import FLOAT32, DType
from kgen.ir.graph import CastMode, Op

#: The helper that rounds a group.
ROUND_GROUP = "round_group"


def is_fp8(dtype: DType) -> bool:
    return dtype.is_float and dtype.size == 1


def rounded(dtype: DType, floats: str, group: str) -> str:
    """The call that rounds floats to a group of results, and says whether no result is NaN."""
    kind = dtype.storage.removeprefix("__nv_fp8_").upper()
    return f"{ROUND_GROUP}<__NV_{kind}>({floats}, {group})"


def rounded_stores(ops: Sequence[Op], stores: Iterable[int]) -> frozenset[int]:
    """Those of the stores that store floats as fp8, to nearest, saturated."""
    uses = uses_of(ops)
    casts = {n: ops[ops[n].args[0]] for n in stores if uses[ops[n].args[0]] == 1}
    narrow = {n for n, op in casts.items() if is_fp8(op.dtype) and op.attr == CastMode("rne", True)}
    return frozenset(n for n in narrow if ops[casts[n].args[0]].dtype is FLOAT32)


def uses_of(ops: Sequence[Op]) -> list[int]:
    uses = [0] * len(ops)
    for op in ops:
        for a in op.args:
            uses[a] += 1
    return uses
