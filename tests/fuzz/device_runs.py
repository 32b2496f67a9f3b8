"""Runs programs in batches on torch tensors and on NumPy arrays, and finds those that fail.

For a GPU each batch is few modules and few waits.  On the CPU target the same is what tests of this file run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import batch as host_batch, device_batch
from .arena import Arena, Results
from .arrays import Array
from .batch import Collected
from .harness import Refused
from .program import Arguments
from .runs import Count
from .subjects import Ready, Subject, invoked
from .test_reductions import as_tuple

ON_HOST_ARRAYS = 8  # one of so many programs is called on NumPy arrays, which kgen copies
PLANNED = 4  # one of so many programs on tensors is made a plan, too

Failed = tuple[Subject, Exception]


@dataclass(slots=True)
class Running:
    """A program of a batch.  ``number``: its place in the arena; None for calls on NumPy arrays."""

    subject: Subject
    ready: Ready
    number: int | None
    ways: list[tuple[Arguments, tuple[Any, ...]]] = field(default_factory=list)  # what calls took and returned


def failures(subjects: Sequence[Subject], count: Count, device: str, *, full: bool = True) -> Iterator[Failed]:
    """Yields those that fail, each with what is wrong.  ``full``: optimise code as for users."""
    prepared: list[tuple[Subject, Ready]] = []
    with np.errstate(all="ignore"):
        for number, subject in enumerate(subjects):
            try:
                prepared.append((subject, subject.prepare(f"k{number}", device)))
            except Refused as refusal:
                count.refused[str(refusal)] += 1
            except Exception as problem:
                yield subject, problem
        if prepared:
            yield from _failures(prepared, count, device, full=full)


def _failures(prepared: Sequence[tuple[Subject, Ready]], count: Count, device: str, *, full: bool) -> Iterator[Failed]:
    import torch

    on_host = device == "cpu"
    batch: Any = host_batch.Batch() if on_host else device_batch.DeviceBatch(shallow=not full)
    collecting: Any = host_batch.collecting if on_host else device_batch.collecting
    running: Any = host_batch.running if on_host else device_batch.running
    places = iter(range(len(prepared)))
    programs = [Running(s, r, next(places) if _suits(n, r) else None) for n, (s, r) in enumerate(prepared)]
    arena = Arena(torch, [one.ready.arguments for one in programs if one.number is not None], device)
    good: list[Running] = []
    for one in programs:
        try:
            with collecting(batch), suppress(Collected):
                invoked(one.ready.kernel, _arguments(one, arena))
            one.ready.restore()
            good.append(one)
        except Refused as refusal:
            count.refused[str(refusal)] += 1
        except Exception as problem:
            yield one.subject, problem
    try:
        batch.compile()
    except Exception as problem:
        if len(good) == 1:
            yield good[0].subject, problem
            return
        half = len(good) // 2  # which of them it is
        for part in (good[:half], good[half:]):
            yield from failures([one.subject for one in part], count, device, full=full)
        return
    with running(batch):
        yield from _run(torch, arena, good, count)


def _suits(number: int, ready: Ready) -> bool:
    """Whether a program is called on tensors: torch has no others than aligned ones in this machine's byte order."""
    arrays = [*ready.arguments.inputs.values(), *(ready.arguments.outs or ())]
    return number % ON_HOST_ARRAYS != 0 and not ready.copied and any(isinstance(a, np.ndarray) for a in arrays)


def _arguments(one: Running, arena: Arena) -> Arguments:
    given = one.ready.arguments
    return given if one.number is None else arena.tensors(one.number, given, arena.block)


def _run(torch: Any, arena: Arena, programs: Sequence[Running], count: Count) -> Iterator[Failed]:
    """Everything is launched before anything is waited for, but for calls on NumPy arrays."""
    blocks = [arena.block, arena.copy(), arena.copy()]
    results = Results(torch)
    made: list[Running] = []
    for one in programs:
        try:
            if one.number is None:
                one.ready.check(one.ready.call(), one.ready.arguments)
            else:
                _call(one, arena, blocks, results)
            made.append(one)
        except Exception as problem:
            yield one.subject, problem
    results.fetch()
    back = [block.cpu().numpy() for block in blocks]
    for one in made:
        try:
            if one.number is not None:
                _compare(one, one.number, arena, back, results)
            count.add(one.subject, one.ready)
        except Exception as problem:
            yield one.subject, problem


def _call(one: Running, arena: Arena, blocks: Sequence[Any], results: Results) -> None:
    """A call, the same when it is recognised, and for some a plan, each on arguments of its own."""
    assert one.number is not None
    planned = one.number % PLANNED == 0
    for way, block in enumerate(blocks[: 2 + planned]):
        given = arena.tensors(one.number, one.ready.arguments, block)
        kernel: Any = one.ready.kernel
        if way < 2:
            found = invoked(kernel, given)
        else:
            found = kernel.plan(*given.inputs.values(), **given.keywords)()
        one.ways.append((given, as_tuple(found)))
        results.keep([r for r in as_tuple(found) if not any(r is o for o in given.outs or ())])


def _compare(one: Running, number: int, arena: Arena, back: Sequence[Array], results: Results) -> None:
    """Raises AssertionError where a call gave something else than it should, or wrote where it should not."""
    ready = one.ready
    first: list[bytes] | None = None
    for block, (given, returned) in zip(back, one.ways, strict=False):
        after = arena.arrays(number, ready.arguments, block)
        arrays: list[Any] = []
        for n, tensor in enumerate(returned):
            out = given.outs[n] if given.outs is not None else None
            assert out is None or tensor is out, "another tensor than the one given with out= came back"
            arrays.append(results.array(tensor) if out is None else (after.outs or ())[n])
        found = [a.tobytes() for a in arrays] + [after.inputs[n].tobytes() for n in sorted(ready.written())]
        if found != first:
            ready.check(tuple(arrays), after)
        first = first or found
        arena.check_unwritten(number, ready.arguments, ready.written(), block)
