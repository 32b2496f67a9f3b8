"""Files made ahead of time: no arrays, only dtypes, and shapes where they are stated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kgen import pipeline
from kgen.banner import Options, banner, chosen_lines, command_line, joined
from kgen.check import ArgType, ArrayArg, ScalarArg, WeakArg
from kgen.check.values import kind_of
from kgen.codegen.emit import Module
from kgen.diagnostics import error, shown
from kgen.dtypes import FLOAT32, Kind
from kgen.ir.kernel import Dim, Kernel, Shape
from kgen.partition.cut import RowStep
from kgen.partition.step import Step
from kgen.program import Parameter, Program
from kgen.runtime.cuda.architectures import target_for
from kgen.schedule.bind import Array, Placed, concrete
from kgen.schedule.cover import LAYOUTS, LayoutClass, covering
from kgen.schedule.elementwise.policy import Choice
from kgen.schedule.schedule import Schedule
from kgen.schedule.target import Target
from kgen.spec import as_dtype, c_strides, counted, spec

if TYPE_CHECKING:
    from kgen.decide import Layouted
    from kgen.explain import Explanation

MAX_RANK = 8
STAND_INS = (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049)  # for extents that are not stated: no two divide

Shapes = Mapping[str, tuple[int | None, ...]]


def module_ahead(
    program: Program,
    base: str,
    options: Options,
    *,
    dtypes: Any = None,
    layout: str = "any",
    rank: int = 4,
    shapes: Shapes | None = None,
    strides: Mapping[str, tuple[int, ...]] | None = None,
    scalars: Mapping[str, Kind] | None = None,
    arch: str | None = None,
) -> Module:
    """The file for ``dtypes`` (one for all inputs, or by name; default float32).

    With ``shapes`` (None: any extent) it holds the one kernel that those shapes, C-contiguous or with ``strides``
    (in elements), call for.  Without, the kernels of the class ``layout`` up to ``rank`` merged dimensions.
    ``scalars``: the kinds of Python scalars that stand for inputs and untyped params.  ``arch``: the oldest
    architecture that the file has to run on (None: any).
    """
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise error("bad-layout", f"{shown(layout)} is not a layout class", f"one of {', '.join(LAYOUTS)}")
    if not isinstance(rank, int) or not 1 <= rank <= MAX_RANK:
        raise error("bad-rank", f"rank {shown(rank)} is not supported", f"1 to {MAX_RANK} dimensions after merging")
    target = target_for(arch)
    types = _types(program, _dtypes(program, dtypes, scalars or {}), shapes or {}, scalars or {})
    kernel_shape = tuple((shapes or {}).get("", ()))
    specialised = pipeline.specialise(program, types, kernel_shape)
    variants: list[tuple[int, Schedule]] = []
    chosen: list[str] = []
    if shapes:
        plan = _placed(program, specialised, shapes, strides or {}, target)
        specialised, variants, chosen = plan.specialised, list(enumerate(plan.schedules)), chosen_lines(plan.reasons)
    else:
        _refuse_unshaped(specialised)
        up_to = f", up to {counted(rank, 'dimension')} after merging" if layout != "contiguous" else ""
        chosen.append(f"Layout: {layout}{up_to}.")
        for number, step in enumerate(specialised.steps):
            variants += [(number, s) for s in covering(step, _layout_class(layout), rank)]
    made_by = command_line(
        program,
        base,
        options,
        dtypes={n: t.dtype for n, t in types.items() if isinstance(t, ArrayArg)},
        scalars=weak_scalars(program, types),
        shapes=shapes,
        strides=strides,
        layout=layout,
        rank=rank,
        arch=arch,
    )
    return pipeline.source(
        program, specialised, variants, base, banner(program, specialised.kernel, options, made_by, chosen)
    )


def _layout_class(layout: str) -> LayoutClass:
    return next(known for known in LAYOUTS if known == layout)


def _dtypes(program: Program, dtypes: Any, scalars: Mapping[str, Kind]) -> dict[str, Any]:
    """By name, for every input that is an array."""
    arrays = {a.name: a for a in program.arguments if a.name not in scalars}
    if isinstance(dtypes, Mapping):
        unknown = [n for n in dtypes if n not in arrays]
        if unknown:
            known = ", ".join(arrays) or "none"
            raise error("unknown-argument", f"no input is called `{unknown[0]}`", f"the inputs are {known}")
        given = {n: as_dtype(t) for n, t in dtypes.items()}
    else:
        given = {} if dtypes is None else {a.name: a.dtype or as_dtype(dtypes) for a in program.arguments}
    return {name: given.get(name) or a.dtype or FLOAT32 for name, a in arrays.items()}


def _types(
    program: Program, dtypes: Mapping[str, Any], shapes: Shapes, scalars: Mapping[str, Kind]
) -> dict[str, ArgType]:
    types: dict[str, ArgType] = {}
    for argument in program.arguments:
        if argument.name in scalars:
            types[argument.name] = WeakArg(scalars[argument.name])
        else:
            types[argument.name] = ArrayArg(dtypes[argument.name], tuple(shapes.get(argument.name, (None,))))
    for parameter in program.parameters:
        if parameter.dtype is not None:
            types[parameter.name] = ScalarArg(parameter.dtype)
        else:
            types[parameter.name] = WeakArg(scalars.get(parameter.name, _default_kind(parameter)))
    return types


def weak_scalars(program: Program, types: Mapping[str, ArgType]) -> dict[str, Kind]:
    """The kinds of weak scalars that :func:`module_ahead` would not assume by itself."""
    assumed = {p.name: _default_kind(p) for p in program.parameters}
    return {n: t.kind for n, t in types.items() if isinstance(t, WeakArg) and t.kind != assumed.get(n)}


def _default_kind(parameter: Parameter) -> Kind:
    return Kind.FLOAT if parameter.default is None else kind_of(parameter.default)


def _placed(
    program: Program, specialised: pipeline.Specialised, shapes: Shapes, strides: Mapping[str, tuple[int, ...]],
    target: Target,
) -> Layouted:  # fmt: skip
    """What these shapes call for, extents that are not stated standing in as large ones."""
    from kgen.decide import Layouted, allocate_layouts

    kernel = specialised.kernel
    extents, stated_dims = _stood_in(kernel, shapes)
    arrays: list[Array | None] = []
    for operand in kernel.operands:
        shape = concrete(operand.shape, extents)
        steps = strides.get(operand.name, c_strides(shape))
        if len(steps) != len(shape):
            have = f"{counted(len(shape), 'dimension')} and {counted(len(steps), 'stride')}"
            raise error("bad-strides", f"`{operand.name}` has {have}", "strides are in elements, one a dimension")
        arrays.append(None if operand.role in ("output", "buffer") else Array(shape, steps, operand.dtype.size))
    if all(_is_stated(_reduced(step), stated_dims) for step in specialised.steps):
        specialised = pipeline.fit(specialised, extents, arrays.copy, program.source)
    else:  # rows of any length are read again for each round
        specialised = specialised.joined or specialised
    kernel = specialised.kernel
    arrays = [*arrays, *([None] * len(kernel.operands))][: len(kernel.operands)]
    unstated = re.compile(rf"\b({'|'.join(str(n) for dim, n in extents.items() if dim not in stated_dims) or '$^'})\b")
    full = allocate_layouts(specialised, extents, arrays)
    placed: list[Placed] = []
    choices: list[Choice] = []
    for step in specialised.steps:
        bounded, along = (_is_stated(dims, stated_dims) for dims in (step.shape, _reduced(step)))
        here = pipeline.place(step, full, extents, [False] * len(step.touches))
        choices.append(pipeline.schedule(step, here, target, bounded=bounded, along=along))
        placed.append(replace(here, space=choices[-1].space))
    told = zip(choices, pipeline.order(specialised), strict=True)
    reasons = (tuple(unstated.sub("?", reason) for reason in (*choice.reasons, *why)) for choice, why in told)
    schedules = tuple(choice.schedule for choice in choices)
    return Layouted(specialised, extents, tuple(full), tuple(placed), schedules, tuple(reasons))


def _reduced(step: Step) -> Shape:
    return step.shape[step.kept :] if isinstance(step, RowStep) else ()


def _is_stated(dims: Sequence[Dim], stated: frozenset[str]) -> bool:
    return all(dim == 1 or dim in stated for dim in dims)


def _stood_in(kernel: Kernel, shapes: Shapes) -> tuple[dict[str, int], frozenset[str]]:
    """An extent for every dimension: what a shape states, else a stand-in of its own; and which are stated."""
    extents: dict[str, int] = {}
    for operand in kernel.operands:
        if operand.role == "buffer":
            continue
        stated = shapes.get(operand.name if operand.role != "output" else "", ())
        pairs = zip(operand.shape, stated or (None,) * len(operand.shape), strict=False)
        extents |= {dim: extent for dim, extent in pairs if dim != 1 and extent is not None}
    known = frozenset(extents)
    for operand in kernel.operands:
        for dim in reversed(operand.shape):
            if dim != 1 and dim not in extents:
                extents[dim] = STAND_INS[len(extents) % len(STAND_INS)]
    return extents, known


def _refuse_unshaped(specialised: pipeline.Specialised) -> None:
    for op, what in (("index", "reads index()"), ("reduce", "reduces")):
        if any(o.name == op for o in specialised.kernel.ops):
            raise error(
                "shape-needed",
                f"a program that {what} needs to know its rank ahead of time",
                "give shapes: --shape a=?x? (`?` is any size)",
            )


def ir_ahead(
    program: Program, *, dtypes: Any = None, shapes: Shapes | None = None, scalars: Mapping[str, Kind] | None = None
) -> str:
    """The optimised IR's text form."""
    from kgen.ir.printer import print_kernel

    types = _types(program, _dtypes(program, dtypes, scalars or {}), shapes or {}, scalars or {})
    return print_kernel(pipeline.specialise(program, types, tuple((shapes or {}).get("", ()))).kernel)


