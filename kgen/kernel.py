"""A compiled program as a Python callable."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from kgen.diagnostics import KgenError, error, public, shorten, shown
from kgen.dynamo import keep_out, opaque
from kgen.records import replace

if TYPE_CHECKING:  # imported where they are used, so that `import kgen` stays cheap
    from inspect import Signature

    from kgen.call.engine import Engine
    from kgen.call.gradient import Gradient
    from kgen.call.index_checks import IndexChecker
    from kgen.call.kept import Kept
    from kgen.call.pair import Pair
    from kgen.call.plan import Plan
    from kgen.call.stored_call import StoredCall
    from kgen.call.tangent import Tangent
    from kgen.dtypes import DType
    from kgen.explain import Explanation
    from kgen.options import Options
    from kgen.program import Program
    from kgen.spec import OpenShape, Shape, Spec

_ARCH = r"(sm|compute)_[0-9]{2,3}[af]?"


class _KernelSignature:
    """``inspect.signature(kernel)`` shows the program's own arguments; the class has the signature of a class."""

    def __get__(self, kernel: Kernel | None, owner: type) -> Signature:
        if kernel is None:
            raise AttributeError("__signature__")
        from kgen.call.arguments import signature_of

        return signature_of(kernel.program)


class Kernel:
    """A compiled program.  Call it on arrays; ask it for its text, its plan, its result's metadata.

    A copy, also by pickle, is the same program, compiled anew where it is called.
    """

    __signature__ = _KernelSignature()

    def __init__(
        self,
        load: Callable[[], Program],
        name: str,
        device: str | None,
        options: Options,
        key: str = "",
        stored: Sequence[StoredCall] = (),
        kept: Callable[[], Kept | None] = lambda: None,
    ) -> None:
        """``load`` gives the program.  ``key``: the name of its first call on disk; ``stored``: what is there.
        ``kept``: a weak reference to where :func:`kgen.jit` keeps this kernel.
        """
        from kgen.call.fast_calls import FastCalls

        self._load = load
        self.name = name
        self.options = options
        self._device = device
        self._key = key
        self._stored = stored
        self._kept = kept
        self._fast = FastCalls()
        self._fast_calls = self._fast.calls  # the same list
        self._gradients: dict[tuple[str, ...], Gradient] = {}
        self.recorded: Any = None  # see kgen/call/autograd.py
        self.reads_all: bool | None = None  # see kgen/call/saving.py
        self._pairs: dict[tuple[str, ...], Pair] = {}
        self._tangent: Tangent | None = None

    @cached_property
    def program(self) -> Program:
        """The text, parsed."""
        return self.options.applied(self._load())

    @cached_property
    def _engine(self) -> Engine:
        from kgen.call.engine import Engine

        return Engine(self.program, self.name, self._device, self.options, self._fast, self._key, self._kept)

    @property
    def has_warned(self) -> bool:
        """Whether it showed lints (:class:`~kgen.LintWarning`)."""
        engine = vars(self).get("_engine")
        return engine is not None and bool(engine.lowering.lints)

    @cached_property
    def _updates(self) -> bool:
        return any(a.role == "inout" for a in self.program.arguments)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the array arguments, in call order."""
        return tuple(a.name for a in self.program.arguments)

    @property
    def params(self) -> tuple[str, ...]:
        """The names of the by-value parameters."""
        return tuple(p.name for p in self.program.parameters)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the returned arrays, in order."""
        return tuple(o.name for o in self.program.outputs)

    @property
    def ran_on(self) -> str | None:
        """The device of the last call: ``"cpu"``, ``"cuda:0"``, or None before the first."""
        return self._fast.ran_on

    @opaque
    def __call__(
        self,
        /,
        *args: Any,
        out: Any = None,
        stream: Any = None,
        shape: Shape | None = None,
        check_indices: bool = False,
        **named: Any,
    ) -> Any:
        """Run on arrays: positional in input order, or by name; params by keyword.

        ``out``: an array to write to (a tuple for several outputs; None entries are allocated), of exactly the
        output's shape.  ``stream``: a CUDA stream (default: the current stream of the first array's library).
        ``shape``: the shape of a program without array arguments.  ``check_indices``: whether a kernel of its own looks
        for computed indices beyond their axes first; the call waits for it, and raises ``index-out-of-range`` before it
        has changed an array.

        Returns one array, or a tuple for several outputs, in the library of the first array argument; ``inout``
        arguments are updated and not returned.  Raises :class:`~kgen.KgenError`.
        """
        try:
            if check_indices:
                keep_out()
                self._index_checker.check(args, named, stream=stream, shape=shape)
            if shape is None:
                for fast_call in self._fast_calls:
                    result = fast_call(args, out, stream, named)
                    if result is not NotImplemented:
                        return result
            keep_out()
            if self._stored:
                result = self._repeated(args, out, stream, named) if shape is None else NotImplemented
                if result is not NotImplemented:
                    return result
            if out is None and shape is None and not self._updates:
                from kgen.call.autograd import recorder

                record = recorder(args, named)
                if record is not None:
                    return record(self, args, named, stream)
            return self._engine.call(args, named, out=out, stream=stream, shape=shape)
        except KgenError as problem:
            shorten(problem)
            raise

    def _repeated(self, args: tuple[Any, ...], out: Any, stream: Any, named: dict[str, Any]) -> Any:
        """The result of a first call like that of an earlier process, NotImplemented for another one."""
        from kgen.call.stored_call import restore

        stored, self._stored = self._stored, ()
        made = restore(stored, self._fast, args, out, named, self.options)
        if made is None:
            return NotImplemented
        self._fast.add(made)
        return made(args, out, stream, named)

    def __reduce__(self) -> tuple[Any, ...]:
        source = self.program.source
        return _again, (source.text, source.name, self.name, self._device, self.options)

    def gradient(self, wrt: tuple[str, ...]) -> Gradient:
        """The gradients of these arguments, as :func:`kgen.grad` makes them, kept for later calls."""
        found = self._gradients.get(wrt)
        if found is None:
            from kgen.call.gradient import Gradient

            found = self._gradients[wrt] = Gradient(self, wrt)
        return found

    def pair(self, wrt: tuple[str, ...]) -> Pair:
        """The kernels that autograd calls for the gradients of these arguments, kept for later calls."""
        found = self._pairs.get(wrt)
        if found is None:
            from kgen.call.pair import Pair

            found = self._pairs[wrt] = Pair(self, wrt, None)
        return found

    @cached_property
    def _index_checker(self) -> IndexChecker:
        from kgen.call.index_checks import IndexChecker

        return IndexChecker(self._engine)

    @cached_property
    def reduces(self) -> bool:
        """Whether the program has a reduction."""
        from kgen.gradients.saved import reduces

        return reduces(self.program)

    def tangent(self) -> Tangent:
        """The tangents of the outputs, kept for later calls."""
        from kgen.call.tangent import Tangent

        if self._tangent is None:
            self._tangent = Tangent(self, values=False)
        return self._tangent

    def derived(self, program: Program, name: str) -> Kernel:
        """A kernel of a program that was made of this one's, with its options and device; its lints are not shown."""
        options = replace(self.options, tuning=0)  # the table is that of one program
        made = new_kernel(lambda: program, name, self._device, options, "", (), self._kept)
        made._engine.lowering.shows_lints = False
        return made

    @public
    def plan(
        self,
        /,
        *args: Any,
        out: Any = None,
        stream: Any = None,
        shape: Shape | None = None,
        check_indices: bool = False,
        **named: Any,
    ) -> Plan:
        """This call lowered, compiled and allocated, but not launched: see :class:`Plan`.

        Takes what a call takes; with ``check_indices``, each launch of the plan is checked.
        Raises :class:`~kgen.KgenError`, also (``bad-plan``) for arrays that have to be copied
        or waited for at every call: JAX's, and NumPy's on a GPU.
        """
        from kgen.call.plan import plan_of

        checker = self._index_checker if check_indices else None
        return plan_of(self._engine, args, named, checker, out=out, stream=stream, shape=shape)

    @public
    def warmup(self, specs: Iterable[Any], *, progress: bool | None = None) -> None:
        """Compile ahead of the calls, several kernels at a time.

        ``specs``: one entry for each call to come: a :class:`~kgen.Spec` or an array, a tuple of them in input order,
        or a dict by name with params.  ``progress``: show a bar (default: when standard error is a terminal).
        """
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        if not isinstance(specs, Iterable) or isinstance(specs, str | dict):
            raise error(
                "bad-call", f"warmup() takes a list, not {type(specs).__name__}", "one entry for each call to come"
            )
        for one in specs:
            if isinstance(one, dict):
                calls.append(((), one))
            else:
                calls.append((one if isinstance(one, tuple) else (one,), {}))
        from kgen.call.warmup import warm_up

        warm_up(self._engine, calls, sys.stderr.isatty() if progress is None else progress)

    @public
    def tune(self, /, *args: Any, shape: Shape | None = None, **named: Any) -> Kernel:
        """The kernel that is fastest for such arrays on this GPU, by the clock.

        kgen chooses schedules by predicted times.  This compiles what it would choose by other numbers, about five
        programs where predictions are close, and times them on these arrays (what a program updates, on a copy).
        Takes the arguments and the ``shape`` of a call.  Returns this kernel, or another one of the same program, whose
        ``options.tuning`` is the number of its table: ``kgen.jit(text, tuning=number)`` and ``kgen compile --tuning
        NUMBER`` make it again.
        Sums of floats may be added in another order.  The number is kept on disk for later processes with the same GPU.
        Kernels of gradients are not tuned.

        Raises :class:`~kgen.KgenError`, also (``bad-call``) on the CPU and while a graph is captured.
        """
        return self._tuned(args, named, shape, sys.stderr.isatty())

    def _tuned(self, args: tuple[Any, ...], named: Mapping[str, Any], shape: Shape | None, progress: bool) -> Kernel:
        """``progress``: whether a bar is shown; no parameter of :meth:`tune`, as an input may have the name."""
        from kgen.call.tune import fastest_table

        number = fastest_table(self._engine, args, named, shape, progress)
        if number == self.options.tuning:
            return self
        options = replace(self.options, tuning=number)
        made = new_kernel(lambda: self.program, self.name, self._device, options, "", (), self._kept)
        made._engine.lowering.lints.update(self._engine.lowering.lints)  # each is shown once
        return made

    @public
    def meta(self, /, *args: Any, shape: Shape | None = None, **named: Any) -> Spec | tuple[Spec, ...]:
        """The output's shape, dtype and strides (a tuple for several); no data is touched."""
        from kgen.call import inspection

        specs = inspection.meta(self._engine, args, named, shape)
        return specs[0] if len(specs) == 1 else specs

    @public
    def source(
        self,
        /,
        *args: Any,
        dtypes: DType | str | dict[str, Any] | None = None,
        layout: str = "any",
        rank: int = 4,
        shape: Shape | OpenShape | None = None,
        arch: str | None = None,
        **named: Any,
    ) -> str:
        """The standalone ``.cu`` text: for these arrays, or for ``dtypes`` and a ``layout`` class when none are given.

        Arrays may be specs, also with open extents: ``kgen.spec(("?", 8), "f32")``.  The text is what ``kgen compile``
        writes for the same shapes.  ``dtypes``: one dtype for all inputs, or a dict by name (default float32).
        ``layout``: ``"any"``, ``"contiguous"``, ``"rows"`` or ``"strided"``.  ``rank``: how many dimensions, after
        merging, strided kernels cover.  ``arch`` such as ``"sm_90"``: the oldest architecture that the text has to run
        on (default: any); what runs here is made for the GPU that is here.
        """
        _check_arch(arch)
        if args or named or shape is not None:
            if dtypes is not None or layout != "any" or rank != 4:
                raise error(
                    "bad-call",
                    "source() takes arrays, or dtypes=, layout= and rank=, not both",
                    "arrays say their own dtypes and layouts",
                )
            from kgen.call import inspection

            return inspection.source(self._engine, args, named, shape, arch)
        from kgen.aot import aot_module
        from kgen.compile_spec import CompileSpec

        spec = CompileSpec(dtypes, layout=layout, rank=rank, arch=arch, tuning=self.options.tuning)
        return aot_module(self.program, self.name, self.options, spec).text

    @public
    def explain(
        self, /, *args: Any, out: Any = None, shape: Shape | None = None, arch: str | None = None, **named: Any
    ) -> Explanation:
        """The schedules for these arrays (or specs), and the reasons; prints as text, and has ``to_dict()``.

        ``arch`` such as ``"sm_90"`` (default: the GPU that is here, if any): the target of the schedules, and of the
        counts of registers and memory.
        """
        _check_arch(arch)
        from kgen.call import inspection

        return inspection.explain(self._engine, args, named, shape, out, arch)

    @public
    def cubin(
        self, /, *args: Any, arch: str | None = None, shape: Shape | OpenShape | None = None, **named: Any
    ) -> bytes:
        """The machine code for these arrays; ``arch`` such as ``"sm_90"`` (default: the GPU that is here)."""
        _check_arch(arch)
        from kgen.call import inspection

        return inspection.compiled(self._engine, args, named, shape, "cubin", arch)

    @public
    def ptx(self, /, *args: Any, arch: str | None = None, shape: Shape | OpenShape | None = None, **named: Any) -> str:
        """The PTX text for these arrays; ``arch`` such as ``"sm_90"`` (default: the GPU that is here)."""
        _check_arch(arch)
        from kgen.call import inspection

        return inspection.compiled(self._engine, args, named, shape, "ptx", arch).decode()

    def __repr__(self) -> str:
        returned = ", ".join(self.outputs) or "None"
        return f"<kgen kernel {self.name}({', '.join([*self.inputs, *self.params])}) -> {returned}>"


