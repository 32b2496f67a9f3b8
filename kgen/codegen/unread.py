"""Declarations that nothing reads are left out of a file: coordinates and row numbers that only some loops need."""

from __future__ import annotations

import re

#: A line that declares an integer, and does nothing else: indentation, name.
_DECLARED = re.compile(
    r"( +)const (?:unsigned int|int|long long|bool) (\w+) = (?!.*(?:atomic|shfl|\+\+|, \w+ = ))[^;]*;(?: *//.*)?"
)
_COMMENT = re.compile(r"//.*")


def without_unread(text: str) -> str:
    """``text`` without the integers that are declared and not read before their block ends."""
    kept: list[str] = []  # last line first
    for line in reversed(text.split("\n")):
        declared = _DECLARED.fullmatch(line)
        if declared is None or _is_read(declared[2], len(declared[1]), kept):
            kept.append(line)
    return "\n".join(reversed(kept))


def _is_read(name: str, indent: int, later: list[str]) -> bool:
    word = re.compile(rf"\b{name}\b")
    for line in reversed(later):
        code = _COMMENT.sub("", line)
        if word.search(code):
            return True
        if code.lstrip().startswith("}") and len(code) - len(code.lstrip()) < indent:
            return False
    return False
