"""The code of ``__init__`` for :func:`kgen.records.dataclass`.

A first call needs sixty of them, which Python compiles in 10 ms.  A wheel contains them as ``_data/initialisers.bin``;
without that file, or where it is of another version of Python, they are compiled.
"""

from __future__ import annotations

import marshal
import pkgutil
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType
from typing import Any

from kgen import resources

FILE = "initialisers.bin"


#: How a field is set: ``set0`` is the setter of a slot, in two thirds of the time of ``object.__setattr__``.
PLAIN, FROZEN, FROZEN_SLOTS = "self.{name} = {value}", "set_(self, '{name}', {value})", "set{i}(self, {value})"


@cache
# many: what tells one from another
def code(positional: int, count: int, factories: tuple[int, ...], setting: str, continues: bool) -> CodeType:
    """``__init__`` with parameters ``_0``, ``_1``...  ``factories``: of the fields with a function that makes defaults.
    ``setting``: one of the templates above.  ``continues``: with ``__post_init__``.
    """
    names = [f"_{i}" for i in range(count)]
    by_name = ["*", *names[positional:]] if positional < count else []
    lines = [f"def __init__({', '.join(['self', *names[:positional], *by_name])}):"]
    for i, name in enumerate(names):
        value = f"made{i}() if {name} is MISSING else {name}" if i in factories else name
        lines.append(f" {setting.format(i=i, name=name, value=value)}")
    if continues:
        lines.append(" self.__post_init__()")
    return _compiled("\n".join([*lines, " return"]))


def _compiled(text: str) -> CodeType:
    known = _known()
    found = known.get(text)
    if found is None:
        made: dict[str, Any] = {}
        exec(text, made)
        found = known[text] = made["__init__"].__code__
    return found


@cache
def _known() -> dict[str, CodeType]:
    """By their text: those of the wheel, and those that were compiled since."""
    data = resources.built(FILE) or b""
    if data.startswith(MAGIC_NUMBER):
        with suppress(EOFError, TypeError, ValueError):  # truncated
            return dict(marshal.loads(data[len(MAGIC_NUMBER) :]))
    return {}


def build() -> bytes:
    """The content of ``_data/initialisers.bin``: Python's version, and the code for all classes of kgen."""
    for module in pkgutil.walk_packages([str(Path(__file__).parent)], "kgen."):
        if "._" not in module.name:  # `__main__` runs the command line
            with suppress(ImportError):  # of a library that is not installed here
                import_module(module.name)
    # Version 2 has no references, which depend on reference counts.
    return MAGIC_NUMBER + marshal.dumps(sorted(_known().items()), 2)
