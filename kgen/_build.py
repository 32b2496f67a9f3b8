"""hatchling's build hook: puts parser tables and compiled templates into the wheel (see ``resources.built``).

They save time at start-up and are never needed, so an editable install goes without.
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
        from kgen.codegen import templates
        from kgen.syntax import tables

        self._made = made = Path(tempfile.mkdtemp(prefix="kgen-build-"))
        (made / tables.FILE).write_bytes(tables.build())
        templates.build(made / templates.FOLDER)
        (made / templates.DIGEST).write_bytes(templates.digest())
        for path in sorted(p for p in made.rglob("*") if p.is_file()):
            build_data["force_include"][str(path)] = f"kgen/_data/{path.relative_to(made).as_posix()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Once they are packed, remove them."""
        if version != "editable":
            shutil.rmtree(self._made, ignore_errors=True)
