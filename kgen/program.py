"""A resolved program: every name has a meaning, but dtypes and shapes are not known yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from kgen.diagnostics import Diagnostic
from kgen.dtypes import DType
from kgen.records import dataclass
from kgen.source import Source, Span
from kgen.syntax.tree import Assign, Def, Let

Rewriting = Literal["first_outside", "places", "deterministic"]
Weak = bool | int | float | complex  #: a literal's or a Python scalar's value


@dataclass(frozen=True, slots=True)
class Argument:
    """An array argument.  ``dtype`` is the declared one (then it must match exactly) or None."""

    name: str
    role: Literal["input", "inout"]
    dtype: DType | None
    span: Span  # where it is declared, else where it is first read
    used: bool = True


@dataclass(frozen=True, slots=True)
class Parameter:
    """A scalar passed by value and by keyword.

    Without a ``dtype`` it is weak; without a ``default`` it must be given.
    """

    name: str
    dtype: DType | None
    default: Weak | None
    span: Span


@dataclass(frozen=True, slots=True)
class Output:
    """An array that the kernel returns; ``dtype`` is the declared one or None."""

    name: str
    dtype: DType | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A program whose names are resolved.

    ``arguments`` are in call order: ``input`` and ``inout`` lines first, then by first occurrence.
    ``outputs`` are in order of assignment.  ``statements`` hold ``let`` lines and assignments in order.
    ``defs`` are the user's own functions.
    ``rewriting`` names what is made of the typed IR before the passes (``kgen/pipeline.py``), if anything.
    """

    source: Source
    arguments: tuple[Argument, ...]
    parameters: tuple[Parameter, ...]
    outputs: tuple[Output, ...]
    statements: tuple[Let | Assign, ...]
    defs: Mapping[str, Def]
    lints: tuple[Diagnostic, ...]
    rewriting: Rewriting | None = None
