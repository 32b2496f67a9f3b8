"""Steps and schedules -> the text of one standalone ``.cu`` file.

Pure but for reading templates: the same input gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kgen.codegen import names
from kgen.codegen.context import (
    ColumnContext,
    ElementContext,
    GroupContext,
    HeldContext,
    KernelContext,
    ModuleContext,
    ReduceContext,
)
from kgen.codegen.element import Element, Statement, write_element
from kgen.codegen.helpers import LOAD_BLOCKS, LOAD_SHIFTED, SHIFT_BLOCKS, helper_texts
from kgen.codegen.kernels import Entry, describe, describe_reduction
from kgen.codegen.templates import environment
from kgen.codegen.unread import without_unread
from kgen.diagnostics import Diagnostic
from kgen.partition.cut import RowStep
from kgen.partition.step import Step
from kgen.schedule.schedule import Schedule


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
    functions = _Functions(unique)
    elements = {
        i: functions.declare(write_element(steps[i], f"{bases[i]}_element", statements))
        for i in used
        if not isinstance(steps[i], RowStep)
    }
    kernels: list[KernelContext | GroupContext | ReduceContext | ColumnContext | HeldContext] = []
    entries: list[Entry] = []
    for number, schedule in variants:
        step = steps[number]
        itemsizes = [step.kernel.operands[t.operand].dtype.size for t in step.touches]
        name = unique(f"{bases[number]}_{schedule.suffix(itemsizes)}")
        if isinstance(step, RowStep):
            described, entry = describe_reduction(
                step, number, schedule, name, bases[number], statements, functions.declare
            )
            functions.headers += described.headers
            functions.helpers += described.helpers
            kernels.append(described.context)
        else:
            context, entry = describe(step, number, schedule, elements[number], name)
            kernels.append(context)
        entries.append(entry)
    helpers = [
        LOAD_BLOCKS if s.template == "row_reduce" else LOAD_SHIFTED
        for _, s in variants
        if any(t.access == "shifted" for t in s.touches)
    ]
    helpers += [SHIFT_BLOCKS for _, s in variants if s.template == "tiled" and s.lead is not None]
    helpers += functions.helpers
    module = ModuleContext(
        banner=tuple(names.comment(line) for line in [*banner, *_order(steps, entries)]),
        headers=tuple(sorted(set(functions.headers))),
        uses_pack=any(k.packs for k in kernels),
        helpers=tuple(text.rstrip() for text in helper_texts(helpers)),
        elements=tuple(functions.contexts),
        kernels=tuple(kernels),
    )
    text = environment().get_template("module.cu.j2").render(m=module)
    return Module(without_unread(text), tuple(entries))


def _order(steps: Sequence[Step], entries: Sequence[Entry]) -> list[str]:
    """How the kernels of a program that takes several belong together."""
    if len(entries) < 2 or len({e.step for e in entries}) != len(entries):
        return []
    lines = [f"Kernels, launched in this order: {', '.join(e.name for e in entries)}."]
    between = {o.name: o.dtype for s in steps for o in s.kernel.operands if o.role == "buffer"}
    held = ", ".join(f"{name}: {dtype}" for name, dtype in between.items())
    return [*lines, *([f"What one leaves for the next, in memory of the caller's: {held}."] if held else [])]


@dataclass(slots=True)
class _Functions:
    """The device functions of a file.  Kernels that need equal ones share them."""

    unique: names.Unique
    contexts: list[ElementContext] = field(default_factory=list)
    known: dict[object, ElementContext] = field(default_factory=dict)  # by what they are but for their names
    headers: list[str] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)

    def declare(self, element: Element) -> Element:
        """The function under the name that it has in the file."""
        mine = element.context
        known = self.known.get((mine.comment, mine.parameters, mine.body))
        if known is not None:
            return replace(element, context=known)
        found = replace(element, context=replace(mine, name=self.unique(mine.name)))
        self.contexts.append(found.context)
        self.known[mine.comment, mine.parameters, mine.body] = found.context
        self.headers += found.headers
        self.helpers += found.helpers
        return found


def _first_output(step: Step) -> str:
    return next(step.kernel.operands[t.operand].name for t in step.touches if t.writes)
