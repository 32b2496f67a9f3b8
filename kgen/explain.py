"""``explain``: what was decided for a call, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from kgen.program import Program

if TYPE_CHECKING:
    from kgen.execute import Layouted


@dataclass(frozen=True, slots=True)
class OperandFact:
    """One operand: what it is, and how the kernel reads or writes it."""

    name: str
    role: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    access: str
    bytes: int


@dataclass(frozen=True, slots=True)
class StepFact:
    """One kernel: its schedule and the reasons for it.  ``space`` is the iteration space, fastest dimension first."""

    kernel: str
    shape: tuple[int, ...]
    space: tuple[int, ...]
    reasons: tuple[str, ...]
    operands: tuple[OperandFact, ...]
    schedule: dict[str, Any]

    @property
    def bytes(self) -> int:
        """The fewest bytes that the kernel has to move: each element once."""
        return sum(o.bytes for o in self.operands)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Prints as text; ``to_dict()`` for programs, ``_repr_html_`` for notebooks."""

    program: str
    types: tuple[tuple[str, str], ...]
    steps: tuple[StepFact, ...]
    lints: tuple[str, ...]
    assumed: tuple[tuple[str, str, tuple[int, ...]], ...] = ()  # what a shape with `?` stands for here

    @staticmethod
    def of(program: Program, plan: Layouted) -> Explanation:
        kernel = plan.specialised.kernel
        types = [(o.name, f"{o.role} {o.dtype}") for o in kernel.operands]
        types += [(s.name, f"by value {s.dtype}") for s in kernel.scalars]
        steps: list[StepFact] = []
        for step, placed, schedule, reasons in zip(
            plan.specialised.steps, plan.placed, plan.schedules, plan.reasons, strict=True
        ):
            operands: list[OperandFact] = []
            for touch, chosen in zip(step.touches, schedule.touches, strict=True):
                operand, array = kernel.operands[touch.operand], plan.arrays[touch.operand]
                access = (
                    chosen.access
                    if chosen.access != "vector"
                    else f"vector of {schedule.group}, {chosen.alignment}-byte accesses"
                )
                times = touch.reads + touch.writes
                operands.append(
                    OperandFact(
                        operand.name,
                        operand.role,
                        str(operand.dtype),
                        array.shape,
                        array.strides,
                        access,
                        times * _distinct(array.shape, array.strides) * array.itemsize,
                    )
                )
            steps.append(
                StepFact(
                    schedule.suffix(placed.itemsizes),
                    placed.shape,
                    placed.space.shape,
                    reasons,
                    tuple(operands),
                    schedule.to_dict(),
                )
            )
        return Explanation(
            program.source.text.strip(), tuple(types), tuple(steps), tuple(d.render() for d in plan.specialised.lints)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "program": self.program,
            "types": dict(self.types),
            "lints": list(self.lints),
            "assumed": {name: list(shape) for name, _, shape in self.assumed},
            "kernels": [
                {
                    "kernel": s.kernel,
                    "shape": list(s.shape),
                    "iteration_space": list(s.space),
                    "bytes": s.bytes,
                    "reasons": list(s.reasons),
                    "operands": [
                        {
                            "name": o.name,
                            "role": o.role,
                            "dtype": o.dtype,
                            "shape": list(o.shape),
                            "strides": list(o.strides),
                            "access": o.access,
                            "bytes": o.bytes,
                        }
                        for o in s.operands
                    ],
                    "schedule": s.schedule,
                }
                for s in self.steps
            ],
        }

    def __str__(self) -> str:
        lines = [self.program, "", "types"]
        width = max((len(n) for n, _ in self.types), default=0)
        lines += [f"  {name:<{width}}  {what}" for name, what in self.types]
        if self.assumed:
            lines += ["", "`?` stands for a number here"]
            lines += [f"  {name}: {stated} is taken as {' x '.join(map(str, s))}" for name, stated, s in self.assumed]
        for number, step in enumerate(self.steps, 1):
            noun = "element" if math.prod(step.space) == 1 else "elements"
            space = " x ".join(map(str, reversed(step.space)))
            amount = f"{space or 1} {noun}, {step.bytes:,} bytes at least"
            lines += ["", f"kernel {number} of {len(self.steps)}: {step.kernel}, {amount}"]
            wide = max(len(o.name) for o in step.operands)
            for o in step.operands:
                lines.append(f"  {o.name:<{wide}}  {o.dtype} {list(o.shape)} strides {list(o.strides)}: {o.access}")
            lines += [f"  - {reason}" for reason in step.reasons]
        return "\n".join([*lines, *(["", *self.lints] if self.lints else [])])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _distinct(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements in memory: a broadcast dimension counts once."""
    total = 1
    for n, s in zip(shape, strides, strict=True):
        total *= n if s != 0 else min(n, 1)
    return total
