"""Thread mappings of resident columns of which few lie side by side: neighbouring threads go along these, then down.

Of two columns, where two threads share each; elements in memory, and the threads that read them at once::

    columns   0 1 0 1 0 1 0 1 ...     2 3 2 3 2 3 2 3 ...
    threads   0 1 2 3                 4 5 6 7

If threads went across all columns of a block first, a warp would read as many lines of memory as it has pieces, a part
of a sector in each.
"""

from __future__ import annotations

from kgen.records import replace
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.resident_mapping import ResidentMapping
from kgen.schedule.target import LINE, SECTOR, WARP


def in_turn(facts: RowFacts, mapping: ResidentMapping) -> ResidentMapping:
    """The mapping; with threads in this order, and across whole pieces, where that applies."""
    if not _applies(facts, mapping):
        return mapping
    groups = int(facts.space.shape[facts.reduced]) // mapping.group
    pieces = 1 << (mapping.lanes // groups).bit_length() - 1
    while pieces * groups <= 2 * mapping.lanes:
        if pieces * groups * mapping.threads % WARP == 0:
            return replace(mapping, lanes=pieces * groups, in_turn=groups)
        pieces *= 2
    return mapping


def _applies(facts: RowFacts, mapping: ResidentMapping) -> bool:
    """Whether columns are short (the threads of longer ones read on, ``ResidentDemand.piece``), a warp that goes across
    first would read less than a sector of each piece, and the elements of a column are near each other.  Not of more
    than two columns of which threads have two elements at most, so that a piece is read in two parts anyway.
    """
    tuning, beside = facts.tuning.resident_columns, facts.space.shape[facts.reduced]
    shared = facts.across and facts.reduced == 1 and mapping.threads > 1 and mapping.lanes >= tuning.fewest_in_turn
    if not shared or facts.width > tuning.short or beside > tuning.most_in_turn or beside % mapping.group:
        return False
    if beside > 2 and mapping.vectors <= 2:
        return False
    varying = facts.varying([i for i, varies in enumerate(facts.varies) if varies])
    run = beside * min(facts.itemsizes[i] for i in varying)
    return run < SECTOR and all(abs(facts.step_along(i, 0)) * facts.itemsizes[i] < LINE for i in varying)
