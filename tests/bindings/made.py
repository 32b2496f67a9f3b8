"""The files of ``kgen compile --abi``, and how they are compiled without CUDA."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from kgen.cli.compile_ import command

INCLUDE = Path(__file__).parent / "include"
GOLDENS = Path(__file__).parent / "goldens"

#: Programs whose bindings are kept in ``goldens/``: a name, the program, and options.
PROGRAMS = {
    "axpy": ("param a = 2.0; out = a * x + y", ("--dtypes", "f32; f16; x=f32,y=f16")),
    "normalise": ("out = x - max(x) + sum(x)", ("--shape", "x=64x100000")),
    "step": (
        "inout p; param lr: float; param on: bool = true; p = on ? p - lr * g : p; big = g > 1",
        ("--dtype", "p=f32,g=bf16"),
    ),
    "norm": ("out = x * rsqrt(mean(x * x, axis=-1, keepdims=true)) * w; peak = max(abs(x), axis=-1)", ()),
    "scores": ("top = max(x, axis=-1); total = sum(x, axis=-1)", ("--shape", "x=?x1000", "--dtype", "f16")),
}


def make(name: str, abi: str, folder: Path) -> None:
    """Writes the file of a program, its header and its bindings."""
    text, options = PROGRAMS[name]
    arguments = ["-c", text, "--name", name, *options, "-o", str(folder / f"{name}.cu"), "--abi", abi]
    command.main(arguments, standalone_mode=False)


def compiled(source: Path, flags: Sequence[str]) -> Path:
    """A library of one source."""
    made = source.with_suffix(".so")
    warnings = ("-Wall", "-Wextra", "-Werror")
    subprocess.run(
        ["g++", "-std=c++17", "-O0", "-shared", "-fPIC", *warnings, f"-I{INCLUDE}", str(source), *flags, "-o", made],
        check=True,
        timeout=120,
    )
    return made
