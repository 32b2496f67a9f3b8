"""Schedules that kgen would not choose: by another tuning, or from some families only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from kgen import families
from kgen.partition.step import Step
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.step_layout import Placed
from kgen.schedule.target import PORTABLE, Target
from kgen.schedule.tuning import Tuning
from tests.poison import poisoned

#: Fields of :class:`Tuning`'s tables, by table.
Tuned = Mapping[str, Mapping[str, Any]]


def tuned(tuning: Tuning, changes: Tuned) -> Tuning:
    """``tuning`` with some numbers changed."""
    return replace(tuning, **{name: replace(getattr(tuning, name), **fields) for name, fields in changes.items()})


@contextmanager
def forced(
    changes: Tuned | None = None, only: Sequence[str] = (), elementwise: str | None = None, **limits: Any
) -> Iterator[None]:
    """Every step is scheduled so.  ``only``: the families that take reductions, all where it is empty.

    ``elementwise``: the family of the other steps, where it applies.  ``limits``: fields of the target.  What kernels
    are to write begins as what no test expects.
    """
    among = tuple(f for f in families.FAMILIES if f.facts is Facts or not only or f.name in only)
    tables: dict[int, Tuning] = {}  # by the one that it is made from: one table, one schedule

    def schedule(
        step: Step, placed: Placed, target: Target = PORTABLE, *, bounded: bool = True, along: bool = True
    ) -> Choice:
        table = tables.setdefault(id(target.tuning), tuned(target.tuning, changes or {}))
        facts = families.facts_of(step, placed, replace(target, tuning=table, **limits), bounded=bounded, along=along)
        if elementwise is not None and type(facts) is Facts:
            choice = families.BY_NAME[elementwise].choose(facts)
            if choice is not None:
                return choice
        return families.choose(facts, among)

    with mock.patch("kgen.pipeline.schedule", schedule), poisoned():
        yield
