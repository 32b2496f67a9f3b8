"""The launch of kernels that share a function template: one function template of the host, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgen.codegen.bodies import LAYOUT_TYPES, member_length, member_type
from kgen.codegen.kernels import Entry
from kgen.launcher.kernels import KernelLaunch, kernel_launch
from kgen.launcher.structs import loops
from kgen.partition.step import Step
from kgen.records import dataclass, replace
from kgen.schedule.expressions import Expr, Int, Name, Op, extent


@dataclass(frozen=True, slots=True)
class BodyLaunch:
    """What the template of a launch function for several kernels sees.

    ``one``: the launch of one of them, over ``kernel``.  ``types``: what the function is a template over, besides it.
    """

    one: KernelLaunch
    types: str


def body_launches(entries: Sequence[Entry], steps: Sequence[Step]) -> Iterator[BodyLaunch]:
    """One for each function template of the file."""
    for body in dict.fromkeys(e.body for e in entries if e.body):
        yield _body_launch(max((e for e in entries if e.body == body), key=lambda e: e.schedule.rank), steps)


def _body_launch(entry: Entry, steps: Sequence[Step]) -> BodyLaunch:
    """``entry``: the kernel of the most dimensions, whose launch rule shows how those of all dimensions are."""
    rank = entry.schedule.rank
    has_layout = bool(entry.rule.struct)
    lets = tuple((name, _all_extents(n, rank) if has_layout else n) for name, n in entry.rule.lets)
    made = kernel_launch(replace(entry, rule=replace(entry.rule, lets=lets), body=""), steps[entry.step])
    arguments = tuple("(Count)n" if p.kind == "n" else a for p, a in zip(entry.parameters, made.arguments, strict=True))
    layout = f"{entry.layout_struct}<Rank, Index, Count>" if has_layout else ""
    fields = () if made.counted else entry.rule.struct
    members = loops((f, member_type(f), member_length(f, rank)) for f in fields)
    one = replace(
        made, function=f"launch_{entry.body}", kernel="kernel", layout=layout, fields=(), loops=members,
        arguments=arguments,
    )  # fmt: skip
    return BodyLaunch(one, LAYOUT_TYPES if layout else "typename Count")


def _all_extents(value: Expr, rank: int) -> Expr:
    """A product whose last factors are the extents up to the slowest, for any rank."""
    first = rank
    while isinstance(value, Op) and value.operator == "*" and value.args[1] == extent(first - 1):
        value, first = value.args[0], first - 1
    if value == extent(first - 1):
        value, first = Int(1), first - 1
    return value * Name(f"extents_from<Rank>(shape, {first})")
