"""The Jinja environment over ``templates/``: precompiled if the wheel has that, else compiled from their text.

Compiling the templates takes 60 ms in every process, so a wheel has them as Python modules, with a digest.  These are
used only if the digest matches the installed templates and Jinja; without them, everything works as well.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from kgen import resources

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment, Template

FOLDER = "compiled"  # in `_data`
DIGEST = "compiled.digest"


@cache
def environment() -> Environment:
    """The environment, with precompiled templates if there are valid ones."""
    import jinja2

    if resources.built(DIGEST) == digest():
        return over(compiled(resources.built_path(FOLDER)))
    return over(jinja2.FileSystemLoader(resources.folder("templates")))


def compiled(folder: Path) -> BaseLoader:
    """Loads precompiled templates, one at a time: what Jinja's loader imports, it takes out of ``sys.modules`` at once,
    where another thread that imports the same template looks for it."""
    import jinja2

    lock = Lock()

    class ModuleLoader(jinja2.ModuleLoader):
        def load(self, *args: Any) -> Template:
            with lock:
                return super().load(*args)

    return ModuleLoader(folder)


def build(target: Path) -> None:
    """Write one Python module for each template into ``target``."""
    import jinja2

    environment = over(jinja2.FileSystemLoader(resources.folder("templates")))
    environment.compile_templates(target, extensions=["j2"], zip=None, ignore_errors=False)


def digest() -> bytes:
    """The digest of Jinja's version and the templates' text.  Python's import cache handles Python's version."""
    from jinja2 import __version__

    folder = resources.folder("templates")
    hashed = hashlib.sha256(__version__.encode())
    for path in sorted(folder.rglob("*.j2")):
        hashed.update(f"\0{path.relative_to(folder).as_posix()}\0".encode() + path.read_bytes())
    return hashed.hexdigest().encode()


def over(loader: BaseLoader) -> Environment:
    """The environment whose templates this loads."""
    import jinja2

    made = jinja2.Environment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        auto_reload=False,
    )
    # `{% if text is naming("x") %}`: whether generated text uses a name, which is declared only then.
    made.tests["naming"] = lambda text, name: re.search(rf"\b{name}\b", text) is not None
    made.filters["used_by"] = used_by
    return made


def used_by(lines: Sequence[str], text: str) -> list[str]:
    """The declarations, one a line, whose names generated text uses, or a later one of these."""
    found: list[str] = []
    for line in reversed(lines):
        name = line.partition(" = ")[0].split()[-1]
        if re.search(rf"\b{name}\b", "\n".join((text, *found))):
            found.insert(0, line)
    return found
