"""Which kernels ask caches to drop first what they read, once.  ``tests/gpu/test_evict_last.py`` runs them."""

from __future__ import annotations

import re
from typing import Any

import pytest

import kgen
from tests.codegen.compilers import nvrtc_log

LARGE = 1 << 28  # bytes


def told(text: str, specs: dict[str, tuple[tuple[int, ...], str]], arch: str | None = "sm_90") -> set[str]:
    """The operands that the text reads so, and a check that the text says that it does."""
    arrays: dict[str, Any] = {n: kgen.spec(*s) for n, s in specs.items()}
    source = kgen.jit(text).source(**arrays, arch=arch)
    found = set(re.findall(r"load_streaming<[^;(]*>\(\s*(\w+?)_(?:row|column|ptr) \+", source))
    said = "// Chosen: streaming: " in source
    assert bool(found) == said == ("T load_streaming(const void* from)" in source)
    if found:
        assert nvrtc_log(source, "sm_90") == ""
    return found


@pytest.mark.parametrize("width", [64, 128, 1024, 4096, 8192, 32768, 65536])
def test_large_float32(width: int) -> None:
    rows = LARGE // 4 // width
    assert told("out = sum(x, axis=-1)", {"x": ((rows, width), "f32")}) == {"x"}
    assert told("out = sum(x, axis=-1)", {"x": ((rows - 1, width), "f32")}) == set()
    assert told("out = sum(x, axis=-1)", {"x": ((rows, width), "f32")}, arch=None) == set()


@pytest.mark.parametrize(("width", "want"), [(64, {"x"}), (128, {"x"}), (1024, {"x"}), (4096, set()), (32768, set())])
@pytest.mark.parametrize("dtype", ["bf16", "i8"])
def test_narrow_elements_of_short_rows(width: int, want: set[str], dtype: str) -> None:
    rows = LARGE // (2 if dtype == "bf16" else 1) // width
    assert told("out = max(x, axis=-1)", {"x": ((rows, width), dtype)}) == want


@pytest.mark.parametrize(
    ("text", "specs", "want"),
    [
        ("out = sum(x)", {"x": ((32768, 4096), "f32")}, {"x"}),
        ("out = sum(x, axis=0)", {"x": ((32768, 4096), "f32")}, {"x"}),
        ("out = sum(x, axis=1)", {"x": ((64, 4096, 1024), "f32")}, set()),  # columns of its own for every block
        ("out = sum(x * y, axis=-1)", {"x": ((32768, 2048), "f32"), "y": ((32768, 2048), "f32")}, {"x", "y"}),
        ("out = sum(x * w, axis=-1)", {"x": ((32768, 4096), "f32"), "w": ((4096,), "f32")}, {"x"}),
        ("out = sum(x * y, axis=-1)", {"x": ((16, 2048, 4096), "f32"), "y": ((2048, 4096), "f32")}, {"x"}),
        ("out = sum(x, axis=-1)", {"x": ((1 << 24, 7), "f32")}, set()),  # by way of shared memory
        ("out = sum(x, axis=-1)", {"x": ((32768, 4097), "f32")}, {"x"}),  # from where each row is aligned
        ("out = x / sum(x, axis=-1, keepdims=true)", {"x": ((32768, 4096), "f32")}, set()),  # written as well
    ],
)
def test_which(text: str, specs: dict[str, tuple[tuple[int, ...], str]], want: set[str]) -> None:
    assert told(text, specs) == want