def explain_ahead(
    program: Program,
    base: str,
    *,
    dtypes: Any = None,
    shapes: Shapes | None = None,
    strides: Mapping[str, tuple[int, ...]] | None = None,
    arch: str | None = None,
) -> Explanation:
    """What :meth:`~kgen.Kernel.explain` says of arrays of these dtypes and shapes (by default large, contiguous)."""
    from kgen.execute import Engine
    from kgen.explain import Explanation
    from kgen.runtime.backend import usage_for

    target = target_for(arch)
    by_name, stated = _dtypes(program, dtypes, {}), shapes or {}
    given = stated.get("")
    specialised = pipeline.specialise(program, _types(program, by_name, stated, {}), given or ())
    extents, _ = _stood_in(specialised.kernel, stated)
    used = {o.name: concrete(o.shape, extents) for o in specialised.kernel.operands if o.role in ("input", "inout")}
    known = {a.name: stated.get(a.name, (None,)) for a in program.arguments}
    taken = {name: _filled(shape, used.get(name, ())) for name, shape in known.items()}
    whole = None if given is None else _filled(given, ())
    unknown = [(name, joined(shape), taken[name]) for name, shape in known.items() if None in shape]
    if given is not None and whole is not None and None in given:
        unknown.append(("the result", joined(given), whole))
    engine = Engine(program, base, None, Options())
    if shapes and unknown:
        plan = _placed(program, specialised, stated, strides or {}, target)
        module = engine.module(plan, ["kgen", "compile", "-"])
        found = Explanation.of(program, plan, module, usage_for(module.text, base, engine.options, arch))
    else:
        specs: dict[str, Any] = {n: spec(s, by_name[n], (strides or {}).get(n)) for n, s in taken.items()}
        for parameter in program.parameters:
            if parameter.default is None:
                specs[parameter.name] = 1 if parameter.dtype is not None else 1.0
        found = engine.explain((), specs, whole, None, arch)
    return replace(found, assumed=tuple(unknown))


def _filled(stated: Sequence[int | None], found: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with each ``?`` as found, else as a stand-in: an argument that nothing reads has no dimensions."""
    whole = found or (STAND_INS[0],) * len(stated)
    return tuple(f if n is None else n for n, f in zip(stated, whole, strict=True))
