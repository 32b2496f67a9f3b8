"""``k.plan(...)``: a lowered, compiled and allocated call, to be launched many times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kgen.call.arguments import ArrayValue, bind, describe
from kgen.call.engine import Engine, PreparedCall
from kgen.call.fastpath import FastCall, same_layout_call
from kgen.call.outputs import given_outputs
from kgen.call.session import check_writable
from kgen.diagnostics import KgenError, error, public, shorten
from kgen.dynamo import opaque
from kgen.runtime.stream import stream_handle
from kgen.spec import Shape

if TYPE_CHECKING:
    from kgen.call.index_checks import IndexChecker
    from kgen.runtime.cuda.graph import CudaGraph


class Plan:
    """One call of a kernel on certain arrays, which it keeps alive together with its outputs.

    ``plan()`` launches it again.  Arrays of torch and NumPy may change their memory, so it first checks that the plan's
    own have not.  ``plan(a2, b2)`` runs on other arrays of the same layouts, into the plan's outputs (or ``out=``), and
    checks their type, device, dtype, shape, strides, alignment and overlap.  Both launch on ``stream=``, else on the
    stream that the plan was made with, else on the current stream of the arrays' library; inside another library's
    graph capture, they are captured.  Under ``check_indices=True`` they first look for indices beyond their axes, and
    wait, so they cannot be captured.
    """

    def __init__(
        self, call: PreparedCall, fast_call: FastCall | None, stream: int | None, checker: IndexChecker | None
    ) -> None:
        self._call = call
        self._checker = checker
        self._fast_call = fast_call
        self._launcher = call.launcher
        self._values = call.variables()
        self._stream = stream
        self._out = call.out
        session = call.session
        adapter, device = session.adapter, session.backend.device
        self._current = adapter.current_stream(device)
        self._on_cuda = device.kind == "cuda"
        moving = [v for v, _ in call.addresses() if v.adapter is not None and v.adapter.moves]
        self._moves = bool(moving)
        alike = all(v.adapter is adapter for v in moving)
        self._unmoved = adapter.unmoved([v.original for v in moving]) if moving and alike else None
        self._marks = [(v.adapter.mark_written, (v.array,)) for v in call.written() if v.adapter is not None]
        # Only the C extension can repeat a call with fixed arguments; for generated Python it is None.
        fix = getattr(fast_call, "again", None)
        fixed = NotImplemented if fix is None else fix(call.args, call.out, call.named)
        self._native: Callable[[Any], Any] | None = None if fixed is NotImplemented else fixed

    @property
    def out(self) -> Any:
        """The output (a tuple for several, None without any); the plan keeps its memory."""
        return self._out

    @opaque
    def __call__(self, *args: Any, out: Any = None, stream: Any = None) -> Any:
        """Launch; returns the outputs.  Raises :class:`~kgen.KgenError` (``plan-mismatch``) for other layouts."""
        try:
            if stream is None:
                stream = self._stream
            elif not self._on_cuda:
                raise error("bad-call", "stream= is for CUDA, and this plan runs on the CPU")
            if self._checker is not None:
                self._checker.check(args or self._call.args, self._call.named, stream=stream, shape=None)
            if args or out is not None:
                return self._call_on(args, out, stream)
            if self._native is not None and self._native(stream) is None:
                return self._out
            self._check_arrays()
            self._launcher.run(self._current() if stream is None else stream_handle(stream), self._values)
        except KgenError as problem:
            shorten(problem)
            raise
        return self._out

    @public
    def graph(self) -> CudaGraph:
        """The plan as a CUDA graph of its own: ``plan.graph()()`` launches all its kernels at once."""
        if not self._on_cuda:
            raise error("bad-plan", "a graph is for CUDA, and this plan runs on the CPU", "call the plan itself")
        if self._checker is not None:
            hint = "leave check_indices=True out, and check a call before"
            raise error("bad-plan", "a graph cannot wait for the check of its indices", hint)
        from kgen.runtime.cuda.graph import CudaGraph

        device = self._call.session.backend.device.index
        return CudaGraph.capture(
            device, lambda stream: self._launcher.run(stream, self._values), self._current, self._check_arrays, self
        )

    def __repr__(self) -> str:
        return f"<kgen plan of {self._call.engine.name} on {self._call.session.backend.device}>"

    def __reduce__(self) -> Any:
        hint = "copy or pickle the kernel, and make a plan of the copy"
        raise error("bad-plan", "a plan belongs to its arrays and to this process, so it has no copy", hint)

    def _check_arrays(self) -> None:
        """Check that each array still has the address and layout of the plan; mark those written as changed."""
        if self._moves and not (self._unmoved is not None and self._unmoved()):
            for value, pointer in self._call.addresses():
                adapter = value.adapter
                assert adapter is not None
                array = adapter.normalise(value.original)
                if adapter.pointer(array) != pointer or adapter.spec(array) != value.spec:
                    message = f"`{value.name}` is not where it was, or of another layout"
                    raise error("plan-mismatch", message, "make another plan")
            for value in self._call.written():
                check_writable(value)
        for mark, arrays in self._marks:
            mark(arrays)

    def _call_on(self, args: tuple[Any, ...], out: Any, stream: Any) -> Any:
        call = self._call
        args, out = args or call.args, self._out if out is None else out
        if self._fast_call is not None:
            result = self._fast_call(args, out, stream, call.named)
            if result is not NotImplemented:
                return result
        elif self._mismatch(args, out) is None:  # a library without guards
            with call.engine.prepare(args, call.named, out=out, stream=stream, shape=None) as other:
                if [s.placed for s in other.lowered.steps] == [
                    s.placed for s in call.lowered.steps
                ] and other.lowered.schedules == call.lowered.schedules:
                    other.launch()
                    return other.outputs.results()
        message = self._mismatch(args, out) or (
            "the arrays overlap, or are aligned, in another way than those that the plan was made for"
        )
        raise error("plan-mismatch", message, "make another plan for these arrays")

    # branches: one message for each difference
    def _mismatch(self, args: tuple[Any, ...], out: Any) -> str | None:
        """The first difference between these arrays and the plan's, other than their addresses."""
        program = self._call.engine.program
        new = describe(program, bind(program, args, self._call.named))
        old = [v for v in self._call.values.values() if isinstance(v, ArrayValue)]
        pairs = [(a, new[a.name]) for a in old]
        outs = zip(self._call.outs, given_outputs(program, out), strict=True)
        pairs += [(a, b) for a, b in outs if a is not None and b is not None]
        for a, b in pairs:
            if isinstance(b, ArrayValue) and b.adapter is not None and b.adapter is a.adapter:
                b.adapter.pointer(b.array)  # raises its own error where the memory cannot be read
            if not isinstance(b, ArrayValue):
                return f"`{a.name}` was an array when the plan was made"
            if a.adapter is not b.adapter or a.device != b.device:
                where = [f"{v.adapter.name if v.adapter else 'spec'} on {v.device or 'the host'}" for v in (a, b)]
                return f"`{a.name}` is {where[1]}, and the plan was made for {where[0]}"
            if a.spec != b.spec:
                return f"`{a.name}` is {_layout(b)}, and the plan was made for {_layout(a)}"
        return None


