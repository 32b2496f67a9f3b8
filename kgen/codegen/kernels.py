"""What a launcher knows about the kernels of a module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kgen.dtypes import DType
from kgen.schedule.launch import Rule
from kgen.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a ``__global__`` function; these are its kinds.

    ``pointer``: an operand in memory; ``key`` is its number.  ``buffer``: the same, in memory that kgen owns.
    ``partial``: the partial results of blocks; ``key`` is the bytes of each.  ``arrived``: a counter for each group of
    blocks.  ``next_row_counter``: the counter of rows.  ``scalar``: ``key`` is its number in the step's kernel.
    ``size``: ``key`` is the dimension symbol.  ``layout``: the by-value struct.  ``n``: the number of elements or rows.
    """

    kind: Literal["pointer", "buffer", "partial", "arrived", "next_row_counter", "scalar", "size", "layout", "n"]
    key: int | str
    dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel of a module: its name and what a launcher needs."""

    name: str
    step: int
    schedule: Schedule
    parameters: tuple[Parameter, ...]
    rule: Rule
