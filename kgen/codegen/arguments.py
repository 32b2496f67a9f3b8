"""The arguments of device functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kgen.codegen import names
from kgen.ir.graph import Operand
from kgen.records import dataclass

#: Kinds of arguments that kernels have as parameters of the same name.
BY_NAME = frozenset({"scalar", "size", "source"})


def size_name(operands: Sequence[Operand], dim: int | str) -> str:
    """The name of an extent that is passed by value: after the first operand that has it, or the symbol if none has."""
    found = ((operand.name, axis) for operand in operands for axis, of in enumerate(operand.shape) if of == dim)
    return next((names.size(*place) for place in found), f"size_{dim}")


@dataclass(frozen=True, slots=True)
class Argument:
    """The meaning of one parameter of the element function.

    ``kind`` and ``key``: ``read`` or ``write`` and the access number; ``scalar`` and its number; ``index`` and the
    axis from the right; ``size`` and the dimension symbol; ``source`` and the number of an operand that is read at
    computed places, for its pointer and its extents and strides; ``gathered`` and the number of an op that moves rows
    at computed places, for its element.
    """

    kind: str
    key: int | str
    declaration: str

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.declaration.rpartition(" ")[2]


def used(arguments: Iterable[Argument], body: Sequence[str]) -> tuple[Argument, ...]:
    """The arguments that the lines of a function read or write."""
    words = set(re.findall(r"\w+", "\n".join(line for line in body if not line.startswith("//"))))
    return tuple(a for a in arguments if a.name in words)
