"""The header of a launcher: C99 and C++17 by itself, and what the file defines."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kgen import pipeline
from kgen.aot import aot_header
from kgen.cli.compile_ import command
from kgen.compile_spec import CompileSpec
from kgen.options import Options
from kgen.runtime.cpu import build
from tests.launcher.host import INCLUDE
from tests.snapshots.cases import EXAMPLES

SPECS = {
    "axpy": CompileSpec("f16"),
    "rotate": CompileSpec({"z": "c64", "theta": "f32"}),
    "softmax": CompileSpec("bf16", {"x": (None, 4096)}),
    "cross_entropy": CompileSpec({"logits": "f32", "label": "i64"}, {"logits": (None, 1000), "label": (None,)}),
    "adam": CompileSpec("f32"),
}
COMPILERS = [
    (found, flags)
    for name, flags in (("gcc", ("-std=c99", "-xc")), ("clang", ("-std=c99", "-xc")), ("g++", ("-std=c++17", "-xc++")))
    if (found := shutil.which(name))
]


def text(name: str) -> str:
    program = pipeline.load((EXAMPLES / f"{name}.k").read_text(encoding="utf-8"), f"{name}.k")
    return aot_header(program, name, Options(), {"": SPECS[name]})


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("name", SPECS)
def test_it_is_c99_and_cpp17(name: str, tmp_path: Path) -> None:
    """Twice in one translation unit, beside another program's, without a warning."""
    (tmp_path / "one.h").write_text(text(name), encoding="utf-8")
    (tmp_path / "two.h").write_text(text("softmax"), encoding="utf-8")
    use = f"const kgen_dtype of = KGEN_FLOAT16;\nint main(void) {{ return {name}_launch == 0 || of.bits == 0; }}\n"
    (tmp_path / "main").write_text(f'#include "one.h"\n#include "one.h"\n#include "two.h"\n{use}', encoding="utf-8")
    for compiler, flags in COMPILERS:
        warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Wno-address", "-Werror", "-fsyntax-only")
        subprocess.run([compiler, *flags, *warnings, "main"], check=True, cwd=tmp_path, timeout=60)


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_names_that_are_words_of_c(tmp_path: Path) -> None:
    """Keywords, macros, names in another case and kgen's own: all in one translation unit."""
    names = ("int", "class", "new", "linux", "NULL", "array", "ARRAY", "Array", "error", "kgen")
    program = pipeline.load("out = a")
    for name in names:
        (tmp_path / f"{name}.h").write_text(aot_header(program, name, Options(), {"": CompileSpec()}), encoding="utf-8")
    calls = " && ".join(f"{name}_launch != 0" for name in names)
    lines = [*(f'#include "{name}.h"' for name in names), f"int main(void) {{ return {calls}; }}\n"]
    (tmp_path / "main").write_text("\n".join(lines), encoding="utf-8")
    for compiler, flags in COMPILERS:
        warnings = ("-Wall", "-Wextra", "-Wno-address", "-Werror", "-fsyntax-only")
        subprocess.run([compiler, *flags, *warnings, "main"], check=True, cwd=tmp_path, timeout=60)


@pytest.mark.parametrize("name", SPECS)
def test_it_declares_what_the_file_defines(name: str, tmp_path: Path) -> None:
    """In one translation unit, C functions of other types would be errors."""
    path = tmp_path / f"{name}.cu"
    spec = SPECS[name]
    dtypes = spec.dtypes if isinstance(spec.dtypes, str) else ",".join(f"{k}={v}" for k, v in spec.dtypes.items())
    shapes = ",".join(f"{k}={'x'.join('?' if n is None else str(n) for n in s)}" for k, s in spec.shapes.items())
    arguments = [str(EXAMPLES / f"{name}.k"), "--dtype", dtypes, "-o", str(path), "--emit", "cu,h"]
    command.main([*arguments, *(["--shape", shapes] if shapes else [])], standalone_mode=False)
    header = (tmp_path / f"{name}.h").read_text(encoding="utf-8")
    assert header == text(name)
    assert "--emit cu,h" in header
    unit = f"#define __CUDACC__\n{header}{path.read_text(encoding='utf-8')}"
    recipe = build.recipe(unit, [], name=f"{name}.cu")
    (tmp_path / "unit.cpp").write_text(recipe.source, encoding="utf-8")
    flags = [flag for flag in recipe.flags if flag != "-shared" and not flag.startswith("-Wl")]
    subprocess.run(
        [*recipe.chain.command, *flags, f"-I{INCLUDE}", "-fsyntax-only", str(tmp_path / "unit.cpp")],
        check=True,
        timeout=120,
    )


def test_every_parameter_is_documented() -> None:
    shown = text("cross_entropy")
    assert " *   logits_array: float32, of shape (?, 1000), read\n" in shown
    assert "of the shape of the outputs or broadcast to it, read" in text("axpy")
    assert " *   a_value: float32\n" in text("axpy")


def test_comments_of_programs_end_no_comment() -> None:
    program = pipeline.load("# a */ b /* c\nout = a + 1")
    found = aot_header(program, "k", Options(), {"": CompileSpec("f32")})
    assert "# a * / b / * c" in found
