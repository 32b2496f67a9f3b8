"""Every way in which a program could run: each choice that kgen makes by predicted times, forced in turn.

A *decision* is one call of ``kgen.schedule.search.fastest`` while kernels are scheduled: among mappings of threads,
shapes of boxes or orders of rows.  A :class:`Way` forces one of these, or the family of the kernels that reduce or of
the others, or the variant of the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from math import inf
from random import Random
from typing import Any
from unittest import mock

from benchmarks.random_programs import RandomProgram
from kgen import families, pipeline, spec
from kgen.call.arguments import bind, describe, operands_of
from kgen.dtypes import BY_NAME
from kgen.lowering import Lowered, Specialised
from kgen.operands import Operands
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.search import fastest
from kgen.schedule.target import Target
from kgen.variant_search import VariantSearch

#: Modules of ``kgen.schedule`` that search for the fastest way.
SEARCHES = (
    "elementwise.box_shapes", "reduction.column_boxes", "reduction.column_search", "reduction.resident_boxes",
    "reduction.resident_search", "reduction.row_orders", "reduction.tile_search",
)  # fmt: skip
BEST, OTHERS, WORST = 6, 4, 2.0  # ways of a decision: the best, and some of those up to so many times as slow
FORCED = 1e-12  # predicted seconds of what is forced, so that it wins later comparisons


@dataclass(frozen=True, slots=True)
class Way:
    """What is forced: the number of a variant, a family, and a way of one decision.

    ``among``: what it is compared with, a module of :data:`SEARCHES` or the families.  ``seconds``: as predicted there.
    """

    variant: int | None = None
    family: str | None = None
    decision: int | None = None
    choice: int = 0
    among: str = ""
    seconds: float | None = None

    def __str__(self) -> str:
        parts = {"variant": self.variant, "family": self.family, self.among: self.decision}
        named = [f"{name} {value}" for name, value in parts.items() if value is not None]
        return ", ".join((*named, *(() if self.decision is None else (f"way {self.choice}",)))) or "usual"


@dataclass
class Seen:
    """What was decided: each decision's module and the predicted seconds of its ways; by family that applies, predicted
    seconds, 0 where it predicts none; and how many variants there are, of which kgen takes ``variant``.
    """

    decisions: list[tuple[str, list[float]]] = field(default_factory=list)
    families: dict[str, float] = field(default_factory=dict)
    variants: int = 0
    variant: int | None = None
    is_hidden: bool = False

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Nothing is forced here, and decisions do not count."""
        self.is_hidden = True
        try:
            yield
        finally:
            self.is_hidden = False


@contextmanager
def forcing(way: Way) -> Iterator[Seen]:
    """Kernels are scheduled this way."""
    seen, choose, fastest_variant = Seen(), families.choose, VariantSearch.fastest

    def search(
        name: str, ways: Iterable[Any], seconds: Callable[[Any], float], limit: float = inf, *, doubt: int = 0
    ) -> tuple[float, Any] | None:
        listed = list(ways)
        taken = [seconds(one) for one in listed]
        forced = len(seen.decisions) == way.decision and not seen.is_hidden
        if not seen.is_hidden:
            seen.decisions.append((name, taken))
        if forced:
            return FORCED, listed[way.choice]
        found = fastest(range(len(listed)), taken.__getitem__, limit, doubt=doubt)
        return None if found is None else (found[0], listed[found[1]])

    def chosen(facts: Facts, among: Any = families.NAMES) -> Choice:
        names = families.ELEMENTWISE if type(facts) is Facts else families.REDUCING
        with seen.hidden():
            for one in map(families.family, names):
                choice = one.choose(facts) if one.facts is type(facts) else None
                if choice is not None:
                    seen.families[one.name] = 0.0
            usual = choose(facts, among)
            seen.families.update({usual.schedule.template: usual.seconds or 0.0, **dict(usual.others)})
        if way.family in names:
            choice = families.family(way.family).choose(facts)
            if choice is not None:
                return choice
        return choose(facts, among)

    def variant(search: VariantSearch) -> Specialised:
        found = [search.usual, *(candidate.variant for candidate in search._candidates())]
        if way.variant is not None:
            return found[way.variant]
        with seen.hidden():
            usual = fastest_variant(search)
        seen.variants, seen.variant = len(found), found.index(usual)
        return usual

    with ExitStack() as stack:
        for name in SEARCHES:
            stack.enter_context(mock.patch(f"kgen.schedule.{name}.fastest", partial(search, name)))
        stack.enter_context(mock.patch("kgen.pipeline.choose", chosen))
        stack.enter_context(mock.patch.object(VariantSearch, "fastest", variant))
        yield seen


def ways(one: RandomProgram, target: Target) -> list[tuple[Way, str]]:
    """The ways with the kernels that they give (:func:`key`); the first is kgen's.

    Of one decision, only those whose kernels no other one gives: what is decided later took the place of the others.
    None where a variant is forced that does not exist then.
    """
    with forcing(Way()) as seen:
        usual = key(lowered(one, target))
    with forcing(Way(seen.variant)) as decided:
        lowered(one, target)
    others = [Way(number, among="variants") for number in range(seen.variants)]
    others += [
        Way(seen.variant, family, among="families", seconds=seconds) for family, seconds in decided.families.items()
    ]
    for number, (name, taken) in enumerate(decided.decisions):
        tried = _tried(one.seed, taken)
        others += [Way(seen.variant, None, number, choice, name, taken[choice]) for choice in tried]
    found = [(Way(), usual)]
    for way in others:
        with forcing(way), suppress(IndexError):
            found.append((way, key(lowered(one, target))))
    given = Counter((way.decision, kernels) for way, kernels in found)
    return [(way, kernels) for way, kernels in found if way.decision is None or given[way.decision, kernels] == 1]


def _tried(seed: int, taken: Sequence[float]) -> list[int]:
    """The ways of a decision that are tried, by their predicted seconds."""
    order = sorted(range(len(taken)), key=taken.__getitem__)
    slower = [n for n in order[BEST:] if taken[n] < WORST * taken[order[0]]]
    return [*order[:BEST], *Random(seed).sample(slower, min(OTHERS, len(slower)))]


def lowered(one: RandomProgram, target: Target, lower: Callable[[Operands, Target], Lowered] | None = None) -> Lowered:
    """The kernels of a program, for arrays as :func:`~benchmarks.random_peers.arrays_of` makes them.

    ``lower``: as a call does it; by default without its caches.
    """
    program = pipeline.load(one.text)
    given = {name: spec(o.shape, o.dtype, o.strides) for name, o in one.operands.items()}
    starts = {name: o.offset * BY_NAME[o.dtype].size for name, o in one.operands.items()}
    values = describe(program, bind(program, (), given))
    operands = operands_of(values, (), None, lambda value: starts[value.name])
    return (lower or partial(pipeline.lower, program))(operands, target)


def key(kernels: Lowered) -> str:
    """The schedules in short: each field that is not what it is by default, but for the device."""
    return "; ".join(_text(step.schedule) for step in kernels.steps)


def _text(value: Any) -> str:
    if not hasattr(value, "__dataclass_fields__"):
        return f"({','.join(map(_text, value))})" if isinstance(value, tuple) else str(value)
    changed = ((f.name, getattr(value, f.name)) for f in fields(value) if f.name != "target")
    defaults = {f.name: f.default for f in fields(value) if f.default is not MISSING}
    return " ".join(f"{n}={_text(v)}" for n, v in changed if n not in defaults or defaults[n] != v)
