"""How a row is reduced does not depend on how many rows lie beside it, so its bits do not either."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kgen import pipeline
from kgen.compile_spec import CompileSpec
from kgen.program import Program
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.target import HOPPER

ROWS = (1, 2, 4, 16, 64, 256, 264, 265, 512, 1024, 4096)

_NORM = "x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6) * w"
PROGRAMS = {
    "rmsnorm": f"input x, w\nout = {_NORM}",
    "add_rmsnorm": "input x, r, w\ns = x + r\ny = s * rsqrt(mean(s * s, axis=-1, keepdims=true) + 1e-6) * w",
    "rmsnorm_fp8": f"input x, w\nparam s = 2.0\nout = cast<float8_e4m3fn, sat>({_NORM} / s)",
    "quantise": "s: float = max(abs(x), axis=-1, keepdims=true) / 448\nout = cast<float8_e4m3fn, sat>(x / s)",
    "layernorm": "let d = x - mean(x, axis=-1, keepdims=true)\n"
    "out = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b",
    "softmax": "let e = exp(x - max(x, axis=-1, keepdims=true))\nout = e / sum(e, axis=-1, keepdims=true)",
}
MATRICES = frozenset("xr")


@pytest.mark.parametrize("width", [512, 2048, 4096, 5120, 8192])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_order_of_a_sum(name: str, width: int) -> None:
    """Threads of a row, vectors of a thread, elements of a vector: they are the same for one row and for thousands."""
    program = pipeline.load(PROGRAMS[name])
    orders = {rows: order(program, rows, width) for rows in ROWS}
    assert set(orders.values()) == {orders[1]}, orders


def order(program: Program, rows: int, width: int) -> tuple[Any, ...]:
    shapes = {i.name: (rows, width) if i.name in MATRICES else (width,) for i in program.arguments}
    operands = CompileSpec("bf16", shapes).operands(program)
    schedules = cast("tuple[RowSchedule, ...]", pipeline.lower(program, operands, HOPPER).schedules)
    return tuple((s.threads, s.vectors, s.group, s.cluster, s.split, s.reduced) for s in schedules)
