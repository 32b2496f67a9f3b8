"""hatchling's build hook: puts what is compiled ahead of time into the wheel: parser tables, templates, code of
dataclasses and ``_call.c``'s extension.

They save time, at start-up (see ``resources.built``) and in calls, and are never needed: an editable install goes
without, and so does a wheel that is built where there is no C compiler.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildProducts(BuildHookInterface[Any]):
    """Runs before a wheel is packed."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the products in a temporary folder and have them packed below ``kgen/_data``."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from kgen import initialisers
        from kgen._extension import Uncompiled, compile_extension
        from kgen.codegen import templates
        from kgen.syntax import tables

        self._made = made = Path(tempfile.mkdtemp(prefix="kgen-build-"))
        (made / initialisers.FILE).write_bytes(initialisers.build())
        (made / tables.FILE).write_bytes(tables.build())
        templates.build(made / templates.FOLDER)
        (made / templates.DIGEST).write_bytes(templates.digest())
        for path in sorted(p for p in made.rglob("*") if p.is_file()):
            build_data["force_include"][str(path)] = f"kgen/_data/{path.relative_to(made).as_posix()}"
        try:
            extension = compile_extension(Path(self.root, "kgen", "_call.c"), made)
        except Uncompiled as problem:
            self.app.display_warning(f"calls will take a microsecond longer, as there is no extension: {problem}")
            return
        build_data["force_include"][str(extension)] = f"kgen/{extension.name}"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Once they are packed, remove them."""
        if version != "editable":
            shutil.rmtree(self._made, ignore_errors=True)
