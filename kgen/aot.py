"""Files made ahead of time: no arrays, only dtypes, and shapes where they are stated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kgen import pipeline
from kgen.codegen.emit import Module
from kgen.diagnostics import error, shown
from kgen.header import command_line, joined
from kgen.lowering import Covered, Lowered
from kgen.operands import STAND_INS, ArrayOperand, Operands
from kgen.options import Options
from kgen.program import Program
from kgen.runtime.cuda.architectures import target_for
from kgen.schedule.bind import concrete
from kgen.schedule.cover import LAYOUTS
from kgen.spec import as_shape
from kgen.stated import Stated

if TYPE_CHECKING:
    from kgen.explain import Explanation

MAX_RANK = 8


def module_ahead(program: Program, base: str, options: Options, stated: Stated) -> Module:
    """The file for what is stated.

    Raises :class:`~kgen.KgenError`: ``bad-layout``, ``bad-rank``, ``shape-needed``, and what lowering raises.
    """
    lowered, spelt = lower_ahead(program, stated)
    return pipeline.source(program, lowered, base, options, command_line(program, base, options, spelt))


def lower_ahead(program: Program, stated: Stated) -> tuple[Lowered | Covered, Stated]:
    """What is decided for the file, and what is stated with all that was left to defaults."""
    layout = next((known for known in LAYOUTS if isinstance(stated.layout, str) and known == stated.layout), None)
    if layout is None:
        raise error("bad-layout", f"{shown(stated.layout)} is not a layout class", f"one of {', '.join(LAYOUTS)}")
    if not isinstance(stated.rank, int) or not 1 <= stated.rank <= MAX_RANK:
        raise error(
            "bad-rank", f"rank {shown(stated.rank)} is not supported", f"1 to {MAX_RANK} dimensions after merging"
        )
    target = target_for(stated.arch)
    operands = stated.operands(program)
    spelt = stated.spelt_out(program, operands.types)
    if stated.shapes:
        return pipeline.lower(program, operands, target), spelt
    return pipeline.cover(program, operands, layout, stated.rank), spelt


def explain_ahead(program: Program, base: str, stated: Stated) -> Explanation:
    """What :meth:`~kgen.Kernel.explain` says of arrays of these dtypes and shapes (by default large, contiguous)."""
    from kgen.explain import Explanation
    from kgen.runtime.backend import arch_to_explain, usage_for

    operands = stated.operands(program)
    lowered = pipeline.lower(program, operands, target_for(stated.arch))
    taken, unknown = _taken(program, operands, lowered)
    if not stated.shapes or not unknown:
        for shape in (taken.shape, *(a.shape for a in taken.arguments.values() if isinstance(a, ArrayOperand))):
            as_shape(shape)
        lowered = pipeline.lower(program, taken, target_for(arch_to_explain(stated.arch)))
    options = Options()
    module = pipeline.source(program, lowered, base, options, ["kgen", "compile", "-"])
    found = Explanation.of(program, lowered, module, usage_for(module.text, base, options, stated.arch))
    return replace(found, assumed=tuple(unknown))


def _taken(
    program: Program, operands: Operands, lowered: Lowered
) -> tuple[Operands, list[tuple[str, str, tuple[int, ...]]]]:
    """The operands with each ``?`` as it was taken; and which shapes had any, as stated and as taken."""
    kernel, extents = lowered.specialised.kernel, lowered.sizes.extents
    used = {o.name: concrete(o.shape, extents) for o in kernel.operands if o.role in ("input", "inout")}
    unknown: list[tuple[str, str, tuple[int, ...]]] = []
    arguments = dict(operands.arguments)
    for name, array in operands.arguments.items():
        if isinstance(array, ArrayOperand):
            shape = _filled(array.shape, used.get(name, ()))
            arguments[name] = replace(array, shape=shape)
            if None in array.shape:
                unknown.append((name, joined(array.shape), shape))
    whole = _filled(operands.shape, ())
    if None in operands.shape:
        unknown.append(("the result", joined(operands.shape), whole))
    return Operands(arguments, operands.outputs, whole), unknown


def _filled(stated: Sequence[int | None], found: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with each ``?`` as found, else as a stand-in: an argument that nothing reads has no dimensions."""
    whole = found or (STAND_INS[0],) * len(stated)
    return tuple(f if n is None else n for n, f in zip(stated, whole, strict=True))
