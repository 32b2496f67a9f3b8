"""What the tests of examples share: a copy of the examples, ``kgen`` on the PATH, and CUDA where READMEs expect it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from kgen import KgenError
from kgen.library import toolkit
from kgen.runtime.cuda.driver import probe
from tests.snapshots.cases import EXAMPLES


def missing(*programs: str) -> str | None:
    """Why an example cannot be built here; None if it can."""
    absent = [name for name in programs if shutil.which(name) is None]
    try:
        toolkit.find("nvrtc")
    except KgenError as problem:
        return problem.diagnostics[0].message
    return f"no {', '.join(absent)} on this machine" if absent else None


def no_gpu() -> str | None:
    """Why nothing can be run here."""
    return None if probe().available else probe().reason


def copied(folder: Path) -> Path:
    """The examples, and ``bin`` and ``cuda`` beside them."""
    shutil.copytree(EXAMPLES, folder / "examples")
    (folder / "bin").mkdir()
    command = folder / "bin" / "kgen"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kgen "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    tools = toolkit.find("nvrtc")
    assert tools.include is not None
    assert tools.cudart is not None
    (folder / "cuda").mkdir()
    (folder / "cuda" / "include").symlink_to(tools.include)
    (folder / "cuda" / "lib").symlink_to(tools.cudart.parent)
    return folder / "examples"


def sh(command: str, folder: Path) -> str:
    """Runs a command of a README in a folder of the copied examples; what it printed."""
    root = next(p for p in (folder, *folder.parents) if (p / "bin").is_dir() and (p / "cuda").is_dir())
    environ = {**os.environ, "PATH": f"{root / 'bin'}:{os.environ['PATH']}", "CUDA": str(root / "cuda")}
    environ.pop("PYTHONPATH", None)
    done = subprocess.run(
        ["bash", "-euc", command], cwd=folder, env=environ, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def commands(readme: Path, mark: str = "") -> list[str]:
    """Those of a README, or of its block after ``<!-- mark -->``, but for the installation."""
    start = f"<!-- {mark} -->\n" if mark else ""
    blocks = re.findall(rf"{start}```bash\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.strip().split("\n")]
    return [line for line in lines if "pip install" not in line and not line.startswith("CUDA=")]
