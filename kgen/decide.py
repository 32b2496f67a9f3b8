"""What is decided before anything runs: arguments -> specialisation -> layouts -> schedules, and the text they give.

Nothing here allocates, loads or launches; ``execute.py`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kgen import pipeline
from kgen.banner import Options, banner, chosen_lines, command_line
from kgen.check import check
from kgen.diagnostics import Diagnostic, error
from kgen.program import Program
from kgen.runtime.cuda.architectures import target_for
from kgen.schedule.bind import Array, Extents, Placed, allocated_strides, buffers, concrete, extents_of
from kgen.schedule.target import PORTABLE, Target
from kgen.spec import Shape, Spec, as_shape, c_strides

if TYPE_CHECKING:
    from kgen.arguments import ArrayValue, Value
    from kgen.codegen.emit import Module
    from kgen.explain import Explanation
    from kgen.pipeline import Specialised
    from kgen.runtime.bound import Bound
    from kgen.schedule.schedule import Schedule


MOST_DECIDED = 1024  # layouts that one kernel remembers; then it starts afresh


@dataclass(slots=True)
class Layouted:
    """A call up to its schedules: everything but code and memory.  ``arrays`` are those of the first such call."""

    specialised: Specialised
    extents: Extents
    arrays: tuple[Array, ...]  # one for each operand
    placed: tuple[Placed, ...]  # one for each step
    schedules: tuple[Schedule, ...]
    reasons: tuple[tuple[str, ...], ...]
    bound: dict[object, Bound] = field(default_factory=dict)  # by device
    calls: int = 0


@dataclass(slots=True)
class Decider:
    """One program and everything that was decided for it so far."""

    program: Program
    name: str
    device: str | None
    options: Options
    lints: dict[Diagnostic, None] = field(default_factory=dict)  # that were warned of
    _specialised: dict[object, Specialised] = field(default_factory=dict)
    _decided: dict[object, Layouted] = field(default_factory=dict)

    def warn(self, lints: Sequence[Diagnostic]) -> None:
        """Once for each lint."""
        from kgen.lints import warn

        warn(lints, self.lints)

    def specialise(
        self, values: Mapping[str, Value], shape: tuple[int, ...], outs: Sequence[ArrayValue | None] = ()
    ) -> Specialised:
        """The IR for these dtypes and ranks; typed once for each combination."""
        from kgen.arguments import class_of, type_of

        out_dtypes = {o.name: o.spec.dtype for o in outs if o is not None}
        key = (
            tuple(class_of(v) for v in values.values()),
            tuple(1 if n == 1 else None for n in shape),
            tuple(out_dtypes.items()),
        )
        found = self._specialised.get(key)
        if found is None:
            types = {n: type_of(v) for n, v in values.items()}
            found = self._specialised[key] = pipeline.specialise(self.program, types, shape, out_dtypes)
            self.warn(found.lints)
        return found

    def extents(self, specialised: Specialised, values: Mapping[str, Value], shape: tuple[int, ...]) -> Extents:
        """The extent of every dimension.  Raises the shape error, with its place, where arguments do not broadcast."""
        from kgen.arguments import ArrayValue, type_of

        kernel = specialised.kernel
        no_arrays = not any(isinstance(v, ArrayValue) for v in values.values())
        shapes: list[tuple[int, ...] | None] = []
        for operand in kernel.operands:
            if operand.role in ("output", "buffer"):
                shapes.append(shape if no_arrays and operand.role == "output" else None)
            else:
                value = values[operand.name]
                assert isinstance(value, ArrayValue)
                shapes.append(value.spec.shape)
        found = extents_of(kernel, shapes)
        if found is None:
            # Typing with these extents finds the operation at fault and marks it.
            check(self.program, {n: type_of(v) for n, v in values.items()}, shape=shape)
            raise AssertionError("extents disagree, and typing found no shape error")
        return found

    def lay_out(
        self,
        specialised: Specialised,
        extents: Extents,
        arrays: Sequence[Array],
        aliased: Sequence[Sequence[bool]],
        target: Target,
    ) -> Layouted:
        """Decide every step, once for each layout and alignment of its operands."""
        where = tuple((a.shape, a.strides, a.pointer % 16) for a in arrays)
        key = (id(specialised), where, tuple(map(tuple, aliased)), target)
        found = self._decided.get(key)
        if found is None:
            if len(self._decided) >= MOST_DECIDED:
                self._decided.clear()
            found = self._decided[key] = self._decide(specialised, extents, arrays, aliased, target)
        return found

    def _decide(
        self,
        specialised: Specialised,
        extents: Extents,
        arrays: Sequence[Array],
        aliased: Sequence[Sequence[bool]],
        target: Target,
    ) -> Layouted:
        placed: list[Placed] = []
        schedules: list[Schedule] = []
        reasons: list[tuple[str, ...]] = []
        for step, alias, why in zip(specialised.steps, aliased, pipeline.order(specialised), strict=True):
            here = pipeline.place(step, arrays, extents, alias)
            choice = pipeline.schedule(step, here, target)
            placed.append(replace(here, space=choice.space))
            schedules.append(choice.schedule)
            reasons.append((*choice.reasons, *why))
        return Layouted(specialised, extents, tuple(arrays), tuple(placed), tuple(schedules), tuple(reasons))

    def module(self, plan: Layouted, command: Sequence[str], notes: Sequence[str] = ()) -> Module:
        """The text for one combination of schedules."""
        chosen = [*notes, *chosen_lines(plan.reasons)]
        head = banner(self.program, plan.specialised.kernel, self.options, command, chosen)
        return pipeline.source(self.program, plan.specialised, list(enumerate(plan.schedules)), self.name, head)

    # --- metadata ---------------------------------------------------------------------------------

    def described(
        self,
        args: Sequence[Any],
        named: Mapping[str, Any],
        shape: Shape | None,
        out: Any = None,
        *,
        address: Callable[[ArrayValue], int] = lambda value: 0,
        target: Target = PORTABLE,
    ) -> Layouted:
        """A call up to its schedules, on arrays or specs; nothing is allocated."""
        from kgen.arguments import ArrayValue, bind, describe
        from kgen.outputs import check_shape, given_outputs

        values = describe(self.program, bind(self.program, args, named))
        outs = given_outputs(self.program, out)
        program_shape = program_shape_of(self.program, values, outs, shape)
        specialised = self.specialise(values, program_shape, outs)
        extents = self.extents(specialised, values, program_shape)
        specialised = pipeline.fit(
            specialised, extents, partial(given_arrays, specialised, values), self.program.source
        )
        known = {**values, **{o.name: o for o in outs if o is not None}}
        arrays: list[Array | None] = []
        for operand in specialised.kernel.operands:
            value = known.get(operand.name)
            if operand.role == "output" and isinstance(value, ArrayValue):
                check_shape(value, concrete(operand.shape, extents))
            arrays.append(_array(value, address(value)) if isinstance(value, ArrayValue) else None)
        full = allocate_layouts(specialised, extents, arrays)
        return self.lay_out(specialised, extents, full, [[False] * len(s.touches) for s in specialised.steps], target)

    def meta(self, args: Sequence[Any], named: Mapping[str, Any], shape: Shape | None) -> tuple[Spec, ...]:
        plan = self.described(args, named, shape)
        operands = zip(plan.specialised.kernel.operands, plan.arrays, strict=True)
        return tuple(Spec(a.shape, o.dtype, a.strides) for o, a in operands if o.role == "output")

    def source(self, args: Sequence[Any], named: Mapping[str, Any], shape: Shape | None, arch: str | None) -> str:
        from kgen.arguments import bind, describe

        plan = self.described(args, named, shape, address=self._address, target=target_for(arch))
        values = describe(self.program, bind(self.program, args, named))
        command = remake_command(self.program, self.name, plan, values, self.options, arch)
        return self.module(plan, command, _bases(plan)).text

    def explain(
        self, args: Sequence[Any], named: Mapping[str, Any], shape: Shape | None, out: Any, arch: str | None
    ) -> Explanation:
        from kgen.explain import Explanation
        from kgen.runtime.backend import arch_here, usage_for
        from kgen.runtime.cuda.driver import probe

        runs_on = arch
        if arch is None and self.device != "cpu" and probe().available:
            runs_on = arch_here()
        plan = self.described(args, named, shape, out, address=self._address, target=target_for(runs_on))
        module = self.module(plan, ["kgen", "compile", "-"])
        return Explanation.of(self.program, plan, module, usage_for(module.text, self.name, self.options, arch))

    def _address(self, value: ArrayValue) -> int:
        """Where a kernel finds an array; 0 for specs, and for NumPy arrays that are copied to a GPU."""
        from kgen.runtime.cuda.driver import probe

        copied = value.device is None and self.device != "cpu" and probe().available
        return 0 if value.adapter is None or copied else value.adapter.pointer(value.array)

    def compiled(
        self,
        args: Sequence[Any],
        named: Mapping[str, Any],
        shape: Shape | None,
        kind: str,
        arch: str | None,
    ) -> bytes:
        from kgen.runtime.backend import arch_here, compile_for

        arch = arch_here() if arch is None else arch
        return compile_for(self.source(args, named, shape, arch), self.name, self.options, kind, arch)


def allocate_layouts(specialised: Specialised, extents: Extents, arrays: Sequence[Array | None]) -> list[Array]:
    """``arrays`` with outputs that are not given filled in, in the layout that they get when allocated."""
    found = buffers(specialised.kernel, extents)
    full = [found.get(n, a) for n, a in enumerate(arrays)]
    for step in specialised.steps:
        for touch in step.touches:
            if full[touch.operand] is None:
                operand = specialised.kernel.operands[touch.operand]
                strides = allocated_strides(specialised.kernel, touch.operand, arrays, extents)
                full[touch.operand] = Array(concrete(operand.shape, extents), strides, operand.dtype.size)
    return [a if a is not None else Array((), (), 1) for a in full]


def _bases(plan: Layouted) -> list[str]:
    """What no command line says: where arrays begin that are not aligned."""
    operands = zip(plan.specialised.kernel.operands, plan.arrays, strict=True)
    off = [f"`{o.name}` {a.pointer % 16}" for o, a in operands if a.pointer % 16]
    return [f"Made for bases past multiples of 16 bytes, unlike the command's: {', '.join(off)}."] if off else []


def remake_command(
    program: Program, base: str, plan: Layouted, values: Mapping[str, Value], options: Options, arch: str | None
) -> list[str]:
    """``kgen compile`` with the dtypes, shapes and strides of these operands."""
    from kgen.ahead import weak_scalars
    from kgen.arguments import type_of

    operands = list(zip(plan.specialised.kernel.operands, plan.arrays, strict=True))
    inputs = {o.name: (o, a) for o, a in operands if o.role in ("input", "inout")}
    return command_line(
        program,
        base,
        options,
        dtypes={n: o.dtype for n, (o, _) in inputs.items()},
        scalars=weak_scalars(program, {n: type_of(v) for n, v in values.items()}),
        shapes={n: a.shape for n, (_, a) in inputs.items()} or {"": max((a.shape for _, a in operands), key=len)},
        strides={n: a.strides for n, (_, a) in inputs.items() if a.strides != c_strides(a.shape)},
        arch=arch,
    )


def given_arrays(specialised: Specialised, values: Mapping[str, Value]) -> list[Array | None]:
    """The arguments that are arrays, one entry for each operand; None for outputs and buffers."""
    from kgen.arguments import ArrayValue

    found: list[Array | None] = []
    for operand in specialised.kernel.operands:
        value = values.get(operand.name) if operand.role in ("input", "inout") else None
        found.append(_array(value) if isinstance(value, ArrayValue) else None)
    return found


def _array(value: ArrayValue, pointer: int = 0) -> Array:
    return Array(value.spec.shape, value.spec.strides, value.spec.dtype.size, pointer)


def program_shape_of(
    program: Program, values: Mapping[str, Value], outs: Sequence[ArrayValue | None], shape: Shape | None
) -> tuple[int, ...]:
    """The shape of a program without array arguments: ``shape=``, or that of an array given with ``out=``."""
    from kgen.arguments import ArrayValue

    if any(isinstance(v, ArrayValue) for v in values.values()):
        if shape is not None:
            raise error(
                "bad-call", "shape= is for programs without array arguments", "the shape follows from the arrays"
            )
        return ()
    if shape is not None:
        return as_shape(shape)
    given = [o for o in outs if o is not None]
    if given:
        return given[0].spec.shape
    raise error(
        "shape-needed", "no argument is an array, so nothing gives the output's shape", "pass shape=(...) or out="
    )
