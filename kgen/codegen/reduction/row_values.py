"""What kernels that reduce along rows compute once a row, outside of the rounds."""

from __future__ import annotations

from kgen.codegen import names
from kgen.codegen.element import PRIMARY, Writer
from kgen.codegen.reduction.calls import Values
from kgen.codegen.reduction.context import Value
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.parts import Parts
from kgen.codegen.reduction.places import RowPlaces
from kgen.codegen.reduction.sections import access_of
from kgen.codegen.spelling import Expr, register_type
from kgen.ir.graph import IndexMap
from kgen.partition.reduction_step import ReductionStep
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class RowValues:
    """Loads, indices and values of a row, and its results of one element.  ``writer``: writes them."""

    step: ReductionStep
    parts: Parts
    operands: Operands
    places: RowPlaces
    values: Values
    writer: Writer

    def named(self) -> list[str]:
        """Register the names of a row's values.  Returns the lines that compute the reciprocals of divisors."""
        lines: list[str] = []
        rows, reciprocals = self.values.rows, self.values.reciprocals
        for n in sorted(self.parts.common):
            leaf = self.step.graph.ops[n].name in ("const", "scalar", "size")
            if n in self.writer.exprs and not leaf and not self.parts.of_segment[n]:
                rows[n] = self.values.passed[n] = self.writer.exprs[n].code
                if n in self.parts.divisors and n not in reciprocals:
                    reciprocals[n] = self.values.unique(names.reciprocal(rows[n]))
                    lines.append(f"const float {reciprocals[n]} = {self.parts.inverted(n, rows[n])};")
        return lines

    def fetched(self) -> tuple[Value, ...]:
        """The values that a thread loads, or computes from indices, once a row."""
        ops, parts, exprs = self.step.graph.ops, self.parts, self.writer.exprs
        found: list[Value] = []
        for number, op in enumerate(ops):
            if op.name in ("scalar", "size"):
                exprs[number] = Expr(self.values.parameter(op), PRIMARY)
            elif op.name == "index" and not parts.varies[number]:
                name = self.values.unique(f"index{self.step.places[number][int(str(op.attr))] or 0}")
                exprs[number] = Expr(name, PRIMARY)
                if number in parts.common or any(number in ops[n].args for n in parts.last()):
                    found.append(Value("long long", name, self.places.coordinate(number)))
            elif op.name == "load" and not parts.varies[number] and number in parts.common:
                found.append(self.row_load(number))
        return tuple(found)

    def row_load(self, number: int) -> Value:
        access = access_of(self.step, number)
        operand = self.operands.operand(access)
        value = self.values.unique(names.value(operand.name))
        self.writer.exprs[number] = Expr(value, PRIMARY)
        return Value(register_type(operand.dtype), value, self.places.row_element(access))

    def stores(self) -> tuple[str, ...]:
        """The lines that store outputs with one element a row."""
        ops, last = self.step.graph.ops, self.parts.last()
        loads = [self.row_load(n) for n in last if ops[n].name == "load" and n not in self.writer.exprs]
        lines = [f"const {value.type} {value.name} = {value.code};" for value in loads]
        for n in self.parts.row_stores:
            attr = ops[n].attr
            if isinstance(attr, IndexMap):
                self.writer.places[attr.operand] = self.places.row_element(access_of(self.step, n))
        return (*lines, *self.writer.lines(last))
