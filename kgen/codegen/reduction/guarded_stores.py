"""Stores of whole rows at computed places, under a condition that is one for a row.

What only these need is computed where the condition holds: the values of a row, its address, and its elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen.element import Element, Writer
from kgen.codegen.gathers import needed
from kgen.codegen.reduction.calls import Calls, Functions, Values, reads_of
from kgen.codegen.reduction.context import Read
from kgen.codegen.reduction.gathered_rows import GatheredRows
from kgen.codegen.reduction.parts import Parts
from kgen.codegen.reduction.registers import Registers
from kgen.codegen.reduction.row_addresses import RowAddresses
from kgen.codegen.reduction.row_context import Guarded
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class GuardedStores:
    """``writer``: has written all values of a row but those that only one condition needs."""

    parts: Parts
    registers: Registers
    rows: GatheredRows
    addresses: RowAddresses
    functions: Functions
    calls: Calls
    values: Values
    writer: Writer

    def written(self, base: str) -> tuple[Guarded, ...]:
        """The stores under each condition.  ``base``: the start of the names of their functions."""
        guards = self.addresses.guards
        return tuple(
            self._block(guard, [n for n, by in guards.items() if by == guard], f"{base}_element{number}")
            for number, guard in enumerate(dict.fromkeys(guards.values()), 1)
        )

    def _block(self, guard: int, stores: Sequence[int], name: str) -> Guarded:
        known = dict(self.writer.exprs)
        uniform = {a for n in self.parts.behind(stores) for a in self.parts.values_of(n) if not self.parts.varies[a]}
        lines = list(self.writer.lines(needed(self.parts.step.graph.ops, uniform, tuple(known))))
        own = self.writer.exprs.keys() - known.keys()
        for n in own & self.parts.common:
            self.values.rows[n] = self.values.passed[n] = self.writer.exprs[n].code
        lines += self.addresses.found(stores, self.writer)
        function = self.functions.write(len(self.parts.rounds), name, stores, by_group=False)
        schedule = self.calls.operands.schedule
        found = Guarded(
            self.writer.exprs[guard].code, tuple(lines), self._reads(function), self.rows.stored(stores),
            self.calls.call(function), self.calls.places.uses.in_loop(schedule),
        )  # fmt: skip
        for n in self.writer.exprs.keys() - known.keys():  # of this block
            del self.writer.exprs[n]
            self.values.rows.pop(n, None)
            self.values.passed.pop(n, None)
        return found

    def _reads(self, function: Element) -> tuple[Read, ...]:
        return (*self.registers.again(reads_of(function)), *self.rows.again(function))
