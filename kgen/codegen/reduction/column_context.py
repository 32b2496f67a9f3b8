"""The contexts for the templates of column kernels, whose threads go across columns."""

from __future__ import annotations

from kgen.codegen.reduction.context import Call, Declared, Part, Read, ReductionHead, Stored, Value
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class ColumnHead(ReductionHead):
    """What the contexts of columns begin with.  ``starts_next``: false of small blocks, which only end."""

    starts_next: bool


@dataclass(frozen=True, slots=True)
class ColumnState:
    """The variables that a reduction accumulates in, for each column.

    A thread accumulates in ``thread``; the call ``total`` turns that into the state ``name``.  Threads merge their
    states in the shared array ``shared``.  Blocks write theirs to ``left``; the last block merges these in ``whole``,
    which the call ``whole_total`` turns into a state.  ``merged``: the result of several threads.
    """

    name: str
    type: str
    thread: str
    thread_type: str
    first: str
    total: str
    shared: str
    merged: str
    left: str
    whole: str
    whole_first: str
    whole_total: str


@dataclass(frozen=True, slots=True)
class ReadContext:
    """How a column kernel reads ``count`` elements of each column, and updates its states with them.

    ``declared``: the arrays of what several reads fill.
    ``coordinates``: lines of an element's coordinates that ``loads`` need; ``places``: those that ``call`` needs.
    ``runs``: reads of all ``count`` elements of column ``j``, whose coordinates are in ``run_coordinates``.  ``has``:
    whether the thread has element ``u``, empty if it has all.
    """

    count: int
    declared: tuple[Declared, ...]
    runs: tuple[Read, ...]
    run_coordinates: tuple[str, ...]
    coordinates: tuple[str, ...]
    loads: tuple[Read, ...]
    parts: tuple[Part, ...]
    places: tuple[str, ...]
    call: Call
    has: str = ""


