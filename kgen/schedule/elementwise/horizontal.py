"""Schedules of steps that share a launch: each takes a range of its blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kgen.layout.iterator import IterationSpace, beside
from kgen.records import dataclass, replace
from kgen.schedule.expressions import Expr, Name, renamed, total
from kgen.schedule.facts import Choice
from kgen.schedule.launch import Field, Rule
from kgen.schedule.schedule import Schedule

#: The most dimensions that launchers in C have room for.
_MOST_DIMENSIONS = 8


@dataclass(frozen=True, slots=True)
class HorizontalSchedule(Schedule):
    """``parts``: the schedule of each step; ``accesses`` has theirs, one after the other."""

    parts: tuple[Schedule, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"template": self.template, "block": self.block, "parts": [part.to_dict() for part in self.parts]}

    def split(self, space: IterationSpace) -> Iterator[IterationSpace]:
        """The space of each part, out of that of all."""
        dimension = access = 0
        for part in self.parts:
            dims, mine = slice(dimension, dimension + part.rank), slice(access, access + len(part.accesses))
            yield IterationSpace(space.shape[dims], tuple(s[dims] for s in space.strides[mine]), space.axes[dims])
            dimension, access = dims.stop, mine.stop


def shares_launch(parts: Sequence[Schedule]) -> bool:
    """Whether kernels with these schedules can be parts of one: they have 32-bit members in their structs only."""
    return sum(part.rank for part in parts) <= _MOST_DIMENSIONS and all(part.index_bits == 32 for part in parts)


def horizontal(choices: Sequence[Choice]) -> Choice:
    """One schedule for steps with these, in blocks of the smallest size."""
    block = min(choice.schedule.block for choice in choices)
    parts = tuple(replace(choice.schedule, block=block) for choice in choices)
    first = parts[0]
    schedule = HorizontalSchedule(
        "horizontal", block, first.group, sum(part.rank for part in parts), 32,
        tuple(access for part in parts for access in part.accesses),
        gathered=tuple(row for part in parts for row in part.gathered), target=first.target, parts=parts,
    )  # fmt: skip
    reasons = dict.fromkeys(reason for choice in choices for reason in choice.reasons)
    why = "horizontal: kernels that do not depend on each other share a launch"
    return Choice(schedule, beside([choice.space for choice in choices]), (why, *reasons))


def horizontal_rule(schedule: HorizontalSchedule, rules: Sequence[Rule]) -> Rule:
    """The blocks of all parts.  The struct: that of each part, then the blocks and the counts of each."""
    lets: list[tuple[str, Expr]] = []
    fields: list[Field] = []
    counts: list[Name] = []
    blocks: list[Name] = []
    dimension = access = 0
    for number, (part, rule) in enumerate(zip(schedule.parts, rules, strict=True)):
        first = {"shape": (dimension,), "strides": (access, dimension)}

        def moved(name: Name, number: int = number, first: Mapping[str, tuple[int, ...]] = first) -> Name:
            if name.of in first:
                return Name(name.of, tuple(map(int.__add__, name.indices, first[name.of])))
            return Name(f"{name.of}{number}")

        lets += [(f"{name}{number}", renamed(value, moved)) for name, value in rule.lets]
        lets.append((f"blocks{number}", renamed(rule.grid[0], moved)))
        counts.append(Name(f"n{number}"))
        blocks.append(Name(f"blocks{number}"))
        for field in rule.struct:
            values = tuple(renamed(value, moved) for value in field.values)
            fields.append(replace(field, values=values, within=f"part{number}"))
        dimension, access = dimension + part.rank, access + len(part.accesses)
    fields.append(Field("unsigned int", "blocks", tuple(blocks), "of each part"))
    fields.append(Field("unsigned int", "n", tuple(counts), "groups of each part"))
    _, *others = rules[0].grid
    return Rule((total(blocks), others[0], others[1]), schedule.block, total(counts), tuple(fields), tuple(lets))
