"""Calls: arguments -> operands -> lowering and allocation -> compiled kernels -> launch."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kgen.call.cached_lowering import MAX_CACHED_LAYOUTS, CachedLowering
from kgen.call.fast_calls import FastCalls
from kgen.codegen.kernels import Module
from kgen.diagnostics import error
from kgen.dynamo import opaque
from kgen.lowering import Lowered
from kgen.operands import Operands
from kgen.options import Options
from kgen.program import Program
from kgen.records import dataclass
from kgen.schedule.scratch import buffer_bytes
from kgen.spec import Shape

if TYPE_CHECKING:  # imported where a call needs them, so that `jit` stays cheap
    from kgen.call.arguments import ArrayValue, Value
    from kgen.call.fastpath import ObservedCall, ViewAddress
    from kgen.call.kept import Kept
    from kgen.call.outputs import Outputs
    from kgen.call.session import Session
    from kgen.runtime.backend import CudaBackend, HostBackend
    from kgen.runtime.launcher import Launcher, LoadedKernels
    from kgen.runtime.parameters import Variable
    from kgen.schedule.target import Target


NOT_MOVED: Mapping[int, int] = {}


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call that is lowered, allocated and compiled, but not launched."""

    engine: Engine
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    out: Any
    operands: Operands
    outputs: Outputs
    lowered: Lowered
    launcher: Launcher

    @property
    def session(self) -> Session:
        return self.outputs.session

    @property
    def values(self) -> Mapping[str, Value]:
        return self.outputs.values

    @property
    def outs(self) -> Sequence[ArrayValue | None]:
        return self.outputs.outs

    def launch(self) -> None:
        self.mark_written()
        self.launcher.run(self.session.stream, self.variables())

    def mark_written(self) -> None:
        """Mark the arrays that the kernels write as changed in their libraries."""
        for value in self.written():
            if value.adapter is not None:
                value.adapter.mark_written((value.array,))

    def written(self) -> list[ArrayValue]:
        """The caller's arrays that the kernels write to."""
        graph, steps = self.lowered.specialised.graph, self.lowered.specialised.steps
        updated = {graph.operands[graph.base(o)].name for s in steps for o in s.written}
        return [v for v in self.arrays() if v.name in updated]

    def arrays(self) -> list[ArrayValue]:
        """The caller's arrays, ``out=`` included."""
        from kgen.call.arguments import ArrayValue

        return [v for v in self.values.values() if isinstance(v, ArrayValue)] + [o for o in self.outs if o is not None]

    def refuse_copies(self) -> None:
        """Raises :class:`~kgen.KgenError` (``bad-plan``) where a kernel reads a temporary copy of an array."""
        for value in self.arrays():
            if value.adapter is not None and value.adapter.copies(value.original):
                message = f"`{value.name}` is unaligned or in another byte order, so every call copies it"
                raise error("bad-plan", message, "pass an aligned copy in this machine's byte order")

    def addresses(self) -> list[tuple[ArrayValue, int]]:
        """The caller's arrays that the kernels access, with their addresses."""
        operands = zip(self.lowered.specialised.graph.operands, self.outputs.arrays, strict=True)
        pointers = {o.name: array.pointer for o, array in operands}
        return [(v, pointers[v.name]) for v in self.arrays() if v.name in pointers]

    def variables(self, moved: Mapping[int, int] = NOT_MOVED) -> list[Any]:
        """The values of pointers and scalars, in the order of the kernels' signature.

        ``moved``: by operand that is no view, the bytes that its memory lies elsewhere.
        """
        graph = self.lowered.specialised.graph
        found: list[Any] = []
        for variable in self.launcher.signature.variables:
            if variable.operand is not None:
                pointer = self.outputs.arrays[variable.operand].pointer
                found.append(pointer + moved.get(graph.base(variable.operand), 0))
            else:
                found += _scalar(variable, self.values)
        return found

    def observed(self) -> ObservedCall:
        from kgen.call.fastpath import ObservedCall, Operand

        graph, steps = self.lowered.specialised.graph, self.lowered.specialised.steps
        writes = {graph.base(o) for s in steps for o in s.written}
        operands = tuple(
            Operand(o.name, array, o.dtype, number in writes, number in self.outputs.fresh)
            for number, (o, array) in enumerate(
                zip(self.lowered.specialised.graph.operands, self.outputs.arrays, strict=True)
            )
            if o.role != "buffer" and o.view is None  # these come last
        )
        session = self.session
        return ObservedCall(
            self.engine, self.args, self.named, self.out, self.values, self.outs, operands, self.lowered,
            session.adapter, session.like, self.launcher, self._views(len(operands)),
        )  # fmt: skip

    def _views(self, first: int) -> tuple[ViewAddress, ...]:
        """The addresses of the views; ``first``: the number of the first."""
        from kgen.call.fastpath import ViewAddress

        graph, arrays = self.lowered.specialised.graph, self.outputs.arrays
        found: list[ViewAddress] = []
        for number, operand in enumerate(graph.operands[first:], first):
            if operand.view is not None:
                base = operand.view.of
                offset = arrays[number].pointer - arrays[base].pointer
                nested = found[base - first] if base >= first else ViewAddress(base, 0)
                found.append(ViewAddress(nested.base, nested.offset + offset))
        return tuple(found)


