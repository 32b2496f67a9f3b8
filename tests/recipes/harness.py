"""A copy of kgen, in which a test follows a recipe of CONTRIBUTING.md."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_COPIED = ("kgen", "templates", "grammar", "tests", "docs")
_IGNORED = shutil.ignore_patterns("__pycache__", "*.so", "_data")


class Copy:
    """The part of this repository that recipes change, below ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in _COPIED:
            shutil.copytree(ROOT / folder, root / folder, ignore=_IGNORED)
        shutil.copy(ROOT / "pyproject.toml", root)

    def insert(self, path: str, before: str, text: str) -> None:
        """Puts ``text`` in front of ``before``, which the file has to contain exactly once."""
        self.replace(path, before, text + before)

    def remove(self, path: str, text: str) -> None:
        self.replace(path, text, "")

    def replace(self, path: str, old: str, new: str) -> None:
        """``old`` has to occur exactly once."""
        whole = (self.root / path).read_text(encoding="utf-8")
        assert whole.count(old) == 1, f"{path} has {old!r} {whole.count(old)} times"
        (self.root / path).write_text(whole.replace(old, new), encoding="utf-8")

    def create(self, path: str, text: str) -> None:
        assert not (self.root / path).exists(), f"{path} exists"
        (self.root / path).write_text(text, encoding="utf-8")

    def python(self, *arguments: str) -> str:
        """What Python prints, with the kgen of this copy."""
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        environment["KGEN_CXXFLAGS"] = "-O0"  # the headers of this copy are its own
        environment.pop("PYTEST_ADDOPTS", None)
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root, env=environment, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def pytest(self, *arguments: str) -> int:
        """How many tests of this copy passed; none may fail."""
        said = self.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)
        passed = re.search(r"(\d+) passed", said)
        return int(passed[1]) if passed else 0

    def changed(self) -> set[str]:
        """The files that differ from this repository's, and the new ones."""
        files = {p.relative_to(self.root) for folder in _COPIED for p in (self.root / folder).rglob("*") if p.is_file()}
        return {f.as_posix() for f in files if not _same(self.root / f, ROOT / f)}


def _same(a: Path, b: Path) -> bool:
    return b.exists() and a.read_bytes() == b.read_bytes()


def files_of(recipe: str, **names: str) -> set[str]:
    """The files that a recipe names; ``names`` are written for ``<name>`` and the like."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition(f"\n### {recipe}\n")[2].partition("\n##")[0]
    assert section.strip(), f"CONTRIBUTING.md has no recipe {recipe!r}"
    for placeholder, name in names.items():
        section = section.replace(f"<{placeholder}>", name)
    return set(re.findall(r"`([\w./]+/[\w./]+)`", section))
