"""Quotients of a group that are stored as fp8, to nearest, saturated.

An exact division is slow, and few bits of it are left.  So a group is multiplied by two numbers just below and above
the divisor's reciprocal.  Where both products of an element round to the same fp8, so does the quotient between them.
Results of int8 are no faster so: values of 16 bits have many quotients halfway between two integers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kgen.codegen.reduction.parts import Parts, is_division
from kgen.dtypes import DType
from kgen.ir.graph import CastMode

#: The helpers that give both products, and that round those of a group.
ENDS, ROUND = "quotient_ends", "round_alike"


def is_fp8(dtype: DType) -> bool:
    return dtype.is_float and dtype.size == 1


def rounded(dtype: DType, ends: str, group: str) -> str:
    """The call that rounds pairs of floats to a group of results, and says whether all pairs round alike."""
    kind = dtype.storage.removeprefix("__nv_fp8_").upper()
    return f"{ROUND}<__NV_{kind}>({ends}, {group})"


def narrow_stores(parts: Parts, stores: Iterable[int]) -> dict[int, int]:
    """Those of the stores that store such quotients, each with the division."""
    ops = parts.step.graph.ops
    uses = [0] * len(ops)
    for op in ops:
        for a in op.args:
            uses[a] += 1
    found: dict[int, int] = {}
    for n in stores:
        cast = ops[n].args[0]
        narrows = is_fp8(ops[cast].dtype) and ops[cast].attr == CastMode("rne", True)
        quotient = ops[cast].args[0] if narrows else cast
        whole = narrows and not ops[n].places
        if whole and uses[cast] == 1 == uses[quotient] and _is_divided(parts, quotient):
            found[n] = quotient
    return found


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
