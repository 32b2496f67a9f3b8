"""Steps: the kernels that a program is split into."""

from __future__ import annotations

from dataclasses import dataclass

from kgen.ir.kernel import Kernel, Shape


@dataclass(frozen=True, slots=True)
class Touch:
    """One way in which a kernel touches an operand: which one, through which map, reading, writing or both."""

    operand: int
    axes: tuple[int | None, ...]
    reads: bool
    writes: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel over one iteration shape.  ``touches``: what it writes first, then what it only reads."""

    kernel: Kernel
    shape: Shape
    touches: tuple[Touch, ...]
