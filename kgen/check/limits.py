"""Limits on the size of a program. Larger ones take minutes to compile, or never finish."""

from __future__ import annotations

from kgen.ir.builder import Builder
from kgen.ir.graph import Op
from kgen.program import Program
from kgen.records import dataclass

MOST_OPS = 1 << 14  # about a minute for a host compiler
MOST_INLINED = 1 << 17  # nodes of defs, a few seconds of typing
MOST_ARGUMENTS = 1024  # CUDA's 4,096 bytes of parameters hold 512 pointers; several kernels share the others


class TooLarge(Exception):
    """The program grows beyond a limit; the message says which."""


@dataclass(slots=True)
class Inlined:
    """Counts the nodes of defs that were typed, and the expressions that are being typed, one inside the other."""

    count: int = 0
    depth: int = 0

    def add(self) -> None:
        self.count += 1
        if self.count > MOST_INLINED:
            raise TooLarge(f"its defs, inlined at each call, have more than {MOST_INLINED:,} nodes")


class LimitedBuilder(Builder):
    """A builder that stops at a limit: defs that call defs grow exponentially."""

    def add(self, op: Op) -> int:
        number = super().add(op)
        if number >= MOST_OPS:
            raise TooLarge(f"it has more than {MOST_OPS:,} different operations")
        return number


def too_many_arguments(program: Program) -> str | None:
    """The error for too many arrays and params, if there are too many."""
    count = len(program.arguments) + len(program.parameters) + len(program.outputs)
    if count <= MOST_ARGUMENTS:
        return None
    return f"the program has {count:,} arrays and params; at most {MOST_ARGUMENTS:,} are possible"
