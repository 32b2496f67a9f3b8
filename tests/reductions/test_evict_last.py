"""Which row kernels tell L2 to evict last what they read.  ``tests/gpu/test_evict_last.py`` runs them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import kgen
from kgen.cli import cli

SOFTMAX = "let e = exp(x - max(x, axis=-1, keepdims=true))\nout = e / sum(e, axis=-1, keepdims=true)"
RMSNORM = "out = x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6) * w"
LAYERNORM = (
    "let d = x - mean(x, axis=-1, keepdims=true)\nout = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b"
)
AFFINE = f"input x, w, b\nlet z = x * w + b\n{SOFTMAX}".replace("exp(x - max(x", "exp(z - max(z")
SUMS = "let s = x + y\nsum = s\nout = s * rsqrt(mean(s * s, axis=-1, keepdims=true) + 1e-6) * w"
QUOTIENT = "out = x / sum(x, axis=-1, keepdims=true)"
LARGE = 1 << 26  # bytes


def told(text: str, rows: int, width: int, dtype: str = "bf16", **given: Any) -> list[str]:
    """The operands that the text reads so, and a check that the text says that it does."""
    specs: dict[str, Any] = {
        n: kgen.spec((rows, width) if n in "xy" else (width,), dtype) for n in re.findall(r"\b[xywb]\b", text)
    }
    given.setdefault("arch", "sm_90")
    source = kgen.jit(text).source(**specs, **given)
    found = re.findall(r"load_evict_last<[^;]*>\((\w)_row \+", source) + re.findall(
        r"load_rows_evict_last<[^(]*>\((\w)_vec", source
    )
    assert bool(found) == ("// Chosen: L2: " in source) == ("T load_evict_last(const void* from," in source)
    if given["arch"] is not None:
        kgen.jit(text).cubin(**specs, **given)
    return found


@pytest.mark.parametrize("width", [5, 8, 13, 100, 256, 1001, 4096, 8192, 32768, 131072])
def test_large(width: int) -> None:
    """Rows of every length, however they are read, from 64 MiB on."""
    rows = LARGE // (2 * width)
    assert told(SOFTMAX, rows + 1, width) == ["x"]
    assert told(SOFTMAX, rows - 1, width) == []


def test_which_operands() -> None:
    """All that is read of rows, but nothing that all rows share."""
    assert told("let z = x + y\nout = z - max(z, axis=-1, keepdims=true)\nsum = z", LARGE // 4096, 2048) == ["x", "y"]
    assert told(RMSNORM, LARGE // 8192, 4096) == ["x"]
    assert told(LAYERNORM, LARGE // 8192, 4096) == ["x"]


@pytest.mark.parametrize(
    ("text", "dtype", "width"),
    [
        ("out = sum(x, axis=-1)", "f32", 4096),  # nothing leaves L2
        ("out = cast<i8>(x / max(abs(x), axis=-1, keepdims=true))", "f32", 4096),  # less is written than read
        (RMSNORM, "bf16", 131072),  # clusters that stay
        (LAYERNORM, "bf16", 1001),  # weights that begin elsewhere in each row
        (LAYERNORM, "bf16", 2048),  # short rows beside two weights
        (AFFINE, "f32", 8192),  # weights that are reduced as well
        (SOFTMAX, "f32", 1 << 19),  # read again for each round
        (SUMS, "bf16", 16384),  # two operands and a weight in registers, of which the policy would take two
        (QUOTIENT, "c128", 256),  # elements of 16 bytes, which are loaded one by one
    ],
)
def test_not(text: str, dtype: str, width: int) -> None:
    assert told(text, (1 << 30) // width, width, dtype) == []


def test_not_where_unknown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Files that run everywhere, and rows of which the number is not known."""
    assert told(SOFTMAX, LARGE // 2048, 4096, arch=None) == []
    (tmp_path / "softmax.k").write_text(SOFTMAX)
    cli(["compile", str(tmp_path / "softmax.k"), "--shape", "x=?x4096", "--arch", "sm_90"], standalone_mode=False)
    text = capsys.readouterr().out
    assert "__global__" in text
    assert "evict_last" not in text


def test_not_in_place() -> None:
    """What is read is written as well: the same lines would be to leave early and late."""
    x = kgen.spec((LARGE // 4096, 4096), "f32")
    assert "evict_last" not in kgen.jit("inout x\nx = x - max(x, axis=-1, keepdims=true)").source(x=x, arch="sm_90")
