"""Rounds of reductions: what a thread does with each element, and how threads exchange what they have found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgen.codegen import names
from kgen.codegen.context import DivisionContext, RoundContext
from kgen.codegen.element import Element
from kgen.codegen.layouts import call_lines
from kgen.codegen.reduction.access import RowAccess, States
from kgen.codegen.reduction.accumulators import Accumulator
from kgen.codegen.reduction.peel import Singles
from kgen.codegen.reduction.sections import RowWriter, label_of, touch_of, write_section
from kgen.codegen.reduction.two_steps import TwoSteps
from kgen.codegen.spelling import headers_of
from kgen.schedule.reduction.schedule import WARP, is_plain

_ROUND_LINES = (
    "declare", "parts", "fold", "collapse", "within", "within_at_once", "merge", "merge_at_once", "shared", "publish",
    "gather", "gather_more",
)  # fmt: skip


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
        element = write_section(
            self.parts, name, sinks, states, self.row_names, self.statements, title, given, kept,
            by_group=by_group, picks=self.picks,
        )  # fmt: skip
        found = self.declare(element)
        self.sections.append(found)
        return found

    def call(self, section: Element, variant: str = "") -> tuple[str, ...]:
        held = self.schedule.vectors > 0
        return call_lines(section, [self.argument(a, held) for a in section.arguments], variant)

    def divided(self, section: Element) -> DivisionContext | None:
        """How the elements of a group are written where dividing has a quick way."""
        quick = next((a.name for a in section.arguments if a.kind == "quick"), None)
        if quick is None:
            return None
        inverses = [self.inverses[int(a.key)] for a in section.arguments if a.kind == "inverse"]
        start = " && ".join(f"{inverse} == {inverse}" for inverse in inverses)
        return DivisionContext(
            f"bool {quick} = {start};", quick, self.call(section, "<true>"), self.call(section, "<false>")
        )

    def inverted(self, number: int, value: str) -> str:
        """1 / x of a value that elements are divided by."""
        raised = any(self.parts.is_raised_share(i, number) for i in range(len(self.step.kernel.ops)))
        whole = f"{'0x1p-24f' if raised else '1.0f'} / {value}"
        return whole if number in self.parts.wholes else f"inverse({value})"

    def first_step(self, place: int, number: int, steps: TwoSteps, row_writer: RowWriter) -> RoundContext:
        """The first of two steps, within warps; the state of the second starts from its own."""
        _, state = self.states[number]
        name = self.unique(names.of_reduction(state, steps.word))
        row_writer.helpers += steps.first.helpers
        found = self.round(place, f"{self.base}_{steps.word}", {number: (steps.first, name)}, (), row_writer)
        self.states[number] = replace(steps.second, init=steps.start.format(x=name)), state
        return replace(found, merge=(), merge_at_once=(), shared=(), publish=(), gather=(), gather_more=())

    def round(
        self, place: int, name: str, states: States, results: tuple[str, ...], row_writer: RowWriter
    ) -> RoundContext:
        """A round of reductions: of each element, but for those that take several of a group at a time."""
        schedule = self.schedule
        warps, entries = schedule.threads // WARP, schedule.sharers // WARP
        text: dict[str, list[str]] = {name: [] for name in _ROUND_LINES}
        whole = {n: touch for n, (mine, _) in states.items() if (touch := self.at_once(n, mine)) is not None}
        arrived = "arrived" if place == 0 else f"arrived{place + 1}"
        types: list[str] = []  # of what warps exchange
        self.active = states
        self.whole_groups |= set(whole.values())
        single = [n for n in states if n not in whole]
        section = self.section(place, name, single, {n: states[n] for n in single}) if single else None
        touches = sorted({*whole.values(), *(self.reads_of(section) if section else ())})
        reads = self.again(touches)
        for n, (mine, state) in states.items():
            thread = self.thread_state(n)
            if thread != state:
                text["declare"].append(f"{mine.loop_type} {thread} = {mine.loop_init};")
                text["collapse"].append(f"{mine.type} {state} = {mine.collapse.format(a=thread)};")
            else:
                text["declare"].append(f"{mine.type} {state} = {mine.init};")
            if n in whole:
                row_writer.helpers.append(f"{mine.at_once}_{self.operand(whole[n]).dtype.short}")
                row_writer.headers += headers_of(self.operand(whole[n]).dtype)
                array = "[v]" if self.is_held(whole[n]) and schedule.vectors > 1 else ""
                x = f"{mine.at_once}({self.held_name(whole[n])}{array})"
                text["fold"].append(mine.take.format(a=state, x=x))
            else:
                parts, fold = self.folding(n)
                text["parts"] += parts
                text["fold"] += fold
            self.merging(mine, state, text, row_writer)
            if warps > 1:
                shared = names.of_reduction(state, "of_warps")
                both, chosen = ("[2]", "[set]") if schedule.near is not None else ("", "")
                text["shared"].append(f"__shared__ {mine.type} {shared}{both}[{entries}];")
                shared += chosen
                slot = f"{shared}[{f'rank * {warps} + ' if entries > warps else ''}threadIdx.x / 32]"
                told = f"tell({slot}, {state}, {arrived}{chosen}, threadIdx.x % 32);"
                text["publish"].append(told if schedule.cluster > 1 else f"{slot} = {state};")
                types.append(mine.type)
                text["gather"].append(f"{state} = {shared}[threadIdx.x % {min(entries, WARP)}];")
                theirs = mine.merge.format(a=state, b=f"{shared}[w + threadIdx.x % 32]")
                text["gather_more"] += [theirs] if entries > WARP else []
        call = self.call(section) if section else ()
        found = {key: tuple(lines) for key, lines in text.items()}
        singles = Singles.of(self).into(section, whole)
        sizes = " + ".join(f"sizeof({t})" for t in types)
        expected = f"{entries} * {sizes if len(types) == 1 else f'({sizes})'}"
        return RoundContext(
            reads=tuple(reads), call=call, singles=singles, results=results, arrived=arrived, expected=expected, **found
        )

    def merging(self, mine: Accumulator, state: str, text: dict[str, list[str]], row_writer: RowWriter) -> None:
        """Adds the lines in which threads merge each other's states, of a warp's and then of all warps' threads."""
        schedule = self.schedule
        lanes, entries = min(schedule.threads, WARP), schedule.sharers // WARP
        merge = mine.merge.format(a=state, b=mine.shuffled.format(a=state))
        if mine.within or not mine.lanes:
            text["within"].append(mine.within.format(a=state) or merge)
        else:
            text["within_at_once"].append(mine.lanes.format(a=state, n=lanes))
        if mine.lanes:
            text["merge_at_once"].append(mine.lanes.format(a=state, n=min(entries, WARP)))
        else:
            text["merge"].append(merge)
        if schedule.threads > (WARP if mine.within else 1):
            row_writer.helpers += mine.lanes_helpers or mine.shuffle_helpers
        if entries > WARP or schedule.split:
            row_writer.helpers += mine.merge_helpers
        if not mine.agree or is_plain(self.step):  # then only the first lane's result is written
            return
        if not mine.within and (schedule.threads <= WARP or schedule.cluster > 1):  # else only the first lane's counts
            text["within_at_once"].append(mine.agree.format(a=state, n=lanes))
            row_writer.helpers += mine.agree_helpers if schedule.threads > 1 else ()
        if entries > 1:
            text["merge_at_once"].append(mine.agree.format(a=state, n=min(entries, WARP)))
            row_writer.helpers += mine.agree_helpers

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
