"""What a call does: arguments -> specialisation -> outputs -> plan -> compiled kernel -> launch."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from kgen import pipeline
from kgen.decide import Decider, Layouted, given_arrays, program_shape_of
from kgen.diagnostics import error
from kgen.dynamo import opaque
from kgen.schedule.bind import buffers
from kgen.schedule.launch import launch_of
from kgen.spec import Shape

if TYPE_CHECKING:
    from kgen.arguments import ArrayValue, Value
    from kgen.outputs import Outputs
    from kgen.plan import Plan
    from kgen.quick import Quick, Seen
    from kgen.runtime.backend import CudaBackend, HostBackend
    from kgen.runtime.bound import Bound, Loaded
    from kgen.runtime.frame import Variable
    from kgen.runtime.session import Session


MOST_QUICK = 8  # kinds of call that are recognised at once


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call with everything decided, allocated and compiled, and nothing launched."""

    engine: Engine
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    out: Any
    values: Mapping[str, Value]
    outs: tuple[ArrayValue | None, ...]
    outputs: Outputs
    plan: Layouted
    bound: Bound
    session: Session

    def launch(self) -> None:
        self.mark_written()
        self.bound.run(self.session.stream, self.variables())

    def mark_written(self) -> None:
        """Tell libraries which of the caller's arrays change."""
        for value in self.written():
            if value.adapter is not None:
                value.adapter.mark_written((value.array,))

    def written(self) -> list[ArrayValue]:
        """The caller's arrays that the kernels write to."""
        operands = self.plan.specialised.kernel.operands
        updated = {operands[t.operand].name for s in self.plan.specialised.steps for t in s.touches if t.writes}
        return [v for v in self.arrays() if v.name in updated]

    def arrays(self) -> list[ArrayValue]:
        """The caller's arrays, ``out=`` included."""
        from kgen.arguments import ArrayValue

        return [v for v in self.values.values() if isinstance(v, ArrayValue)] + [o for o in self.outs if o is not None]

    def refuse_copies(self) -> None:
        """Raises :class:`~kgen.KgenError` (``bad-plan``) where a kernel reads a copy that was made for this call."""
        for value in self.arrays():
            if value.adapter is not None and value.adapter.copies(value.original):
                message = f"`{value.name}` is unaligned or in another byte order, so every call copies it"
                raise error("bad-plan", message, "pass an aligned copy in this machine's byte order")

    def placed(self) -> list[tuple[ArrayValue, int]]:
        """Those that the kernels read or write, with their addresses."""
        operands = zip(self.plan.specialised.kernel.operands, self.outputs.arrays, strict=True)
        pointers = {o.name: array.pointer for o, array in operands}
        return [(v, pointers[v.name]) for v in self.arrays() if v.name in pointers]

    def variables(self) -> list[Any]:
        """The values of pointers and scalars, in the order of the kernels' signature."""
        found: list[Any] = []
        for variable in self.bound.signature.variables:
            if variable.operand is not None:
                found.append(self.outputs.arrays[variable.operand].pointer)
            else:
                found += _scalar(variable, self.values)
        return found

    def seen(self) -> Seen:
        from kgen.quick import Operand, Seen

        writes = {t.operand for s in self.plan.specialised.steps for t in s.touches if t.writes}
        operands = tuple(
            Operand(o.name, array, o.dtype, number in writes, number in self.outputs.fresh)
            for number, (o, array) in enumerate(
                zip(self.plan.specialised.kernel.operands, self.outputs.arrays, strict=True)
            )
            if o.role != "buffer"  # these stand last
        )
        session = self.session
        return Seen(
            self.engine, self.args, self.named, self.out, self.values, self.outs, operands, session.adapter,
            session.like, self.bound,
        )  # fmt: skip


