"""Host libraries in memory: equal texts share one, and it goes with the last kernel."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

import numpy as np
import pytest

import kgen
from kgen.diagnostics import KgenError
from kgen.runtime.cpu import build
from kgen.runtime.cpu.module import CpuModule
from kgen.runtime.store import StoredEntry

from .harness import launch
from .test_cached import text


def maps() -> list[str]:
    return Path("/proc/self/maps").read_text().splitlines()


def test_a_library_has_two_mappings() -> None:
    """A process may have 65,530."""
    held = CpuModule.load(text(20), ["k"], name="mapped_once.cu")
    lines = [line for line in maps() if "mapped_once" in line]
    assert len(lines) == 2
    assert held is not None


def test_equal_texts_share_a_library() -> None:
    """However many kernels are made of them, and whatever their comments say."""
    one = [CpuModule.load(text(21), ["k"]) for _ in range(3)]
    other = CpuModule.load(text(21) + "// no", ["k"])
    assert len({id(m._library) for m in (*one, other)}) == 1


def test_unloaded_with_the_last_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan and a learned call keep the library; when they are gone, so is it."""
    k = kgen.jit("out = a * 3 + 22", device="cpu", name="unloaded")
    a = np.ones(4, np.float32)
    for _ in range(4):
        k(a)
    plan = k.plan(a)
    del k
    gc.collect()
    assert [line for line in maps() if "unloaded." in line]
    assert plan().tolist() == [25] * 4
    del plan
    gc.collect()
    assert not [line for line in maps() if "unloaded." in line]


def copies(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Texts that differ in a number only are not compiled: each is a copy of one library."""
    made = build.recipe(text(30), ["k"]).build().payload

    def find(recipe: build.Recipe, *, temporary: bool = False) -> StoredEntry:
        path = folder / f"{recipe.key}.so"
        path.write_bytes(made)
        return StoredEntry(path, made)

    monkeypatch.setattr(build.Recipe, "build", find)


def test_many_programs_one_after_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Those that nobody uses any more are not loaded any more."""
    CpuModule.load(text(31), ["k"])
    copies(monkeypatch, tmp_path)
    for number in range(20_000 if request.config.getoption("--stress") else 300):
        CpuModule.load(text(1000 + number), ["k"])
    assert len([line for line in maps() if str(tmp_path) in line]) <= 4


def test_many_programs_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """More than a process could hold if each had five mappings."""
    count = 14_000 if request.config.getoption("--stress") else 500
    CpuModule.load(text(31), ["k"])
    copies(monkeypatch, tmp_path)
    held = [CpuModule.load(text(100_000 + number), ["k"]) for number in range(count)]
    assert len([line for line in maps() if str(tmp_path) in line]) == 2 * count
    out = np.zeros(1, np.int32)
    launch(held[0], "k", out)
    launch(held[-1], "k", out)
    assert out[0] == 30
    del held
    assert not [line for line in maps() if str(tmp_path) in line]


def test_whole_programs_one_after_another() -> None:
    """The garbage collector ends kernels, and their libraries with them, however they were called."""
    a = np.ones((3, 4), np.float32)
    for number in range(12):
        k = kgen.jit(f"out = a + {number % 3}", device="cpu", name=f"ended{number}")
        for n in (2, 3, 4):
            assert k(a[:n])[0, 0] == 1 + number % 3
        k(a.T)
        k.plan(a)()
    del k
    gc.collect()
    assert not [line for line in maps() if "/ended" in line]


def test_shapes_share_code() -> None:
    """Extents are arguments: shapes of one class are one library."""
    k = kgen.jit("out = a * 2 + b", device="cpu", name="shared_shapes")
    for m in range(1, 12):
        for n in range(1, 12):
            for order in ("C", "F"):
                a = np.ones((m, n), np.float32, order)
                assert (k(a, a) == 3).all()
    assert len({line.split()[-1] for line in maps() if "shared_shapes" in line}) == 1


def test_no_more_room_for_mappings(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be loaded is an error with a hint; kernels that nobody uses make room first."""

    def load(name: str) -> ctypes.CDLL:
        raise OSError(f"{name}: cannot create shared object descriptor: Cannot allocate memory")

    CpuModule.load(text(40), ["k"])
    monkeypatch.setattr(ctypes, "CDLL", load)
    with pytest.raises(KgenError, match="max_map_count") as caught:
        CpuModule.load(text(41), ["k"])
    assert caught.value.code == "load-failed"
