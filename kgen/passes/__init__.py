"""The optimiser: exact rewrites, so the evaluator gives the same bits before and after; ``reflections`` keeps bounds.

A pass is a pure function from a valid kernel to a valid kernel.
"""

from __future__ import annotations

from collections.abc import Callable

from kgen.ir.graph import Graph
from kgen.passes.cse import cse
from kgen.passes.dce import dce
from kgen.passes.fold import fold
from kgen.passes.identities import identities
from kgen.passes.powers import powers
from kgen.passes.quotients import quotients
from kgen.passes.ranges import ranges
from kgen.passes.reflections import reflections
from kgen.passes.remainders import remainders
from kgen.passes.unread import unread

Pass = Callable[[Graph], Graph]

# What ranges decide may be folded, and then be part of an identity.
PIPELINE: tuple[Pass, ...] = (
    powers, fold, identities, ranges, reflections, fold, identities, ranges, fold,
    remainders, cse, unread, dce, quotients,
)  # fmt: skip


def optimise(kernel: Graph, until: str | None = None) -> Graph:
    """Run :data:`PIPELINE`; with ``until``, only to the last pass of that name."""
    end = len(PIPELINE) if until is None else max(n for n, one in enumerate(PIPELINE, 1) if one.__name__ == until)
    for one in PIPELINE[:end]:
        kernel = one(kernel)
    return kernel
