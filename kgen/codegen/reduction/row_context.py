"""The contexts for the templates of kernels that go along rows."""

from __future__ import annotations

from typing import Literal

from kgen.codegen.reduction.context import Batch, Call, Declared, Part, Read, ReductionHead, State, Stored, Value, Work
from kgen.records import dataclass
from kgen.schedule.reduction.thread_mapping import Order


@dataclass(frozen=True, slots=True)
class SegmentValues:
    """The lines that compute values of a segment, with the arrays for those that are read later."""

    arrays: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Round:
    """A round of reductions: the ``work`` on each group and on each ``edge`` element, then the exchange of states.

    ``meets``: whether warps exchange states.  ``waits``: whether it must wait until all blocks of the
    cluster have begun: it is the first that sends messages.  ``arrived``: the mbarrier that counts their ``bytes``.
    ``results``: the row's results; ``follows``: the lines that compute a row's values from them; ``segments``: what is
    computed for each segment then.  ``over``: what the threads that share a segment reduce each to one state
    (``segment``), or the values of segments, by their first thread (``merged``).
    """

    states: tuple[State, ...]
    work: Work
    edge: Work | None
    meets: bool
    arrived: str
    bytes: str
    waits: bool = False
    coordinates: tuple[str, ...] = ()
    results: tuple[Value, ...] = ()
    follows: tuple[str, ...] = ()
    segments: SegmentValues | None = None
    over: Literal["row", "segment", "merged"] = "row"

    @property
    def lane_by_lane(self) -> tuple[State, ...]:
        """States that the threads of a warp merge by one shuffle distance after the other."""
        return tuple(s for s in self.states if (s.by_warp or not s.lanes) and not s.in_order)

    @property
    def in_order(self) -> tuple[State, ...]:
        """The same of the states that take the parts of other threads: fewer threads merge them."""
        return tuple(s for s in self.states if (s.by_warp or not s.lanes) and s.in_order)

    @property
    def kept(self) -> tuple[Part, ...]:
        """The parts that other threads take, too."""
        return tuple(part for part in self.work.parts if part.kept)

    @property
    def warp_by_warp(self) -> tuple[State, ...]:
        """States of warps that are merged in the same way."""
        return tuple(s for s in self.states if not s.lanes)


@dataclass(frozen=True, slots=True)
class Division:
    """A group is multiplied by ``reciprocals``, and divided again if ``is_exact_division`` is then false."""

    is_exact_division: str
    reciprocals: tuple[str, ...]
    by_reciprocal: Call
    by_division: Call


@dataclass(frozen=True, slots=True)
class Final:
    """How the elements of a row's outputs are written.

    ``is_exact_division``: the name of that flag in the call for an ``edge`` element.  ``late``: the registers that
    ``late_loads`` fill for all groups, ahead of the first store.  ``copied``: groups that are stored as they are kept.
    """

    reads: tuple[Read, ...]
    packs: tuple[Stored, ...]
    call: Call
    divided: Division | None
    edge: Work | None
    coordinates: tuple[str, ...]
    is_exact_division: str = ""
    late: tuple[Declared, ...] = ()
    late_loads: tuple[Read, ...] = ()
    batch: Batch | None = None
    copied: tuple[Stored, ...] = ()


@dataclass(frozen=True, slots=True)
class Guarded:
    """How rows at computed places are written where a condition holds, after the ``lines`` that find them."""

    condition: str
    lines: tuple[str, ...]
    reads: tuple[Read, ...]
    packs: tuple[Stored, ...]
    call: Call
    coordinates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Blocks:
    """The aligned blocks of ``bytes`` bytes by which groups of a shifted operand are loaded."""

    type: str
    row: str
    name: str
    off: str
    bytes: int
    size: int


@dataclass(frozen=True, slots=True)
class Peel:
    """The peeling of a row: where its groups begin and end.

    Groups begin where ``operand`` is aligned to ``bytes`` bytes: at least ``margin`` elements after the row's start,
    and they end at least ``rest`` elements before its end, so that aligned blocks lie within the operands ``inside``.
    Elements before and after the groups are edge elements.
    """

    operand: str
    row: str
    bytes: int
    size: int
    margin: int
    rest: int
    inside: str
    blocks: tuple[Blocks, ...]


@dataclass(frozen=True, slots=True)
class StagedOperand:
    """An operand whose rows a block moves through shared memory.

    ``pitch``: the distance of rows there.  ``read``, ``write``: the functions, or empty.  ``vector``: the type by which
    rows move; ``each``: how many of them a thread reads, at most, into the registers ``vectors``; ``whole``: at least.
    """

    type: str
    row: str
    array: str
    pitch: str
    place: str
    read: str
    write: str
    vector: str
    vectors: str
    each: int
    whole: int


@dataclass(frozen=True, slots=True)
class SpacedOperand:
    """An operand with gaps between its rows, read element by element.

    ``coordinates``: lines that give the coordinates of row ``row``; ``start``: where that begins; ``value``: element
    ``i`` of it.
    """

    name: str
    array: str
    pitch: str
    coordinates: tuple[str, ...]
    start: Value
    value: str