def _check_arch(arch: Any) -> None:
    """Raises :class:`~kgen.KgenError` (``unknown-arch``); NVRTC has the list of architectures."""
    if arch is not None and not (isinstance(arch, str) and re.fullmatch(_ARCH, arch)):
        raise error("unknown-arch", f"{shown(arch)} is no architecture", 'such as arch="sm_90"')


class Profiled(Kernel):
    """A kernel whose calls are NVTX ranges, for Nsight Systems: what :func:`jit` makes under ``KGEN_NVTX=1``."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        try:
            import nvtx
        except ImportError:
            raise error(
                "no-nvtx", "KGEN_NVTX=1 asks for NVTX ranges, and nvtx is not installed", "pip install nvtx"
            ) from None
        self._range = nvtx.annotate

    @opaque
    def __call__(self, /, *args: Any, **named: Any) -> Any:
        with self._range(f"kgen {self.name}", domain="kgen"):
            return super().__call__(*args, **named)


def new_kernel(load: Callable[[], Program], *args: Any) -> Kernel:
    """A :class:`Kernel` of what it takes, which a profiler shows under ``KGEN_NVTX=1``."""
    made = Profiled if os.environ.get("KGEN_NVTX", "0") not in ("", "0") else Kernel
    return made(load, *args)


def _again(text: str, source: str, base: str, device: str | None, options: Options) -> Kernel:
    """A pickled or copied kernel, whose lints were shown before."""
    kernel = new_kernel(partial(loaded, text, source), base, device, options)
    kernel._engine.lowering.lints.update(dict.fromkeys(kernel.program.lints))
    return kernel


def loaded(text: str, source: str) -> Program:
    """The program of a text.  Raises :class:`~kgen.KgenError`."""
    from kgen.load import load

    return load(text, source)
