"""Groups of results that are stored as fp8, to nearest, saturated: they are rounded four at a time.

An exact division is slow, and few bits of a quotient are left.  So a group of dividends is multiplied by two numbers
just below and above the divisor's reciprocal.  Where both products of an element round to the same fp8, so does the
quotient between them.  Results of int8 are no faster so: values of 16 bits have many quotients halfway between two
integers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from kgen.codegen.reduction.parts import Parts, is_division
from kgen.dtypes import FLOAT32, DType
from kgen.ir.graph import CastMode, Op

#: The helpers that give both products, and that round those of a group; and the one that rounds other groups.
ENDS, ROUND, ROUND_GROUP = "quotient_ends", "round_alike", "round_group"


def is_fp8(dtype: DType) -> bool:
    return dtype.is_float and dtype.size == 1


def rounded(dtype: DType, function: str, floats: str, group: str) -> str:
    """The call that rounds floats, or pairs of them, to a group of results."""
    kind = dtype.storage.removeprefix("__nv_fp8_").upper()
    return f"{function}<__NV_{kind}>({floats}, {group})"


def narrow_stores(parts: Parts, stores: Iterable[int]) -> dict[int, int]:
    """Those of the stores that store such quotients, each with the division."""
    ops, uses = parts.step.graph.ops, _uses(parts.step.graph.ops)
    found: dict[int, int] = {}
    for n in rounded_stores(parts.step.graph.ops, stores):
        quotient = ops[ops[n].args[0]].args[0]
        if not ops[n].places and uses[quotient] == 1 and _is_divided(parts, quotient):
            found[n] = quotient
    return found


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


def narrow_divisors(parts: Parts, divisions: Collection[int]) -> frozenset[int]:
    """The divisors of these divisions by which nothing else is divided."""
    ops = parts.step.graph.ops
    others = {by for by in parts.divisors for n, op in enumerate(ops) if n not in divisions and is_division(op, by)}
    return frozenset({ops[n].args[1] for n in divisions} - others)


def _is_divided(parts: Parts, number: int) -> bool:
    """Whether an op divides by a value of its row or segment."""
    op = parts.step.graph.ops[number]
    by = op.args[-1] if op.args else number
    approximate = by in parts.sum_divisors or parts.divides_scaled(number, by)
    return by in parts.divisors and is_division(op, by) and not approximate
