"""What the templates of kernels that go across columns see."""

from __future__ import annotations

from dataclasses import dataclass

from kgen.codegen.context import LayoutContext
from kgen.codegen.reduction.context import Call, Declared, Part, Read, Stored, Value


@dataclass(frozen=True, slots=True)
class ColumnState:
    """What a reduction accumulates in, for each column.

    A thread does so in ``thread``, of which ``total`` makes the state ``name``.  Threads merge in ``shared``, blocks
    leave theirs in ``left``; the last one merges them in ``whole``, of which ``whole_total`` makes a state.
    """

    name: str
    type: str
    thread: str
    thread_type: str
    first: str
    total: str
    shared: str
    left: str
    whole: str
    whole_first: str
    whole_total: str


@dataclass(frozen=True, slots=True)
class ReadContext:
    """How a column kernel reads ``count`` elements of each column, and takes them into its states.

    ``coordinates`` are those of an element that ``loads`` need, ``places`` those that the ``call`` needs.
    """

    count: int
    declared: tuple[Declared, ...]
    coordinates: tuple[str, ...]
    loads: tuple[Read, ...]
    parts: tuple[Part, ...]
    places: tuple[str, ...]
    call: Call


@dataclass(frozen=True, slots=True)
class ColumnContext:
    """A kernel whose threads go across rows that are consecutive in memory, called columns.

    A thread has ``group`` columns, from ``column`` on.  ``reads``: how it reads as many elements at once as it can,
    in a loop if columns are ``loops``, then the half of that, down to one.  ``counted``: the type of how many elements
    a thread has seen, where a state has to know.  ``ahead``: results of other blocks that are on their way at once.
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
    is_64bit: bool
    split: bool
    layout: LayoutContext
    packs: bool
    coordinates: tuple[str, ...]
    column: str
    pointers: tuple[Value, ...]
    loops: bool
    states: tuple[ColumnState, ...]
    counted: str
    reads: tuple[ReadContext, ...]
    ahead: int
    results: tuple[Value, ...]
    result_lines: tuple[str, ...]
    result_packs: tuple[Stored, ...]

    @property
    def signed(self) -> str:
        return "long long" if self.is_64bit else "int"

    @property
    def index(self) -> str:
        return "long long" if self.is_64bit else "unsigned int"


@dataclass(frozen=True, slots=True)
class ResidentRoundContext:
    """One round of reductions of columns that are kept.

    In a loop over a thread's elements: lines of their ``coordinates``, ``reads``, then the ``call`` for each column, by
    way of ``parts``.  Threads that share columns ``meet``, unless this is the first of two steps.  ``arrays``:
    declarations of what it finds of each column; ``results``: lines of that.
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
class HeldFinal:
    """How the elements of outputs of whole columns are written."""

    reads: tuple[Read, ...]
    packs: tuple[Stored, ...]
    call: Call
    coordinates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResidentContext:
    """A kernel that keeps columns.

    ``checks_last``: only the last of a thread's elements of each column may lie beyond its end; loads ask of all.
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
    is_64bit: bool
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
    load_coordinates: tuple[str, ...]
    rounds: tuple[ResidentRoundContext, ...]
    final: HeldFinal | None
    store_packs: tuple[Stored, ...]
    stores: tuple[str, ...]

    @property
    def signed(self) -> str:
        return "long long" if self.is_64bit else "int"

    @property
    def index(self) -> str:
        return "long long" if self.is_64bit else "unsigned int"
