"""The functions of ``prelude.k`` and ``complex.k``, each parsed at its first use."""

from __future__ import annotations

import re
from functools import cache

from kgen import resources
from kgen.source import Source
from kgen.syntax.parser import parse_def
from kgen.syntax.tree import Def

FILES = ("prelude.k", "complex.k")
_LINE = re.compile(r"^def\s+(\w+)\(.*$", re.MULTILINE)


@cache
def source(file: str = "prelude.k") -> Source:
    return Source.of(resources.prelude(file), file)


@cache
def _places() -> dict[str, tuple[str, int, int]]:
    return {line[1]: (file, *line.span()) for file in FILES for line in _LINE.finditer(source(file).text)}


def names() -> tuple[str, ...]:
    """All functions of the prelude, in its order."""
    return tuple(_places())


@cache
def prelude_def(name: str) -> Def | None:
    """The definition of a prelude function, or None when there is none of that name."""
    place = _places().get(name)
    return None if place is None else parse_def(source(place[0]), *place[1:])
