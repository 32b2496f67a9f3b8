"""Reductions in two steps, for elements in registers: the second step starts from what the first has found.

A warp takes the greatest of its elements, then the sum of exponentials relative to that; or their mean, then the
squared distances from it, in fewer instructions than moments take, and more accurately.  Warps exchange only the two
together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kgen.codegen.c_types import register_type
from kgen.codegen.literals import constant
from kgen.codegen.reduction.accumulators import Accumulator, accumulator
from kgen.ir.kernel import Op, Reduction, to_bits


@dataclass(frozen=True, slots=True)
class TwoSteps:
    """``word``: what the ``first`` step finds of a warp's elements; the ``second`` starts from it, as ``start`` says of
    ``{x}``.
    """

    word: str
    first: Accumulator
    second: Accumulator
    start: str


def two_steps(op: Op, whole: Accumulator) -> TwoSteps | None:
    """How to take ``op``, which ``whole`` accumulates; None: in one step."""
    if not isinstance(op.attr, Reduction) or op.attr.kind not in ("exp_sum", "logsumexp", "var", "std"):
        return None
    if op.dtype.is_complex:
        return None
    dtype = op.dtype
    zero = constant(to_bits(0.0, dtype), dtype).code
    if op.attr.kind in ("exp_sum", "logsumexp"):
        return TwoSteps(
            "peak",
            accumulator(replace(op.attr, kind="max"), dtype, dtype),
            replace(
                whole,
                update="{a}.sum += term({p} - origin({a}));",
                mode="part",
                value=whole.type,
                start=f"{{{{{{a}}.peak, {zero}}}}}",
                fold="{a}.sum += {x}.sum;",
                within="{a}.sum += __shfl_xor_sync(0xffffffffu, {a}.sum, d);",
                helpers=("log_sum", f"log_sum_term_{dtype.short}", *whole.helpers[1:]),
            ),
            f"{{{{{{x}}, {zero}}}}}",
        )
    c_type = register_type(dtype)
    first = Accumulator(
        f"Counted<{c_type}>",
        "{}",
        "{a} += {x};",
        "merge({a}, {b});",
        "",
        mode="part",
        value=c_type,
        start=zero,
        fold="merge({a}, {{{group}, {x}}});",
        helpers=("counted",),
        is_struct=True,
    )
    second = replace(
        whole,
        update="{a}.distance += ({p} - {a}.mean) * ({p} - {a}.mean);",
        mode="part",
        value=whole.type,
        start=f"{{{{{zero}, {{a}}.mean, {zero}}}}}",
        fold="{a}.distance += {x}.distance;",
        within="{a}.distance += __shfl_xor_sync(0xffffffffu, {a}.distance, d);",
        helpers=("moments",),
    )
    one = constant(to_bits(1.0, dtype), dtype).code
    return TwoSteps("total", first, second, f"{{{{{{x}}.count, {{x}}.sum / max({{x}}.count, {one}), {zero}}}}}")
