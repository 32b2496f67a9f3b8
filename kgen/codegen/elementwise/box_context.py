"""The context for the template of box kernels."""

from __future__ import annotations

from kgen.codegen.context import KernelHead, LayoutContext
from kgen.codegen.elementwise.context import OffsetContext, OperandContext
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class SideContext:
    """A side of a box: the names of a block's first element, of the coordinate that numbers boxes and of the side's
    length; and the elements of a box.  ``whole``: the name of whether the box has so many; empty where no loop goes
    along this side.
    """

    first: str
    number: str
    length: str
    box: int
    whole: str


@dataclass(frozen=True, slots=True)
class BoxLoadContext:
    """An operand that is read before the others are needed.

    ``loaded``: a thread's groups in registers.  ``group``: the place of a group in memory.  ``kept``: whether groups
    stay packed until all loads are issued.  ``tile``: the declaration of the array in shared memory; ``to_tile``:
    element ``j`` of a group there; both empty where it stays in registers.
    """

    pack: str
    loaded: str
    group: str
    kept: bool
    tile: str = ""
    to_tile: str = ""


@dataclass(frozen=True, slots=True)
class BoxLoopContext:
    """A loop over a thread's ``each`` groups of ``group`` elements, which goes along one side.

    ``places``: lines that find the first group's place in the box.  ``start``: coordinates, offsets and pointers.
    ``at``: the coordinate of group ``k`` along the side.  ``beside``: whether the groups are inside along all other
    sides; ``whole``: whether all are along this one; ``inside``: whether group ``k`` is.  ``works``: whether the
    thread has groups; ``within``: whether group ``k`` is one of the box; both empty where that is so.  ``offsets``:
    lines for coordinates and offsets of the group.
    """

    each: int
    group: int
    places: tuple[str, ...]
    start: tuple[str, ...]
    at: str
    beside: str
    whole: str
    inside: str
    works: str
    within: str
    offsets: tuple[str, ...]
    loads: tuple[BoxLoadContext, ...]

    @property
    def guard(self) -> str:
        """Whether the thread has group ``k``; empty where all have all."""
        return " && ".join(filter(None, (self.works, self.within)))


@dataclass(frozen=True, slots=True)
class BoxContext(KernelHead):
    """A box kernel.

    ``staged``: loads that go by way of shared memory, one loop for each order in which operands are read.  ``early``:
    those that stay in registers.  ``last`` computes the outputs by ``call``, with groups of ``reads`` and ``writes``.
    ``uses_index``: whether the program reads coordinates.
    """

    index: str
    signed: str
    group: int
    layout: LayoutContext
    sides: tuple[SideContext, ...]
    scalars: tuple[OperandContext, ...]
    offsets: tuple[OffsetContext, ...]
    staged: tuple[BoxLoopContext, ...]
    early: BoxLoopContext
    last: BoxLoopContext
    reads: tuple[OperandContext, ...]
    writes: tuple[OperandContext, ...]
    call: tuple[str, ...]
    uses_index: bool

    @property
    def loops(self) -> tuple[BoxLoopContext, ...]:
        """Those whose loads are issued before any is waited for."""
        return (*self.staged, self.early) if self.early.loads else self.staged

    @property
    def keeps(self) -> bool:
        """Whether groups stay packed."""
        return any(t.kept for loop in self.loops for t in loop.loads)
