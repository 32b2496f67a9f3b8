"""Times of every family that applies, for random elementwise programs: whether the cheapest is the fastest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from benchmarks.random_peers import arrays_of
from benchmarks.random_programs import RandomProgram
from benchmarks.timing import Graph, device_time
from kgen import families
from kgen.schedule.facts import Choice

LONG = 500e-6  # seconds; shorter launches are timed in a graph, because the host may take longer
MISSED, NOISE = 1.1, 0.5e-6  # a choice is wrong that takes so many times what the fastest takes, and more seconds


@dataclass(frozen=True, slots=True)
class Families:
    """Seconds of each family, measured and predicted."""

    program: RandomProgram
    measured: dict[str, float]
    predicted: dict[str, float]

    @property
    def chosen(self) -> str:
        return min(self.predicted, key=self.predicted.__getitem__)

    @property
    def loss(self) -> float:
        """The time of the family that is chosen, in times of the fastest; times that are nearly the same are equal."""
        taken, least = self.measured[self.chosen], min(self.measured.values())
        return taken / least if taken - least > NOISE else 1.0


@contextmanager
def only(family: str) -> Iterator[None]:
    """Steps without reductions are scheduled by this family where it applies."""
    usual = families.choose

    def choose(facts: Any, among: Any = families.NAMES) -> Choice:
        found = families.family(family).choose(facts)
        return usual(facts, among) if found is None else found

    with mock.patch("kgen.pipeline.choose", choose):
        yield


def times(torch: Any, one: RandomProgram) -> Families:
    """Every family that applies.  Raises AssertionError where the bits of two differ."""
    import kgen

    arrays = arrays_of(torch, one)
    predicted = dict(kgen.jit(one.text).explain(**arrays).steps[0].costs)  # empty: the layouts decide
    measured: dict[str, float] = {}
    first = None
    for family in predicted:
        with only(family):
            kernel = kgen.jit(one.text, name=family)  # under one name, a later family would find the first one's call
            out = kernel(**arrays)
            first = out if first is None else first
            bits = [x.contiguous().view(torch.uint8) for x in (out, first)]
            assert torch.equal(*bits), f"{family} gives other bits"
            measured[family] = seconds(torch, lambda: kernel(**arrays, out=out))  # noqa: B023
    return Families(one, measured, predicted)


def seconds(torch: Any, run: Any) -> float:
    """Of one launch, without the host's time."""
    taken = device_time(torch, run, 5)
    return taken if taken > LONG else Graph(torch, [run], 20).time(5)


def report(found: Sequence[Families]) -> str:
    """How the predicted order agrees with the clock, and the choices that are wrong."""
    several = [f for f in found if len(f.measured) > 1]
    pairs = [
        (f.predicted[n] / min(f.predicted.values()), f.measured[n] / min(f.measured.values()))
        for f in several
        for n in f.measured
    ]
    missed = [f for f in several if f.loss > MISSED]
    lines = [
        f"{len(several)} programs; rank correlation {correlation(pairs):.3f}; {len(missed)} choices slower than "
        f"{MISSED} x the fastest family"
    ]
    for f in several:
        both = f"{_times(f.measured)} | predicted {_times(f.predicted)}"
        lines += [f"{f.loss:.2f} {f.chosen} {both} | {f.program.seed} {f.program}"]
    return "\n".join(lines)


def _times(seconds_of: dict[str, float]) -> str:
    return " ".join(f"{name} {1e6 * seconds_of[name]:.1f}" for name in sorted(seconds_of))


def correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Spearman's rank correlation."""
    ranks = [_ranks([pair[side] for pair in pairs]) for side in (0, 1)]
    middle = (len(pairs) + 1) / 2
    up = sum((a - middle) * (b - middle) for a, b in zip(*ranks, strict=True))
    across = [sum((a - middle) ** 2 for a in one) for one in ranks]
    return float(up / max((across[0] * across[1]) ** 0.5, 1e-30))


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share their mean."""
    order = sorted(values)
    first = {v: i for i, v in reversed(list(enumerate(order, 1)))}
    last = {v: i for i, v in enumerate(order, 1)}
    return [(first[v] + last[v]) / 2 for v in values]
