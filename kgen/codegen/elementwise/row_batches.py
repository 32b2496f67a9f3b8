"""The text of ``batches`` and ``row_batches`` kernels: a thread has several groups, a block of threads apart."""

from __future__ import annotations

from kgen.codegen import names
from kgen.codegen.arguments import Argument
from kgen.codegen.elementwise.context import BatchContext
from kgen.codegen.elementwise.rows import RowsWriter
from kgen.codegen.family import Unit, Written
from kgen.codegen.helpers import GATHER
from kgen.schedule.elementwise.row_batches import GROUPS
from kgen.schedule.schedule import Schedule


def write_row_batches(unit: Unit[Schedule]) -> Written:
    """A kernel that finds all rows of a thread before it reads any."""
    return RowBatchesWriter(unit).write()


class RowBatchesWriter(RowsWriter):
    """Group ``k`` of a thread's is named by a loop."""

    def write(self) -> Written:
        parameters, schedule = self.parameters(), self.schedule
        numbered = sorted({dimension for _, dimension in schedule.coordinates if dimension > 0})
        context = BatchContext(
            template="row_batches.cu.j2",
            name=self.unit.name,
            comment=self.comment(),
            parameters=self.declared(parameters),
            block=schedule.block,
            group=schedule.group,
            batch=GROUPS,
            index=self.index,
            signed=self.counted,
            offset_type=self.signed,
            thread=self.thread(schedule.block * GROUPS),
            apart=f"{schedule.block}{'u' if schedule.count_bits == 32 else 'll'}",
            layout=self.layout(),
            offsets=self.offsets(),
            places=tuple(f"{names.offset(self.pattern(n))}[{GROUPS}]" for n in range(schedule.patterns)),
            coordinates=tuple(f"c{dimension}" for dimension in numbered),
            scalars=self.once("scalar"),
            columns=self.once("column"),
            reads=self.vectors(written=False),
            writes=self.vectors(written=True),
            gathered=tuple(map(self.gathered, self.rows.values())),
            packed=self.call_element([self.argument(a, "(i[k] + j)", packed=True) for a in self.element.arguments]),
            is_part=self.unit.is_part,
        )
        return Written(context, parameters, movers=self.movers())

    def movers(self) -> tuple[str, ...]:
        return tuple(mover for mover in super().movers() if mover != GATHER)  # of single elements

    def offset_start(self, name: str) -> str:
        return f"{name}[k] = "

    def position(self, number: int, p: str) -> str:
        return super().position(number, "i[k]" if p == "i" else p)

    def row_terms(self, number: int, p: str) -> list[str]:
        return [f"{term}[k]" for term in super().row_terms(number, p)]

    def coordinate(self, dimension: int, p: str) -> str:
        return super().coordinate(dimension, p) if dimension == 0 else f"coordinate{dimension}[k]"

    def argument(self, argument: Argument, p: str, *, packed: bool) -> str:
        text = super().argument(argument, "i[k]" if p == "i" else p, packed=packed)
        match argument.kind:
            case "read" if self.schedule.accesses[int(argument.key)].kind != "scalar":
                value, dot, element = text.partition(".at[")
                return f"{value}[k]{dot}{element}"
            case "row":
                return f"{text}[k]"
            case "gathered" if self.rows[int(argument.key)].element is None:
                return f"{self.rows[int(argument.key)].vector}[k].at[j]"
        return text

    def covered(self, note: str) -> list[str]:
        block = self.schedule.block
        rows, of = ("Rows, ", " of a row") if self.schedule.rank > 1 else ("", "")
        each = f"{rows}{GROUPS} times {self.schedule.group} elements{of} a thread"
        return [
            f"{each}, a block of threads apart.{note}",
            f"Launch: ceil(n / {block * GROUPS}) blocks of {block} threads, for n groups.",
        ]
