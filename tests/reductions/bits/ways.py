"""Every way in which a program with reductions can be run: each schedule that applies to it is forced in turn.

A :class:`Way` changes what kgen's own choosers decide (who shares a row, how operands move, how a program is cut), by
patching them for the length of a ``with``.  What a way does not apply to stays as it is, and gives a text that another
way gave; such texts are run once.

    for way, kernel in distinct_ways("out = sum(x, axis=-1)", {"x": x}):
        with way.taken():
            out = kernel(x)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import kgen
from kgen import pipeline
from kgen.jit import Kernel
from kgen.schedule.reduction import access as walk, columns, peel, rows
from kgen.schedule.reduction.access import Walk
from kgen.schedule.reduction.columns import Shape
from kgen.schedule.reduction.resident_columns import Held
from kgen.schedule.reduction.schedule import is_plain
from kgen.schedule.reduction.threads import Share, block_of
from kgen.schedule.target import Target
from tests.fuzz.batch import Batch, Collected, collecting, running

#: Elements of a row that a thread keeps at most, where that is forced: what compiles in reasonable time.
MOST_KEPT = 64

Patches = Mapping[str, object]  #: where something is looked up, and what is found there instead


@dataclass(frozen=True, slots=True)
class Way:
    """``arch``: on which devices only there is such a way."""

    name: str
    patches: Patches = field(default_factory=dict)
    arch: int = 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        with ExitStack() as stack:
            for place, value in self.patches.items():
                stack.enter_context(mock.patch(place, value))
            yield


def _none(*_: Any, **__: Any) -> None:
    return None


#: Rows are walked where they lie, by the threads that share them.
_BY_ROWS: Patches = {
    "kgen.pipeline.choose_columns": _none,
    "kgen.pipeline.choose_held_columns": _none,
    "kgen.schedule.reduction.access.stage": _none,
}


# --- who shares a row ------------------------------------------------------------------------------------------

_share = rows._share


def _sharing(threads: int, *, held: bool, cluster: int = 1) -> Callable[..., Share]:
    """So many threads, if they can: whose registers hold the row, or which read it again for each round."""

    def share(
        step: Any, here: Walk, width: int, size: int, itemsizes: Sequence[int], *, along: bool, target: Target
    ) -> Share:
        usual = _share(step, here, width, size, itemsizes, along=along, target=target)
        # Single elements at the ends of a row go to a thread each.
        singles = 0 if here.lead is None else 2 * here.group + 2 * max(16, here.group)
        if threads < singles or not along or not width or (cluster > 1 and is_plain(step)):
            return usual
        if not held:
            return Share(threads, 0, block=threads)
        groups = max(1, -(-width // here.group))
        vectors = -(-groups // (threads * cluster))
        return usual if vectors * here.group > MOST_KEPT else block_of(threads, vectors, cluster)

    return share


def _rows(name: str, threads: int, more: Patches | None = None, *, held: bool, cluster: int = 1) -> Way:
    sharing = {"kgen.schedule.reduction.rows._share": _sharing(threads, held=held, cluster=cluster)}
    return Way(name, {**_BY_ROWS, **sharing, **(more or {})}, arch=90 if cluster > 1 else 0)


# --- how operands move along rows ------------------------------------------------------------------------------


def _one_by_one(*where: Any, target: Target, **known: Any) -> Walk:
    return walk.walk_of(*where, target=replace(target, vector_bytes=1), **known)


def _led(
    space: Any, walking: Sequence[int], itemsizes: Sequence[int], addresses: Sequence[int], group: int, **known: Any
) -> Any:
    """Groups begin where an operand is aligned, even where that is known to be the start of each row."""
    lead, alike = peel.leader(space, walking, itemsizes, addresses, group, **known)
    return (walking[0] if lead is None else lead), alike


_SINGLY: Patches = {"kgen.schedule.reduction.rows.walk_of": _one_by_one}
_PEELED: Patches = {"kgen.schedule.reduction.access.leader": _led, "kgen.schedule.reduction.access.SHORTEST": 0}
_SHIFTED: Patches = {**_PEELED, "kgen.schedule.reduction.access.SHORTEST_SHIFTED": 0}
_STAGED: Patches = {
    "kgen.pipeline.choose_columns": _none,
    "kgen.pipeline.choose_held_columns": _none,
    **{f"kgen.schedule.reduction.staging.{name}": 1024 for name in ("LONGEST", "LONGEST_EVEN", "LONGEST_ODD")},
}
_SPLIT: Patches = {"kgen.schedule.reduction.rows.ENOUGH_BLOCKS": 1 << 40, "kgen.schedule.reduction.launch.IN_FLIGHT": 1}
_ONE_STEP: Patches = {
    "kgen.codegen.reduction.rows.two_steps": _none,
    "kgen.codegen.reduction.resident_columns.two_steps": _none,
}


# --- columns ---------------------------------------------------------------------------------------------------


def _across(lanes: int, *, split: bool) -> Way:
    """Threads go across rows that are consecutive in memory."""

    def shape(groups: int, group: int, size: int, flying: int, height: int, others: int) -> Shape:
        threads = columns.BLOCK // lanes
        each = max(1, -(-height // threads))
        vectors = min(4, 1 << (each.bit_length() - 1))
        return Shape(lanes, threads, vectors, each >= 2 * vectors, split and threads >= max(group, 2))

    name = f"columns, {lanes} across{', several blocks' if split else ''}"
    return Way(
        name, {"kgen.schedule.reduction.columns._shape": shape, "kgen.schedule.reduction.columns.FEWEST_COLUMNS": 1}
    )


def _kept(lanes: int, threads: int) -> Way:
    """The same, for chains of reductions; their elements stay in registers."""

    def share(height: int, group: int, held: int, smallest: int, states: int, *, ragged: bool) -> Held | None:
        while group > 1 and group * states * lanes * threads > 32 << 10:
            group //= 2
        vectors = -(-height // threads)
        fits = vectors * group <= MOST_KEPT and group * states * lanes * threads <= 32 << 10
        return Held(group, lanes, threads, vectors) if fits else None

    return Way(
        f"columns kept, {lanes} across, {threads} share",
        {"kgen.schedule.reduction.resident_columns.share_columns": share, "kgen.pipeline.choose_columns": _none},
    )


# --- how a program is cut --------------------------------------------------------------------------------------

_fit = pipeline.fit


def _cut(name: str) -> Way:
    def fit(specialised: pipeline.Specialised, *rest: Any) -> pipeline.Specialised:
        usual = _fit(specialised, *rest)
        return getattr(specialised, name) or usual

    return Way(f"cut {name}", {"kgen.pipeline.fit": fit})


def _whole(specialised: pipeline.Specialised, *rest: Any) -> pipeline.Specialised:
    _fit(specialised, *rest)
    return specialised


WAYS: tuple[Way, ...] = (
    Way("as chosen"),
    *(_rows(f"held by {n}", n, held=True) for n in (1, 2, 4, 8, 16, 32, 64, 128, 512)),
    *(_rows(f"read again by {n}", n, {"kgen.schedule.reduction.rows.ENOUGH_BLOCKS": 0}, held=False) for n in (32, 256)),
    *(_rows(f"one by one, by {n}", n, _SINGLY, held=True) for n in (1, 8, 64, 256)),
    _rows("one by one, read again", 64, _SINGLY, held=False),
    *(_rows(f"peeled, by {n}", n, _PEELED, held=True) for n in (64, 256)),
    _rows("peeled, read again", 128, _PEELED, held=False),
    _rows("shifted", 64, _SHIFTED, held=True),
    _rows("shifted, read again", 128, _SHIFTED, held=False),
    *(_rows(f"held by {n}, in one step", n, _ONE_STEP, held=True) for n in (8, 32, 128)),
    Way("staged", _STAGED),
    _rows("split", 32, _SPLIT, held=False),
    _rows("split, peeled", 64, {**_SPLIT, **_PEELED}, held=False),
    *(_across(n, split=False) for n in (4, 32, 256)),
    *(_across(n, split=True) for n in (8, 32)),
    *(_kept(*n) for n in ((8, 32), (16, 8), (64, 2), (64, 1))),
    *(_rows(f"held by {c} blocks of {n}", n, held=True, cluster=c) for c, n in ((2, 128), (8, 128), (4, 512))),
    *(
        _rows(f"held by {c} blocks of {n}, in one step", n, _ONE_STEP, held=True, cluster=c)
        for c, n in ((2, 128), (8, 256))
    ),
    _cut("apart"),
    _cut("joined"),
    Way("cut whole", {"kgen.pipeline.fit": _whole}),
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
    text: str, arrays: Mapping[str, Any], *, device: str = "cpu", fmad: bool = False, arch: int = 0,
    only: Sequence[str] = (), prefix: str = "k",
) -> list[tuple[Way, Kernel]]:  # fmt: skip
    """The ways that give different kernels for these arrays; each with a kernel whose name no other has."""
    found: dict[str, tuple[Way, Kernel]] = {}
    target = f"sm_{arch}" if arch else None
    for way in ways(arch, only):
        with way.taken():
            source = kgen.jit(text, device=device, fmad=fmad, name="k").source(**arrays, arch=target)
            if source not in found:
                found[source] = way, kgen.jit(text, device=device, fmad=fmad, name=f"{prefix}{len(found)}")
    return list(found.values())


def run_every_way(
    programs: Sequence[tuple[str, Mapping[str, Any]]], *, fmad: bool = False, only: Sequence[str] = ()
) -> list[list[Run]]:
    """Each program by each of its ways on the CPU target; all kernels are compiled as one text."""
    chosen = [
        distinct_ways(text, arrays, fmad=fmad, only=only, prefix=f"p{number}_")
        for number, (text, arrays) in enumerate(programs)
    ]
    batch = Batch()
    with collecting(batch):
        for (_, arrays), mine in zip(programs, chosen, strict=True):
            for way, kernel in mine:
                with way.taken():
                    try:
                        kernel(**arrays)
                    except Collected:
                        continue
    batch.compile()
    runs: list[list[Run]] = []
    with running(batch):
        for (_, arrays), mine in zip(programs, chosen, strict=True):
            runs.append([])
            for way, kernel in mine:
                with way.taken():
                    runs[-1].append(Run(way, kernel, as_tuple(kernel(**arrays))))
    return runs


def as_tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)
