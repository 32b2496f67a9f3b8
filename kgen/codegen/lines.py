"""Lines of generated text: how wide they are, and sums in several of them."""

from __future__ import annotations

from collections.abc import Sequence

MAX_COLUMNS = 104


def times(factor: int, code: str) -> str:
    """A product."""
    return code if factor == 1 else f"{factor} * {code}"


def sum_lines(start: str, terms: Sequence[str]) -> tuple[str, ...]:
    """``start`` and a sum, in several lines where one is too long."""
    lines, line = [], start + terms[0]
    for term in terms[1:]:
        if len(line) + len(term) + 8 > MAX_COLUMNS:
            lines.append(line)
            line = " " * (len(start) - 2) + f"+ {term}"
        else:
            line += f" + {term}"
    return (*lines, f"{line};")


def choice(line: str) -> tuple[str, ...]:
    """A statement; where it is too long, what it chooses between has a line of its own."""
    condition, question, chosen = line.partition(" ? ")
    return (line,) if len(line) <= MAX_COLUMNS or not question else (condition, f"    ? {chosen}")


def assigned(name: str, code: str) -> tuple[str, ...]:
    """``name = code;``, in several lines where one is too long.  ``code``: a sum, or a choice of one."""
    if len(name) + len(code) + 8 <= MAX_COLUMNS:
        return (f"{name} = {code};",)
    condition, question, terms = code.rpartition(" ? ")
    start = f"{name} = {condition}" if question else f"{name} ="
    return start, *sum_lines("    ? " if question else "    ", terms.split(" + "))
