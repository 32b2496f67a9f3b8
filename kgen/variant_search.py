"""The variant of a program that reduces which is predicted to take the least time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from kgen.lowering import LoweredStep, Specialised
from kgen.operands import Operands, Sizes
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Step
from kgen.partition.stored import stored_value
from kgen.predicted import least_seconds_of, needed_seconds, seconds_of
from kgen.records import dataclass
from kgen.schedule.reduction.chains import fills_device
from kgen.schedule.reduction.orders import Axes, copies
from kgen.schedule.step_layout import Placed
from kgen.schedule.target import Target

#: What another kernel does ahead: copies of operands, by the orders of their axes in memory (the slowest first), or the
#: computation of a value.
Ahead = Mapping[int, Axes] | int
Prepared = Callable[[Specialised, Ahead], Specialised]


@dataclass(frozen=True, slots=True)
class Undecided:
    """A kernel of a variant whose schedule is not chosen yet: ``decide`` chooses it."""

    step: Step
    placed: Placed
    decide: Callable[[], LoweredStep]


#: The kernels of a variant, for operands at addresses that are not known.
Kernels = Callable[[Specialised], Sequence[Undecided]]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """``copied``: what the first kernels copy, the operands and the orders of their axes."""

    variant: Specialised
    copied: Sequence[object] = ()


@dataclass(frozen=True, slots=True)
class VariantSearch:
    """``typed``: the program with its variants; ``usual``: that which rules choose.  ``prepared``: makes a variant with
    a kernel ahead.
    """

    typed: Specialised
    usual: Specialised
    sizes: Sizes
    operands: Operands
    target: Target
    kernels: Kernels
    prepared: Prepared

    def fastest(self) -> Specialised:
        """The usual variant; but where it would use only a part of most sectors of memory, the one that is predicted to
        take the least time: with a kernel for each reduction, with copies of some operands, or with what is computed
        from all of them.
        """
        target, rates = self.target, self.target.tuning.traffic
        lowered = [kernel.decide() for kernel in self.kernels(self.usual)]
        taken = sum(seconds_of(step, target) for step in lowered)
        is_fast = taken <= rates.slow * sum(needed_seconds(step, target) for step in lowered)
        if is_fast and not any(len(base.steps) < len(self.usual.steps) for base in self._bases()):  # these read less
            return self.usual
        best, least = self.usual, rates.gain * taken
        known: dict[object, float] = {}
        for candidate in self._candidates():
            seconds = _seconds_within(least, self.kernels(candidate.variant), candidate.copied, known, target)
            if seconds < least:
                best, least = candidate.variant, seconds
        return best

    def _candidates(self) -> Iterator[_Candidate]:
        bases = self._bases()
        yield from (_Candidate(base) for base in bases[1:] if base is self.typed.split or self._comes_in_boxes(base))
        for base in bases:
            given = self.operands.inputs(base.graph, self.sizes)
            first = next(s for s in base.steps if isinstance(s, ReductionStep))
            for orders in copies(first, self.sizes.extents, given):
                yield _Candidate(self.prepared(base, orders), tuple(orders.items()))
            value = stored_value(base.graph)
            if value is not None:
                yield _Candidate(self.prepared(base, value))

    def _comes_in_boxes(self, base: Specialised) -> bool:
        """Whether kernels that keep columns read them all along memory."""
        steps = (kernel.decide() for kernel in self.kernels(base) if isinstance(kernel.step, ReductionStep))
        return any(step.schedule.template == "resident_boxes" for step in steps)

    def _bases(self) -> list[Specialised]:
        """What variants are made of.  Chains that are split because of how operands lie may be one kernel behind
        copies, where there are rows enough for that."""
        typed, usual = self.typed, self.usual
        assert typed.split is not None
        if len(typed.split.steps) > len(usual.steps):
            return [usual, typed.split]
        rows = (s for s in typed.steps if isinstance(s, ReductionStep))
        many = all(fills_device(s, self.sizes.extents, self.target) for s in rows)
        return [usual, typed] if many and typed is not usual else [usual]


def _seconds_within(
    limit: float, kernels: Sequence[Undecided], copied: Sequence[object], known: dict[object, float], target: Target
) -> float:
    """Seconds of all kernels; infinity as soon as these are ``limit`` or more, so that no other is decided.

    ``known``: of copies, which variants share.
    """
    found = [least_seconds_of(kernel.placed, target) for kernel in kernels]
    # Reductions last: their schedules take longest to choose.
    for n in sorted(range(len(kernels)), key=lambda n: isinstance(kernels[n].step, ReductionStep)):
        if sum(found) >= limit:
            return math.inf
        copy = copied[n] if n < len(copied) else None
        found[n] = known[copy] if copy in known else seconds_of(kernels[n].decide(), target)
        if copy is not None:
            known[copy] = found[n]
    return sum(found)
