"""``--line-directives``: what comes from the program points at its lines, and everything else at the text's own."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgen import pipeline
from kgen.cli.request import Request, prepare
from kgen.codegen.line_directives import mark, with_line_directives
from kgen.diagnostics import KgenError
from kgen.runtime.cpu import build
from tests.launcher.host import INCLUDE
from tests.snapshots.cases import EXAMPLES

ONE = "# One statement.\nparam a: float = 2.0\n\nout = a * x + y\n"
CASES = {
    "axpy": (ONE, Request()),
    "sets": (ONE, Request(dtypes="f16; f32")),
    "softmax": ((EXAMPLES / "softmax.k").read_text(), Request(shape_text="x=?x4096")),
    "layernorm": ((EXAMPLES / "layernorm.k").read_text(), Request(shape_text="x=64x4096,weight=4096,bias=4096")),
    "columns": ((EXAMPLES / "argmax.k").read_text(), Request(shape_text="x=1000x65536", strides_text="x=1x1000")),
    "black_scholes": ((EXAMPLES / "black_scholes.k").read_text(), Request(layout="any")),
}


def text_of(name: str, *, line_directives: bool) -> str:
    program, request = CASES[name]
    given = Request(**{k: getattr(request, k) for k in Request.__slots__} | {"line_directives": line_directives})
    return prepare(pipeline.load(program, f"{name}.k"), name, given).module.text


def places(text: str) -> Iterator[tuple[str, str, int]]:
    """Each line, with the file and the number that C's rules give it, but for directives."""
    file, number = "", 1
    for line in text.split("\n"):
        found = re.fullmatch(r'#line (\d+) "(.*)"', line)
        if found:
            number, file = int(found[1]), found[2]
        else:
            yield line, file, number
            number += 1


@pytest.mark.parametrize("name", CASES)
def test_lines(name: str) -> None:
    """Statements have the program's lines, in the order of the comments beside them."""
    text, plain = (text_of(name, line_directives=on) for on in (True, False))
    without = [line for line in text.split("\n") if not line.startswith("#line")]
    assert "\n".join(without).replace(" --line-directives", "") == plain
    program = CASES[name][0].split("\n")
    own = dict(enumerate(text.split("\n"), 1))
    shown, of_program = "", set()
    for line, file, number in places(text):
        comment = re.fullmatch(r"\s+// (.*)", line)
        shown = comment[1] if comment and comment[1] in program else shown
        if file != f"{name}.k":
            assert file in ("", f"{name}.cu")
            assert own[number] == line
        elif not comment:
            assert program[number - 1].strip()
            assert shown in ("", program[number - 1])
            of_program.add(number)
            assert re.search(r"= |\.add|\(", line)
    statements = {n for n, line in enumerate(program, 1) if re.match(r"(?!param )(let )?\w+(: \w+)? += ", line)}
    assert of_program == statements


def test_names_are_quoted() -> None:
    """Whatever a file is called, its name is one string of one line."""
    text = with_line_directives(f"a{mark(7)}\nb", 'x"\\\n\x01.k', "y.cu")
    assert text.split("\n") == ['#line 7 "x\\"\\\\??.k"', "a", '#line 4 "y.cu"', "b"]


def test_a_program_in_no_file() -> None:
    """There is nothing to point at."""
    with pytest.raises(KgenError) as caught:
        prepare(pipeline.load("out = a"), "kernel", Request(line_directives=True))
    assert caught.value.code == "bad-option"


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_a_compiler_reports_the_line_of_the_program(tmp_path: Path) -> None:
    """An error in the statement is in the program's file, and one after it in the text's."""
    text = text_of("axpy", line_directives=True)
    lines = text.split("\n")
    statement = next(n for n, line in enumerate(lines) if "out_v = a_v * x_v + y_v;" in line)
    kernel = next(n for n, line in enumerate(lines) if "axpy_contiguous(" in line and n > statement)
    lines[statement] = lines[statement].replace("a_v", "nothing")
    lines[kernel] = lines[kernel].replace("axpy_contiguous(", "axpy_contiguous(nowhere a, ")
    recipe = build.recipe("\n".join(lines), [], name="axpy.cu")
    (tmp_path / "axpy.cpp").write_text(recipe.source, encoding="utf-8")
    flags = [flag for flag in recipe.flags if flag != "-shared" and not flag.startswith("-Wl")]
    command = ["g++", *flags, f"-I{INCLUDE}", "-fsyntax-only", "axpy.cpp"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stderr
    assert re.search(r"^axpy\.k:4:\d+: error: .*nothing", said, re.MULTILINE)
    assert re.search(rf"^axpy\.cu:{kernel + 1}:\d+: error: .*nowhere", said, re.MULTILINE)
