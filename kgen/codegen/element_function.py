"""The device function of one element of a step."""

from __future__ import annotations

from collections.abc import Sequence, Set

from kgen.codegen import names
from kgen.codegen.arguments import used
from kgen.codegen.context import ElementContext
from kgen.codegen.element import Element, Statement, Writer
from kgen.codegen.gathers import needed
from kgen.codegen.lines import MAX_COLUMNS
from kgen.codegen.quotients import moderate_quotients, shared_values
from kgen.codegen.short_results import short_results
from kgen.partition.step import Step


def write_element(
    step: Step,
    name: str,
    statements: Sequence[Statement],
    shared: Set[int] | None = None,
    *,
    fast: bool = False,
    short: bool = False,
    rows: Sequence[int] = (),
) -> Element:
    """The element function of a step.

    ``statements``: the program's assignments and lets, in order.  ``shared``: the accesses to what all elements of a
    thread share; None where they are too few to profit.  ``fast``: whether functions may be approximate.  ``short``:
    whether those may that only go into results of 16 bits.  ``rows``: the ops that read gathered rows, whose elements
    are parameters.
    """
    writer = Writer(step, statements, fast=fast)
    if short and not fast:
        writer.short = short_results(step.graph.ops)
    if shared is not None and not fast:
        writer.shared = shared_values(step, shared)
        writer.moderate = moderate_quotients(step.graph.ops, writer.shared)
    arguments = writer.declare()
    if rows:
        given = tuple(map(writer.given, rows))
        stores = [n for n, op in enumerate(step.graph.ops) if op.name == "store"]
        writer.write(needed(step.graph.ops, stores, rows))
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