@dataclass(slots=True)
class Engine(Decider):
    """One program and everything that was decided and compiled for it so far."""

    ran_on: str | None = None  # the device of the last call
    quick: list[Quick] = field(default_factory=list)
    _loaded: dict[object, Loaded] = field(default_factory=dict)
    _shapes: dict[object, int] = field(default_factory=dict)  # that code was called on

    # --- a call -----------------------------------------------------------------------------------

    @opaque
    def call(
        self, args: tuple[Any, ...], named: Mapping[str, Any], *, out: Any, stream: Any, shape: Shape | None
    ) -> Any:
        with self.prepared(args, named, out=out, stream=stream, shape=shape) as call:
            if shape is None:
                self._learn(call)  # before the launch: what fails here has changed no array
            call.launch()
        return call.outputs.results()

    @contextmanager
    def prepared(
        self, args: tuple[Any, ...], named: Mapping[str, Any], *, out: Any, stream: Any, shape: Shape | None
    ) -> Iterator[Prepared]:
        """A call but for its launch.  Leaving it downloads results and waits where a library needs that."""
        from kgen.arguments import ArrayValue, bind, by_value, describe
        from kgen.outputs import Outputs, given_outputs
        from kgen.runtime.backend import choose_backend
        from kgen.runtime.session import open_session

        values = describe(self.program, bind(self.program, args, named))
        outs = given_outputs(self.program, out)
        backend = choose_backend(self.device, [*values.values(), *(o for o in outs if o is not None)])
        values = by_value(self.program, values, outs, backend.device)
        program_shape = program_shape_of(self.program, values, outs, shape)
        specialised = self.specialise(values, program_shape, outs)
        extents = self.extents(specialised, values, program_shape)
        specialised = pipeline.fit(
            specialised, extents, partial(given_arrays, specialised, values), self.program.source
        )
        arrays = [v for v in values.values() if isinstance(v, ArrayValue)] or [o for o in outs if o is not None]
        with open_session(backend, arrays, stream) as session:
            outputs = Outputs.of(specialised, outs, extents, session.inputs(specialised, values), session)
            plan = self.lay_out(specialised, extents, outputs.arrays, outputs.check_overlap(), backend.target)
            bound = self.bind(backend, plan)
            self.ran_on = str(backend.device)
            yield Prepared(self, args, named, out, values, outs, outputs, plan, bound, session)

    def plan(
        self, args: tuple[Any, ...], named: Mapping[str, Any], *, out: Any, stream: Any, shape: Shape | None
    ) -> Plan:
        """A call to be repeated; its outputs are allocated, and nothing is launched."""
        from kgen.plan import Plan
        from kgen.quick import exact_call
        from kgen.runtime.session import stream_handle

        with self.prepared(args, named, out=out, stream=stream, shape=shape) as call:
            if call.session.staging is not None or call.session.adapter.waits:
                raise error(
                    "bad-plan",
                    f"{call.session.adapter.name} arrays are copied or waited for at every call, so no plan helps",
                    "plans are for arrays of torch, CuPy and Numba, and for NumPy's on the CPU",
                )
            call.refuse_copies()
            outputs = call.outputs.results()
        with self.prepared(
            args, named, out=outputs, stream=stream, shape=None if outputs is not None else shape
        ) as call:
            again = exact_call(call.seen())
        return Plan(call, again, None if stream is None else stream_handle(stream))

    def warm_up(self, calls: Sequence[tuple[Sequence[Any], Mapping[str, Any]]], progress: bool) -> None:
        """Compile what these calls (on arrays or specs) will need, several at a time."""
        from kgen.runtime.backend import default_backend
        from kgen.warmup import in_parallel

        def compile_one(call: tuple[Sequence[Any], Mapping[str, Any]]) -> None:
            backend = default_backend(self.device)
            self.load(backend, self.described(*call, shape=None, target=backend.target))

        in_parallel(compile_one, calls, f"compiling {self.name}", progress)

    def _learn(self, call: Prepared) -> None:
        """Recognise calls like this one at once, from the second time on.

        One that is not recognised although it was learnt shares the list with too many others; it is learnt again after
        twice as many calls.
        """
        call.plan.calls += 1
        times = call.plan.calls
        session = call.session
        if session.staging is not None or session.adapter.waits:
            return
        if times == 1:
            self._learn_any_shape(call)
        elif times & (times - 1) == 0:
            from kgen.quick import exact_call

            made = exact_call(call.seen())
            if made is not None:
                self.quick[MOST_QUICK - 1 :] = []
                self.quick.insert(0, made)

    def _learn_any_shape(self, call: Prepared) -> None:
        """The second shape that the same code is called on will not be the last one."""
        key = (id(call.plan.specialised), call.plan.schedules, call.session.adapter, call.out is None, len(call.named))
        shapes = self._shapes[key] = self._shapes.get(key, 0) + 1
        if shapes == 2:
            from kgen.quick import dense_call

            made = dense_call(call.seen())
            if made is not None:
                self.quick[MOST_QUICK - 1 :] = []
                self.quick.append(made)

    def bind(self, backend: HostBackend | CudaBackend, plan: Layouted) -> Bound:
        """The plan's kernels, loaded on a device; those without anything to do are left out."""
        found = plan.bound.get(backend.key)
        if found is None:
            from kgen.runtime.bound import Bound

            busy = [p.points > 0 for p in plan.placed]
            loaded = self.load(backend, plan) if any(busy) else None
            kernels = [
                (entry, launch_of(entry.schedule, plan.placed[entry.step].space))
                for entry in (loaded.entries if loaded else ())
                if busy[entry.step]
            ]
            found = plan.bound[backend.key] = Bound(
                loaded, kernels, plan.extents, plan.specialised.steps, buffers(plan.specialised.kernel, plan.extents)
            )
        return found

    def load(self, backend: HostBackend | CudaBackend, plan: Layouted) -> Loaded:
        """The compiled kernels, from memory or disk where they are there already."""
        key = (id(plan.specialised), plan.schedules, backend.key)  # specialisations live as long as the engine
        found = self._loaded.get(key)
        if found is None:
            module = self.module(plan, ["kgen", "compile", "-"])
            found = self._loaded[key] = backend.load(module, plan.specialised.steps, self.name, self.options)
        return found


def _scalar(variable: Variable, values: Mapping[str, Value]) -> tuple[Any, ...]:
    """A by-value parameter as ``struct`` takes it.  Raises :class:`~kgen.KgenError` where it does not fit its dtype."""
    from kgen.arguments import ScalarValue
    from kgen.runtime.scalars import pack

    assert variable.scalar is not None
    assert variable.dtype is not None
    value = values[variable.scalar]
    assert isinstance(value, ScalarValue)
    return struct.unpack(f"<{variable.code}", pack(variable.scalar, value.value, variable.dtype))
