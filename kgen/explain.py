"""``explain``: the schedules of a call, and the reasons for them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any

from kgen.diagnostics import printable
from kgen.families import classes_of, suffix_of
from kgen.ir.graph import Gather, Scatter
from kgen.program import Program
from kgen.records import dataclass
from kgen.schedule.step_layout import Placed, concrete

if TYPE_CHECKING:
    from kgen.codegen.kernels import Module
    from kgen.lowering import Lowered, LoweredStep
    from kgen.runtime.cuda.usage import Usage


@dataclass(frozen=True, slots=True)
class OperandFact:
    """One operand of a kernel: its layout class, its access, and how it limits the kernel."""

    name: str
    role: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kind: str
    access: str
    limits: tuple[str, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class KernelFact:
    """One kernel: its schedule and the reasons for it.  ``spaces``: the iteration space, or those of its parts, fastest
    dimension first.

    ``costs``: predicted seconds of the kernel, and of other families where they were compared; empty where its extents
    are not known.
    """

    kernel: str
    shape: tuple[int, ...]
    spaces: tuple[tuple[int, ...], ...]
    reasons: tuple[str, ...]
    operands: tuple[OperandFact, ...]
    schedule: dict[str, Any]
    costs: tuple[tuple[str, float], ...]
    usage: Usage | None  # None: no compiler is installed

    @property
    def bytes(self) -> int:
        """The least bytes of memory traffic: each element once."""
        return sum(o.bytes for o in self.operands)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Prints as text; ``to_dict()`` for programs, ``_repr_html_`` for notebooks."""

    program: str
    types: tuple[tuple[str, str], ...]
    steps: tuple[KernelFact, ...]
    lints: tuple[str, ...]
    assumed: tuple[tuple[str, str, tuple[int, ...]], ...] = ()  # name, shape with `?`, and the shape assumed
    notes: tuple[str, ...] = ()  # what a derived program saves, and computes again

    @staticmethod
    def of(program: Program, lowered: Lowered, module: Module, usage: Mapping[str, Usage], table: int) -> Explanation:
        """``table``: the number of the table of tuned numbers.  One other than the usual one predicts no times: it is
        tried because predictions are uncertain.
        """
        by_table = (f"table {table} of tuned numbers",) if table else ()
        graph = lowered.specialised.graph
        types = [
            (o.name, f"{o.role if o.view is None else f'view {graph.show_view(o.view)}'} {o.dtype}")
            for o in graph.operands
        ]
        types += [(s.name, f"by value {s.dtype}") for s in graph.scalars]
        steps = [
            KernelFact(
                suffix_of(step.schedule, step.placed.itemsizes), step.placed.shape, _spaces(step.placed),
                (*step.reasons, *entry.launch_lines, *by_table), tuple(_operands(lowered, step)),
                step.schedule.to_dict(), () if table else _costs(lowered, step), usage.get(entry.name),
            )
            for step, entry in zip(lowered.steps, module.entries, strict=True)
        ]  # fmt: skip
        lints = tuple(d.render() for d in lowered.specialised.lints)
        return Explanation(program.source.text.strip(), tuple(types), tuple(steps), lints)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "program": self.program,
            "types": dict(self.types),
            "lints": list(self.lints),
            "notes": list(self.notes),
            "assumed": {name: list(shape) for name, _, shape in self.assumed},
            "kernels": [
                {
                    "kernel": s.kernel,
                    "shape": list(s.shape),
                    "iteration_space": [extent for space in s.spaces for extent in space],
                    "bytes": s.bytes,
                    "reasons": list(s.reasons),
                    "operands": [
                        {
                            "name": o.name,
                            "role": o.role,
                            "dtype": o.dtype,
                            "shape": list(o.shape),
                            "strides": list(o.strides),
                            "class": o.kind,
                            "access": o.access,
                            "limits": list(o.limits),
                            "bytes": o.bytes,
                        }
                        for o in s.operands
                    ],
                    "schedule": s.schedule,
                    "costs": dict(s.costs),
                    "usage": None if s.usage is None else asdict(s.usage),
                }
                for s in self.steps
            ],
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [printable(self.program.expandtabs()), "", "types"]
        width = max((len(n) for n, _ in self.types), default=0)
        lines += [f"  {name:<{width}}  {what}" for name, what in self.types]
        if self.assumed:
            lines += ["", "extents that are left open"]
            lines += [f"  {name}: {stated} is taken as {' x '.join(map(str, s))}" for name, stated, s in self.assumed]
        lines += _titled("values that the gradients read", self.notes)
        for number, step in enumerate(self.steps, 1):
            noun = "element" if math.prod(step.spaces[0]) == 1 else "elements"
            spaces = [" x ".join(map(str, reversed(space))) for space in step.spaces]
            amount = f"{' and '.join(spaces) or 1} {noun}, {step.bytes:,} bytes at least"
            lines += ["", f"kernel {number} of {len(self.steps)}: {step.kernel}, {amount}"]
            wide = max(len(o.name) for o in step.operands)
            for o in step.operands:
                lines.append(f"  {o.name:<{wide}}  {o.dtype} {list(o.shape)} strides {list(o.strides)}")
                lines.append(f"  {'':<{wide}}  {'; '.join([f'{o.kind}: {o.access}', *o.limits])}")
            lines += [f"  - {reason}" for reason in step.reasons]
            lines += [f"  - {_predicted(step.costs)}"] if step.costs else []
            if step.usage is not None:
                lines.append(f"  - {_resource_usage(step.usage)}")
        return "\n".join([*lines, *(["", *self.lints] if self.lints else [])])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _spaces(placed: Placed) -> tuple[tuple[int, ...], ...]:
    """The extents of the space that a kernel walks, or of those of its parts."""
    return tuple(part.space.shape for part in placed.parts or (placed,))


