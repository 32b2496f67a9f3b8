"""The launcher of a file for a class of layouts: each kernel with the layouts that it takes, the best one first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kgen.codegen.kernels import Entry
from kgen.launcher.context import AnyLayoutLauncher, StepChoice
from kgen.launcher.interface import Interface
from kgen.launcher.kernels import KernelLaunch, kernel_launch
from kgen.lowering import Covered
from kgen.partition.step import Step
from kgen.records import replace
from kgen.schedule.elementwise.linear import beyond
from kgen.schedule.expressions import Expr, Int, Name, Op
from kgen.schedule.launch import Rule
from kgen.schedule.target import PORTABLE

_MOST_32 = 2**31


def any_layout_launcher(base: str, covered: Covered, entries: tuple[Entry, ...]) -> AnyLayoutLauncher:
    """``entries``: the kernels of the file."""
    whole = covered.specialised
    interface = Interface.of(base, whole.graph)
    entries = tuple(replace(e, rule=_of_merged_space(e.rule)) for e in entries)
    kernels = tuple(kernel_launch(e, whole.steps[e.step]) for e in entries)
    choices = [
        _choice(f"step{n + 1}", step, {e: k for e, k in zip(entries, kernels, strict=True) if e.step == n}, interface)
        for n, step in enumerate(whole.steps)
    ]
    ranks = (-1,) * len(interface.arrays)
    return AnyLayoutLauncher(interface, entries, whole.steps, kernels, ranks, choices=choices)


def _of_merged_space(rule: Rule) -> Rule:
    """A rule without tests for extents of 1, along which the strides of merged spaces are 0."""
    struct = tuple(replace(field, values=tuple(map(_unconditional, field.values))) for field in rule.struct)
    return replace(rule, struct=struct)


def _unconditional(value: Expr) -> Expr:
    match value:
        case Op("if", (Op("!=", (Name("shape"), Int(1))), Name("strides") as stride, Int(0))):
            return stride
        case Op():
            return replace(value, args=tuple(map(_unconditional, value.args)))
        case _:
            return value


def _choice(name: str, step: Step, kernels: Mapping[Entry, KernelLaunch], interface: Interface) -> StepChoice:
    places = {a.operand: i for i, a in enumerate(interface.arrays)}
    accesses = tuple(places[t.operand] for t in step.accesses)
    itemsizes = tuple(step.graph.operands[t.operand].dtype.size for t in step.accesses)
    written = sum(t.writes for t in step.accesses)
    # Short rows leave most of a group idle: they are for strided kernels, where the file has these.
    is_alone = all(e.schedule.template != "strided" for e in kernels)
    shortest = 1 if is_alone else PORTABLE.tuning.elementwise.shortest_row
    tiles = f"takes_tiles(&choice->space, {len(accesses)}, {written}, {PORTABLE.tuning.elementwise.shortest_side})"
    options = tuple((_conditions(e, itemsizes, tiles), k.function) for e, k in kernels.items())
    return StepChoice(name, accesses, written, shortest, _alignments(kernels, accesses, itemsizes), options)


def _conditions(entry: Entry, itemsizes: tuple[int, ...], tiles: str) -> tuple[str, ...]:
    """When a kernel applies, if none before it does.  ``tiles``: when kernels that take tiles do."""
    schedule = entry.schedule
    is_32bit = schedule.index_bits == 32
    small = ("is_small",) if is_32bit else ()
    if schedule.template == "strided":
        return f"space.rank <= {schedule.rank}", *small
    if schedule.template == "tiled":
        return f"space.rank <= {schedule.rank}", *small, "is_rows", tiles
    if schedule.template == "rows":
        return f"space.rank <= {schedule.rank}", *small, "is_rows"
    assert schedule.template == "contiguous"
    found = ["is_run"]
    if _needs_alignment(entry, itemsizes):
        found.append("is_aligned")
    if is_32bit:
        room = 0 if schedule.anchor is None else beyond(schedule.block, schedule.group)
        found.append(f"space.shape[0] < {_MOST_32 - room}")
    return tuple(found)


def _needs_alignment(entry: Entry, itemsizes: tuple[int, ...]) -> bool:
    """Whether it moves whole vectors that begin with the arrays."""
    vectors = any(t.alignment > size for t, size in zip(entry.schedule.accesses, itemsizes, strict=True))
    return vectors and entry.schedule.anchor is None


def _alignments(entries: Iterable[Entry], accesses: tuple[int, ...], itemsizes: tuple[int, ...]) -> tuple[str, ...]:
    """Conditions on the addresses of arrays, for the kernels that move whole vectors."""
    found: dict[int, dict[str, None]] = {}
    for entry in entries:
        for place, access, size in zip(accesses, entry.schedule.accesses, itemsizes, strict=True):
            if access.alignment > size and entry.schedule.anchor is None:
                found.setdefault(access.alignment, {})[f"arrays[{place}].address"] = None
    return tuple(f"{_any_bits(list(of))} % {alignment} == 0" for alignment, of in found.items())


def _any_bits(addresses: list[str]) -> str:
    return addresses[0] if len(addresses) == 1 else f"({' | '.join(addresses)})"
