"""A generated file, and what a launcher knows about its kernels."""

from __future__ import annotations

from typing import Literal

from kgen.codegen.c_types import layout_type
from kgen.diagnostics import Diagnostic
from kgen.dtypes import DType
from kgen.records import dataclass
from kgen.schedule.expressions import Expr, shown
from kgen.schedule.launch import Rule
from kgen.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a ``__global__`` function; these are its kinds.

    ``pointer``: an operand in memory; ``key`` is its number.  ``buffer``: the same, in memory that kgen owns.
    ``scratch``: memory of the kernel's own, of ``bytes`` bytes (over the named values of the launch rule).
    ``counters``: the same, zeroed before the first launch; each launch leaves it zeroed.  ``scalar``: ``key`` is its
    number in the step's graph.  ``size``: ``key`` is the dimension symbol.  ``shape``: the extents and strides of an
    operand of ``rank`` axes; ``key`` is its number.  ``layout``: the by-value struct.  ``n``: the number of elements
    or rows.
    """

    kind: Literal["pointer", "buffer", "scratch", "counters", "scalar", "size", "shape", "layout", "n"]
    key: int | str
    dtype: DType | None = None
    bytes: Expr | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel of a module: its name and what a launcher needs.  ``declarations``: of its parameters, in CUDA C++.

    ``body``: the function template that it shares with others, or empty.  ``shared_layout``: the layout struct that it
    shares with others, or empty.
    """

    name: str
    step: int
    schedule: Schedule
    parameters: tuple[Parameter, ...]
    rule: Rule
    declarations: tuple[str, ...]
    body: str = ""
    shared_layout: str = ""

    @property
    def layout_struct(self) -> str:
        """The name of its layout struct, or of the template of it."""
        return self.shared_layout or f"{self.body or self.name}_layout"

    @property
    def has_layout_template(self) -> bool:
        return bool(self.shared_layout or self.body)

    @property
    def layout(self) -> str:
        """The type of its layout struct."""
        return layout_type(self.layout_struct, self.schedule, is_template=self.has_layout_template)

    @property
    def scratch(self) -> tuple[Expr, ...]:
        """The bytes of each scratch array."""
        return tuple(p.bytes for p in self.parameters if p.bytes is not None)

    @property
    def launch_lines(self) -> tuple[str, ...]:
        """How the kernel is launched, for ``explain``."""
        scratch = f"scratch memory, zeroed once: {' + '.join(map(shown, self.scratch))} bytes"
        return str(self.rule), *([scratch] if self.scratch else [])


@dataclass(frozen=True, slots=True)
class Module:
    """A generated file: its text, its kernels, and notes for the reader of the program.

    ``host``: for files made ahead of time, the host half for compilers that do not know CUDA, which
    :func:`kgen.launcher.images.host_text` completes.
    """

    text: str
    entries: tuple[Entry, ...]
    lints: tuple[Diagnostic, ...] = ()
    host: str = ""
