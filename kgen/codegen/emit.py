"""Steps and schedules -> the text of one standalone ``.cu`` file.

Deterministic: the same input gives the same bytes.  The only I/O is reading templates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from typing import Any

from kgen.codegen import names
from kgen.codegen.bodies import alike, has_shared_layout, has_tiles, share_a_layout, shared_rule
from kgen.codegen.context import ElementContext, FileContext, ModuleContext
from kgen.codegen.element import Element
from kgen.codegen.element_function import ElementUse, write_element
from kgen.codegen.family import FamilyOf, Unit, Written
from kgen.codegen.helpers import ARRAY_SHAPE, OVERLAP, helper_texts, in_order
from kgen.codegen.kernels import Entry
from kgen.codegen.layouts import labels_of
from kgen.codegen.lines import wrapped
from kgen.codegen.members import without_unused_members
from kgen.codegen.statements import Statement
from kgen.codegen.templates import environment
from kgen.partition.step import Step
from kgen.records import dataclass, replace
from kgen.schedule.schedule import Schedule


def emit(
    base: str,
    steps: Sequence[Step],
    variants: Sequence[tuple[int, Schedule]],
    statements: Sequence[Statement],
    banner: Sequence[str],
    family: FamilyOf,
    *,
    fast: bool = False,
) -> tuple[ModuleContext, tuple[Entry, ...]]:
    """What one file has: a kernel for each ``(step, schedule)`` of ``variants``.

    ``base``: the start of kernel names.  ``statements``: the program's, for comments.  ``banner``: the file's first
    lines.  ``family``: one by its name; it writes its kernels.  ``fast``: whether functions may be approximate.
    """
    unique = names.Unique()
    bases = [base] if len(steps) == 1 else _bases(base, steps)
    functions = _Functions(unique)
    # A reduction may be cut into other kernels where arrays have other layouts, with wider values between them.
    short = not any(op.name == "reduce" for step in steps for op in step.graph.ops)

    def element_of(step: Step, schedule: Schedule, name: str) -> Element:
        use = ElementUse.of(step, schedule)
        key = id(step), use  # steps may have equal names
        if key not in elements:
            written = write_element(step, name, statements, use, fast=fast, short=short)
            elements[key] = functions.declare(written)
        return elements[key]

    elements: dict[object, Element] = {}
    for number, schedule in variants:  # before all other functions
        if family(schedule.template).has_element:
            element_of(steps[number], schedule, f"{bases[number]}_element")
    kernels = _Kernels.of(variants, bases, family, functions)
    for number, schedule in variants:
        step, one, base_ = steps[number], family(schedule.template), bases[number]
        itemsizes = [step.graph.operands[t.operand].dtype.size for t in step.accesses]
        name = unique(f"{base_}_{one.suffix(schedule, itemsizes)}")
        rule = one.launch(schedule, labels_of(step, schedule))
        element = element_of(step, schedule, f"{base_}_element") if one.has_element else None
        unit = Unit(step, schedule, name, base_, statements, element, functions.declare, element_of, rule)
        kernels.add(number, unit)
    lines = [*banner, *_order(steps, kernels.entries)]
    return _context(lines, names.namespace(base), functions, kernels.written), tuple(kernels.entries)


def text_of(file: ModuleContext) -> str:
    """The text of a file."""
    return _rendered(file, [file])


def text_of_sets(base: str, banner: Sequence[str], sets: Sequence[ModuleContext]) -> str:
    """The text of a file for several sets of dtypes, which share device functions."""
    shared = ModuleContext(
        banner=tuple(map(names.comment, banner)),
        headers=tuple(sorted({header for one in sets for header in one.headers})),
        namespace=names.namespace(base),
        helpers=tuple(dict.fromkeys(helper for one in sets for helper in one.helpers)),
        elements=(),
        kernels=(),
    )
    return _rendered(shared, sets)


def _rendered(file: ModuleContext, sets: Sequence[ModuleContext]) -> str:
    texts = tuple(text.rstrip() for text in helper_texts(file.helpers))
    context = FileContext(file, texts, tuple(sets))
    text = environment().get_template("module.cu.j2").render(m=context)
    return wrapped(without_unused_members(text, texts))


def _context(lines: Sequence[str], namespace: str, functions: _Functions, kernels: Sequence[Written]) -> ModuleContext:
    """A file that begins with ``lines``."""
    movers = dict.fromkeys(helper for k in kernels for helper in k.movers)
    if any(p.kind == "shape" for k in kernels for p in k.parameters.known):
        movers[ARRAY_SHAPE] = None
    overlap = OVERLAP if any(k.context.starts_next for k in kernels) else OVERLAP[:1]
    helpers = [*overlap, *in_order(movers, functions.helpers)]
    return ModuleContext(
        banner=tuple(names.comment(line) for line in lines),
        headers=tuple(sorted(set(functions.headers))),
        namespace=namespace,
        helpers=tuple(dict.fromkeys(helpers)),
        elements=tuple(functions.contexts),
        kernels=tuple(k.context for k in kernels),
    )


def _order(steps: Sequence[Step], entries: Sequence[Entry]) -> list[str]:
    """The comment that lists the order of kernels, for a program of several."""
    if len(entries) < 2 or len({e.step for e in entries}) != len(entries):
        return []
    lines = [f"Kernels, launched in this order: {', '.join(e.name for e in entries)}."]
    between = {o.name: o.dtype for s in steps for o in s.graph.operands if o.role == "buffer"}
    listed = ", ".join(f"{name}: {dtype}" for name, dtype in between.items())
    return [*lines, *([f"Buffers between them, which the caller allocates: {listed}."] if listed else [])]


@dataclass(slots=True)
class _Functions:
    """The device functions of a file.  Kernels that need equal ones share them."""

    unique: names.Unique
    contexts: list[ElementContext] = field(default_factory=list)
    known: dict[object, ElementContext] = field(default_factory=dict)  # by their text without their names
    headers: list[str] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)

    def noted(self, written: Written) -> Written:
        """A kernel whose headers and helpers the file then has."""
        self.headers += written.headers
        self.helpers += written.helpers
        return written

    def declare(self, element: Element) -> Element:
        """``element`` with its final name: that of an equal function if the file has one, else a new one."""
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


@dataclass(slots=True)
class _Kernels:
    """The kernels of a file, which may share function templates and layout structs.

    ``several``: how many have a text in common.  ``layouts``: the layout struct of each step whose kernels share one;
    ``tiles``: the steps whose structs are for tiles, too.  ``bodies``: the names of the function templates so far.
    """

    family: FamilyOf
    functions: _Functions
    several: Counter[tuple[int, Schedule | None]]
    layouts: Mapping[int, str]
    tiles: Set[int]
    bodies: dict[tuple[int, Schedule | None], str] = field(default_factory=dict)
    written: list[Written] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    @staticmethod
    def of(
        variants: Sequence[tuple[int, Schedule]],
        bases: Sequence[str],
        family: FamilyOf,
        functions: _Functions,
    ) -> _Kernels:
        several = Counter((number, alike(schedule)) for number, schedule in variants)
        found = {number: [schedule for of, schedule in variants if of == number] for number, _ in variants}
        layouts = {n: functions.unique(f"{bases[n]}_layout") for n, of in found.items() if share_a_layout(of)}
        return _Kernels(family, functions, several, layouts, {n for n, of in found.items() if has_tiles(of)})

    def add(self, number: int, unit: Unit[Any]) -> None:
        """A kernel of a step; before it, the function template that it is the first to call."""
        unit = self._with_layout(number, unit)
        common = alike(unit.schedule)
        if common is not None and self.several[number, common] > 1:
            if (number, common) not in self.bodies:
                body = self.functions.unique(f"{unit.base}_{common.template}_any")
                rule = self.family(common.template).launch(common, labels_of(unit.step, common))
                shared = replace(unit, schedule=common, name=body, rule=rule, body=body, is_body=True)
                self._write(self._with_layout(number, shared))
                self.bodies[number, common] = body
                unit = replace(unit, declares_layout=False)
            unit = replace(unit, body=self.bodies[number, common])
        parameters = self._write(unit).parameters
        known, declared = tuple(parameters.known), tuple(parameters.declarations)
        entry = Entry(unit.name, number, unit.schedule, known, unit.rule, declared, unit.body, unit.shared_layout)
        self.entries.append(entry)

    def _with_layout(self, number: int, unit: Unit[Any]) -> Unit[Any]:
        """With the layout struct that it shares with other kernels."""
        name = self.layouts.get(number, "")
        if not name or not has_shared_layout(unit.schedule):
            return unit
        labels = labels_of(unit.step, unit.schedule)
        rule = shared_rule(unit.rule, unit.schedule, labels, tiles=number in self.tiles)
        is_first = all(entry.shared_layout != name for entry in self.entries)
        return replace(unit, rule=rule, shared_layout=name, declares_layout=is_first)

    def _write(self, unit: Unit[Any]) -> Written:
        """The text of a kernel, whose headers and helpers the file then has."""
        written: Written = self.functions.noted(self.family(unit.schedule.template).write(unit))
        self.written.append(written)
        return written


def _bases(base: str, steps: Sequence[Step]) -> list[str]:
    """The start of the names of each step's functions: that of its first output, which a later step may update."""
    unique = names.Unique()
    return [unique(f"{base}_{_first_output(step)}") for step in steps]


def _first_output(step: Step) -> str:
    return step.graph.operands[min(step.written)].name