@dataclass(slots=True)
class CallRecord:
    """The calls of a lowered program: their number, and its kernels as loaded on each device."""

    launchers: dict[object, Launcher] = field(default_factory=dict)  # by device
    calls: int = 0


@dataclass(slots=True)
class Engine:
    """Calls of one program, with caches of everything lowered and compiled for it.

    ``key``: the name under which the first call is kept on disk; empty: it is not.  ``kept``: a weak reference to
    what keeps the kernel.
    """

    program: Program
    name: str
    device: str | None
    options: Options
    lowering: CachedLowering = field(init=False)
    fast: FastCalls = field(default_factory=FastCalls)
    key: str = ""
    kept: Callable[[], Kept | None] = lambda: None
    _first: tuple[Lowered, Module] | None = None  # what the first call ran, until it is kept
    _records: dict[Lowered, CallRecord] = field(default_factory=dict)
    _loaded: dict[object, LoadedKernels] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lowering = CachedLowering(self.program)

    @opaque
    def call(
        self, args: tuple[Any, ...], named: Mapping[str, Any], *, out: Any, stream: Any, shape: Shape | None
    ) -> Any:
        with self.prepare(args, named, out=out, stream=stream, shape=shape) as call:
            if shape is None:
                self._add_fast_call(call)  # before the launch: what fails here has changed no array
            call.launch()
            self._keep_first(call)
        return call.outputs.results()

    @contextmanager
    # many: those of a call, and the target
    def prepare(
        self,
        args: tuple[Any, ...],
        named: Mapping[str, Any],
        *,
        out: Any,
        stream: Any,
        shape: Shape | None,
        target: Target | None = None,
    ) -> Iterator[PreparedCall]:
        """A call up to its launch.  Leaving the context downloads results, and waits where the library needs it.

        ``target``: instead of the device's own.
        """
        from kgen.call.arguments import ArrayValue, bind, by_value, describe, operands_of
        from kgen.call.device import choose_backend
        from kgen.call.outputs import Outputs, given_outputs
        from kgen.call.session import open_session

        values = describe(self.program, bind(self.program, args, named))
        outs = given_outputs(self.program, out)
        backend = choose_backend(self.device, [*values.values(), *(o for o in outs if o is not None)])
        values = by_value(self.program, values, outs, backend.device)
        operands = operands_of(values, outs, shape)
        arrays = [v for v in values.values() if isinstance(v, ArrayValue)] or [o for o in outs if o is not None]
        with open_session(backend, arrays, stream) as session:
            outputs = Outputs(values, outs, session)
            if target is None:
                lowered, launcher = self._lower(backend, operands, outputs)
            else:
                lowered = self.lowering(operands, target, outputs.allocate)
                launcher = self.launcher(backend, lowered)
            self.fast.ran_on = str(backend.device)
            yield PreparedCall(self, args, named, out, operands, outputs, lowered, launcher)

    def _lower(
        self, backend: HostBackend | CudaBackend, operands: Operands, outputs: Outputs
    ) -> tuple[Lowered, Launcher]:
        """The lowered call and its loaded kernels.  Those of the first call are kept on disk."""
        target = self.options.target(backend.target)
        if not self.lowering.is_empty:
            lowered = self.lowering(operands, target, outputs.allocate)
            return lowered, self.launcher(backend, lowered)
        from kgen.call.stored_lowering import StoredLowering, find, keep, key_of

        key = key_of(self.program, self.name, self.options, operands, target)
        found = find(key, target)
        if found is None:
            backend.load_compiler()
        else:
            self.lowering.add(operands, found.typed, found.lowered)
        lowered = self.lowering(operands, target, outputs.allocate)
        if found is not None and found.lowered is lowered:
            self._first = lowered, found.module
            return lowered, self.launcher(backend, lowered, found.module)
        module = self.module(lowered)
        self._first = lowered, module
        launcher = self.launcher(backend, lowered, module)
        keep(key, target, StoredLowering(self.lowering.specialise(self.program, operands), lowered, module))
        return lowered, launcher

    def _keep_first(self, call: PreparedCall) -> None:
        """Keep the first call on disk, unless a later process has to do more than to launch."""
        first, self._first = self._first, None
        session = call.session
        if not self.key or first is None or first[0] is not call.lowered or self.lowering.lints:
            return
        # Where a process has a GPU, NumPy's arrays go there unless the device is given.
        placed = self.device is not None or all(array.device is not None for array in call.arrays())
        if placed and session.staging is None and not session.is_given and not session.adapter.waits:
            from kgen.call import stored_call

            if stored_call.is_plain(call.launcher):
                stored_call.keep(self.key, self.name, first[1].text, call.observed())

    def _add_fast_call(self, call: PreparedCall) -> None:
        """Add a fast path for calls like this one, from the second call on.

        Where more kinds of call alternate than there may be, they evict each other; each is then added again after
        twice as many calls as the last time.
        """
        record = self._records.get(call.lowered)
        if record is None:  # another thread dropped all records
            return
        record.calls += 1
        session = call.outputs.session
        if session.staging is not None or session.adapter.waits:
            return
        if record.calls == 1:
            kinds = (*map(type, call.args), type(call.out), *call.named)
            code = (id(call.lowered.specialised), call.lowered.schedules, call.launcher.module)
            self.fast.add_class((*code, session.adapter, kinds), call.observed)
        elif record.calls & (record.calls - 1) == 0:
            self.fast.add_layout(call.observed())

    def forget_launchers(self) -> None:
        """Drop loaded kernels' launches, and so the memory that their kernels share."""
        self._records.clear()

    def launcher(self, backend: HostBackend | CudaBackend, lowered: Lowered, module: Module | None = None) -> Launcher:
        """The kernels, loaded on a device, without those that have no elements to compute.

        ``module``: their text, where it is known.
        """
        record = self._records.get(lowered)
        if record is None:
            if len(self._records) >= MAX_CACHED_LAYOUTS:
                self._records.clear()
            record = self._records[lowered] = CallRecord()
        found = record.launchers.get(backend.key)
        if found is None:
            from kgen.runtime.launcher import Launcher
            from kgen.runtime.parameters import Kernels

            busy = [s.placed.points > 0 for s in lowered.steps]
            loaded = self.load(backend, lowered, module) if any(busy) else None
            entries = loaded.entries if loaded else ()
            kernels = [(e, e.rule.launch(lowered.steps[e.step].placed.space)) for e in entries if busy[e.step]]
            cut = lowered.specialised
            buffers = buffer_bytes(cut.graph)
            described = Kernels(kernels, lowered.sizes.extents, cut.steps, buffers, lowered.arrays)
            found = record.launchers[backend.key] = Launcher(loaded, described, self.kept)
        return found

    def load(self, backend: HostBackend | CudaBackend, lowered: Lowered, module: Module | None = None) -> LoadedKernels:
        """The compiled kernels, from memory or disk where cached."""
        # CachedLowering keeps the object of this id alive.
        key = (id(lowered.specialised), lowered.schedules, backend.key)
        found = self._loaded.get(key)
        if found is None:
            module = module or self.module(lowered)
            found = self._loaded[key] = backend.load(module, lowered.specialised.steps, self.name, self.options)
        return found

    def module(self, lowered: Lowered) -> Module:
        """The ``.cu`` text, without a launcher."""
        from kgen import pipeline

        return pipeline.source(self.program, lowered, self.name, self.options, ("kgen", "compile", "-"))


def _scalar(variable: Variable, values: Mapping[str, Value]) -> tuple[Any, ...]:
    """A by-value parameter as ``struct`` takes it.  Raises :class:`~kgen.KgenError` where it does not fit its dtype."""
    from kgen.call.arguments import ScalarValue
    from kgen.runtime.scalars import pack

    assert variable.scalar is not None
    assert variable.dtype is not None
    value = values[variable.scalar]
    assert isinstance(value, ScalarValue)
    return struct.unpack(f"<{variable.code}", pack(variable.scalar, value.value, variable.dtype))
