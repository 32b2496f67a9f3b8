"""The device function of one element of a step."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen import names
from kgen.codegen.arguments import used
from kgen.codegen.atomics import accumulator_of
from kgen.codegen.byte_packs import converted_bytes
from kgen.codegen.context import ElementContext
from kgen.codegen.element import Element, Writer
from kgen.codegen.gathers import needed
from kgen.codegen.lines import MAX_COLUMNS
from kgen.codegen.narrow import rounded_stores
from kgen.codegen.quotients import moderate_quotients, shared_values
from kgen.codegen.short_results import short_results
from kgen.codegen.statements import Statement
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.schedule.elementwise.bins import BinsSchedule
from kgen.schedule.elementwise.gathers import ops_of_rows
from kgen.schedule.schedule import Schedule, shared_accesses


@dataclass(frozen=True, slots=True)
class ElementUse:
    """How a kernel calls the element function of its step.

    ``shared``: the accesses to what all elements of a thread share; None where they are too few to profit.  ``rows``:
    the ops that move rows at computed places, whose elements are parameters.  ``bins``: the operands whose updates are
    combined in shared memory first.  ``rounded``: those of ``rows`` whose groups are rounded to fp8 at once.
    ``bytes``: the accesses to bytes that are parameters of type int, because they only become floats.
    """

    shared: frozenset[int] | None
    rows: tuple[int, ...]
    bins: tuple[int, ...]
    rounded: frozenset[int]
    bytes: frozenset[int]

    @staticmethod
    def of(step: Step, schedule: Schedule) -> ElementUse:
        bins = tuple(operand for operand, _ in schedule.bins) if isinstance(schedule, BinsSchedule) else ()
        rows = ops_of_rows(step, schedule)
        rounded = rounded_rows(step, schedule, rows)
        return ElementUse(shared_accesses(schedule), rows, bins, rounded, converted_bytes(step))


def rounded_rows(step: Step, schedule: Schedule, rows: Sequence[int]) -> frozenset[int]:
    """The ops that write rows whose groups are rounded to fp8 four at a time."""
    ops = step.graph.ops
    written = [n for n in rows if ops[n].name == "store" and schedule.group % 4 == 0]
    return rounded_stores(ops, written)


def write_element(
    step: Step,
    name: str,
    statements: Sequence[Statement],
    use: ElementUse,
    *,
    fast: bool = False,
    short: bool = False,
) -> Element:
    """The element function of a step.

    ``statements``: the program's assignments and lets, in order.  ``fast``: whether functions may be approximate.
    ``short``: whether those may that only go into results of 16 bits.
    """
    accumulators = {number: accumulator_of(step.graph.operands[number].dtype) for number in use.bins}
    writer = Writer(step, statements, fast=fast, accumulators=accumulators, rounded=use.rounded, bytes=use.bytes)
    if short and not fast:
        writer.short = short_results(step.graph.ops)
    if use.shared is not None and not fast:
        writer.shared = shared_values(step, use.shared)
        writer.moderate = moderate_quotients(step.graph.ops, writer.shared)
    arguments = writer.declare()
    if use.rows:
        given = tuple(map(writer.given, use.rows))
        stores = [n for n, op in enumerate(step.graph.ops) if op.name == "store"]
        writer.write(needed(step.graph.ops, stores, use.rows))
        arguments = (*used(arguments, writer.body), *given)
    else:
        writer.write()
    comment = ["One element."]
    if len(statements) == 1:
        comment = [
            f"One element: {names.comment(statements[0].lines[0])}",
            *map(names.comment, statements[0].lines[1:]),
        ]
    parameters = tuple(a.declaration for a in arguments)
    one_line = len(name) + 2 + len(", ".join(parameters)) <= MAX_COLUMNS
    conditions = [f"is_moderate({writer.exprs[n].code})" for n in writer.moderate.leaves]
    conditions += [f"{writer.exprs[n].code} != 0" for n in writer.moderate.divisors]
    context = ElementContext(name, tuple(comment), parameters, one_line, tuple(writer.body), bool(conditions))
    headers, helpers = tuple(dict.fromkeys(writer.headers)), tuple(dict.fromkeys(writer.helpers))
    return Element(context, arguments, headers, helpers, tuple(conditions))
