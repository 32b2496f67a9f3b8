"""The functions of ``prelude.k``, each parsed when it is first asked for."""

from __future__ import annotations

import re
from functools import cache

from kgen import resources
from kgen.source import Source
from kgen.syntax.parser import parse_def
from kgen.syntax.tree import Def

_LINE = re.compile(r"^def\s+(\w+)\(.*$", re.MULTILINE)


@cache
def source() -> Source:
    return Source.of(resources.prelude(), "prelude.k")


@cache
def _places() -> dict[str, tuple[int, int]]:
    return {line[1]: line.span() for line in _LINE.finditer(source().text)}


def names() -> tuple[str, ...]:
    """All functions of the prelude, in its order."""
    return tuple(_places())


@cache
def prelude_def(name: str) -> Def | None:
    """The definition of a prelude function, or None when there is none of that name."""
    place = _places().get(name)
    return None if place is None else parse_def(source(), *place)
