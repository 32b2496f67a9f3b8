"""All that a template may see, typed.  Everything here is decided; templates only lay it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class TemplateContext(Protocol):
    """What every kernel template's context has."""

    @property
    def template(self) -> str:
        """The template's file."""
        ...

    @property
    def packs(self) -> bool:
        """Whether operands move as packs."""
        ...


@dataclass(frozen=True, slots=True)
class ElementContext:
    """The device function that computes one element."""

    name: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    one_line: bool  # whether the parameters fit on one
    body: tuple[str, ...]
    has_quick: bool = False  # whether it is a template on how it divides


@dataclass(frozen=True, slots=True)
class FieldContext:
    """A member of a layout struct."""

    declaration: str
    comment: str


@dataclass(frozen=True, slots=True)
class LayoutContext:
    """A by-value layout struct and the lines that take an index apart; ``$i`` stands for the index."""

    name: str
    comment: str
    fields: tuple[FieldContext, ...]
    decomposition: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TouchContext:
    """One operand as a kernel body names it.

    ``shifted``: read as aligned blocks that are shifted together.
    """

    pointer: str
    type: str
    value: str
    pack: str
    shifted: bool = False


@dataclass(frozen=True, slots=True)
class OffsetContext:
    """The offset that one distinct stride pattern gives, as lines of text."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KernelContext:
    """One ``__global__`` function.

    Where groups begin where an output is aligned, ``before`` is how many elements of the first group lie before all.
    ``packed``, ``direct_at_i`` and ``direct_at_e`` are the lines of a call of the element function: on element ``j`` of
    the packs, and straight from memory.
    """

    template: str
    name: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    block: int
    group: int
    index: str
    first: str
    before: str
    layout: LayoutContext | None
    needs_index: bool
    once: tuple[TouchContext, ...]
    reads: tuple[TouchContext, ...]
    writes: tuple[TouchContext, ...]
    offsets: tuple[OffsetContext, ...]
    packed: tuple[str, ...]
    direct_at_i: tuple[str, ...]
    direct_at_e: tuple[str, ...]

    @property
    def packs(self) -> bool:
        """Whether operands move as packs."""
        return self.group > 1 and bool(self.reads or self.writes)

    @property
    def shifts(self) -> bool:
        """Whether operands are read in shifted blocks."""
        return any(t.shifted for t in self.reads)


@dataclass(frozen=True, slots=True)
class TurnedContext:
    """An operand that a tile kernel turns in shared memory.

    ``pack`` is how it is loaded, ``tile_pack`` how it is kept.
    """

    name: str
    pointer: str
    pack: str
    tile_pack: str
    loaded: str
    tile: str
    value: str
    size: int


@dataclass(frozen=True, slots=True)
class GroupContext:
    """A row or tile kernel.  ``TouchContext.pointer`` is the whole address (or element) here.

    Where groups begin where an output is aligned, ``before`` is how many elements of a row's first group lie before the
    row, which begins at ``lead`` in that output.  ``inside``: for each shifted operand, whether the blocks around a
    group lie within it.  ``early`` are read before a tile kernel waits for its tile, ``reads`` after it.
    """

    template: str
    name: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    block: int
    group: int
    side: int
    index: str
    signed: str
    layout: LayoutContext
    lead: str
    before: str
    inside: tuple[str, ...]
    scalars: tuple[TouchContext, ...]
    columns: tuple[TouchContext, ...]
    early: tuple[TouchContext, ...]
    reads: tuple[TouchContext, ...]
    writes: tuple[TouchContext, ...]
    turned: tuple[TurnedContext, ...]
    offsets: tuple[OffsetContext, ...]
    packed: tuple[str, ...]
    direct: tuple[str, ...]

    @property
    def packs(self) -> bool:
        """Whether operands move as packs."""
        return bool(self.turned) or (self.group > 1 and bool(self.reads or self.writes))


@dataclass(frozen=True, slots=True)
class RoundContext:
    """One round of reductions.  All are lines of text; those of ``shared`` to ``gather`` for rows of several warps.

    ``declare`` the states, ``open`` a loop over the row's groups of elements, read what is not in registers, declare
    ``parts``, ``call`` on each element, ``fold`` the parts into the states; ``collapse`` a thread's state, ``merge`` it
    with that of another thread (``within`` a warp in a simpler way; ``at_once``: without a loop over distances),
    publish it for other warps and gather theirs; then the ``results`` and what follows from them for the whole row.
    ``singles``: the same for an element that is in no group.  Of a cluster: ``arrived`` counts the bytes that other
    blocks write here, ``expected`` says how many these are; ``before`` and ``awaited`` stand around the wait for them.
    """

    reads: tuple[str, ...]
    declare: tuple[str, ...]
    parts: tuple[str, ...]
    call: tuple[str, ...]
    fold: tuple[str, ...]
    singles: tuple[str, ...]
    collapse: tuple[str, ...]
    within: tuple[str, ...]
    within_at_once: tuple[str, ...]
    merge: tuple[str, ...]
    merge_at_once: tuple[str, ...]
    shared: tuple[str, ...]
    publish: tuple[str, ...]
    gather: tuple[str, ...]
    gather_more: tuple[str, ...]
    results: tuple[str, ...]
    arrived: str
    expected: str
    before: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DivisionContext:
    """The calls that write a group of elements, by multiplying with inverses; and by dividing, unless ``quick``."""

    declare: str
    quick: str
    quickly: tuple[str, ...]
    slowly: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Staging:
    """What stands around the work on one row: where a block reads and writes its rows by way of shared memory, or
    where a cluster takes row after row.

    ``before``: lines that read a block's rows.  ``start``: which row a thread works on, and where that is.
    ``loop``: the head of a loop over such rows, or nothing.  ``after``: lines that write what rows have become.
    """

    before: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    loop: str = ""
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReduceContext:
    """A kernel that keeps or walks rows.

    ``meet``: how blocks of a cluster begin.  ``open`` (``load_open`` where they are loaded) and ``close`` are the loop
    over a thread's groups of elements; ``single_loads`` and ``final_singles`` are for an element that is in no group.
    ``staging``: what stands around the work on rows.  ``entries``: results that warps leave for each other, of all
    blocks of the cluster; ``halves``: the first distance of lanes that merge them.
    """

    template: str
    name: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    bounds: str
    threads: int
    staging: Staging
    cluster: int
    group: int
    layout: LayoutContext
    packs: bool
    start: tuple[str, ...]
    meet: tuple[str, ...]
    load_open: tuple[str, ...]
    open: tuple[str, ...]
    close: tuple[str, ...]
    depth: int
    lanes: int
    entries: int
    halves: int
    held: tuple[str, ...]
    loads: tuple[str, ...]
    single_loads: tuple[str, ...]
    rounds: tuple[RoundContext, ...]
    final_reads: tuple[str, ...]
    final_packs: tuple[str, ...]
    final_call: tuple[str, ...]
    divided: DivisionContext | None
    final_writes: tuple[str, ...]
    final_singles: tuple[str, ...]
    store_if: str
    stores: tuple[str, ...]
    split: bool
    leave: tuple[str, ...]
    reset: tuple[str, ...]
    take: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadContext:
    """How a column kernel reads ``count`` elements of each column, and takes them into its states.

    Where there are several, ``loads`` and ``call`` stand in loops over ``u``; ``parts`` to ``fold`` stand in one over
    ``j``, the column.
    """

    count: int
    declare: tuple[str, ...]
    loads: tuple[str, ...]
    before: tuple[str, ...]
    parts: tuple[str, ...]
    call: tuple[str, ...]
    fold: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ColumnContext:
    """A kernel whose threads go across rows that are consecutive in memory, called columns.

    A thread has ``group`` columns.  ``reads``: how it reads as many elements at once as it can, then the half of that,
    down to one.
    """

    template: str
    name: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    block: int
    threads: int
    rows: int
    group: int
    reads: tuple[ReadContext, ...]
    index: str
    blocks: str
    signed: str
    layout: LayoutContext
    packs: bool
    start: tuple[str, ...]
    loop: bool
    first: str
    last: str
    shared: tuple[str, ...]
    declare: tuple[str, ...]
    init: tuple[str, ...]
    collapse: tuple[str, ...]
    publish: tuple[str, ...]
    merge: tuple[str, ...]
    split: bool
    leave: tuple[str, ...]
    whole: tuple[str, ...]
    ahead: int
    take: tuple[str, ...]
    share: tuple[str, ...]
    result_packs: tuple[str, ...]
    results: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeldRoundContext:
    """One round of reductions of columns that are kept.  All are lines of text.

    ``declare`` the states, and values of columns that this round finds; ``init`` the states of each column; then, in a
    loop over a thread's elements, read what is not in registers and, for each column, declare ``parts``, ``call``, and
    ``fold`` parts into states.  ``within``: merge a column's state with that of another thread of the warp;
    ``publish`` it in ``shared`` memory, ``merge`` all of one column, ``gather`` the whole; none of these where threads
    exchange nothing.  ``results``: of each column, with what follows from them.
    """

    shared: tuple[str, ...]
    declare: tuple[str, ...]
    init: tuple[str, ...]
    reads: tuple[str, ...]
    parts: tuple[str, ...]
    call: tuple[str, ...]
    fold: tuple[str, ...]
    within: tuple[str, ...]
    publish: tuple[str, ...]
    merge_start: tuple[str, ...]
    merge: tuple[str, ...]
    merge_end: tuple[str, ...]
    gather: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeldContext:
    """A kernel that keeps columns.

    ``open`` (``load_open`` where they are loaded) and ``close`` are the loop over a thread's elements of each column.
    ``of_columns``: lines for each column before all rounds.  ``lanes``: threads across; ``nearest``: the distance of
    threads of a warp that share columns, 0 where none do; ``entries``: results of each column that are published.
    """

    template: str
    name: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    block: int
    threads: int
    lanes: int
    rows: int
    group: int
    nearest: int
    entries: int
    layout: LayoutContext
    packs: bool
    start: tuple[str, ...]
    of_columns: tuple[str, ...]
    load_open: tuple[str, ...]
    open: tuple[str, ...]
    close: tuple[str, ...]
    depth: int
    held: tuple[str, ...]
    loads: tuple[str, ...]
    rounds: tuple[HeldRoundContext, ...]
    final_reads: tuple[str, ...]
    final_packs: tuple[str, ...]
    final_call: tuple[str, ...]
    final_writes: tuple[str, ...]
    store_packs: tuple[str, ...]
    stores: tuple[str, ...]
    store_writes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModuleContext:
    """One file."""

    banner: tuple[str, ...]
    headers: tuple[str, ...]
    uses_pack: bool
    helpers: tuple[str, ...]
    elements: tuple[ElementContext, ...]
    kernels: tuple[TemplateContext, ...]
