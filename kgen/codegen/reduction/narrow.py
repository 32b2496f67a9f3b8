"""Quotients of a group that are stored as fp8, to nearest, saturated.

An exact division is slow, and few bits of a quotient are left.  So a group of dividends is multiplied by the divisor's
reciprocal and corrected, without a check of each; where a result of the group is NaN, it is divided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kgen.codegen.narrow import rounded_stores, uses_of
from kgen.codegen.reduction.parts import Parts, is_division
from kgen.ir.graph import IndexMap

#: The helper that gives a quotient.
QUOTIENT = "quotient"


def narrow_stores(parts: Parts, stores: Iterable[int]) -> dict[int, int]:
    """Those of the stores that store such quotients, each with the division."""
    ops, uses = parts.step.graph.ops, uses_of(parts.step.graph.ops)
    found: dict[int, int] = {}
    for n in rounded_stores(parts.step.graph.ops, stores):
        quotient = ops[ops[n].args[0]].args[0]
        if isinstance(ops[n].attr, IndexMap) and uses[quotient] == 1 and _is_divided(parts, quotient):
            found[n] = quotient
    alone = _narrow_divisors(parts, found.values())
    return {n: quotient for n, quotient in found.items() if ops[quotient].args[1] in alone}


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
