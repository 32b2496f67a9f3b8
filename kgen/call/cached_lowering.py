"""Lowering with caches, for the calls of one program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kgen import pipeline
from kgen.diagnostics import Diagnostic
from kgen.lowering import Layouts, Lowered, Specialised
from kgen.operands import Operands, Sizes
from kgen.pipeline import Allocate, Stages
from kgen.program import Program
from kgen.schedule.target import PORTABLE, Target

MAX_CACHED_LAYOUTS = 1024  # then the cache is cleared


@dataclass(slots=True)
class CachedLowering:
    """:func:`~kgen.pipeline.lower` for one program, cached by argument types and by operand layouts.

    ``lints``: those already shown.
    """

    program: Program
    lints: dict[Diagnostic, None] = field(default_factory=dict)
    _specialised: dict[object, Specialised] = field(
        default_factory=dict
    )  # never dropped: other caches have their ids in keys
    _lowered: dict[object, Lowered] = field(default_factory=dict)

    def __call__(
        self, operands: Operands, target: Target = PORTABLE, allocate: Allocate = pipeline.allocate
    ) -> Lowered:
        """``allocate`` allocates the outputs; the default only computes their layouts."""
        return pipeline.lower(self.program, operands, target, Stages(self.specialise, allocate, self._decide))

    def warn(self, lints: Sequence[Diagnostic]) -> None:
        """Show each lint once."""
        from kgen.lints import warn

        warn(lints, self.lints)

    def specialise(self, program: Program, operands: Operands) -> Specialised:
        """The IR for these argument types, from the cache."""
        key = operands.typing_key
        found = self._specialised.get(key)
        if found is None:
            found = self._specialised[key] = pipeline.specialise_for(program, operands)
            self.warn(found.lints)
        return found

    def _decide(self, cut: Specialised, sizes: Sizes, layouts: Layouts, target: Target) -> Lowered:
        """One schedule for each layout and alignment of the operands."""
        layout_key = tuple((a.shape, a.strides, a.pointer % 16) for a in layouts.arrays)
        key = (id(cut), layout_key, layouts.aliased, target)
        found = self._lowered.get(key)
        if found is None:
            if len(self._lowered) >= MAX_CACHED_LAYOUTS:
                self._lowered.clear()
            found = self._lowered[key] = pipeline.decide(cut, sizes, layouts, target)
        return found
