"""What a wheel has besides kgen's sources, made in this checkout: processes of tests start in half the time."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib.util import MAGIC_NUMBER
from pathlib import Path

from kgen import initialisers, resources
from kgen.codegen import templates
from kgen.syntax import tables

#: In a process of its own, as it imports all of kgen.
_INITIALISERS = "import sys; from kgen.initialisers import build; sys.stdout.buffer.write(build())"


def make_products() -> None:
    """Puts the parser's tables, the compiled templates and the code of dataclasses into ``build/kgen``, unless those of
    these sources are there.

    kgen uses them by their digests: after an edit, it reads the sources until this is called again.
    """
    parser = resources.built(tables.FILE) or b""
    is_current = resources.built(templates.DIGEST) == templates.digest() and parser.startswith(tables.digest())
    if is_current and (resources.built(initialisers.FILE) or b"").startswith(MAGIC_NUMBER):
        return
    folder = resources.IN_CHECKOUT
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        made = Path(temporary)
        code = subprocess.check_output([sys.executable, "-c", _INITIALISERS], cwd=resources.IN_CHECKOUT.parents[1])
        (made / initialisers.FILE).write_bytes(code)
        (made / tables.FILE).write_bytes(tables.build())
        templates.build(made / templates.FOLDER)
        (made / templates.DIGEST).write_bytes(templates.digest())
        shutil.rmtree(folder / templates.FOLDER, ignore_errors=True)
        # The digest last: it vouches for the folder.
        for product in (templates.FOLDER, tables.FILE, initialisers.FILE, templates.DIGEST):
            (made / product).rename(folder / product)
