"""Runs ``kgen`` in this process as a shell would, in a folder with files."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen.cli import main

EXPR = "param alpha: float = 1.0\nlet s = a * b\nout = alpha * s + cast<float>(c)\n"
SEVERAL = "inout p: float\ns = a + b\nq = a * b\np = p + a\n"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("compile", "-", stdin=...)`` gives exit status, standard output and standard error, in a fresh folder."""
    monkeypatch.chdir(tmp_path)

    def once(*argv: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["kgen", *argv])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8"))
        try:
            main()
            status = 0
        except SystemExit as leaving:
            status = int(leaving.code or 0)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return once


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    """``a.npy``, ``b.npy``, ``c.npy``, ``p.npy`` and the programs ``expr.k`` and ``several.k`` in the folder."""
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {n: rng.random((4, 5), dtype=np.float32) for n in "abp"}
    arrays["c"] = np.arange(20).reshape(4, 5)
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    (tmp_path / "expr.k").write_text(EXPR)
    (tmp_path / "several.k").write_text(SEVERAL)
    return arrays
