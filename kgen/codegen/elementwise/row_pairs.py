"""The text of ``row_pairs`` kernels, in which a thread has a group of two rows."""

from __future__ import annotations

import re

from kgen.codegen import names
from kgen.codegen.arguments import Argument
from kgen.codegen.byte_packs import byte_movers
from kgen.codegen.context import LayoutContext
from kgen.codegen.elementwise.context import PairContext
from kgen.codegen.elementwise.rows import RowsWriter
from kgen.codegen.family import Unit, Written
from kgen.codegen.layouts import index_decomposition, member
from kgen.records import dataclass, replace
from kgen.schedule.elementwise.row_pairs import PairSchedule
from kgen.schedule.schedule import Interleaved


def write_row_pairs(unit: Unit[PairSchedule]) -> Written:
    """A kernel that reads once what two rows share."""
    return RowPairsWriter(unit).write()


@dataclass(frozen=True)
class RowPairsWriter(RowsWriter):
    """Row ``k`` of a thread's two is named by a loop; what both share is outside of it."""

    unit: Unit[PairSchedule]  # type: ignore[assignment]

    @property
    def schedule(self) -> PairSchedule:
        return self.unit.schedule

    def write(self) -> Written:
        parameters, shared = self.parameters(), self.schedule.shared
        each = [i for i in range(len(self.step.accesses)) if i not in shared]
        context = PairContext(
            template="row_pairs.cu.j2",
            name=self.unit.name,
            comment=self.comment(),
            parameters=self.declared(parameters),
            block=self.schedule.block,
            group=self.schedule.group,
            rows=self.schedule.rows,
            index=self.index,
            signed=self.counted,
            thread=self.thread(self.schedule.block),
            along="" if self.schedule.alone else "c0",
            layout=self.layout(),
            offsets=self.offsets(),
            reads_each=self.vectors(written=False, among=each),
            reads_once=self.vectors(written=False, among=shared),
            columns_each=self.once("column", each),
            once=(*self.once("scalar"), *self.once("column", shared)),
            writes=self.vectors(written=True),
            packed=self.call_element([self.argument(a, "(i + j)", packed=True) for a in self.element.arguments]),
            is_part=self.unit.is_part,
        )
        movers = self.word_movers(*context.reads_each, *context.reads_once)
        return Written(context, parameters, movers=(*byte_movers(self.step, self.schedule), *movers))

    def in_wide(self, wide: Interleaved) -> str:
        if wide.first not in self.schedule.alternating:
            return super().in_wide(wide)
        return f"{names.wide(self.labels[wide.first])}.at[{wide.step} * j + k]"

    def row_terms(self, number: int, p: str) -> list[str]:
        """The terms of the offset of row ``k``."""
        pattern, second = self.schedule.accesses[number].pattern, self.schedule.second
        if pattern is None or number in self.schedule.shared:
            return super().row_terms(number, p)
        stride = member(f"{self.pattern(pattern)}_stride", second - 1, self.schedule.rank - 1)
        return [*super().row_terms(number, p), f"k * {stride}"]

    def coordinate(self, dimension: int, p: str) -> str:
        return f"c{dimension} + k" if dimension == self.schedule.second else super().coordinate(dimension, p)

    def argument(self, argument: Argument, p: str, *, packed: bool) -> str:
        text = super().argument(argument, p, packed=packed)
        if argument.kind not in ("read", "write") or int(argument.key) in self.schedule.shared:
            return text
        value, dot, element = text.partition(".at[")
        return text if "_ptr[" in value else f"{value}[k]{dot}{element}"

    def layout(self) -> LayoutContext:
        """The struct; the coordinate along which two rows are neighbours is that of the first one."""
        schedule = self.schedule
        first = int(schedule.alone)
        rank = schedule.rank - first
        lines = index_decomposition(rank, set(range(rank)), schedule.counted)
        lines = [re.sub(r" c(\d) =", lambda found: f" c{int(found[1]) + first} =", line) for line in lines]
        found = f" c{schedule.second} = "
        lines = [line.replace(found, f"{found}{schedule.rows} * ") for line in lines]
        return replace(super().layout(), decomposition=tuple(lines))

    def covered(self, note: str) -> list[str]:
        group, block = self.schedule.group, self.schedule.block
        rows, all_ = {2: ("two", "both"), 3: ("three", "all"), 4: ("four", "all")}[self.schedule.rows]
        shared = names.listed([self.operand(i).name for i in self.schedule.shared])
        return [
            f"Rows, {group} elements of {rows} rows a thread; {shared} read once for {all_}.{note}",
            f"Launch: ceil(n / {block}) blocks of {block} threads, for n groups of {rows} rows each.",
        ]
