"""The text of a launcher: what it needs of ``templates/launcher``, and its C functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from kgen import resources
from kgen.codegen import names
from kgen.codegen.context import ModuleContext
from kgen.codegen.lines import wrapped
from kgen.codegen.templates import environment
from kgen.launcher.context import AnyLayoutLauncher, ShapedLauncher, dtype_rows
from kgen.records import dataclass, replace
from kgen.schedule.expressions import C_FUNCTIONS

#: The files with helper functions, in the order of a text.
_FILES = ("arrays", "merge", "layout", "batches", "copies", "clusters", "launch", "scratch", "messages")


def guarded(host: str, what: str) -> str:
    """Host code as it follows kernels in a file, for CUDA's compilers alone.  ``what``: what it does."""
    parts = {"host": host.rstrip("\n"), "purpose": what}
    return environment().get_template("launcher/guarded.cu.j2").render(m=parts)


def with_zero(file: ModuleContext, launcher: AnyLayoutLauncher | ShapedLauncher) -> ModuleContext:
    """A file, or its part for a set of dtypes, with the kernel that zeroes counters, if there are any."""
    return replace(file, zero=launcher.zero) if launcher.has_counters else file


def launcher_text(base: str, launchers: Sequence[AnyLayoutLauncher | ShapedLauncher]) -> str:
    """The host code of a file: what all launchers share, in the namespace of ``base``; then that of each."""
    sets = [_Set(launcher, _code(launcher)) for launcher in launchers]
    text = "\n".join(line for one in sets for line in (one.code, *one.launcher.members))
    shared = {
        "headers": tuple(dict.fromkeys(h for one in launchers for h in one.headers)),
        "dtypes": dtype_rows(dict.fromkeys(a.of.dtype for one in launchers for a in one.interface.arrays)),
        "namespace": names.namespace(base),
        "accesses": max(one.accesses for one in launchers),
        "alignment": max(one.alignment for one in launchers),
        "helpers": _needed(text),
        "sets": sets,
    }
    return environment().get_template("launcher/launcher.cu.j2").render(m=shared)


@dataclass(frozen=True)
class _Set:
    """What the template sees of a set of dtypes."""

    launcher: AnyLayoutLauncher | ShapedLauncher
    code: str


def _code(launcher: AnyLayoutLauncher | ShapedLauncher) -> str:
    rendered = environment().get_template(launcher.template).render(m=launcher).rstrip("\n")
    return wrapped(rendered)


def _needed(code: str) -> list[str]:
    """The helpers that a text uses, and those that these use, in an order that compiles."""
    found: list[str] = []
    used = _words(code)
    for name, definition, words in reversed(_helpers()):
        if name in used:
            found.append(definition)
            used |= words
    return found[::-1]


def _words(code: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", code))


@cache
def _helpers() -> tuple[tuple[str, str, frozenset[str]], ...]:
    """Every helper with its name and the words of its text, each after those that it uses."""
    found = [(name, text.rstrip("\n")) for name, text in C_FUNCTIONS.items()]
    for file in _FILES:
        for part in re.split(r"\n\n(?=\S)", resources.text("templates", f"launcher/{file}.cu").rstrip("\n")):
            name = re.search(r"^(?:struct (\w+) \{|static .*?\b(\w+)\()", part, re.MULTILINE)
            assert name, part
            found.append((name[1] or name[2], part))
    return tuple((name, text, _words(text)) for name, text in found)
