"""Ways to run reductions down columns: each mapping of threads to these, boxes, and columns that are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kgen.schedule.facts import Choice
from kgen.schedule.reduction.column_mapping import ColumnMapping, usual_mapping
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.resident_mapping import ResidentDemand, ResidentMapping

from .way import BY_ROWS, MOST_KEPT, Patches, Way

_BY_COLUMNS = ("column_reduce", "column_resident", "row_reduce")


def _as_it_is(facts: RowFacts, group: int, usual: Choice) -> Choice:
    return usual


_AS_IS: Patches = {f"kgen.schedule.reduction.columns.{search}": _as_it_is for search in ("_fastest", "fastest_tiles")}


def across(lanes: int, *, split: bool = False, chunk: int = 0) -> Way:
    """Threads go across rows that are consecutive in memory."""

    def shape(columns: Any) -> ColumnMapping:
        threads = columns.tuning.block // lanes
        each = max(1, -(-columns.facts.width // threads))
        if threads == 1 and 1 < each <= 5:
            return ColumnMapping(lanes, 1, each, False, False, True, chunk)
        vectors = min(4, 1 << (each.bit_length() - 1))
        shared = split and threads >= max(columns.group, 2)
        return ColumnMapping(lanes, threads, vectors, each >= 2 * vectors, shared, chunk=chunk)

    name = f"columns, {lanes} across{f' in chunks of {chunk}' if chunk else ''}{', several blocks' if split else ''}"
    tuning = {"columns": {"fewest": 1}}
    patches = {**_AS_IS, "kgen.schedule.reduction.columns.usual_mapping": shape}
    return Way(name, patches, tuning=tuning, only=_BY_COLUMNS)


def apart(most: int) -> Way:
    """Threads take short columns alone, several each, which are not neighbours."""

    def alone(columns: Any) -> ColumnMapping:
        width = columns.facts.width
        if width > MOST_KEPT:
            return usual_mapping(columns)
        return ColumnMapping(columns.tuning.block, 1, max(1, width), False, False, at_once=width > 1)

    columns = {"moved_bytes": 1 << 20, "most_apart": most, "widest_beside_apart": 16, "most_idle": 1, "enough_waves": 0}
    patches = {**_AS_IS, "kgen.schedule.reduction.columns.usual_mapping": alone}
    tuning = {"columns": {"fewest": 1, "most_in_flight": 64, "whole_bytes": 1 << 12, **columns}}
    return Way(f"columns apart, {most} a thread", patches, tuning=tuning, only=_BY_COLUMNS)


def tiles(lanes: int, run: int, *, split: bool) -> Way:
    """The same, where some operand is consecutive down columns: threads take ``run`` elements of each at once."""

    def shape(columns: Any, run: int) -> ColumnMapping:
        threads = columns.tuning.block // lanes
        return ColumnMapping(lanes, threads, run, True, split and threads >= max(columns.group, 2), tiled=True)

    name = f"tiles, {lanes} across, runs of {run}{', several blocks' if split else ''}"
    tuning = {"columns": {"fewest": 1}, "column_tiles": {"run_bytes": 8 * run, "kept_bytes": 1 << 20}}
    patches = {**_AS_IS, "kgen.schedule.reduction.columns.tiled_mapping": shape}
    return Way(name, patches, tuning=tuning, only=_BY_COLUMNS)


def _as_columns(facts: RowFacts) -> RowFacts:
    """In place of a choice that no box is compared with."""
    return facts


def _one_box(number: int) -> Callable[..., tuple[float, Choice] | None]:
    """One of several boxes."""

    def one(found: Iterable[Choice], *_: Any, **_options: Any) -> tuple[float, Choice] | None:
        choices = list(found)
        return (0.0, choices[11 * number % len(choices)]) if choices else None

    return one


def in_boxes(number: int) -> Way:
    """Operands that are consecutive along a second kept dimension go through shared memory."""
    boxes = {"fewest_threads": 32, "most_threads": 128, "shortest": 2}
    patches = {
        "kgen.schedule.reduction.column_boxes.fastest": _one_box(number),
        "kgen.schedule.reduction.column_boxes.down_columns": _as_columns,
        "kgen.schedule.reduction.column_boxes._is_faster": lambda *_: True,
    }
    return Way(
        f"boxes of columns, {number}", patches, tuning={"column_boxes": boxes}, only=("column_boxes", *_BY_COLUMNS)
    )


def kept_in_boxes(number: int) -> Way:
    """The same for chains of reductions, whose elements threads keep; also of what is consecutive down columns."""
    module, boxes = "kgen.schedule.reduction.resident_boxes", {"fewest_threads": 32, "most_threads": 128}
    patches = {
        f"{module}.fastest": _one_box(number),
        f"{module}.row_seconds": lambda *_: 1e9,
    }
    return Way(
        f"boxes of columns kept, {number}",
        patches,
        tuning={"resident_boxes": boxes},
        only=("resident_boxes", *BY_ROWS),
    )


def narrow(name: str, **tuning: int) -> Way:
    """Vectors go across rows of columns that lie side by side without gaps."""
    return Way(f"narrow columns{name}", tuning={"narrow_columns": {"most": 64, "block": 64, **tuning}})


def _as_mapped(facts: RowFacts, columns: ResidentDemand, usual: ResidentMapping, *_: Any) -> ResidentMapping:
    return usual


def kept(lanes: int, threads: int) -> Way:
    """The same, for chains of reductions; their elements stay in registers."""

    def share(columns: ResidentDemand) -> ResidentMapping | None:
        group, states = columns.group, columns.states
        while group > 1 and group * states * lanes * threads > 32 << 10:
            group //= 2
        vectors = -(-columns.height // threads)
        fits = vectors * group <= MOST_KEPT and group * states * lanes * threads <= 32 << 10
        return ResidentMapping(group, lanes, threads, vectors) if fits else None

    return Way(
        f"columns kept, {lanes} across, {threads} share",
        {
            "kgen.schedule.reduction.resident_columns.map_columns": share,
            "kgen.schedule.reduction.resident_columns.fastest_mapping": _as_mapped,
        },
        only=("column_resident", "row_reduce"),
    )
