"""Every file of ``cases/schedule``: a program and where its arrays lie, a line, and what was chosen and why.

    out = a + b
    a: f32[4, 3] strides 3 1 align 16
    ---
    reasons, then the schedule as JSON, for each kernel

``strides`` in elements (default: C order), ``align`` in bytes (default 16), ``aliased``: other operands may share the
memory.  Outputs that are not listed are allocated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kgen import pipeline
from kgen.check import ArrayArg
from kgen.dtypes import BY_NAME
from kgen.ir.kernel import Kernel
from kgen.partition.step import Step
from kgen.schedule.bind import Array, Extents, allocated_strides, concrete, extents_of
from kgen.schedule.launch import launch_of
from kgen.spec import c_strides
from tests.cases.headers import files, header

_ARRAY = re.compile(
    r"^(?P<name>\w+): (?P<dtype>\w+)\[(?P<shape>[\d, ]*)\]"
    r"(?: strides(?P<strides>(?: -?\d+)*))?(?: align (?P<align>\d+))?(?P<aliased> aliased)?$",
    re.MULTILINE,
)


def _ints(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"-?\d+", text))


def chosen(text: str) -> str:
    """What the schedule stage decides for a case."""
    lines = list(_ARRAY.finditer(text))
    program = pipeline.load(_ARRAY.sub("", text).strip() + "\n")
    arrays: dict[str, Array] = {}
    for line in lines:
        shape = _ints(line["shape"])
        strides = c_strides(shape) if line["strides"] is None else _ints(line["strides"])
        dtype = BY_NAME[line["dtype"]]
        arrays[line["name"]] = Array(shape, strides, dtype.size, int(line["align"] or 16))
    dtypes = {line["name"]: BY_NAME[line["dtype"]] for line in lines}
    aliased = {line["name"] for line in lines if line["aliased"]}
    args = header("", program).args
    args |= {a.name: ArrayArg(dtypes[a.name], arrays[a.name].shape) for a in program.arguments}
    specialised = pipeline.specialise(program, args)
    kernel = specialised.kernel
    extents = extents_of(kernel, [arrays[o.name].shape if o.name in arrays else None for o in kernel.operands])
    assert extents is not None
    report: list[str] = []
    for step in specialised.steps:
        everywhere = _operands(kernel, arrays, extents, step)
        sharing = [kernel.operands[t.operand].name in aliased for t in step.touches]
        placed = pipeline.place(step, everywhere, extents, sharing)
        choice = pipeline.schedule(step, placed)
        names = [f"{kernel.operands[t.operand].name}: {placed.space.strides[i]}" for i, t in enumerate(step.touches)]
        launch = launch_of(choice.schedule, placed.space)
        report += [f"space {placed.space.shape}, fastest first; strides {', '.join(names)}"]
        report += [*choice.reasons, f"grid {launch.grid}, block {launch.block}, n {launch.n}"]
        report += [json.dumps(choice.schedule.to_dict(), indent=1), ""]
    # One touch a line.
    return re.sub(
        r"\{\s+(\"access\".*?)\s+\}", lambda m: "{" + re.sub(r"\s+", " ", m[1]) + "}", "\n".join(report), flags=re.S
    )


def _operands(kernel: Kernel, arrays: dict[str, Array], extents: Extents, step: Step) -> list[Array]:
    found: list[Array] = []
    known = [arrays.get(o.name) for o in kernel.operands]
    for number, (operand, array) in enumerate(zip(kernel.operands, known, strict=True)):
        if array is None:
            shape = concrete(operand.shape, extents)
            touched = operand.role == "output" and any(t.operand == number for t in step.touches)
            strides = allocated_strides(kernel, number, known, extents) if touched else c_strides(shape)
            array = Array(shape, strides, operand.dtype.size, 16)
        found.append(array)
    return found


@pytest.mark.parametrize("path", files("schedule", "*.txt"), ids=lambda path: path.stem)
def test_schedule(path: Path, bless: Callable[[Path, str], None]) -> None:
    """These layouts give this schedule, for these reasons."""
    given = path.read_text(encoding="utf-8").partition("\n---\n")[0].rstrip("\n")
    bless(path, f"{given}\n---\n{chosen(given)}")
