"""Precompiled templates."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jinja2
import pytest

from kgen.codegen import templates


def test_threads_load_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jinja takes what it imports out of ``sys.modules``; another thread's import of it would end in a KeyError."""
    templates.build(tmp_path)
    made, load, inside = templates.over(templates.compiled(tmp_path)), jinja2.ModuleLoader.load, list[int]()
    seen: list[int] = []

    def slow(*args: Any) -> Any:
        inside.append(1)
        time.sleep(0.001)
        seen.append(len(inside))
        found = load(*args)
        inside.pop()
        return found

    monkeypatch.setattr(jinja2.ModuleLoader, "load", slow)
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(made.get_template, ["module.cu.j2"] * 8)]
    assert {one.name for one in found} == {"module.cu.j2"}
    assert set(seen) == {1}
