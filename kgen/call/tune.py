"""``k.tune(...)``: the table of tuned numbers by which a call's kernels are fastest, by the clock.

A table gives schedules as always, so calls by another one are no special case (:mod:`kgen.schedule.tables`).  Kernels
run on the caller's arrays, but what they update is copied first.  What was found is kept on disk.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any

from kgen.call.arguments import bind, describe
from kgen.call.device import choose_backend
from kgen.call.engine import Engine, PreparedCall
from kgen.call.stored_lowering import key_of
from kgen.call.warmup import in_parallel
from kgen.diagnostics import KgenError, error
from kgen.ir.graph import Gather, Scatter
from kgen.layout.overlap import Region, byte_range
from kgen.lowering import Lowered
from kgen.operands import Operands
from kgen.options import OTHER_TABLES
from kgen.records import dataclass, replace
from kgen.runtime.backend import CudaBackend, HostBackend
from kgen.runtime.cuda import libcuda as driver
from kgen.runtime.cuda.context import on
from kgen.runtime.cuda.device import device_info
from kgen.runtime.cuda.driver import check, explained
from kgen.runtime.cuda.memory import DeviceBuffer, own_stream, synchronise
from kgen.runtime.cuda.timing import launch_seconds
from kgen.runtime.store import entry_name, store
from kgen.schedule.tables import with_table
from kgen.schedule.target import Target
from kgen.spec import Shape

_AGAIN = 3  # how many of the fastest are timed twice
_GAIN = 0.97  # of the usual time: what takes less is no noise
_ALIGNMENT = 256  # bytes, as what allocates gives


def fastest_table(
    engine: Engine, args: tuple[Any, ...], named: Mapping[str, Any], shape: Shape | None, progress: bool
) -> int:
    """The number of the table.  Raises :class:`~kgen.KgenError` (``bad-call``) on the CPU and in a captured graph."""
    values = describe(engine.program, bind(engine.program, args, named))
    if choose_backend(engine.device, [*values.values()]).device.kind != "cuda":
        raise error("bad-call", "tune() times kernels on a GPU, and this call runs on the CPU")
    trial = Engine(engine.program, engine.name, engine.device, replace(engine.options, tuning=0))
    trial.lowering.shows_lints = False
    prepare = partial(trial.prepare, args, named, out=None, stream=None, shape=shape)
    task = _task(trial, prepare)
    if task is None:  # no elements
        return 0
    found = store("tuning").get(task.key)
    if found is not None:
        return int(found)

    def compile_one(lowered: Lowered) -> None:
        with suppress(KgenError):  # raised again where the usual table's kernels are timed
            trial.load(task.backend, lowered)

    def seconds(number: int) -> float:
        trial.forget_launchers()  # with the memory between their kernels
        try:
            with prepare(target=with_table(task.usual, number)) as call:
                return _seconds(call, task.device)
        except KgenError:
            if number:  # such as memory for copies that only this table makes
                return math.inf
            raise

    kernels, number = _distinct(trial, task.operands, task.usual), 0
    if len(kernels) > 1:
        in_parallel(compile_one, list(kernels.values()), f"compiling {engine.name}", progress)
        taken = _timed(list(kernels), seconds)
        best = min(taken, key=taken.__getitem__)
        number = best if taken[best] < _GAIN * taken[0] else 0
    store("tuning").put(task.key, str(number).encode())
    return number


@dataclass(frozen=True, slots=True)
class _Task:
    """What is tuned, without the results of a call.  ``device``: its number.  ``key``: of the store."""

    backend: HostBackend | CudaBackend
    device: int
    usual: Target
    operands: Operands
    key: str


def _task(engine: Engine, prepare: Callable[[], AbstractContextManager[PreparedCall]]) -> _Task | None:
    """None where a call has no elements."""
    with prepare() as call:
        session, module = call.session, call.launcher.module
        device, usual = session.backend.device, session.backend.target
        if module is None:
            return None
        if module.is_capturing(session.stream):
            raise error("bad-call", "tune() runs kernels, and a graph is being captured", "tune outside of the graph")
        synchronise(device.index, session.stream)  # what computes the arrays
        return _Task(session.backend, device.index, usual, call.operands, _key(engine, call, usual, device.index))


def _key(engine: Engine, call: PreparedCall, target: Target, device: int) -> str:
    """A digest of what the kernels and their times depend on, before the name of the program."""
    of_call = key_of(engine.program, engine.name, engine.options, call.operands, target)
    digest = hashlib.sha256(f"tuning 2 {device_info(device).name} {of_call}".encode()).hexdigest()
    return f"{entry_name(engine.name)}.{digest[:40]}"


def _distinct(engine: Engine, operands: Operands, target: Target) -> dict[int, Lowered]:
    """By number, the first table that gives each text, comments aside, and numbers of blocks."""
    found: dict[tuple[Any, ...], tuple[int, Lowered]] = {}
    for number in range(OTHER_TABLES + 1):
        lowered = engine.lowering(operands, with_table(target, number))
        lines = engine.module(lowered).text.splitlines()
        grids = (step.launch.grid for step in lowered.steps)
        found.setdefault((*grids, *(line for line in lines if not line.startswith("//"))), (number, lowered))
    return dict(found.values())


def _timed(numbers: Sequence[int], seconds: Callable[[int], float]) -> dict[int, float]:
    """Seconds by these tables, number 0 first; the fastest are timed twice, as the clock of a GPU is not steady."""
    taken = {number: seconds(number) for number in numbers}
    fastest = sorted(numbers[1:], key=taken.__getitem__)[:_AGAIN]
    for number in (numbers[0], *fastest):
        taken[number] = min(taken[number], seconds(number))
    return taken


@dataclass(frozen=True, slots=True)
class _Copy:
    """Memory for a copy of ``size`` bytes at ``start``, with the same alignment."""

    start: int
    size: int
    buffer: DeviceBuffer

    @staticmethod
    def of(start: int, size: int, device: int) -> _Copy:
        return _Copy(start, size, DeviceBuffer(device, size + _ALIGNMENT))

    @property
    def moved(self) -> int:
        """The bytes from what is copied to its copy."""
        return self.buffer.address + self.start % _ALIGNMENT - self.start

    def restore(self, stream: Any) -> None:
        with on(self.buffer.device), explained("copying an array"):
            there = self.start + self.moved
            check("cuMemcpyAsync", driver.cuMemcpyAsync(there, self.start, self.size, stream))


def _seconds(call: PreparedCall, device: int) -> float:
    copies = _copies(call, device)
    values = call.variables({number: copy.moved for number, copy in copies.items()})

    def restore(stream: Any) -> None:
        for copy in copies.values():
            copy.restore(stream)

    restore(own_stream(device))
    # Computed places may be updated themselves: only the first launch finds them in range.
    computed = bool(copies) and any(isinstance(op.attr, Gather | Scatter) for op in call.lowered.specialised.graph.ops)
    return launch_seconds(device, lambda stream: call.launcher.run(stream, values), restore if computed else None)


def _copies(call: PreparedCall, device: int) -> dict[int, _Copy]:
    """By operand, of all arrays of the caller that the kernels update."""
    graph, made = call.lowered.specialised.graph, call.outputs.fresh
    updated = {graph.base(o) for step in call.lowered.specialised.steps for o in step.written}
    found: dict[int, _Copy] = {}
    for number in updated - made:
        array = call.outputs.arrays[number]
        if graph.operands[number].role != "buffer" and 0 not in array.shape:
            first, end, _ = byte_range(Region(array.pointer, array.shape, array.strides, array.itemsize))
            found[number] = _Copy.of(first, end - first, device)
    return found