def plan_of(
    engine: Engine,
    args: tuple[Any, ...],
    named: Mapping[str, Any],
    checker: IndexChecker | None,
    *,
    out: Any,
    stream: Any,
    shape: Shape | None,
) -> Plan:
    """Prepare a call to be repeated: allocates its outputs, launches nothing."""
    with engine.prepare(args, named, out=out, stream=stream, shape=shape) as call:
        if call.session.staging is not None or call.session.adapter.waits:
            raise error(
                "bad-plan",
                f"{call.session.adapter.name} arrays are copied or waited for at every call, so no plan helps",
                "plans are for arrays of torch, CuPy and Numba, and for NumPy's on the CPU",
            )
        call.refuse_copies()
        outputs = call.outputs.results()
    shape = None if outputs is not None else shape
    with engine.prepare(args, named, out=outputs, stream=stream, shape=shape) as call:
        fast_call = same_layout_call(call.observed())
    return Plan(call, fast_call, None if stream is None else stream_handle(stream), checker)


def run_to_repeat(engine: Engine, args: tuple[Any, ...], named: Mapping[str, Any], out: Any) -> Any:
    """Run a call; with the C extension, gives what launches it again, or None."""
    with engine.prepare(args, named, out=out, stream=None, shape=None) as call:
        fast_call = same_layout_call(call.observed())
        call.launch()
    fix = getattr(fast_call, "again", None)
    again = NotImplemented if fix is None else fix(args, out, named)
    return None if again is NotImplemented else again


def _layout(value: Any) -> str:
    return f"{value.spec} with strides {value.spec.strides}"
