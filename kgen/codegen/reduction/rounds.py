"""Rounds of reductions: what a thread does with each element, and how threads exchange what they have found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgen.codegen import names
from kgen.codegen.element import Element
from kgen.codegen.reduction.access import RowAccess, States, call_of, first_of, thread_state
from kgen.codegen.reduction.accumulators import Accumulator
from kgen.codegen.reduction.context import Call, Division, Part, Round, State, Work
from kgen.codegen.reduction.peel import Singles
from kgen.codegen.reduction.sections import RowWriter, Section, label_of, touch_of, write_section
from kgen.codegen.reduction.two_steps import TwoSteps
from kgen.codegen.spelling import headers_of
from kgen.schedule.reduction.schedule import WARP, is_plain


@dataclass(slots=True)
class RoundsWriter(RowAccess):
    """Writes the parts of a row's work: each round of reductions, and the outputs of the whole row."""

    def section(self, place: int, name: str, sinks: Sequence[int], states: States | None = None) -> Element:
        """``place``: how many parts of the row come before."""
        ops = self.step.kernel.ops
        given = {n for n, made in self.kept.items() if made < place}
        kept = [n for n, made in self.kept.items() if made == place]
        if states is not None:
            into = names.listed(label_of(self.step, ops[n]) for n in sinks)
            direct = all(mine.mode != "group" for mine, _ in states.values())
            title = f"Takes one element into {into}." if direct else f"What goes into {into}, of one element."
        else:
            states = {}
            title = "One element of " + names.listed(self.operand(touch_of(self.step, n)).name for n in sinks) + "."
        by_group = place == len(self.parts.rounds) and self.schedule.group > 1 and not self.schedule.by_columns
        section = Section(name, title, sinks, states, self.row_names, given, kept, by_group=by_group, picks=self.picks)
        element = write_section(self.parts, section, self.statements)
        found = self.declare(element)
        self.sections.append(found)
        return found

    def call(self, section: Element, variant: str = "") -> Call:
        held = self.schedule.vectors > 0
        return call_of(section, [self.argument(a, held) for a in section.arguments], variant)

    def divided(self, section: Element) -> Division | None:
        """How the elements of a group are written where dividing has a quick way."""
        quick = next((a.name for a in section.arguments if a.kind == "quick"), None)
        if quick is None:
            return None
        inverses = tuple(self.inverses[int(a.key)] for a in section.arguments if a.kind == "inverse")
        return Division(quick, inverses, self.call(section, "<true>"), self.call(section, "<false>"))

    def inverted(self, number: int, value: str) -> str:
        """1 / x of a value that elements are divided by."""
        raised = any(self.parts.is_raised_share(i, number) for i in range(len(self.step.kernel.ops)))
        whole = f"{'0x1p-24f' if raised else '1.0f'} / {value}"
        return whole if number in self.parts.wholes else f"inverse({value})"

    def first_step(self, place: int, number: int, steps: TwoSteps, row_writer: RowWriter) -> Round:
        """The first of two steps, within warps; the state of the second starts from its own."""
        _, state = self.states[number]
        name = self.unique(names.of_reduction(state, steps.word))
        row_writer.helpers += steps.first.helpers
        found = self.round(place, f"{self.base}_{steps.word}", {number: (steps.first, name)}, row_writer)
        self.states[number] = steps.after(name), state
        return replace(found, meets=False)

    def round(self, place: int, name: str, states: States, row_writer: RowWriter) -> Round:
        """A round of reductions: of each element, but for those that take several of a group at a time."""
        schedule = self.schedule
        whole = {n: touch for n, (mine, _) in states.items() if (touch := self.at_once(n, mine)) is not None}
        self.active = states
        self.whole_groups |= set(whole.values())
        single = [n for n in states if n not in whole]
        section = self.section(place, name, single, {n: states[n] for n in single}) if single else None
        for n, touch in whole.items():
            row_writer.helpers.append(f"{states[n][0].at_once}_{self.operand(touch).dtype.short}")
            row_writer.headers += headers_of(self.operand(touch).dtype)
        touches = sorted({*whole.values(), *(self.reads_of(section) if section else ())})
        parts = [self.taken_at_once(n, whole[n]) if n in whole else self.part(n) for n in states]
        work = Work(
            tuple(self.again(touches)),
            tuple(p for p in parts if p is not None),
            self.call(section) if section else None,
        )
        sizes = " + ".join(f"sizeof({mine.type})" for mine, _ in states.values())
        return Round(
            tuple(self.state(mine, state) for mine, state in states.values()),
            work,
            Singles.of(self).into(section, whole),
            meets=schedule.threads > WARP,
            arrived="arrived" if place == 0 else f"arrived{place + 1}",
            bytes=sizes if len(states) == 1 else f"({sizes})",
        )

    def state(self, mine: Accumulator, state: str) -> State:
        return State(
            state,
            mine.type,
            mine.initial,
            thread_state(mine, state),
            first_of(mine),
            "" if mine.local is None else mine.local.total,
            by_warp=mine.local is not None and mine.local.by_warp,
            lanes=mine.lanes,
            agrees=mine.agrees and not is_plain(self.step),  # else only the first lane's result is written
            shared=names.of_reduction(state, "of_warps"),
            left=names.left(state),
        )

    def taken_at_once(self, number: int, touch: int) -> Part:
        """A whole group, as it is in memory."""
        mine, state = self.active[number]
        array = "[v]" if self.is_held(touch) and self.schedule.vectors > 1 else ""
        return Part(state, f"{mine.add}({mine.at_once}({self.held_name(touch)}{array}))")

    def at_once(self, number: int, mine: Accumulator) -> int | None:
        """The touch of which this takes whole groups, as they are in memory: extremes of halves, sums of bytes."""
        ops = self.step.kernel.ops
        if not mine.at_once:
            return None
        value = ops[number].args[0]
        load = ops[value].args[0] if ops[value].name == "cast" else value
        if ops[load].name != "load":
            return None
        touch = touch_of(self.step, load)
        dtype = self.operand(touch).dtype
        words = self.schedule.group * dtype.size % 4 == 0
        return touch if dtype.short in mine.at_once_of and words and self.is_grouped(touch) else None
