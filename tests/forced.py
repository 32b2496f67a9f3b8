"""Schedules that kgen would not choose: by another tuning, or from some families only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from kgen import families, pipeline
from kgen.partition.step import Step
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.step_layout import Placed
from kgen.schedule.tables import with_table
from kgen.schedule.target import PORTABLE, Target
from kgen.schedule.tuning import Tuning
from tests.poison import poisoned

#: Fields of :class:`Tuning`'s tables, by table.
Tuned = Mapping[str, Mapping[str, Any]]

#: Few elements are taken as many are: tests have small arrays, whose schedules would differ from those of large ones.
AS_MANY: Tuned = {"elementwise": {"few_threads": 0, "few_tiles": 0}, "staging": {"fewest_elements": 0}}


def both(one: Tuned, other: Tuned) -> Tuned:
    """The changes of both, of which ``other`` wins."""
    return {name: {**one.get(name, {}), **other.get(name, {})} for name in {**one, **other}}


def tuned(tuning: Tuning, changes: Tuned) -> Tuning:
    """``tuning`` with some numbers changed."""
    return replace(tuning, **{name: replace(getattr(tuning, name), **fields) for name, fields in changes.items()})


_schedule = pipeline.schedule


@contextmanager
def forced(
    changes: Tuned | None = None,
    only: Sequence[str] = (),
    elementwise: str | None = None,
    number: int = 0,
    **limits: Any,
) -> Iterator[None]:
    """Every step is scheduled so.  ``only``: the families that take reductions, all where it is empty.

    ``elementwise``: the family of the other steps, where it applies.  ``number``: of the table that is
    changed.  ``limits``: fields of the target.  What kernels are to write begins as what no test expects.
    """
    among = tuple(name for name in families.NAMES if name in families.ELEMENTWISE or not only or name in only)
    tables: dict[int, Tuning] = {}  # by the one that it is made from: one table, one schedule

    def schedule(step: Step, placed: Placed, target: Target = PORTABLE, **known: bool) -> Choice:
        table = tables.setdefault(id(target.tuning), tuned(with_table(target, number).tuning, changes or {}))
        changed = replace(target, tuning=table, **limits)
        return _schedule(step, placed, changed, **known)

    def choose(facts: Facts) -> Choice:
        if elementwise is not None and type(facts) is Facts:
            choice = families.family(elementwise).choose(facts)
            if choice is not None:
                return choice
        return families.choose(facts, among)

    patched = mock.patch.multiple("kgen.pipeline", schedule=schedule, choose=choose)
    with patched, poisoned():
        yield
