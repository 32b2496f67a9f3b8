"""What ``codegen/limits.py`` says of a kernel's parameters is what a launch passes."""

from __future__ import annotations

import pytest

import kgen
from kgen.call.arguments import bind, describe
from kgen.call.inspection import lower_call
from kgen.codegen.emit import emit
from kgen.codegen.limits import parameter_bytes
from kgen.families import family
from kgen.options import Options
from kgen.pipeline import statements
from kgen.runtime.scalars import pack

SPECS = {
    "contiguous": [kgen.spec((64, 64), "f32"), kgen.spec((64, 64), "f16")],
    "broadcast": [kgen.spec((64, 64), "f32"), kgen.spec((64,), "f16")],
    "columns": [kgen.spec((64, 64), "f32"), kgen.spec((64, 1), "f16")],
    "transposed": [kgen.spec((64, 64), "f32"), kgen.spec((64, 64), "f32", (1, 64))],
    "strided": [kgen.spec((6, 7, 8), "f32", (1, 60, 7)), kgen.spec((6, 7, 8), "i64", (100, 2, 16))],
    "large": [kgen.spec((70_000, 70_000), "f32", (1, 70_000)), kgen.spec((70_000, 1), "f64", (3, 1))],
}


@pytest.mark.parametrize("layout", SPECS)
@pytest.mark.parametrize("extra", ["", " + index(0) * size(1)"])
def test_parameter_bytes(layout: str, extra: str) -> None:
    """Counted as packed: each value at a multiple of its own alignment."""
    kernel = kgen.jit(f"param k: f16 = 1.0\nparam c: c128 = 1j\nout = a + k * b{extra}\nz = a * c")
    args = SPECS[layout]
    lowered = lower_call(kernel._engine, args, {})
    values = describe(kernel.program, bind(kernel.program, args, {}))
    steps = lowered.specialised.steps
    _, entries = emit("k", steps, lowered.variants, statements(kernel.program, Options()), [], family)
    value_of = {"pointer": 8, "size": 8}
    for entry in entries:
        launch = lowered.steps[entry.step].launch
        end = 0
        for p in entry.parameters:
            word = entry.schedule.index_bits // 8
            if p.kind == "layout":
                size, alignment = len(launch.layout), word
            elif p.kind == "scalar":
                scalar = steps[entry.step].graph.scalars[int(p.key)]
                size = alignment = len(pack(scalar.name, getattr(values[scalar.name], "value", 1), scalar.dtype))
            else:
                size = alignment = value_of.get(p.kind, word)
            end = -(-end // alignment) * alignment + size
        assert parameter_bytes(entry.schedule, entry.rule, entry.parameters) == end
