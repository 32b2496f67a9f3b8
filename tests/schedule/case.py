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
from dataclasses import dataclass

from kgen import pipeline
from kgen.ahead import _placed
from kgen.banner import Options
from kgen.check import ArrayArg
from kgen.decide import Decider, Layouted, allocate_layouts
from kgen.dtypes import BY_NAME, DType
from kgen.pipeline import Specialised
from kgen.program import Program
from kgen.schedule.bind import Array, extents_of
from kgen.schedule.launch import launch_of
from kgen.schedule.schedule import Schedule
from kgen.schedule.target import Target, target_of
from kgen.spec import c_strides
from tests.cases.headers import header

_TARGET = re.compile(r"^target: (?P<arch>portable|sm_\d+)\n")
_ARRAY = re.compile(
    r"^(?P<name>\w+): (?P<dtype>\w+)\[(?P<shape>[\d?, ]*)\]"
    r"(?: strides(?P<strides>(?: -?\d+)*))?(?: align (?P<align>\d+))?(?P<aliased> aliased)?$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Operand:
    """An array as a case states it; None: an extent that is not stated."""

    dtype: DType
    shape: tuple[int | None, ...]
    strides: tuple[int, ...] | None
    align: int
    aliased: bool

    @property
    def array(self) -> Array:
        shape = tuple(n for n in self.shape if n is not None)
        strides = c_strides(shape) if self.strides is None else self.strides
        return Array(shape, strides, self.dtype.size, self.align)


@dataclass(frozen=True, slots=True)
class Case:
    """What stands before the line."""

    program: Program
    target: Target
    operands: dict[str, Operand]

    @property
    def stated(self) -> bool:
        """Whether every extent is."""
        return all(None not in o.shape for o in self.operands.values())

    def specialised(self) -> Specialised:
        args = header("", self.program).args
        args |= {a.name: ArrayArg(self.operands[a.name].dtype, self._shape(a.name)) for a in self.program.arguments}
        return pipeline.specialise(self.program, args)

    def _shape(self, name: str) -> tuple[int | None, ...]:
        return self.operands[name].shape

    def decided(self) -> Layouted:
        """The whole program up to its schedules."""
        specialised = self.specialised()
        if not self.stated:
            shapes = {n: o.shape for n, o in self.operands.items()}
            strides = {n: o.strides for n, o in self.operands.items() if o.strides is not None}
            return _placed(self.program, specialised, shapes, strides, self.target)
        arrays = self._arrays(specialised)
        extents = extents_of(specialised.kernel, [None if a is None else a.shape for a in arrays])
        assert extents is not None
        specialised = pipeline.fit(specialised, extents, lambda: self._arrays(specialised), self.program.source)
        full = allocate_layouts(specialised, extents, self._arrays(specialised))
        aliased = [[self._is_aliased(specialised, t.operand) for t in s.touches] for s in specialised.steps]
        decider = Decider(self.program, "golden", None, Options())
        return decider.lay_out(specialised, extents, full, aliased, self.target)

    def _arrays(self, specialised: Specialised) -> list[Array | None]:
        known = [self.operands.get(o.name) for o in specialised.kernel.operands]
        return [None if o is None else o.array for o in known]

    def _is_aliased(self, specialised: Specialised, operand: int) -> bool:
        known = self.operands.get(specialised.kernel.operands[operand].name)
        return known is not None and known.aliased


def parse(text: str) -> Case:
    """The case that a text states."""
    target = _TARGET.match(text)
    assert target is not None, "the first line says for which target: `target: portable` or `target: sm_90`"
    operands = {
        line["name"]: Operand(
            BY_NAME[line["dtype"]],
            tuple(None if n == "?" else int(n) for n in re.findall(r"\d+|\?", line["shape"])),
            None if line["strides"] is None else tuple(int(n) for n in line["strides"].split()),
            int(line["align"] or 16),
            line["aliased"] is not None,
        )
        for line in _ARRAY.finditer(text)
    }
    program = pipeline.load(_ARRAY.sub("", text[target.end() :]).strip() + "\n")
    return Case(program, target_of(target["arch"]), operands)


def report(text: str) -> str:
    """What the schedule stage decides for a case, as goldens show it."""
    return "\n".join(_lines(parse(text).decided()))


def _lines(plan: Layouted) -> Iterator[str]:
    kernel, several = plan.specialised.kernel, len(plan.schedules) > 1
    steps = zip(plan.specialised.steps, plan.placed, plan.schedules, plan.reasons, strict=True)
    for number, (step, placed, schedule, reasons) in enumerate(steps, 1):
        names = [f"{kernel.operands[t.operand].name}: {placed.space.strides[i]}" for i, t in enumerate(step.touches)]
        reduced = f", {placed.reduced} reduced" if placed.reduced else ""
        if several:
            yield f"kernel {number} of {len(plan.schedules)}"
        yield f"space {placed.space.shape}, fastest first{reduced}; strides {', '.join(names)}"
        yield from reasons
        launch = launch_of(schedule, placed.space)
        yield f"grid {launch.grid}, block {launch.block}, n {launch.n}"
        yield _json(schedule)
        yield ""


def _json(schedule: Schedule) -> str:
    """One touch a line."""
    text = json.dumps(schedule.to_dict(), indent=1)
    return re.sub(r"\{\s+(\"access\".*?)\s+\}", lambda m: "{" + re.sub(r"\s+", " ", m[1]) + "}", text, flags=re.S)
