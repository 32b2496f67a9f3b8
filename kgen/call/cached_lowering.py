"""Lowering with caches, for the calls of one program.  What they have needs no import of the stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from kgen.diagnostics import Diagnostic
from kgen.lowering import Allocate, Layouts, Lowered, Specialised, Stages, run_stages
from kgen.operands import ArrayOperand, Operands, Sizes
from kgen.overlaps import allocate_apart
from kgen.program import Program
from kgen.records import dataclass
from kgen.schedule.target import PORTABLE, Target
from kgen.source import Source

if TYPE_CHECKING:
    from kgen.partition.step import Step
    from kgen.schedule.facts import Choice
    from kgen.schedule.step_layout import Placed
    from kgen.variant_search import Ahead

MAX_CACHED_LAYOUTS = 1024  # then the cache is cleared


@dataclass(slots=True)
class CachedLowering:
    """:func:`~kgen.pipeline.lower` for one program, cached by argument types and by operand layouts.

    ``lints``: those already shown.  ``shows_lints``: False for a program that no user wrote.
    """

    program: Program
    lints: dict[Diagnostic, None] = field(default_factory=dict)
    shows_lints: bool = True
    #: By typing key; several where views of a program have extents of 1 for some arguments only.  Never dropped: other
    #: caches have their ids in keys.
    _specialised: dict[object, list[Specialised]] = field(default_factory=dict)
    _prepared: dict[object, Specialised] = field(default_factory=dict)  # the same
    _chosen: dict[object, Specialised] = field(default_factory=dict)
    _lowered: dict[object, Lowered] = field(default_factory=dict)

    def __call__(self, operands: Operands, target: Target = PORTABLE, allocate: Allocate = allocate_apart) -> Lowered:
        """``allocate`` allocates the outputs; the default only computes their layouts."""
        known: dict[object, tuple[Step, Choice]] = {}
        choose, decide = partial(self._choose_variant, known), partial(self._decide, known)
        stages = Stages(self.specialise, choose, allocate, decide)
        return run_stages(stages, self.program, operands, target)

    @property
    def is_empty(self) -> bool:
        return not self._specialised

    def add(self, operands: Operands, typed: Specialised, lowered: Lowered) -> None:
        """Add what was lowered elsewhere for these operands, unless another thread was first."""
        if not self._specialised.setdefault(operands.typing_key, []):
            self._specialised[operands.typing_key].append(typed)
            aliased = tuple(s.placed.aliased for s in lowered.steps)
            layouts = Layouts(lowered.arrays, aliased)
            self._chosen[_variant_key(typed, operands, lowered.target)] = lowered.specialised
            self._lowered[_schedule_key(lowered.specialised, layouts, lowered.target)] = lowered
            self.warn(typed.lints)

    def warn(self, lints: Sequence[Diagnostic]) -> None:
        """Show each lint once."""
        if not self.shows_lints:
            return
        from kgen.lints import warn

        warn(lints, self.lints)

    def specialise(self, program: Program, operands: Operands) -> Specialised:
        """The IR for these argument types, from the cache."""
        among = self._specialised.setdefault(operands.typing_key, [])
        for typed in among:
            if operands.fits(typed.graph):
                return typed
        from kgen import pipeline

        made = pipeline.specialise_for(program, operands)
        among.append(made)
        self.warn(made.lints)
        return made

    # many: those of the stage
    def _choose_variant(
        self,
        known: dict[object, tuple[Step, Choice]],
        typed: Specialised,
        sizes: Sizes,
        operands: Operands,
        source: Source,
        target: Target,
    ) -> Specialised:
        """One variant for each layout of the operands, wherever they are."""
        key = _variant_key(typed, operands, target)
        found = self._chosen.get(key)
        if found is None:
            from kgen import pipeline

            if len(self._chosen) >= MAX_CACHED_LAYOUTS:
                self._chosen.clear()
            choice_of = partial(_choice_of, known)
            found = pipeline.choose_variant(typed, sizes, operands, source, target, self.prepared, choice_of)
            self._chosen[key] = found
        return found

    def prepared(self, base: Specialised, ahead: Ahead) -> Specialised:
        """The variant whose kernels read what another kernel prepares, from the cache."""
        key = (id(base), ahead if isinstance(ahead, int) else tuple(ahead.items()))
        found = self._prepared.get(key)
        if found is None:
            from kgen import pipeline

            found = self._prepared[key] = pipeline.prepared(base, ahead)
        return found

    def _decide(
        self, known: dict[object, tuple[Step, Choice]], cut: Specialised, sizes: Sizes, layouts: Layouts, target: Target
    ) -> Lowered:
        """One schedule for each layout and alignment of the operands."""
        key = _schedule_key(cut, layouts, target)
        found = self._lowered.get(key)
        if found is None:
            from kgen import pipeline

            if len(self._lowered) >= MAX_CACHED_LAYOUTS:
                self._lowered.clear()
            found = self._lowered[key] = pipeline.decide(cut, sizes, layouts, target, partial(_choice_of, known))
        return found


def _choice_of(
    known: dict[object, tuple[Step, Choice]], step: Step, placed: Placed, sizes: Sizes, target: Target
) -> Choice:
    """A choice of :func:`kgen.pipeline.choice_of`, once for each step and place: variants share steps, and the one that
    is taken is decided again.  ``known`` has the steps, too, so that no other one gets the id of one that is gone.
    """
    key = id(step), placed
    found = known.get(key)
    if found is None:
        from kgen import pipeline

        found = known[key] = step, pipeline.choice_of(step, placed, sizes, target)
    return found[1]


def _variant_key(typed: Specialised, operands: Operands, target: Target) -> object:
    arrays = [*operands.arguments.values(), *operands.outputs.values()]
    layouts = tuple((a.shape, a.strides) for a in arrays if isinstance(a, ArrayOperand))
    return id(typed), layouts, operands.shape, target


def _schedule_key(whole: Specialised, layouts: Layouts, target: Target) -> object:
    arrays = tuple((a.shape, a.strides, a.pointer % 16) for a in layouts.arrays)
    return id(whole), arrays, layouts.aliased, target
