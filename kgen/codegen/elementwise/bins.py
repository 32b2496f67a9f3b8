"""The text of ``bins`` kernels: updates of few elements, which each block combines in shared memory first."""

from __future__ import annotations

from kgen.codegen import names
from kgen.codegen.arguments import Argument
from kgen.codegen.atomics import Update, accumulator_of, update_of
from kgen.codegen.elementwise.context import BinsContext, KernelContext
from kgen.codegen.elementwise.linear import IN_GROUPS, LinearWriter
from kgen.codegen.expressions import Expr, Level
from kgen.codegen.family import Unit, Written
from kgen.codegen.spelling import register_type, spell
from kgen.ir.graph import CastMode, Scatter
from kgen.records import dataclass, replace
from kgen.schedule.elementwise.bins import BinsSchedule
from kgen.syntax.tree import Combine

#: What changes nothing when it is combined, and the helper that it calls.
_IDENTITIES = {"add": ("0", ()), "min": ("highest<{}>()", ("highest",)), "max": ("lowest<{}>()", ("lowest",))}


def write_bins(unit: Unit[BinsSchedule]) -> Written:
    rooms, kinds = dict(unit.schedule.bins), dict[int, Combine]()
    for op in unit.step.graph.ops:
        if isinstance(op.attr, Scatter):
            kinds[op.attr.operand] = op.attr.combine
    bins = tuple(_Bins(unit, number, room, kinds[number]) for number, room in rooms.items())
    written = BinsWriter(unit, IN_GROUPS, bins).write()
    assert isinstance(written.context, KernelContext)
    each = unit.schedule.block * unit.schedule.group
    stride = f"gridDim.x * {each}{'u' if written.context.index == 'unsigned int' else ''}"
    context = replace(written.context, bins=tuple(one.context for one in bins), stride=stride)
    return replace(written, context=context, helpers=tuple(h for one in bins for h in one.helpers))


@dataclass(frozen=True)
class _Bins:
    """The elements of one operand that a block combines."""

    unit: Unit[BinsSchedule]
    number: int
    room: int
    combine: Combine

    @property
    def update(self) -> Update:
        return update_of(self.combine, self.unit.step.graph.operands[self.number].dtype)

    @property
    def adds_halves(self) -> bool:
        dtype = self.unit.step.graph.operands[self.number].dtype
        return self.combine == "add" and dtype.is_narrow

    @property
    def helpers(self) -> tuple[str, ...]:
        if self.adds_halves:
            return (f"add_sums_{self.unit.step.graph.operands[self.number].dtype.short}",)
        return *_IDENTITIES[self.combine][1], *self.update.helpers

    @property
    def context(self) -> BinsContext:
        operand = self.unit.step.graph.operands[self.number]
        accumulator, value = accumulator_of(operand.dtype), names.kept(operand.name)
        type_, shape = register_type(accumulator), names.shape(operand.name)
        converted = value
        if accumulator is not operand.dtype:
            mode = CastMode("rne", False) if operand.dtype.is_float else CastMode("rz", False)
            converted = spell("cast", mode, operand.dtype, [Expr(value, Level.PRIMARY)], [accumulator]).expr.code
        extents = [f"{shape}.extent[{axis}]" for axis in range(len(operand.shape))] or ["1"]
        size = extents[0] if len(extents) == 1 else f"({' * '.join(extents)})"
        return BinsContext(
            names.in_shared(operand.name),
            type_,
            names.count(operand.name),
            size,
            self.room,
            _IDENTITIES[self.combine][0].format(type_),
            value,
            converted,
            names.pointer(operand.name),
            self.update.function,
            "add_sums" if self.adds_halves else "",
        )


@dataclass(frozen=True)
class BinsWriter(LinearWriter):
    """Writes them as kernels that walk all elements in one order, with a loop over the groups of a thread."""

    unit: Unit[BinsSchedule]  # type: ignore[assignment]
    bins: tuple[_Bins, ...]

    def argument(self, argument: Argument, mode: str, at: str) -> str:
        pointers = {one.context.pointer: one.context.name for one in self.bins}
        if argument.kind == "source" and argument.name in pointers:
            return pointers[argument.name]
        return LinearWriter.argument(self, argument, mode, at)

    def launch(self) -> str:
        block, most = self.schedule.block, self.schedule.target.tuning.bins.blocks
        of = f"ceil(n / {block * self.schedule.group}) blocks of {block} threads, at most {most}"
        return f"Launch: {of}, for n {'< 2^30 ' if self.is_narrow else ''}elements."
