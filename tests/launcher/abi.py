"""Headers whose interface must not change: ``python -m tests.launcher.abi`` records them, once for each release."""

from __future__ import annotations

from pathlib import Path

from kgen import pipeline
from kgen.aot import aot_header
from kgen.compile_spec import CompileSpec
from kgen.options import Options
from tests.snapshots.cases import ROOT

RECORDED = ROOT / "tests" / "data" / "abi"

KINDS = """
inout p: half
param a: float
param n: int
param u: u64
param b: bool
param z: c64
param weak = 1.0
low = a * x + n * p + u
high = b ? y * z : y
p = p + weak
"""

#: A parameter of each kind, and two sets of dtypes.
HEADERS = {
    "kinds": (KINDS, {"": CompileSpec({"x": "bf16", "y": "c128", "p": "f16"})}),
    "sets": ("out = x + 1", {"f16": CompileSpec("f16"), "i8": CompileSpec("i8")}),
    "rows": ("out = sum(x, axis=-1)", {"": CompileSpec("f32", {"x": (None, None)})}),
}


def header(name: str) -> str:
    text, specs = HEADERS[name]
    return aot_header(pipeline.load(text), name, Options(), specs)


def record(folder: Path) -> None:
    for name in HEADERS:
        (folder / f"{name}.h").write_text(header(name), encoding="utf-8")


if __name__ == "__main__":
    record(RECORDED)
