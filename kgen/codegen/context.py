"""All that a template may see, typed.  Everything here is decided; templates only lay it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ElementContext:
    """The device function that computes one element."""

    name: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    one_line: bool  # whether the parameters fit on one
    body: tuple[str, ...]
    divides_by_reciprocal: bool = False  # whether it is a template on how it divides


@dataclass(frozen=True, slots=True)
class FieldContext:
    """A member of a layout struct."""

    declaration: str
    comment: str


@dataclass(frozen=True, slots=True)
class LayoutContext:
    """A by-value layout struct and the lines that decompose an index; ``$i`` stands for the index."""

    name: str
    comment: str
    fields: tuple[FieldContext, ...]
    decomposition: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OperandContext:
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
    once: tuple[OperandContext, ...]
    reads: tuple[OperandContext, ...]
    writes: tuple[OperandContext, ...]
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
class TransposedContext:
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
    """A row or tile kernel.  ``OperandContext.pointer`` is the whole address (or element) here.

    Where groups begin where an output is aligned, ``before`` is how many elements of a row's first group lie before the
    row, which begins at ``anchor`` in that output.  ``inside``: for each shifted operand, whether the blocks around a
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
    anchor: str
    before: str
    inside: tuple[str, ...]
    scalars: tuple[OperandContext, ...]
    columns: tuple[OperandContext, ...]
    early: tuple[OperandContext, ...]
    reads: tuple[OperandContext, ...]
    writes: tuple[OperandContext, ...]
    transposed: tuple[TransposedContext, ...]
    offsets: tuple[OffsetContext, ...]
    packed: tuple[str, ...]
    direct: tuple[str, ...]

    @property
    def packs(self) -> bool:
        """Whether operands move as packs."""
        return bool(self.transposed) or (self.group > 1 and bool(self.reads or self.writes))


class KernelText(Protocol):
    """A kernel, as its template sees it."""

    @property
    def template(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def packs(self) -> bool:
        """Whether operands move as packs."""
        ...


@dataclass(frozen=True, slots=True)
class ModuleContext:
    """One file."""

    banner: tuple[str, ...]
    headers: tuple[str, ...]
    uses_pack: bool
    helpers: tuple[str, ...]
    elements: tuple[ElementContext, ...]
    kernels: tuple[KernelText, ...]
