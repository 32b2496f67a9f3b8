"""Lines of generated text: how wide they are, and long ones in several."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_COLUMNS = 104
_WIDEST = 120  # of a whole line, which a template may have indented
#: Where a line may end: behind commas but those of `Pack<T, N, Bytes>`, `&&`, `|` and `=`; ahead of `+`, `-`, `?`, `:`.
_ENDS = re.compile(r"(?<=,) (?!\d+[,>])|(?<=&&) |(?<=\|) |(?<= =) | (?=[-+?:] )")


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


def wrapped(text: str, brackets: int = 0) -> str:
    """A text whose long lines of code are several lines: each ends in as few brackets as possible, at least so many."""
    return "\n".join(_wrapped_line(line, brackets) for line in text.split("\n"))


def _wrapped_line(line: str, brackets: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    lines: list[str] = []
    while len(line) > _WIDEST and "//" not in line and not line.startswith("#"):
        found = [end.start() for end in _ENDS.finditer(line, len(indent), _WIDEST) if not _in_string(line, end.start())]
        fits = [at for at in found if line[at - 1] != "=" or len(indent) + len(line) - at <= _WIDEST]
        before = sum(map(_depth, lines))
        ends = [(depth, -at) for at in fits or found if (depth := before + _depth(line[:at])) >= brackets]
        if not ends:
            break
        at = -min(ends)[1]
        lines.append(line[:at])
        line = indent + line[at + 1 :]
    return "\n".join([*lines, line])


def _depth(code: str) -> int:
    return sum(code.count(opening) for opening in "([{") - sum(code.count(closing) for closing in ")]}")


def _in_string(line: str, at: int) -> bool:
    return line.count('"', 0, at) % 2 == 1
