"""How a row is reduced does not depend on how many rows lie beside it, so its bits do not either."""

from __future__ import annotations

from typing import Any

import pytest

from kgen import pipeline
from kgen.call.cached_lowering import CachedLowering
from kgen.compile_spec import CompileSpec
from kgen.ir.graph import Reduction
from kgen.lowering import LoweredStep
from kgen.partition.reduction_step import ReductionStep
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.reduction.states import is_exact
from kgen.schedule.target import HOPPER, PORTABLE, Target

ROWS = (1, 2, 3, 63, 64, 265, 1024, 16384, 1 << 20)
#: Staged, odd, in registers, in clusters, and longer than these.
WIDTHS = (7, 40, 100, 129, 512, 1001, 2048, 4096, 5120, 8192, 32776, 65544, 131072, 262152, 999_999)

_NORM = "x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6) * w"
PROGRAMS = {
    "rmsnorm": f"input x, w\nout = {_NORM}",
    "add_rmsnorm": "input x, r, w\ns = x + r\ny = s * rsqrt(mean(s * s, axis=-1, keepdims=true) + 1e-6) * w",
    "rmsnorm_fp8": f"input x, w\nparam s = 2.0\nout = cast<float8_e4m3fn, sat>({_NORM} / s)",
    "quantise": "s: float = max(abs(x), axis=-1, keepdims=true) / 448\nout = cast<float8_e4m3fn, sat>(x / s)",
    "layernorm": "let d = x - mean(x, axis=-1, keepdims=true)\n"
    "out = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b",
    "softmax": "let e = exp(x - max(x, axis=-1, keepdims=true))\nout = e / sum(e, axis=-1, keepdims=true)",
    "sum": "out = sum(x, axis=-1)",
    "cross_entropy": "input x, r\nout = logsumexp(x, axis=-1) - sum(x * r, axis=-1)",
    "moments": "m = mean(x, axis=-1)\nv = var(x, axis=-1)",
}
MATRICES = frozenset("xr")


@pytest.mark.parametrize("target", [HOPPER, PORTABLE], ids=["sm_90", "any"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_order_of_a_sum(name: str, target: Target) -> None:
    """Threads of a row, vectors of a thread, elements of a vector, blocks: the same for one row and for a million."""
    lowering = CachedLowering(pipeline.load(PROGRAMS[name]))
    for width in WIDTHS:
        orders = {rows: order(lowering, rows, width, target) for rows in ROWS}
        assert set(orders.values()) == {orders[2]}, (width, orders)


def order(lowering: CachedLowering, rows: int, width: int, target: Target) -> tuple[Any, ...]:
    program = lowering.program
    shapes = {i.name: (rows, width) if i.name in MATRICES else (width,) for i in program.arguments}
    lowered = lowering(CompileSpec("bf16", shapes).operands(program), target)
    return tuple(one for one in map(_order, lowered.steps) if one is not None)


def _order(step: LoweredStep) -> tuple[Any, ...] | None:
    """Whatever the order of additions within a row depends on; None for elementwise kernels, and where nothing does.

    It does not depend on whether rows are staged: see ``tests/reductions/bits/test_few.py``.
    """
    found = step.schedule
    if not isinstance(found, RowSchedule) or not isinstance(step.step, ReductionStep) or is_exact(step.step):
        return None
    walks = tuple("vector" if t.kind == "staged" else t.kind for t in found.accesses)
    kinds = tuple(op.attr.kind for op in step.step.graph.ops if isinstance(op.attr, Reduction))
    span = step.launch.lets.get("span")
    order = found.order or found
    groups = found.vectors if found.order is None else found.order.groups
    return (
        type(found), order.threads, groups, found.group, found.cluster, found.reduced, found.anchor, walks,
        kinds, found.split, span,
    )  # fmt: skip
