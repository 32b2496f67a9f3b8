"""The contexts for the templates of elementwise kernels."""

from __future__ import annotations

from kgen.codegen.context import KernelHead, KernelText, LayoutContext
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class OperandContext:
    """One operand, with the names that a kernel body uses.

    ``shifted``: whether groups are loaded as aligned blocks and shifted.  ``stride``: from one element of a group to
    the next, where only the call knows it; ``start`` is then the name of the group's address.  ``by_words``: whether
    ``load_words`` loads groups.
    """

    pointer: str
    type: str
    value: str
    pack: str
    shifted: bool = False
    stride: str = ""
    start: str = ""
    by_words: bool = False

    @property
    def access(self) -> str:
        """The text of a group's load, up to its address."""
        return f"load_words<{self.pack}>" if self.by_words else f"*reinterpret_cast<const {self.pack}*>"


@dataclass(frozen=True, slots=True)
class OffsetContext:
    """The lines that compute the offset for one stride pattern.

    ``kept``: the array that keeps it for stores, empty where nothing is stored there.
    """

    lines: tuple[str, ...]
    name: str = ""
    kept: str = ""


@dataclass(frozen=True, slots=True)
class ResultContext:
    """Results that a thread keeps in an array until it has read everything: ``place`` is where element ``j`` goes."""

    pointer: str
    type: str
    value: str
    place: str


@dataclass(frozen=True, slots=True)
class BinsContext:
    """Elements in shared memory that a block combines before it updates those at ``pointer``.

    ``size``: how many there are, and ``count`` its name; ``capacity``: at most.  ``value``: the name of one, and
    ``converted`` its text in the dtype in memory.  ``update``: the function that combines that.  ``adds``: the one that
    adds all of a block, or empty.
    """

    name: str
    type: str
    count: str
    size: str
    capacity: int
    identity: str
    value: str
    converted: str
    pointer: str
    update: str
    adds: str


@dataclass(frozen=True, slots=True)
class UnitContext:
    """What is read of a unit, as one value: all elements, or the only one."""

    value: str
    read: str


@dataclass(frozen=True, slots=True)
class KernelContext(KernelHead):
    """One ``__global__`` function.

    With an alignment anchor, ``before`` is the number of elements of the first group that lie before the first element.
    ``packed``, ``direct_at_i`` and ``direct_at_e`` are the lines that call the element function: on element ``j`` of
    the packs, or directly on memory at ``i`` or ``e``; those of ``into_results`` write to ``results``.  Packs are
    stored where the ``conditions`` hold.  ``offsets``: of element ``e``; ``offsets_at_j``: of element ``j`` of a group.
    ``types``: what it is a template over, where kernels call it; else empty.  ``stride``: what all blocks take at once,
    where there are ``bins``.  A group consists of units of ``unit`` elements, ``in_units`` is what is read of each.
    """

    group: int
    index: str
    first: str
    before: str
    layout: LayoutContext | None
    needs_index: bool
    once: tuple[OperandContext, ...]
    reads: tuple[OperandContext, ...]
    writes: tuple[OperandContext, ...]
    offsets: tuple[OffsetContext, ...]
    offsets_at_j: tuple[OffsetContext, ...]
    conditions: tuple[str, ...]
    packed: tuple[str, ...]
    direct_at_i: tuple[str, ...]
    direct_at_e: tuple[str, ...]
    signed: str
    results: tuple[ResultContext, ...] = ()
    last: int = 0  # from a thread's first element to its last, where they are a block apart
    into_results: tuple[str, ...] = ()
    types: str = ""
    bins: tuple[BinsContext, ...] = ()
    stride: str = ""
    backward: bool = False
    unit: int = 1
    in_units: tuple[UnitContext, ...] = ()

    @property
    def shifts(self) -> bool:
        """Whether operands are read in shifted blocks."""
        return any(t.shifted for t in self.reads)


@dataclass(frozen=True, slots=True)
class TransposedContext:
    """An operand that a tile kernel transposes in shared memory.

    ``pack`` is the type of its loads, ``tile_pack`` the type in the tile.  ``by_words``: whether ``load_words`` reads
    groups from there.
    """

    name: str
    pointer: str
    pack: str
    tile_pack: str
    loaded: str
    tile: str
    value: str
    size: int
    by_words: bool


@dataclass(frozen=True, slots=True)
class SkewedContext(TransposedContext):
    """An operand whose rows lie in shared memory as in memory, ``pitch`` elements apart.

    ``before``: elements from a sector to a row's first element.  ``places``: where the elements of a group are.
    """

    type: str
    position: str
    before: str
    pitch: int
    places: str


