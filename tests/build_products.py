"""What a wheel has besides kgen's sources, made in this checkout: processes of tests start in half the time."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from kgen import resources
from kgen.codegen import templates
from kgen.syntax import tables


def make_products() -> None:
    """Puts the parser's tables and the compiled templates into ``build/kgen``, unless those of these sources are there.

    kgen uses them by their digests: after an edit, it reads the sources until this is called again.
    """
    parser = resources.built(tables.FILE) or b""
    if resources.built(templates.DIGEST) == templates.digest() and parser.startswith(tables.digest()):
        return
    folder = resources.IN_CHECKOUT
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        made = Path(temporary)
        (made / tables.FILE).write_bytes(tables.build())
        templates.build(made / templates.FOLDER)
        (made / templates.DIGEST).write_bytes(templates.digest())
        shutil.rmtree(folder / templates.FOLDER, ignore_errors=True)
        for product in (templates.FOLDER, tables.FILE, templates.DIGEST):  # the digest last: it vouches for the folder
            (made / product).rename(folder / product)
