"""The passes that only some calls ask for, by :attr:`kgen.program.Program.rewriting`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kgen.ir.graph import Graph
from kgen.passes.deterministic import deterministic
from kgen.passes.index_checks import first_outside, places
from kgen.program import Rewriting
from kgen.source import Source

REQUESTED: Mapping[Rewriting, Callable[[Graph, Source], Graph]] = {
    "first_outside": first_outside, "places": places, "deterministic": deterministic,
}  # fmt: skip
