"""The typed data that templates see.  All decisions are made before; templates only lay the text out."""

from __future__ import annotations

from typing import Protocol

from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class ElementContext:
    """The device function that computes one element."""

    name: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    one_line: bool  # whether the parameters fit on one line
    body: tuple[str, ...]
    divides_by_reciprocal: bool = False  # whether a template parameter says how it divides


@dataclass(frozen=True, slots=True)
class FieldContext:
    """A member of a layout struct."""

    declaration: str
    comment: str


@dataclass(frozen=True, slots=True)
class LayoutContext:
    """A by-value layout struct and the lines that decompose an index; ``$i`` stands for the index.

    ``stepped``: the same for the first element of a group; the lines of ``advance`` change its coordinates to those of
    the next one.
    ``types``: what the struct is a template over, or empty.  ``is_declared``: whether the kernel's text declares it.
    """

    name: str
    comment: str
    fields: tuple[FieldContext, ...]
    decomposition: tuple[str, ...]
    stepped: tuple[str, ...] = ()
    advance: tuple[str, ...] = ()
    types: str = ""
    is_declared: bool = True


@dataclass(frozen=True, slots=True)
class KernelHead:
    """What the contexts of all families begin with.  ``parameters``: their declarations; ``block``: threads a block."""

    template: str
    name: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    block: int

    @property
    def starts_next(self) -> bool:
        return True


class KernelText(Protocol):
    """What the context of every kernel has."""

    @property
    def template(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def starts_next(self) -> bool:
        """Whether it lets the next kernel start before its own blocks have ended."""
        ...


@dataclass(frozen=True, slots=True)
class ModuleContext:
    """A generated file, or its part for one of several sets of dtypes.

    ``namespace``: of all that it declares, so that several files fit one translation unit.  ``helpers``: the names of
    device functions that it calls.  ``zero``: the kernel that zeroes counters for a launcher, if any.
    """

    banner: tuple[str, ...]
    headers: tuple[str, ...]
    namespace: str
    helpers: tuple[str, ...]
    elements: tuple[ElementContext, ...]
    kernels: tuple[KernelText, ...]
    zero: str = ""


@dataclass(frozen=True, slots=True)
class FileContext:
    """``file``: what the file begins with; ``sets``: its parts, or the file itself.  ``helpers``: functions' texts."""

    file: ModuleContext
    helpers: tuple[str, ...]
    sets: tuple[ModuleContext, ...]
