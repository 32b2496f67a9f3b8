"""What the templates of kernels with reductions see: names and facts; the text is theirs."""

from __future__ import annotations

from dataclasses import dataclass

from kgen.codegen.context import LayoutContext


@dataclass(frozen=True, slots=True)
class Value:
    """A constant of a thread: ``code`` is an expression, in several lines where it is long."""

    type: str
    name: str
    code: str


@dataclass(frozen=True, slots=True)
class Declared:
    """A variable without a value; ``name`` has its extents."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Read:
    """A group of elements that a thread reads: ``value`` in one access, or ``each`` element by itself.

    ``type`` declares it; without one it is there already.  ``is_resident``: it was read before, and stays in words.
    """

    name: str
    type: str = ""
    value: str = ""
    each: str = ""
    is_resident: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an element function; ``arguments`` in lines."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """What takes the elements of a group, ``first`` its value: then ``into`` takes it by the call ``take``.

    ``count``: the elements that are collected, instead.  Without a ``name``, whole groups are taken as they are.
    """

    into: str
    take: str
    name: str = ""
    type: str = "auto"
    first: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """What is done with a group of elements, or with one that is in no group."""

    reads: tuple[Read, ...]
    parts: tuple[Part, ...]
    call: Call | None


@dataclass(frozen=True, slots=True)
class State:
    """What a reduction accumulates in.  Before the state ``name`` does, ``thread`` does, whose ``total`` is a state.

    ``by_warp``: threads of a warp merge that before.  ``lanes``: it has ``merge_lanes``.  ``agrees``: threads take over
    the first lane's.  ``shared``: where warps leave it for each other; ``left``: where blocks do.
    """

    name: str
    type: str
    initial: str
    thread: str
    first: str
    total: str
    by_warp: bool
    lanes: bool
    agrees: bool
    shared: str
    left: str

    @property
    def merged(self) -> str:
        """What threads of a warp merge."""
        return self.thread if self.by_warp else self.name


@dataclass(frozen=True, slots=True)
class Round:
    """A round of reductions: the ``work`` on each group, and on a ``single`` element in none; what threads exchange.

    ``meets``: whether warps do.  ``waits``: the first that tells other blocks of the cluster anything.  ``arrived``
    counts ``bytes`` that they write here.  ``results``, then the lines of what ``follows`` from them for a whole row.
    """

    states: tuple[State, ...]
    work: Work
    single: Work | None
    meets: bool
    arrived: str
    bytes: str
    waits: bool = False
    coordinates: tuple[str, ...] = ()
    results: tuple[Value, ...] = ()
    follows: tuple[str, ...] = ()

    @property
    def lane_by_lane(self) -> tuple[State, ...]:
        """States that threads of a warp merge over one distance after the other."""
        return tuple(s for s in self.states if s.by_warp or not s.lanes)

    @property
    def warp_by_warp(self) -> tuple[State, ...]:
        """The same, of what warps have left."""
        return tuple(s for s in self.states if not s.lanes)


@dataclass(frozen=True, slots=True)
class Division:
    """A group is divided by multiplying with ``reciprocals``, again without that unless ``is_exact_division``."""

    is_exact_division: str
    reciprocals: tuple[str, ...]
    by_reciprocal: Call
    by_division: Call


@dataclass(frozen=True, slots=True)
class Stored:
    """A pack that results are gathered in, and where it goes."""

    type: str
    name: str
    place: str


@dataclass(frozen=True, slots=True)
class Final:
    """How the elements of a row's outputs are written.  ``is_exact_division``: the name that says so to a ``single``
    element."""

    reads: tuple[Read, ...]
    packs: tuple[Stored, ...]
    call: Call
    divided: Division | None
    single: Work | None
    coordinates: tuple[str, ...]
    is_exact_division: str = ""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The aligned blocks of ``bytes`` that groups of a shifted operand are read as."""

    type: str
    row: str
    name: str
    off: str
    bytes: int
    size: int


@dataclass(frozen=True, slots=True)
class Peel:
    """Groups begin where ``operand`` is aligned to ``bytes``, ``margin`` elements further on where blocks have to be
    ``inside`` operands; what is before and after them, and ``rest`` elements at the end, are single elements.
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
    """An operand whose rows a block moves by way of shared memory, by ``read`` and by ``write`` if at all."""

    type: str
    row: str
    array: str
    place: str
    read: str
    write: str


@dataclass(frozen=True, slots=True)
class Staged:
    """Rows of a block by way of shared memory.  ``arrays``: declarations; ``neighbours``: rows of neighbouring threads
    are so far apart, in steps of ``stride``; ``rows_per_thread``: a thread takes row after row.
    """

    arrays: tuple[Declared, ...]
    operands: tuple[StagedOperand, ...]
    row_distance: int
    warps: int
    rows_per_thread: bool

    @property
    def writes(self) -> bool:
        return any(o.write for o in self.operands)


@dataclass(frozen=True, slots=True)
class Persistent:
    """Clusters that take row after row keep what all rows share in shared memory."""

    type: str
    in_smem: str
    value: str
    coordinates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowsContext:
    """A kernel that keeps or walks rows.

    ``group`` elements move at once; a thread has ``vectors`` groups of a row in registers, or walks it (0).
    ``checks_last``: only a thread's last group may lie beyond the row's end (``loads_check_all``: but all loads ask).
    ``entries``: results that warps leave for each other, of all blocks of the cluster.
    """

    template: str
    name: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    block: int
    blocks_per_sm: int
    threads: int
    rows: int
    group: int
    vectors: int
    cluster: int
    is_exact: bool
    is_64bit: bool
    split: bool
    layout: LayoutContext
    packs: bool
    width: str
    end: str
    begin: str
    last: str
    group_start: str
    checks_last: bool
    loads_check_all: bool
    entries: int
    needs_row: bool
    row_coordinates: tuple[str, ...]
    place_coordinates: tuple[str, ...]
    pointers: tuple[Value, ...]
    peel: Peel | None
    staged: Staged | None
    persistent: Persistent | None
    fetched: tuple[Value, ...]
    values: tuple[str, ...]
    resident: tuple[Declared, ...]
    loads: tuple[Read, ...]
    load_coordinates: tuple[str, ...]
    single_loads: tuple[Read, ...]
    rounds: tuple[Round, ...]
    final: Final | None
    stores: tuple[str, ...]

    @property
    def signed(self) -> str:
        return "long long" if self.is_64bit else "int"

    @property
    def index(self) -> str:
        return "long long" if self.is_64bit else "unsigned int"

    @property
    def met(self) -> tuple[Round, ...]:
        """The rounds in which warps meet."""
        return tuple(r for r in self.rounds if r.meets)
