"""``kgen.jit`` gives the same kernel for the same arguments."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.call.kept import Kept

TEXT = "out = a * 2 + b"
OTHERS: list[dict[str, Any]] = [
    {"fmad": False}, {"fast": True}, {"pdl": False}, {"deterministic": True}, {"device": "cpu"}, {"name": "mine"},
]  # fmt: skip


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """As for users; other tests need new kernels."""
    kept = lru_cache(4)(lambda *_: Kept())
    monkeypatch.setattr(sys.modules["kgen.jit"], "_kept", kept)
    yield
    kept.cache_clear()


def test_the_same_arguments_give_the_same_kernel() -> None:
    kernel = kgen.jit(TEXT)
    assert kgen.jit(TEXT) is kernel
    assert kgen.jit(text=TEXT, fmad=True, device=None) is kernel


@pytest.mark.parametrize("options", OTHERS, ids=str)
def test_others_give_another(options: dict[str, Any]) -> None:
    kernel = kgen.jit(TEXT)
    assert kgen.jit(TEXT, **options) is not kernel
    assert kgen.jit(TEXT + "\n") is not kernel
    assert kgen.jit(TEXT) is kernel


def test_profiled_kernels_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kgen.jit(TEXT)
    monkeypatch.setitem(sys.modules, "nvtx", SimpleNamespace(annotate=None))
    monkeypatch.setenv("KGEN_NVTX", "1")
    assert kgen.jit(TEXT) is not kernel


def test_a_loop_lowers_once(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.arange(3, dtype=np.float32)
    for _ in range(2):
        expected = kgen.jit(TEXT, device="cpu")(a, a)
    monkeypatch.setattr("kgen.call.engine.Engine.call", None)
    for _ in range(3):
        assert np.array_equal(kgen.jit(TEXT, device="cpu")(a, a), expected)


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "x.k"
    path.write_text("out = a")
    kernel = kgen.jit(path=path)
    assert kgen.jit(path=str(path)) is kernel
    path.write_text("out = -a")
    assert kgen.jit(path=path) is not kernel


@pytest.mark.parametrize("wrong", [{"name": ["k"]}, {"device": 1}, {"name": "a b"}, {"device": "tpu"}], ids=str)
def test_mistakes_are_named_each_time(wrong: dict[str, Any]) -> None:
    for _ in range(2):
        with pytest.raises(kgen.KgenError):
            kgen.jit(TEXT, **wrong)
        with pytest.raises(kgen.KgenError, match="unknown-function"):
            kgen.jit("out = foo(a)")


def test_lints_are_shown_each_time() -> None:
    """Of the program, and of the types of a call."""
    square = np.ones((3, 3), np.float32)
    for _ in range(2):
        with pytest.warns(kgen.LintWarning, match="unused-input"):
            kgen.jit("input a, b\nout = a")
        kernel = kgen.jit("out = x - mean(x, axis=-1)", device="cpu")
        with pytest.warns(kgen.LintWarning, match="reduced-axis"):
            kernel(square)


def test_the_oldest_is_dropped() -> None:
    """And is gone at once: it may own memory of a GPU."""
    kernel = weakref.ref(kgen.jit(TEXT))
    assert kernel() is not None
    for n in range(4):
        kgen.jit(f"out = a * {n}")
    assert kernel() is None


@pytest.mark.parametrize(("rows", "is_kept"), [(8, True), (4096, False)])
def test_kernels_that_own_much_memory_are_not_kept(rows: int, is_kept: bool) -> None:
    """Here as what a scatter adds to, in a buffer between its kernels."""
    text = "let t = x * 2; t[i, :] += y; out = t + 1"
    x, y, i = np.zeros((rows, 200), np.float32), np.ones((3, 200), np.float32), np.array([0, 1, 0])
    kernel = kgen.jit(text, device="cpu")
    result = kernel(x=x, y=y, i=i)
    assert (kgen.jit(text, device="cpu") is kernel) == is_kept
    assert np.array_equal(kgen.jit(text, device="cpu")(x=x, y=y, i=i), result)


def test_scratch_of_all_layouts_counts() -> None:
    """Each layout has memory of its own: 200 KB of five."""
    text = "let t = x * 2; t[i, :] += y; out = t + 1"
    kernel = kgen.jit(text, device="cpu")
    i, kept = np.array([0, 1, 0]), []
    for columns in range(500, 505):
        kernel(x=np.zeros((100, columns), np.float32), y=np.ones((3, columns), np.float32), i=i)
        kept.append(kgen.jit(text, device="cpu") is kernel)
    assert kept[0]
    assert not kept[-1]


def test_long_texts_are_not_kept() -> None:
    text = f"out = a {' ' * 5000}"
    assert kgen.jit(text) is not kgen.jit(text)


def test_threads_share_a_kernel_whose_layouts_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgen.call.engine.MAX_CACHED_LAYOUTS", 3)

    def call(seed: int) -> None:
        for n in range(20):
            a = np.full((3 + (seed * 7 + n) % 11, 4, 5), seed, np.float32)[:: 1 + n % 2, :: 1 + seed % 2]
            assert np.array_equal(kgen.jit(TEXT, device="cpu")(a, a), a * 3)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(8)))
