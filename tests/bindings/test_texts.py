"""The texts of bindings."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from kgen import KgenError
from kgen.bindings import BINDINGS
from kgen.cli.check_ import command as check
from kgen.cli.compile_ import command
from tests.bindings.made import GOLDENS, PROGRAMS, make

ABIS = sorted({abi for abi, _ in BINDINGS.values()})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files of all programs."""
    made = tmp_path_factory.mktemp("bindings")
    for name in PROGRAMS:
        make(name, ",".join(ABIS), made)
    return made


@pytest.mark.parametrize("kind", BINDINGS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_text(name: str, kind: str, folder: Path, bless: Callable[[Path, str], None]) -> None:
    """As kept, and as a reviewer would let it pass."""
    text = (folder / f"{name}_{kind}").read_text(encoding="utf-8")
    bless(GOLDENS / f"{name}_{kind}.txt", text)
    code = text[text.index("include" if kind.endswith(".cpp") else "import") :]
    assert max(map(len, code.split("\n"))) <= 120
    assert not re.search(r"[ \t]\n|\t|\n\n\n\n", text)
    assert text.endswith("\n")


def test_one_binding_is_the_same_beside_others(folder: Path, tmp_path: Path) -> None:
    """The command in a file names the interface of this file alone."""
    for abi in ABIS:
        make("axpy", abi, tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes()


def test_check_finds_what_differs(folder: Path) -> None:
    """``kgen check`` makes each file again, from the command in its first comment."""
    files = [path for path in folder.iterdir() if path.name.startswith("axpy")]
    assert CliRunner().invoke(check, list(map(str, files))).exit_code == 0
    for path in files:
        text = path.read_text(encoding="utf-8")
        path.write_text(f"{text}//\n", encoding="utf-8")
        result = CliRunner().invoke(check, [str(path)])
        path.write_text(text, encoding="utf-8")
        assert result.exit_code == 1
        assert f"{path} is not what its text gives today" in result.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--abi", "banana"], "`banana` is no calling convention that kgen knows"),
        (["--abi", ","], "`,` is no calling convention"),
        (["--abi", "tvm-ffi", "--emit", "ptx"], "--abi writes a .cu file and its header, and not ptx"),
        (["--abi", "tvm-ffi", "-o", "other.cu"], "-o other.cu: with --abi, files have the name of the kernels, one"),
        (["--abi", "tvm-ffi"], "the files need a place to go"),
    ],
)
def test_bad_options(options: list[str], said: str) -> None:
    result = CliRunner().invoke(command, ["-c", "out = x + 1", "--name", "one", *options])
    assert isinstance(result.exception, KgenError)
    assert said in str(result.exception)


@pytest.mark.parametrize(
    ("program", "options", "said"),
    [
        ("param n: i32; out = n", ["--shape", "4x?"], "--abi torch: the shape of `out` follows from no array"),
        ("param n: i32; out = n", [], "--abi torch: the shape of `out` follows from no array"),
        ("param n: c64; out = n * x", [], "torch operators have no complex params, and `n` is one"),
        ("out = x + 1", ["--shape", "x=4x8", "--strides", "x=1x4"], "`out` is not in C order, as its inputs are not"),
        ("out = x + 1", ["--namespace", "a b"], "a kernel cannot be called 'a b'"),
    ],
)
def test_programs_without_a_binding(program: str, options: list[str], said: str, tmp_path: Path) -> None:
    out = tmp_path / "one.cu"
    result = CliRunner().invoke(command, ["-c", program, "--name", "one", "--abi", "torch", "-o", str(out), *options])
    assert isinstance(result.exception, KgenError)
    assert said in str(result.exception)
    assert not out.exists()
