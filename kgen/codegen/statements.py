"""The statements of a program, and which of them each op comes from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from kgen.ir.graph import Op
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the program: its place in the text, and its lines as comments show them.

    ``mark``: the end of the lines that come from it (:mod:`kgen.codegen.line_directives`).
    """

    start: int
    end: int
    lines: tuple[str, ...]
    mark: str = ""


def origins(ops: Sequence[Op], statements: Sequence[Statement]) -> list[Statement | None]:
    """The statement that each op comes from; ops from the body of a def belong to the statement that calls it."""
    found: list[Statement | None] = []
    following: Statement | None = None
    starts = [s.start for s in statements]
    for op in reversed(ops):
        if op.span is not None:
            place = bisect_right(starts, op.span.start) - 1
            if place >= 0 and op.span.start < statements[place].end:
                following = statements[place]
        found.append(following)
    return found[::-1]