@dataclass(frozen=True, slots=True)
class Staged:
    """Rows that a block moves through shared memory.

    ``arrays``: declarations.  ``row_distance``: how many rows apart those of neighbouring threads are, which avoids
    bank conflicts; 0 where they are neighbours.  ``rows_per_thread``: whether a thread takes several rows.
    """

    arrays: tuple[Declared, ...]
    operands: tuple[StagedOperand, ...]
    spaced: tuple[SpacedOperand, ...]
    row_distance: int
    warps: int
    rows_per_thread: bool

    @property
    def reads(self) -> int:
        return sum(bool(o.read) for o in self.operands)

    @property
    def writes(self) -> bool:
        return any(o.write for o in self.operands)


@dataclass(frozen=True, slots=True)
class Persistent:
    """The row operand that persistent clusters keep in shared memory, since all their rows use it."""

    type: str
    in_smem: str
    value: str
    coordinates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ColumnSum:
    """The sums of a block's rows: of each group of columns ``name``, an element of what is ``declared``.

    ``row``: of partial sums, the block's own, where they are stored after the last row, each group at its ``place``.
    """

    type: str
    declared: str
    name: str
    row: Value
    place: str


@dataclass(frozen=True, slots=True)
class Shared:
    """What all rows of a block share: registers, loads, and the call that computes kept values from these, if any."""

    declared: tuple[Declared, ...]
    loads: tuple[Read, ...]
    call: Call | None


@dataclass(frozen=True, slots=True)
class Halves:
    """The work on a group of a row that computes what takes the place of loads, in half the registers.

    ``copied``: groups that are stored as they are kept, ahead of the rounds.
    """

    work: Work
    coordinates: tuple[str, ...]
    copied: tuple[Stored, ...] = ()


@dataclass(frozen=True, slots=True)
class Ahead:
    """Of an operand, what is loaded of the next row while a block works on one.

    ``row``: the pointer to its start, which goes on by ``advance``.  ``take``: the statement by which
    the row that begins takes it, if any.
    """

    row: Value
    advance: str
    declared: Declared
    read: Read
    take: str


@dataclass(frozen=True, slots=True)
class RowsContext(ReductionHead):
    """A kernel that goes along rows, which are register-resident or walked in a loop.

    ``group``: the elements of one access. ``vectors``: a thread's groups of a row in registers; 0 if it walks the row,
    ``unrolled`` groups at a time.
    ``end``: of a row; empty where every thread has all of its groups. ``checks_last``: only a thread's last group is
    checked against the row's end (``loads_check_all``: but all loads are). ``loads_across``: what is loaded before rows
    are staged. ``kept_loaded``: what is loaded in branches, and converted later. ``entries``: the number of states that
    warps exchange, of all blocks of the cluster. ``exchange_lanes``: how many lanes of each warp merge them, a power of
    two. ``chunked``: the coordinate of a row along the dimension that is taken in chunks. ``segments``: of which a
    thread has a part; ``segment``: the elements of each.

    ``sources``: the lines that find the rows at computed places that are read; ``targets``:
    those that are written, but for those under a condition (``guarded``).

    ``sums``: of a block that takes several rows, for which it loads what they have in common (``shared``), and,
    ``ahead`` of its work on a row, the next one.  ``begin_row``: converts elements of a row when it begins.
    ``halves``: computes them from what was loaded, ahead of the rounds.  ``order``: in which floats
    are added, where more threads share a row.
    ``prefetched``: the arguments of prefetches of a row that follows by ``rows_ahead`` times ``gridDim.x``.
    ``few_blocks``: the next kernel starts early only where there are at most so many blocks.
    """

    blocks_per_sm: int
    threads: int
    rows: int
    group: int
    vectors: int
    unrolled: int
    cluster: int
    is_exact: bool
    split: bool
    width: str
    end: str
    begin: str
    last: str
    group_start: str
    checks_last: bool
    loads_check_all: bool
    entries: int
    exchange_lanes: int
    needs_row: bool
    row_coordinates: tuple[str, ...]
    chunked: str
    place_coordinates: tuple[str, ...]
    pointers: tuple[Value, ...]
    peel: Peel | None
    staged: Staged | None
    guards_rows: bool
    persistent: Persistent | None
    fetched: tuple[Value, ...]
    values: tuple[str, ...]
    resident: tuple[Declared, ...]
    loads: tuple[Read, ...]
    loads_across: tuple[Read, ...]
    kept_loaded: tuple[str, ...]
    load_coordinates: tuple[str, ...]
    edge_loads: tuple[Read, ...]
    rounds: tuple[Round, ...]
    final: Final | None
    stores: tuple[str, ...]
    segment_threads: int
    segments: int
    segment: int
    segment_values: SegmentValues | None = None
    segment_coordinates: tuple[str, ...] = ()
    segment_stores: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    guarded: tuple[Guarded, ...] = ()
    sums: tuple[ColumnSum, ...] = ()
    shared: Shared | None = None
    begin_row: Call | None = None
    halves: Halves | None = None
    ahead: tuple[Ahead, ...] = ()
    prefetched: tuple[str, ...] = ()
    rows_ahead: str = ""
    order: Order | None = None
    few_blocks: int | None = None

    @property
    def in_one_segment(self) -> bool:
        return self.segments < self.vectors

    @property
    def segment_start(self) -> str:
        """The index of the first element of a thread's segment, where it has one."""
        number = f"(thread / {self.segment_threads})" if self.segment_threads > 1 else "thread"
        return f"{self.segment} * {number}"

    @property
    def met(self) -> tuple[Round, ...]:
        """The rounds in which warps exchange states."""
        return tuple(r for r in self.rounds if r.meets and r.over != "segment")
