"""Steps and schedules -> the text of one standalone ``.cu`` file.

Pure but for reading templates: the same input gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgen.codegen import names
from kgen.codegen.context import GroupContext, KernelContext, ModuleContext
from kgen.codegen.element import Statement, write_element
from kgen.codegen.helpers import LOAD_SHIFTED, SHIFT_BLOCKS, helper_texts
from kgen.codegen.kernels import Entry, describe
from kgen.codegen.templates import environment
from kgen.diagnostics import Diagnostic
from kgen.schedule.plan import Schedule
from kgen.schedule.split import Step


@dataclass(frozen=True, slots=True)
class Module:
    """A generated file: its text, the kernels in it, and what a reader of the program should know."""

    text: str
    entries: tuple[Entry, ...]
    lints: tuple[Diagnostic, ...] = ()


def emit(
    base: str,
    steps: Sequence[Step],
    variants: Sequence[tuple[int, Schedule]],
    statements: Sequence[Statement],
    banner: Sequence[str],
) -> Module:
    """One file with a kernel for each ``(step, schedule)`` of ``variants``.

    ``base`` names the kernels; ``statements`` are the program's, for comments; ``banner`` opens the file.
    """
    unique = names.Unique()
    bases = [base if len(steps) == 1 else f"{base}_{_first_output(step)}" for step in steps]
    used = sorted({number for number, _ in variants})
    elements = {i: write_element(steps[i], unique(f"{bases[i]}_element"), statements) for i in used}
    kernels: list[KernelContext | GroupContext] = []
    entries: list[Entry] = []
    for number, schedule in variants:
        step = steps[number]
        itemsizes = [step.kernel.operands[t.operand].dtype.size for t in step.touches]
        name = unique(f"{bases[number]}_{schedule.suffix(itemsizes)}")
        context, entry = describe(step, number, schedule, elements[number], name)
        kernels.append(context)
        entries.append(entry)
    helpers = [LOAD_SHIFTED for _, s in variants if any(t.access == "shifted" for t in s.touches)]
    helpers += [SHIFT_BLOCKS for _, s in variants if s.template == "tiled" and s.lead is not None]
    helpers += [h for e in elements.values() for h in e.helpers]
    module = ModuleContext(
        banner=tuple(names.comment(line) for line in banner),
        headers=tuple(sorted({h for e in elements.values() for h in e.headers})),
        uses_pack=any(k.packs for k in kernels),
        helpers=tuple(text.rstrip() for text in helper_texts(helpers)),
        elements=tuple(e.context for e in elements.values()),
        kernels=tuple(kernels),
    )
    return Module(environment().get_template("module.cu.j2").render(m=module), tuple(entries))


def _first_output(step: Step) -> str:
    return next(step.kernel.operands[t.operand].name for t in step.touches if t.writes)