@dataclass(frozen=True, slots=True)
class SingleContext:
    """How a thread takes one element: ``states``, which begin empty, take it, and merge into the arrays ``shared``."""

    states: tuple[Value, ...]
    loads: tuple[Read, ...]
    parts: tuple[Part, ...]
    call: Call
    shared: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NarrowContext(ColumnHead):
    """A kernel whose vectors go across rows of few columns, ``rows`` of them side by side.

    A block reads ``down`` rows by one vector of ``group`` elements a thread.  ``single``: what is done with an element
    after the last whole vector.  The rest is as in :class:`ColumnContext`.
    """

    blocks_per_sm: int
    rows: int
    down: int
    group: int
    split: bool
    coordinates: tuple[str, ...]
    pointers: tuple[Value, ...]
    loops: bool
    keeps_loads_above: bool
    states: tuple[ColumnState, ...]
    counted: str
    reads: tuple[ReadContext, ...]
    single: SingleContext | None
    ahead: int
    result_pointers: tuple[Value, ...]
    results: tuple[Value, ...]
    result_lines: tuple[str, ...]

    @property
    def many(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class ColumnContext(ColumnHead):
    """A kernel whose threads go across columns: rows that lie side by side in memory.

    A thread has ``group`` columns, from ``column`` on, where ``live`` holds; ``many``: in packs and arrays.  ``apart``:
    whether they are not neighbours.
    ``at_once``: whether the one batch of ``reads`` has all of a thread's elements.  ``keeps_loads_above``: whether the
    arithmetic of a batch has branches, which its loads should not wait for.  ``invariant``: what is the same for all
    elements of a column, and is read ahead of them; ``once``: lines that compute what is the same for all elements of
    a column, into ``once_arrays``.  ``reads``: batches of elements, the largest first (in a loop if
    ``loops``), then each half as large, down to one; or one for threads with one element fewer.  ``takes_runs``:
    whether the elements of a batch are consecutive in their column; there is then a loop for each size, the last one
    for single elements, which threads share.  ``counted``: the type of the number of elements that a thread has seen,
    if a state needs it.  ``ahead``: how many loads of other blocks' partial results are in flight.
    """

    threads: int
    lanes: int
    rows: int
    group: int
    many: bool
    split: bool
    coordinates: tuple[str, ...]
    column: str
    live: str
    apart: bool
    at_once: bool
    pointers: tuple[Value, ...]
    loops: bool
    keeps_loads_above: bool
    takes_runs: bool
    blocks_per_sm: int
    states: tuple[ColumnState, ...]
    counted: str
    invariant: tuple[Read, ...]
    once_arrays: tuple[str, ...]
    once: tuple[str, ...]
    reads: tuple[ReadContext, ...]
    ahead: int
    results: tuple[Value, ...]
    result_lines: tuple[str, ...]
    result_packs: tuple[Stored, ...]


@dataclass(frozen=True, slots=True)
class ColumnBoxContext:
    """How an operand goes through shared memory.  ``tile``: the declaration of its box there.  ``start``: lines that
    find where a thread begins.  A thread reads ``each`` elements ``value``, at places that the lines ``at`` find, into
    ``loaded``, of ``type``; and writes each ``to_tile``.
    """

    tile: str
    start: tuple[str, ...]
    type: str
    loaded: str
    each: int
    at: tuple[str, ...]
    value: str
    to_tile: str


@dataclass(frozen=True, slots=True)
class BoxesContext:
    """The boxes of a block.  ``coordinates``: lines with which box it has; ``places``: with the columns of a thread,
    which are its own where ``live`` holds.
    """

    coordinates: tuple[str, ...]
    places: tuple[str, ...]
    live: str
    boxed: tuple[ColumnBoxContext, ...]


@dataclass(frozen=True, slots=True)
class BoxColumnContext(ColumnContext):
    """A kernel whose blocks have boxes of columns, ``deep`` elements of each at a time.  ``places``: lines with the
    columns of a thread.  ``reads``: the elements of a whole box, then one of what is left below.
    """

    places: tuple[str, ...]
    boxed: tuple[ColumnBoxContext, ...]
    deep: int


@dataclass(frozen=True, slots=True)
class ResidentRoundContext:
    """One round of reductions of register-resident columns.

    A loop over a thread's elements has the lines of their ``coordinates``, the ``reads``, then the ``call`` for each
    column, which may go through ``parts``.  ``meets``: whether threads that share columns exchange their states, which
    the first of two steps leaves out.  ``arrays``: declarations for the results of each column; ``results``: the lines
    that compute them.
    """

    states: tuple[ColumnState, ...]
    coordinates: tuple[str, ...]
    reads: tuple[Read, ...]
    parts: tuple[Part, ...]
    call: Call
    meets: bool
    arrays: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResidentFinal:
    """How the elements of outputs of whole columns are written."""

    reads: tuple[Read, ...]
    packs: tuple[Stored, ...]
    call: Call
    coordinates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResidentContext(ColumnHead):
    """A kernel with register-resident columns.

    ``checks_last``: rounds check only a thread's last element of each column against the column's end; loads check all.
    ``kept_loaded``: what is loaded in branches, and converted later.
    ``of_columns``: lines for each column before all rounds.  ``lanes``: the number of threads across columns.
    ``in_turn``: as in the schedule.  ``nearest``: the distance between threads of a warp that share columns, 0 if none
    do.  ``entries``: how many threads or warps exchange states of each column.  ``boxes``: how operands go through
    shared memory, if some do.
    """

    threads: int
    lanes: int
    rows: int
    group: int
    in_turn: int
    nearest: int
    entries: int
    coordinates: tuple[str, ...]
    number: str
    pointers: tuple[Value, ...]
    own_loads: tuple[str, ...]
    of_columns: tuple[str, ...]
    vectors: int
    is_exact: bool
    end: str
    begin: str
    group_start: str
    checks_last: bool
    place_coordinates: tuple[str, ...]
    resident: tuple[Declared, ...]
    loads: tuple[Read, ...]
    kept_loaded: tuple[str, ...]
    load_coordinates: tuple[str, ...]
    rounds: tuple[ResidentRoundContext, ...]
    final: ResidentFinal | None
    store_packs: tuple[Stored, ...]
    stores: tuple[str, ...]
    boxes: BoxesContext | None = None

    @property
    def many(self) -> bool:
        return self.group > 1
