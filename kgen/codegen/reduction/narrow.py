"""Groups of results that are stored as fp8, to nearest, saturated: they are rounded four at a time.

An exact division is slow, and few bits of a quotient are left.  So a group of dividends is multiplied by the divisor's
reciprocal and corrected, without a check of each; where a result of the group is NaN, it is divided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from kgen.codegen.reduction.parts import Parts, is_division
from kgen.dtypes import FLOAT32, DType
from kgen.ir.graph import CastMode, Op

#: The helpers that give a quotient, and that round those of a group.
QUOTIENT, ROUND_GROUP = "quotient", "round_group"


def is_fp8(dtype: DType) -> bool:
    return dtype.is_float and dtype.size == 1


def rounded(dtype: DType, floats: str, group: str) -> str:
    """The call that rounds floats to a group of results, and says whether no result is NaN."""
    kind = dtype.storage.removeprefix("__nv_fp8_").upper()
    return f"{ROUND_GROUP}<__NV_{kind}>({floats}, {group})"


def narrow_stores(parts: Parts, stores: Iterable[int]) -> dict[int, int]:
    """Those of the stores that store such quotients, each with the division."""
    ops, uses = parts.step.graph.ops, _uses(parts.step.graph.ops)
    found: dict[int, int] = {}
    for n in rounded_stores(parts.step.graph.ops, stores):
        quotient = ops[ops[n].args[0]].args[0]
        if not ops[n].places and uses[quotient] == 1 and _is_divided(parts, quotient):
            found[n] = quotient
    alone = _narrow_divisors(parts, found.values())
    return {n: quotient for n, quotient in found.items() if ops[quotient].args[1] in alone}


def rounded_stores(ops: Sequence[Op], stores: Iterable[int]) -> frozenset[int]:
    """Those of the stores that store floats as fp8, to nearest, saturated."""
    uses = _uses(ops)
    casts = {n: ops[ops[n].args[0]] for n in stores if uses[ops[n].args[0]] == 1}
    narrow = {n for n, op in casts.items() if is_fp8(op.dtype) and op.attr == CastMode("rne", True)}
    return frozenset(n for n in narrow if ops[casts[n].args[0]].dtype is FLOAT32)


def _uses(ops: Sequence[Op]) -> list[int]:
    uses = [0] * len(ops)
    for op in ops:
        for a in op.args:
            uses[a] += 1
    return uses


def _is_divided(parts: Parts, number: int) -> bool:
    """Whether an op divides by a value of its row or segment."""
    op = parts.step.graph.ops[number]
    by = op.args[-1] if op.args else number
    approximate = by in parts.sum_divisors or parts.divides_scaled(number, by)
    return by in parts.divisors and is_division(op, by) and not approximate


def _narrow_divisors(parts: Parts, divisions: Collection[int]) -> frozenset[int]:
    """The divisors of these divisions by which nothing else is divided."""
    ops = parts.step.graph.ops
    others = {by for by in parts.divisors for n, op in enumerate(ops) if n not in divisions and is_division(op, by)}
    return frozenset({ops[n].args[1] for n in divisions} - others)