def _titled(title: str, notes: tuple[str, ...]) -> list[str]:
    return ["", title, *(f"  - {note}" for note in notes)] if notes else []


def _operands(lowered: Lowered, step: LoweredStep) -> Iterator[OperandFact]:
    """The facts on each operand that a kernel reads or writes."""
    found = classes_of(step.schedule, step.placed.space, step.placed.itemsizes)
    for access, of in zip(step.step.accesses, found, strict=True):
        operand, array = lowered.specialised.graph.operands[access.operand], lowered.arrays[access.operand]
        size = (access.reads + access.writes) * _distinct(array.shape, array.strides) * array.itemsize
        yield OperandFact(
            operand.name,
            operand.role,
            str(operand.dtype),
            array.shape,
            array.strides,
            of.name,
            of.moves,
            of.limits,
            size,
        )

    graph = step.step.graph
    for number in sorted(graph.gathered):
        operand, array = graph.operands[number], lowered.arrays[number]
        shapes = {op.shape for op in graph.ops if isinstance(op.attr, Gather) and op.attr.operand == number}
        count = sum(math.prod(concrete(shape, lowered.sizes.extents)) for shape in shapes)
        yield OperandFact(
            operand.name, operand.role, str(operand.dtype), array.shape, array.strides, "gathered",
            f"{_moves(step, number)}, at computed places; 0 outside of the array",
            _not_coalesced(step, number, array.strides), count * array.itemsize,
        )  # fmt: skip

    for number in sorted(graph.scattered):
        operand, array = graph.operands[number], lowered.arrays[number]
        shapes = {op.shape for op in graph.ops if isinstance(op.attr, Scatter) and op.attr.operand == number}
        count = sum(math.prod(concrete(shape, lowered.sizes.extents)) for shape in shapes)
        yield OperandFact(
            operand.name, operand.role, str(operand.dtype), array.shape, array.strides, "scattered",
            f"{_moves(step, number)}, {_at_places(step, number)}",
            _not_coalesced(step, number, array.strides), count * array.itemsize,
        )  # fmt: skip


def _moves(step: LoweredStep, operand: int) -> str:
    """How an operand is accessed at computed places."""
    by_rows = operand in dict(step.schedule.gathered)
    return f"rows by groups of {step.schedule.group}" if by_rows else "element by element"


def _not_coalesced(step: LoweredStep, operand: int, strides: tuple[int, ...]) -> tuple[str, ...]:
    """Whether neighbours lie anywhere: where the places along the axis that is consecutive in memory are data."""
    ops = step.step.graph.ops
    for op in ops:
        if isinstance(op.attr, Gather | Scatter) and op.attr.operand == operand:
            along = [ops[place].name for place, stride in zip(op.places, strides, strict=True) if abs(stride) == 1]
            varies = any(dim != 1 for place in op.places for dim in ops[place].shape)
            if varies and "index" not in along:
                return ("not coalesced: an element may take 32 bytes of memory traffic",)
    return ()


def _at_places(step: LoweredStep, operand: int) -> str:
    """What is done with an operand that is written at computed places."""
    attrs = (op.attr for op in step.step.graph.ops)
    (combine,) = {a.combine for a in attrs if isinstance(a, Scatter) and a.operand == operand}
    how = "" if combine == "set" else f" by atomic {combine}"
    return f"at computed places{how}; none outside of the array"


def _costs(lowered: Lowered, step: LoweredStep) -> tuple[tuple[str, float], ...]:
    """As :class:`KernelFact` has them."""
    if step.seconds is not None:
        return ((step.schedule.template, step.seconds), *step.others)
    from kgen.predicted import seconds_of

    known = lowered.sizes.are_known(step.step.shape) and step.placed.points > 0
    return ((step.schedule.template, seconds_of(step, lowered.target)),) if known else ()


def _predicted(costs: tuple[tuple[str, float], ...]) -> str:
    """The predicted times of the kernel that was chosen, and of those that were not."""
    (_, least), *others = [(name, f"{1e6 * seconds:.1f} us") for name, seconds in costs]
    beside = ", ".join(f"{name} {time}" for name, time in others)
    return f"predicted time: {least}" + (f"; of other families: {beside}" if beside else "")


def _resource_usage(usage: Usage) -> str:
    text = f"on {usage.arch}: {usage.registers} registers a thread, {usage.shared:,} bytes of shared memory a block"
    if usage.spilled:
        return f"SPILLS {text}, {usage.spilled} bytes moved to local memory and back: please report this"
    if usage.local:
        return f"LOCAL MEMORY {text}, {usage.local} bytes of local memory a thread"
    return f"{text}, no local memory"


def _distinct(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements in memory: a broadcast dimension counts once."""
    total = 1
    for n, s in zip(shape, strides, strict=True):
        total *= n if s != 0 else min(n, 1)
    return total
