"""Every way in which a program with reductions can be run: each schedule that applies to it is forced in turn.

A :class:`Way` changes what kgen's own choosers decide (who shares a row, how operands move, how a program is cut) for
the length of a ``with``: by another tuning, by the families that are asked, or by patching a chooser.  What a way does
not apply to stays as it is, and gives a text that another way gave; such texts are run once.

    (runs,) = run_every_way([("out = sum(x, axis=-1)", {"x": x})])
    for run in runs:
        (out,) = run.results
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import kgen
from kgen import pipeline
from kgen.kernel import Kernel
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.stored import stored_value
from kgen.schedule.facts import Choice
from kgen.schedule.reduction import peel, rows
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.orders import copies
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.reduction.thread_mapping import ThreadMapping, one_row_mapping
from kgen.schedule.reduction.traversal import RowTraversal
from tests.forced import Tuned
from tests.fuzz.batch import Batch, Collected, collecting, running

from .column_ways import across, apart, in_boxes, kept, kept_in_boxes, narrow, tiles
from .way import BY_ROWS, MOST_KEPT, Patches, Way


def _none(*_: Any, **__: Any) -> None:
    return None


_UNSTAGED: Tuned = {"staging": {"longest": 0, "longest_across": 0}}


# --- who shares a row ------------------------------------------------------------------------------------------

_mapping = rows.row_mapping


def _sharing(threads: int, *, held: bool, cluster: int = 1) -> Callable[..., ThreadMapping]:
    """So many threads, if they can: whose registers hold the row, or which read it again for each round."""

    def share(facts: RowFacts, here: RowTraversal) -> ThreadMapping:
        usual, width = _mapping(facts, here), facts.width
        # Single elements at the ends of a row go to a thread each.
        singles = 0 if here.anchor is None else 2 * here.group + 2 * max(16, here.group)
        if threads < singles or not facts.along or not width or (cluster > 1 and facts.is_plain):
            return usual
        if not held:
            return ThreadMapping(threads, 0, block=threads)
        groups = max(1, -(-width // here.group))
        vectors = -(-groups // (threads * cluster))
        return usual if vectors * here.group > MOST_KEPT else one_row_mapping(threads, vectors, cluster)

    return share


def _rows(name: str, threads: int, more: Patches | None = None, *, held: bool, cluster: int = 1, **tuning: Any) -> Way:
    """``more``: patches; ``tuning``: numbers of ``Tuning.rows``."""
    sharing = {"kgen.schedule.reduction.rows.row_mapping": _sharing(threads, held=held, cluster=cluster)}
    arch = 90 if cluster > 1 else 0
    return Way(name, {**sharing, **(more or {})}, arch, {**_UNSTAGED, "rows": tuning}, BY_ROWS)


# --- how operands move along rows ------------------------------------------------------------------------------


def _one_by_one(facts: RowFacts, *more: Any) -> RowTraversal:
    return RowTraversal(replace(facts, target=replace(facts.target, vector_bytes=1)), *more)


def _anchored(facts: RowFacts, walking: Sequence[int], group: int) -> Any:
    """Groups begin where an operand is aligned, even where that is known to be the start of each row."""
    anchor, alike = peel.choose_anchor(facts, walking, group)
    return (min(alike) if anchor is None else anchor), alike


_SINGLY: Patches = {"kgen.schedule.reduction.rows.RowTraversal": _one_by_one}
_LED: Patches = {"kgen.schedule.reduction.traversal.choose_anchor": _anchored}
_PEELED: Mapping[str, Any] = {"more": _LED, "shortest_peeled": 0}
_SHIFTED: Mapping[str, Any] = {**_PEELED, "shortest_shifted": 0}
_STAGED: Tuned = {"staging": {"longest": 1024, "longest_even": 1024, "longest_odd": 1024}}
_SPLIT: Mapping[str, Any] = {"longest_of_one_block": 0, "span_groups": 1, "span_groups_alone": 1}
_ONE_STEP: Patches = {
    "kgen.codegen.reduction.rows.two_steps": _none,
    "kgen.codegen.reduction.resident_columns.two_steps": _none,
}


def _one_of(name: str, number: int, wanted: Callable[[RowSchedule], bool]) -> Way:
    """Of the orders of rows that are compared, one of those that are wanted, where there are any."""

    def cheapest(_: RowFacts, usual: Choice, others: Iterable[Choice], *_rest: Any) -> Choice:
        found = [c for c in others if isinstance(c.schedule, RowSchedule) and wanted(c.schedule)]
        return found[number % len(found)] if found else usual

    patches = {"kgen.schedule.reduction.row_orders._cheapest": cheapest}
    return Way(f"{name}, {number}", patches, tuning={**_UNSTAGED, "traffic": {"slow": 0}}, only=BY_ROWS)


def _tiles_of_rows(number: int) -> Way:
    """Blocks take rows that are neighbours in two operands; there are several such tiles."""
    return _one_of("in tiles", number, lambda schedule: schedule.chunk > 0)


def _dense_rows_staged(number: int) -> Way:
    """Dense rows are staged, by several numbers of threads a row; others are read in place."""
    return _one_of("dense rows staged", number, lambda schedule: schedule.stages)


# --- how a program is cut --------------------------------------------------------------------------------------

_select_variant = pipeline.select_variant


def _cut(name: str) -> Way:
    def select_variant(specialised: pipeline.Specialised, *rest: Any) -> pipeline.Specialised:
        usual = _select_variant(specialised, *rest)
        return getattr(specialised, name) or usual

    return Way(f"cut {name}", {"kgen.pipeline.select_variant": select_variant})


def _copied(number: int) -> Way:
    """Operands that lie otherwise than others are copied, in one of the ways that there are."""

    def choose_variant(
        typed: pipeline.Specialised,
        sizes: Any,
        operands: Any,
        source: Any,
        target: Any,
        prepared: Any = pipeline.prepared,
        *_: Any,
    ) -> pipeline.Specialised:
        usual = pipeline.select_variant(typed, sizes, operands, source, target)
        steps = [s for s in usual.steps if isinstance(s, ReductionStep)]
        given = operands.inputs(usual.graph, sizes)
        found = list(copies(steps[0], sizes.extents, given)) if steps else []
        return prepared(usual, found[number]) if number < len(found) else usual

    return Way(f"copied, {number}", {"kgen.pipeline.choose_variant": choose_variant})


def _stored(
    typed: pipeline.Specialised,
    sizes: Any,
    operands: Any,
    source: Any,
    target: Any,
    prepared: Any = pipeline.prepared,
    *_: Any,
) -> pipeline.Specialised:
    """What reductions read is computed ahead, where that can be one value."""
    usual = pipeline.select_variant(typed, sizes, operands, source, target)
    value = stored_value(usual.graph)
    return usual if value is None else prepared(usual, value)


def _whole(specialised: pipeline.Specialised, *rest: Any) -> pipeline.Specialised:
    _select_variant(specialised, *rest)
    return specialised


WAYS: tuple[Way, ...] = (
    Way("as chosen", few=True),
    Way("as many"),
    *(Way(f"by table {n}", number=n) for n in (6, 12)),
    *(_rows(f"held by {n}", n, held=True) for n in (1, 2, 4, 8, 16, 32, 64, 128, 512)),
    *(_rows(f"read again by {n}", n, held=False, longest_of_one_block=1 << 40) for n in (32, 256)),
    *(_rows(f"one by one, by {n}", n, _SINGLY, held=True) for n in (1, 8, 64, 256)),
    _rows("one by one, read again", 64, _SINGLY, held=False),
    *(_rows(f"peeled, by {n}", n, held=True, **_PEELED) for n in (64, 256)),
    _rows("peeled, read again", 128, held=False, **_PEELED),
    _rows("shifted", 64, held=True, **_SHIFTED),
    _rows("shifted, read again", 128, held=False, **_SHIFTED),
    *(_rows(f"held by {n}, in one step", n, _ONE_STEP, held=True) for n in (8, 32, 128)),
    *(_tiles_of_rows(n) for n in (0, 3, 7)),
    *(_dense_rows_staged(n) for n in (0, 3)),
    Way("staged", tuning=_STAGED, only=BY_ROWS),
    _rows("split", 32, held=False, **_SPLIT),
    _rows("split, peeled", 64, held=False, **_SPLIT, **_PEELED),
    *(across(n) for n in (4, 32, 256)),
    *(across(n, chunk=c) for n, c in ((32, 8), (256, 2))),
    *(across(n, split=True) for n in (8, 32)),
    across(16, split=True, chunk=4),
    *(apart(n) for n in (2, 8)),
    *(tiles(*n, split=False) for n in ((4, 1), (16, 2), (64, 4))),
    tiles(8, 4, split=True),
    *(in_boxes(n) for n in (0, 2, 5)),
    *(kept_in_boxes(n) for n in (0, 1, 3, 5)),
    narrow("", batches_of_blocks=1 << 40),
    narrow(", several blocks", batches_of_blocks=0),
    narrow(", one element a vector", state_bytes=32, batches_of_blocks=1 << 40),
    *(kept(*n) for n in ((1, 64), (2, 32), (8, 32), (16, 8), (64, 2), (64, 1))),
    *(_rows(f"held by {c} blocks of {n}", n, held=True, cluster=c) for c, n in ((2, 128), (8, 128), (4, 512))),
    *(
        _rows(f"held by {c} blocks of {n}, in one step", n, _ONE_STEP, held=True, cluster=c)
        for c, n in ((2, 128), (8, 256))
    ),
    _cut("split"),
    _cut("online"),
    *(_copied(n) for n in (0, 1, 2)),
    Way("stored", {"kgen.pipeline.choose_variant": _stored}),
    Way("cut whole", {"kgen.pipeline.select_variant": _whole}),
)  # fmt: skip


def ways(arch: int = 0, only: Sequence[str] = ()) -> list[Way]:
    """Those that devices of compute capability ``arch`` (90) have; 0: the CPU target, which has no clusters.

    ``only``: those whose names begin so.
    """
    return [w for w in WAYS if w.arch <= arch and (not only or w.name.startswith(tuple(only)))]


@dataclass(frozen=True, slots=True)
class Run:
    """What one way gave: an array for each output."""

    way: Way
    kernel: Kernel
    results: tuple[Any, ...]

    @property
    def name(self) -> str:
        return self.way.name


def distinct_ways(
    text: str, arrays: Mapping[str, Any], *, device: str, arch: int, fmad: bool = False, only: Sequence[str] = ()
) -> list[tuple[Way, Kernel]]:
    """The ways that give different kernels for these arrays; each with a kernel whose name no other has."""
    found: dict[str, tuple[Way, Kernel]] = {}
    for way in ways(arch, only):
        with way.taken():
            source = kgen.jit(text, device=device, fmad=fmad, name="k").source(**arrays, arch=f"sm_{arch}")
            if source not in found:
                found[source] = way, kgen.jit(text, device=device, fmad=fmad, name=f"k{len(found)}")
    return list(found.values())


def run_every_way(
    programs: Sequence[tuple[str, Mapping[str, Any]]], *, fmad: bool = False, only: Sequence[str] = ()
) -> list[list[Run]]:
    """Each program by each of its ways on the CPU target; all kernels are compiled as one text."""
    batch = Batch()
    chosen: list[list[tuple[Way, Kernel]]] = []
    for number, (text, arrays) in enumerate(programs):
        distinct: dict[object, tuple[Way, Kernel]] = {}
        for place, way in enumerate(ways(0, only)):
            kernel = kgen.jit(text, device="cpu", fmad=fmad, name=f"p{number}_{place}")
            with way.taken(), collecting(batch), suppress(Collected):
                kernel(**arrays)
            distinct.setdefault((batch.code_of(kernel._engine.name), *launches_of(kernel)), (way, kernel))
        chosen.append(list(distinct.values()))
    batch.compile()
    runs: list[list[Run]] = []
    with running(batch):
        for (_, arrays), mine in zip(programs, chosen, strict=True):
            runs.append([])
            for way, kernel in mine:
                with way.taken():
                    runs[-1].append(Run(way, kernel, as_tuple(kernel(**arrays))))
    return runs


def launches_of(kernel: Kernel) -> list[object]:
    """The grid, the block and the layout structs of what a kernel launched so far."""
    made = [launcher for record in kernel._engine._records.values() for launcher in record.launchers.values()]
    return [(one.grid, one.block, one.n, one.layout) for launcher in made for one in launcher._launches]


def as_tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)
