"""Cases of ``cases/schedule``: a target, a program, where its arrays lie, and after ``---`` what is decided and why.

    target: sm_90
    out = sum(a, axis=-1)
    a: f32[4, ?] strides 8 1 align 4
    ---
    for each kernel: its space, the reasons, the launch, and the schedule as JSON

``target``: ``portable``, or the oldest architecture.  ``?``: an extent that is not stated (as in ``--shape a=4x?``).
``strides`` in elements (default: C order), ``align`` in bytes (default 16), ``aliased``: other operands may overlap
it.  Outputs that are not listed are allocated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kgen import pipeline
from kgen.compile_spec import CompileSpec
from kgen.dtypes import BY_NAME
from kgen.lowering import Layouts, Lowered, Specialised
from kgen.operands import Argument, ArrayOperand, Operands, Sizes
from kgen.program import Program
from kgen.schedule.schedule import Schedule
from kgen.schedule.target import Target, target_of

_TARGET = re.compile(r"^target: (?P<arch>portable|sm_\d+)\n")
_ARRAY = re.compile(
    r"^(?P<name>\w+): (?P<dtype>\w+)\[(?P<shape>[\d?, ]*)\]"
    r"(?: strides(?P<strides>(?: -?\d+)*))?(?: align (?P<align>\d+))?(?P<aliased> aliased)?$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Case:
    """What stands before the line.  ``aliased``: operands that others may overlap."""

    program: Program
    target: Target
    operands: Operands
    aliased: frozenset[str]

    def lowered(self) -> Lowered:
        stages = replace(pipeline.STAGES, allocate=self._allocate)
        return pipeline.run_stages(stages, self.program, self.operands, self.target)

    def _allocate(self, cut: Specialised, sizes: Sizes, operands: Operands) -> Layouts:
        graph = cut.graph
        aliased = [tuple(graph.operands[t.operand].name in self.aliased for t in s.accesses) for s in cut.steps]
        return replace(pipeline.allocate(cut, sizes, operands), aliased=tuple(aliased))


def parse(text: str) -> Case:
    """The case that a text states."""
    target = _TARGET.match(text)
    assert target is not None, "the first line says for which target: `target: portable` or `target: sm_90`"
    program = pipeline.load(_ARRAY.sub("", text[target.end() :]).strip() + "\n")
    lines = {line["name"]: line for line in _ARRAY.finditer(text)}
    arrays = {name: _operand(line) for name, line in lines.items()}
    arguments: dict[str, Argument] = dict(CompileSpec().operands(program).arguments)
    arguments |= {a.name: arrays[a.name] for a in program.arguments}
    outputs = {name: array for name, array in arrays.items() if name not in arguments}
    aliased = frozenset(name for name, line in lines.items() if line["aliased"])
    return Case(program, target_of(target["arch"]), Operands(arguments, outputs), aliased)


def _operand(line: re.Match[str]) -> ArrayOperand:
    shape = tuple(None if n == "?" else int(n) for n in re.findall(r"\d+|\?", line["shape"]))
    strides = None if line["strides"] is None else tuple(int(n) for n in line["strides"].split())
    return ArrayOperand(BY_NAME[line["dtype"]], shape, strides, int(line["align"] or 16))


def report(text: str) -> str:
    """What the schedule stage decides for a case, as goldens show it."""
    return "\n".join(_lines(parse(text).lowered()))


def _lines(lowered: Lowered) -> Iterator[str]:
    graph = lowered.specialised.graph
    for number, step in enumerate(lowered.steps, 1):
        space, accesses = step.placed.space, step.step.accesses
        names = [f"{graph.operands[t.operand].name}: {space.strides[i]}" for i, t in enumerate(accesses)]
        reduced = f", {step.placed.reduced} reduced" if step.placed.reduced else ""
        if len(lowered.steps) > 1:
            yield f"kernel {number} of {len(lowered.steps)}"
        yield f"space {space.shape}, fastest first{reduced}; strides {', '.join(names)}"
        yield from step.reasons
        yield f"grid {step.launch.grid}, block {step.launch.block}, n {step.launch.n}"
        yield _json(step.schedule)
        yield ""


def _json(schedule: Schedule) -> str:
    """One access a line."""
    text = json.dumps(schedule.to_dict(), indent=1)
    return re.sub(r"\{\s+(\"access\".*?)\s+\}", lambda m: "{" + re.sub(r"\s+", " ", m[1]) + "}", text, flags=re.S)
