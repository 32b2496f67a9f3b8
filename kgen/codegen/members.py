"""Leaves out the member functions of accumulators' structs that a file does not call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from kgen.records import dataclass

#: A member function with the comment and the template's parameters above it: in these files, a line or a block.
_FUNCTION = re.compile(
    r"(?:^    //.*\n)*(?:^    template .*\n)?"
    r"^    (?P<static>static )?__device__ __forceinline__ [^\n(]*?(?P<name>\w+)"
    r"(?P<rest>\((?:.*\}\n|.*\n    \{\n(?s:.*?)^    \}\n))",
    re.MULTILINE,
)
_STRUCT = re.compile(r"^struct (\w+)", re.MULTILINE)
#: The struct whose static function is called: `Sum<float>::identity()`.
_QUALIFIER = re.compile(r"(\w+)(?:<[^;()<>]*>)?::\Z")
_LONGEST = 80
_ARGUMENTS_OF_TEMPLATE = re.compile(r"(?:<[^;()]*>)?")
_SIGN = re.compile(r"[(){}\[\],]")
#: The struct where it is named, the function, and the number of arguments; None where these are a pack.
_Call = tuple[str, str, int | None]


@dataclass(frozen=True, slots=True)
class _Member:
    """A function of ``struct``.  ``text``: with what is above it.  ``takes_more``: any number of arguments."""

    struct: str
    text: str
    name: str
    is_static: bool
    parameters: int
    takes_more: bool
    body: str

    def is_called(self, calls: Iterable[_Call]) -> bool:
        structs = (self.struct,) if self.is_static else ("", self.struct)
        fits = (k for s, name, k in calls if name == self.name and s in structs)
        return any(self.takes_more or k in (None, self.parameters) for k in fits)


def without_unused_members(text: str, helpers: Iterable[str]) -> str:
    """The text of a file without what it does not call of its ``helpers``, where these have structs.

    Objects are not told apart: a function stays if any struct's function with its name and as many arguments is called.
    """
    structs = [helper for helper in helpers if _STRUCT.search(helper)]
    if not structs:
        return text
    rest = text
    for struct in structs:
        rest = rest.replace(struct, "")
    unused = _unused([member for struct in structs for member in _members(struct)], rest)
    for struct in structs:
        shorter = struct
        for member in unused:
            shorter = shorter.replace(member.text, "")
        text = text.replace(struct, re.sub(r"\n+(\n\n|\n\};)", r"\1", shorter))
    return text


def _unused(members: list[_Member], rest: str) -> list[_Member]:
    """Those that neither the ``rest`` of a file calls nor a member that is called."""
    names = dict.fromkeys(member.name for member in members)
    calls = set(_calls(names, rest))
    while called := [member for member in members if member.is_called(calls)]:
        members = [member for member in members if member not in called]
        calls.update(call for member in called for call in _calls(names, member.body))
    return members


@cache
def _members(helper: str) -> tuple[_Member, ...]:
    return tuple(_members_of(helper))


def _members_of(helper: str) -> Iterator[_Member]:
    structs = list(_STRUCT.finditer(helper))
    for found in _FUNCTION.finditer(helper):
        struct = next(one[1] for one in reversed(structs) if one.start() < found.start())
        number, end = _arguments(found["rest"])
        parameters, body = found["rest"][:end], found["rest"][end:]
        yield _Member(struct, found[0], found["name"], bool(found["static"]), number, "..." in parameters, body)


def _calls(names: Iterable[str], text: str) -> Iterator[_Call]:
    for name in names:
        place = text.find(name)
        while place >= 0:
            end = place + len(name)
            opened = text.find("(", end)
            whole = not (text[place - 1].isalnum() or text[place - 1] == "_")
            if whole and _ARGUMENTS_OF_TEMPLATE.fullmatch(text, end, opened):
                before = _QUALIFIER.search(text, max(0, place - _LONGEST), place)
                number, closed = _arguments(text, opened)
                yield before[1] if before else "", name, None if "..." in text[opened:closed] else number
            place = text.find(name, end)


def _arguments(text: str, start: int = 0) -> tuple[int, int]:
    """How many arguments are in the parentheses that begin here, and where these end."""
    depth, commas = 0, 0
    for sign in _SIGN.finditer(text, start):
        depth += (sign[0] in "([{") - (sign[0] in ")]}")
        commas += sign[0] == "," and depth == 1
        if depth == 0:
            return (commas + 1 if text[start + 1 : sign.start()].strip() else 0), sign.start()
    return commas + 1, len(text)
