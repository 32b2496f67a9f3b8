"""Reductions in two steps, for elements in registers: the second step starts from what the first has found.

A sum of exponentials takes the greatest of a warp's elements first; warps exchange only the two together.  A variance
takes the mean first, of the whole row: distances from it are fewer instructions than moments, and more accurate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kgen.codegen.accumulators import Accumulator, accumulator
from kgen.codegen.c_types import register_type
from kgen.codegen.literals import constant
from kgen.ir.kernel import Op, Reduction, to_bits


@dataclass(frozen=True, slots=True)
class TwoSteps:
    """``word``: what the first step finds, ``result`` of its state ``{a}``; ``within``: of a warp, not of the row.

    ``second`` starts as ``start`` says of ``{x}``, the first step's result.
    """

    word: str
    first: Accumulator
    result: str
    within: bool
    second: Accumulator
    start: str


def two_steps(op: Op, whole: Accumulator) -> TwoSteps | None:
    """How to take ``op``, which ``whole`` accumulates; None: in one step."""
    if not isinstance(op.attr, Reduction) or op.attr.kind not in ("exp_sum", "var", "std"):
        return None
    dtype = op.dtype
    zero = constant(to_bits(0.0, dtype), dtype).code
    if op.attr.kind == "exp_sum":
        return TwoSteps(
            "peak",
            accumulator(replace(op.attr, kind="max"), dtype, dtype),
            "{a}",
            True,
            replace(
                whole,
                update="{a}.sum += term({x} - origin({a}));",
                mode="part",
                value=whole.type,
                start=f"{{{{{{a}}.peak, {zero}}}}}",
                fold="{a}.sum += {x}.sum;",
                within="{a}.sum += __shfl_xor_sync(0xffffffffu, {a}.sum, d);",
                helpers=(f"log_sum_{dtype.short}", f"log_sum_term_{dtype.short}", "exp_sum"),
            ),
            f"{{{{{{x}}, {zero}}}}}",
        )
    c_type = register_type(dtype)
    mean = accumulator(replace(op.attr, kind="mean", correction=0), dtype, dtype)
    return TwoSteps(
        "mean",
        mean,
        mean.result,
        False,
        replace(
            whole,
            update="{a}.distance += ({x} - {a}.mean) * ({x} - {a}.mean);",
            merge="{a}.distance += {b}.distance;",
            mode="part",
            value=whole.type,
            start=f"{{{{{zero}, {{a}}.mean, {zero}}}}}",
            fold="{a}.distance += {x}.distance;",
            within="{a}.distance += __shfl_xor_sync(0xffffffffu, {a}.distance, d);",
            helpers=("moments",),
        ),
        f"{{{{({c_type}){{count}}, {{x}}, {zero}}}}}",
    )