@dataclass(frozen=True, slots=True)
class EitherContext:
    """An operand that a tile kernel transposes in shared memory where ``condition`` holds, which a call decides."""

    pointer: str
    type: str
    value: str
    read: str
    tile: str
    is_transposed: str
    condition: str


@dataclass(frozen=True, slots=True)
class GatheredContext:
    """A row at a computed place.  ``row``: its address, which the lines of ``find`` set.

    Of a row that is written: ``element`` names an element, or what is written instead of one outside of the operand;
    ``mover`` is the function that takes a group, and ``update`` the one that combines an element with what is there.
    ``floats``: the array that the call ``rounded`` rounds to a group; empty where elements are computed as they are.
    """

    type: str
    row: str
    find: tuple[str, ...]
    pack: str
    value: str
    element: str
    mover: str
    update: str
    floats: str = ""
    rounded: str = ""


@dataclass(frozen=True, slots=True)
class GroupContext(KernelHead):
    """A row or tile kernel.  ``OperandContext.pointer`` is the whole address (or element) here.

    With an alignment anchor, ``before`` is the number of elements of a row's first group that lie before the row;
    ``anchor`` is the address of the row in the anchor.  ``inside``: for each shifted operand, the condition that the
    aligned blocks of a group lie within the operand.  A tile kernel reads ``early`` before it waits for its tile, and
    ``reads`` afterwards.  ``runs``: operands that are read in one branch if all are consecutive and aligned.
    ``along``, ``along_second``: the coordinates along the fastest dimensions, in groups or tiles.  ``conditions`` and
    ``types``: as in :class:`KernelContext`.
    ``side``, ``height``: of a tile along both dimensions.  ``blocks_per_sm``: for so many there have to be
    registers; 0 where the compiler decides.
    """

    group: int
    side: int
    index: str
    signed: str
    layout: LayoutContext
    anchor: str
    before: str
    inside: tuple[str, ...]
    scalars: tuple[OperandContext, ...]
    columns: tuple[OperandContext, ...]
    early: tuple[OperandContext, ...]
    reads: tuple[OperandContext, ...]
    runs: tuple[OperandContext, ...]
    writes: tuple[OperandContext, ...]
    transposed: tuple[TransposedContext, ...]
    either: tuple[EitherContext, ...]
    offsets: tuple[OffsetContext, ...]
    conditions: tuple[str, ...]
    packed: tuple[str, ...]
    direct: tuple[str, ...]
    thread: str
    along: str
    along_second: str
    types: str
    gathered: tuple[GatheredContext, ...]
    is_part: bool = False
    backward: bool = False
    height: int = 0
    blocks_per_sm: int = 0


@dataclass(frozen=True, slots=True)
class PairContext(KernelHead):
    """A kernel in which a thread has a group of ``rows`` rows.

    ``reads_each``, ``columns_each``: what each row ``k`` reads; ``reads_once``, ``once``: what all share.  ``along``:
    the coordinate along rows, in groups; empty where a row is one group.
    """

    group: int
    rows: int
    index: str
    signed: str
    thread: str
    along: str
    layout: LayoutContext
    offsets: tuple[OffsetContext, ...]
    reads_each: tuple[OperandContext, ...]
    reads_once: tuple[OperandContext, ...]
    columns_each: tuple[OperandContext, ...]
    once: tuple[OperandContext, ...]
    writes: tuple[OperandContext, ...]
    packed: tuple[str, ...]
    types: str = ""
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class BatchContext(KernelHead):
    """A kernel in which a thread has ``batch`` groups, ``apart`` threads from each other.

    ``places``: declarations of the offsets of stride patterns, which ``offsets`` sets.  ``coordinates``: those that are
    kept for each group.
    """

    group: int
    batch: int
    index: str
    signed: str
    offset_type: str
    thread: str
    apart: str
    layout: LayoutContext
    offsets: tuple[OffsetContext, ...]
    places: tuple[str, ...]
    coordinates: tuple[str, ...]
    scalars: tuple[OperandContext, ...]
    columns: tuple[OperandContext, ...]
    reads: tuple[OperandContext, ...]
    writes: tuple[OperandContext, ...]
    gathered: tuple[GatheredContext, ...]
    packed: tuple[str, ...]
    types: str = ""
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class PartContext:
    """A part of a horizontal kernel: its device function, and the lines that call it."""

    text: KernelText
    call: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HorizontalContext(KernelHead):
    """A kernel whose blocks are divided among several parts.  ``layout``: the name of its struct."""

    layout: str
    parts: tuple[PartContext, ...]
    types: str = ""
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class EntryContext:
    """A kernel that calls a function template.  ``signature``: lines with its name and parameters."""

    name: str
    comment: str
    block: int
    signature: tuple[str, ...]
    call: tuple[str, ...]

    template = "entry.cu.j2"
    starts_next = False  # the function template does
