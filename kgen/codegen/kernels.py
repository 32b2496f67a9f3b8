"""What a launcher knows of the kernels of a module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kgen.dtypes import DType
from kgen.schedule.launch import Rule
from kgen.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a ``__global__`` function, in order.

    ``pointer``: ``key`` is the operand's number; ``buffer``: the same, of memory of kgen's own.  ``partial``: what
    blocks leave of a reduction, so many bytes each; ``arrived``: a counter for each group of blocks;
    ``next_row_counter``: one of rows.  ``scalar``: the number in the step's kernel.  ``size``: the dimension symbol.
    ``layout``: the by-value struct.  ``n``: the number of elements or rows.
    """

    kind: Literal["pointer", "buffer", "partial", "arrived", "next_row_counter", "scalar", "size", "layout", "n"]
    key: int | str
    dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel of a module: its name and what a launcher has to know."""

    name: str
    step: int
    schedule: Schedule
    parameters: tuple[Parameter, ...]
    rule: Rule
