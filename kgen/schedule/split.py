"""Cuts a program into the fewest kernels: one for each shape that its outputs have.

Only a larger shape can read a smaller one, so larger shapes go first: an ``inout`` argument that they read still
holds its old value then, and its own update comes after.
"""

from __future__ import annotations

from dataclasses import dataclass

from kgen.ir.kernel import Access, Kernel, Shape
from kgen.passes.dce import dce


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


def split(kernel: Kernel) -> tuple[Step, ...]:
    """The steps of a program, in the order in which they have to run."""
    shapes = list(dict.fromkeys(store.shape for store in kernel.stores))
    shapes.sort(key=order_key)
    return tuple(_step(kernel, shape) for shape in shapes)


def order_key(shape: Shape) -> tuple[int, int]:
    """Sorts larger shapes first."""
    return (-len(shape), sum(dim == 1 for dim in shape))


def step_of(part: Kernel, shape: Shape) -> Step:
    """A kernel without reductions, all of whose stores have ``shape``."""
    return Step(part, shape, _touches(part))


def _step(kernel: Kernel, shape: Shape) -> Step:
    ops = tuple(op for op in kernel.ops if op.name != "store" or op.shape == shape)
    # Stores stand last and nothing reads them, so leaving some out renumbers nothing before them.
    return step_of(dce(Kernel(kernel.operands, kernel.scalars, ops)), shape)


def _touches(kernel: Kernel) -> tuple[Touch, ...]:
    reads: dict[tuple[int, tuple[int | None, ...]], None] = {}
    writes: dict[tuple[int, tuple[int | None, ...]], None] = {}
    for op in kernel.ops:
        if isinstance(op.attr, Access):
            (writes if op.name == "store" else reads)[op.attr.operand, op.attr.axes] = None
    written = [Touch(operand, axes, (operand, axes) in reads, True) for operand, axes in writes]
    read = [Touch(operand, axes, True, False) for operand, axes in reads if (operand, axes) not in writes]
    return tuple(sorted(written, key=lambda t: t.operand) + sorted(read, key=lambda t: t.operand))
