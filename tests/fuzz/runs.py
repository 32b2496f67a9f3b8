"""Runs programs in batches, each compiled as one text, and finds those that fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from .batch import Batch, Collected, collecting, running
from .harness import Refused, failure
from .program import Call
from .subjects import Elementwise, Ready, Subject, alone, on_host

BATCH = 16


@dataclass(slots=True)
class Count:
    """What became of the programs, by kind and together."""

    run: Counter[str] = field(default_factory=Counter)
    exact: int = 0
    elements: int = 0
    refused: Counter[str] = field(default_factory=Counter)  # by code

    def add(self, subject: Subject, ready: Ready) -> None:
        self.run[subject.kind] += 1
        self.exact += ready.exact
        self.elements += ready.elements


def failures(
    subjects: Sequence[Subject], count: Count, sanitize: str | None = None
) -> Iterator[tuple[Subject, Exception]]:
    """Run programs in one compiled file on the CPU target; yields those that fail, each with what is wrong."""
    batch = Batch(sanitize)
    prepared: list[tuple[Subject, Ready]] = []
    with np.errstate(all="ignore"):
        for number, subject in enumerate(subjects):
            try:
                ready = subject.prepare(f"k{number}", "cpu")
                for one in (ready, *ready.others):
                    with collecting(batch), suppress(Collected):
                        one.call()
                    one.restore()
                prepared.append((subject, ready))
            except Refused as refusal:
                count.refused[str(refusal)] += 1
            except Exception as problem:
                yield subject, problem
        try:
            batch.compile()
        except Exception as problem:
            if len(prepared) == 1:
                yield prepared[0][0], problem
                return
            half = len(prepared) // 2  # which of them it is
            for part in (prepared[:half], prepared[half:]):
                yield from failures([subject for subject, _ in part], count, sanitize)
            return
        with running(batch):
            for subject, ready in prepared:
                try:
                    on_host(ready, calls=2)
                except Exception as problem:
                    yield subject, problem
                    continue
                count.add(subject, ready)


def run_calls(calls: Sequence[Call], count: Count) -> None:
    """Run calls in one compiled file on the CPU target.  The first failure is made small and raised."""
    for subject, problem in failures([Elementwise(call) for call in calls], count):
        raise AssertionError(subject.report(problem, "cpu", small=True)) from None


def check_alone(call: Call) -> None:
    """One call; a failure is made small."""

    def attempt(one: Call) -> None:
        alone(Elementwise(one), "cpu")

    try:
        attempt(call)
    except Refused:
        return
    except Exception as problem:
        raise failure(call, problem, attempt) from None
