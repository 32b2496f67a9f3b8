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
    lanes = groups << (mapping.lanes // groups).bit_length() - 1
    whole_warps = lanes * mapping.threads % WARP == 0
    return replace(mapping, lanes=lanes, in_turn=groups) if whole_warps else mapping


def _applies(facts: RowFacts, mapping: ResidentMapping) -> bool:
    """Whether columns are short (the threads of longer ones read on, ``ResidentDemand.piece``), a warp that goes across
    first would read less than a sector of each piece, and the elements of a column are near each other.  Not of fewer
    threads across than a warp has, which merge their sums by shuffles.
    """
    tuning, beside = facts.tuning.resident_columns, facts.space.shape[facts.reduced]
    shared = facts.across and facts.reduced == 1 and mapping.threads > 1 and mapping.lanes >= WARP
    if not shared or facts.width > tuning.short or beside > tuning.most_in_turn or beside % mapping.group:
        return False
    varying = facts.varying([i for i, varies in enumerate(facts.varies) if varies])
    run = beside * min(facts.itemsizes[i] for i in varying)
    return run < SECTOR and all(abs(facts.step_along(i, 0)) * facts.itemsizes[i] < LINE for i in varying)
