"""What is the same for all elements of a column, and is computed once for each of a thread's columns."""

from __future__ import annotations

from collections.abc import Callable

from kgen.codegen.element import PRIMARY, Writer
from kgen.codegen.expressions import Expr, Level
from kgen.codegen.reduction.calls import Values
from kgen.codegen.reduction.column_values import ColumnArrays
from kgen.codegen.reduction.facts import Facts
from kgen.codegen.reduction.parts import Parts
from kgen.codegen.reduction.sections import access_of
from kgen.ir.graph import IndexMap
from kgen.records import dataclass
from kgen.schedule.reduction.schedule import ColumnSchedule


@dataclass(frozen=True, slots=True)
class Once:
    """The accesses that are read for it, and the ``lines`` for each column, which fill ``arrays``."""

    reads: frozenset[int]
    arrays: tuple[str, ...]
    lines: tuple[str, ...]
    headers: tuple[str, ...]
    helpers: tuple[str, ...]

    @staticmethod
    def of(facts: Facts, parts: Parts, values: Values, element: Callable[[int], str]) -> Once:
        """``element``: the text of an element that is read ahead.  ``values`` learns the names of what is computed."""
        ops = facts.step.graph.ops
        arrays = ColumnArrays(facts.schedule.group, parts.once)
        writer = Writer(facts.step, facts.statements, unique=values.unique, define=arrays.define, wanted=parts.once)
        needed = parts.behind(parts.once)
        reads = {n: access_of(facts.step, n) for n in needed if ops[n].name == "load"}
        writer.exprs |= {n: Expr(element(access), Level.POSTFIX) for n, access in reads.items()}
        leaves = (n for n in needed if ops[n].name in ("scalar", "size"))
        writer.exprs |= {n: Expr(values.parameter(ops[n]), PRIMARY) for n in leaves}
        lines = writer.lines(needed)
        values.passed |= {n: writer.exprs[n].code for n in parts.once}
        values.rows |= {n: values.passed[n].removesuffix("[j]") for n in parts.once}
        return Once(frozenset(reads.values()), arrays.take(), lines, tuple(writer.headers), tuple(writer.helpers))


def fixed_loads(facts: Facts) -> frozenset[int]:
    """The loads of what does not vary along columns."""
    assert isinstance(facts.schedule, ColumnSchedule)
    loads = (n for n, op in enumerate(facts.step.graph.ops) if op.name == "load" and isinstance(op.attr, IndexMap))
    return frozenset(n for n in loads if access_of(facts.step, n) not in facts.schedule.columnwise)
