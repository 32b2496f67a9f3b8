"""Files and folders that are not what they should be: exact codes, and nothing half-written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kgen.codegen.writer import write_all
from kgen.diagnostics import KgenError
from tests.cli.conftest import Run, run  # noqa: F401
from tests.test_architecture import ROOT

PROGRAM = "out = a + 1\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """``p.k`` beside a good ``a.npy``."""
    np.save(tmp_path / "a.npy", np.arange(5, dtype=np.float32))
    (tmp_path / "p.k").write_text(PROGRAM)
    return tmp_path


def check(run: Run, code: str, *argv: str) -> str:  # noqa: F811
    """The command fails with this code and no traceback; returns what it said."""
    status, out, err = run(*argv)
    assert (status, out) == (1, "")
    assert f"error[{code}]" in err
    assert "Traceback" not in err
    assert code != "unreadable-file" or "hint: " in err
    return err


OUTPUTS = [
    ("no/such folder/x.npy", "mkdir -p 'no/such folder'"),
    ("folder", "is a folder"),
    ("p.k/x.npy", "Not a directory"),
]


@pytest.mark.parametrize(("path", "why"), OUTPUTS)
@pytest.mark.parametrize("command", ["compile", "run"])
def test_output_paths(run: Run, program: Path, command: str, path: str, why: str) -> None:  # noqa: F811
    """A folder that is not there, a folder, and a file used as a folder."""
    (program / "folder").mkdir()
    before = sorted(program.rglob("*"))
    argv = [command, "p.k", "-o", path] + (["--input", "a=a.npy", "--device", "cpu"] if command == "run" else [])
    assert why in check(run, "unwritable", *argv)
    assert sorted(program.rglob("*")) == before


@pytest.mark.parametrize("out", ["p.k", "./p.k", "linked", "folder/../p.k"])
@pytest.mark.parametrize("command", ["compile", "run"])
def test_the_program_is_never_an_output(run: Run, program: Path, command: str, out: str) -> None:  # noqa: F811
    """However the path is written, the program stays."""
    (program / "folder").mkdir()
    (program / "linked").hardlink_to(program / "p.k")
    argv = [command, "p.k", "-o", out] + (["--input", "a=a.npy", "--device", "cpu"] if command == "run" else [])
    assert "the program itself" in check(run, "bad-option", *argv)
    assert (program / "p.k").read_text() == PROGRAM


def test_a_result_may_replace_an_input(run: Run, program: Path) -> None:  # noqa: F811
    """The input is read before anything is written."""
    assert run("run", "p.k", "--input", "a=a.npy", "--device", "cpu", "-o", "a.npy")[0] == 0
    np.testing.assert_array_equal(np.load(program / "a.npy"), np.arange(5, dtype=np.float32) + 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_file(run: Run, program: Path) -> None:  # noqa: F811
    """Is left as it is."""
    (program / "x.cu").write_text("old")
    (program / "x.cu").chmod(0o444)
    check(run, "unwritable", "compile", "p.k", "-o", "x.cu")
    assert (program / "x.cu").read_text() == "old"


def test_a_full_disk_leaves_files_as_they_were(program: Path) -> None:
    """The system refuses more than a few kilobytes, while the first file is small enough."""
    for kind in ("cu", "h"):
        (program / f"x.{kind}").write_text("old")
    before = sorted(program.iterdir())
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)); from kgen.cli import main\n"
        "sys.argv = ['kgen', 'compile', 'p.k', '-o', 'x.cu', '--emit', 'h,cu']; main()"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=program, env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "error[unwritable]: cannot write x.cu: File too large\n")
    assert sorted(program.iterdir()) == before
    assert {(program / f"x.{kind}").read_text() for kind in ("cu", "h")} == {"old"}


def test_all_files_or_none(tmp_path: Path) -> None:
    """Where one of several files cannot be written, the others are not touched and no temporary stays."""
    (tmp_path / "one").write_text("old")
    with pytest.raises(KgenError) as caught:
        write_all({tmp_path / "one": "new", tmp_path / "two": b"new", tmp_path / "none" / "three": "new"})
    assert caught.value.code == "unwritable"
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("one", "old")]


def test_a_file_that_is_current_is_left_alone(tmp_path: Path) -> None:
    """So that a build that looks at times does nothing."""
    path = tmp_path / "one"
    assert write_all({path: "text"})
    os.utime(path, (1, 1))
    assert not write_all({path: "text"})
    assert path.stat().st_mtime == 1


@pytest.mark.parametrize("content", [b"\xff\xfe out = a", b"out = a\x80"])
def test_programs_that_are_not_utf8(run: Run, program: Path, content: bytes) -> None:  # noqa: F811
    """Say so."""
    (program / "bad.k").write_bytes(content)
    assert "UTF-8" in check(run, "unreadable-file", "compile", "bad.k")


def npy(shape: str = "(5,)", descr: str = "'<f4'", data: bytes = b"\0" * 20) -> bytes:
    """A ``.npy`` file with a header of one's own."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


ARRAYS = {
    "raw bytes of another size": (npy(descr="'|V3'", data=b"\0" * 15), "unsupported-dtype"),
    "empty": (b"", "unreadable-file"),
    "truncated header": (npy()[:40], "unreadable-file"),
    "truncated data": (npy()[:-3], "unreadable-file"),
    "a shape beyond memory": (npy("(1000000000000000,)"), "unreadable-file"),
    "a negative shape": (npy("(-5,)"), "unreadable-file"),
    "no array": (b"hello, world", "unreadable-file"),
    "objects, pickled": (npy(descr="'|O'", data=b"cposix\nsystem\n(S'false'\ntR."), "unreadable-file"),
    "a bare pickle": (b"cposix\nsystem\n(S'false'\ntR.", "unreadable-file"),
    "text": (npy(descr="'<U5'", data=b"\0" * 100), "unsupported-dtype"),
    "dates": (npy(descr="'<M8[s]'", data=b"\0" * 40), "unsupported-dtype"),
    "long doubles": (npy(descr="'<f16'", data=b"\0" * 80), "unsupported-dtype"),
    "a structure": (npy(descr="[('x', '<f4')]"), "unsupported-dtype"),
    "raw bytes": (npy(descr="'|V2'", data=b"\0" * 10), "unsupported-dtype"),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_arrays_that_cannot_be_read(run: Run, program: Path, what: str) -> None:  # noqa: F811
    """A ``.npy`` file that is broken, that would run code, or that holds what kgen has no dtype for."""
    content, code = ARRAYS[what]
    (program / "bad.npy").write_bytes(content)
    check(run, code, "run", "p.k", "--input", "a=bad.npy", "--device", "cpu")


def said(run: Run, program: Path, content: bytes, *more: str) -> str:  # noqa: F811
    (program / "bad.npy").write_bytes(content)
    return run("run", "p.k", "--input", "a=bad.npy", "--device", "cpu", *more)[2]


def test_what_is_wrong_with_an_array(run: Run, program: Path) -> None:  # noqa: F811
    """The error tells text from a damaged file, and how to read raw bytes."""
    assert "bad.npy is not a .npy or .npz file" in said(run, program, b"1, 2, 3")
    assert "bad.npy is empty" in said(run, program, b"")
    assert "bad.npy is damaged, or truncated" in said(run, program, npy()[:-3])
    assert "pickled Python objects" in said(run, program, ARRAYS["objects, pickled"][0])
    assert "hint: state the dtype: --dtype a=bf16" in said(run, program, ARRAYS["raw bytes"][0])
    fp8 = npy(descr="'|V1'", data=b"\0" * 5)
    assert "hint: state the dtype: --dtype a=e4m3fn or --dtype a=e5m2" in said(run, program, fp8)
    assert "hint: --dtype a=e4m3fn or --dtype a=e5m2" in said(run, program, fp8, "--dtype", "bf16")
    assert "remove --dtype; to convert write `cast<bf16>(a)`" in said(run, program, npy(), "--dtype", "bf16")


def test_other_files_instead_of_arrays(run: Run, program: Path) -> None:  # noqa: F811
    """A missing file, a folder, and an archive of several arrays."""
    check(run, "unreadable-file", "run", "p.k", "--input", "a=none.npy")
    check(run, "unreadable-file", "run", "p.k", "--input", "a=.")
    np.savez(program / "a.npz", x=np.ones(3), y=np.ones(3))
    assert "--input a=a.npz:x" in check(run, "unreadable-file", "run", "p.k", "--input", "a=a.npz")


def test_a_cache_that_cannot_be_used(program: Path) -> None:
    """Is one line on standard error; the result is there."""
    command = ["-m", "kgen", "run", "p.k", "--input", "a=a.npy", "--device", "cpu", "-o", "out.npy"]
    environ = {**os.environ, "KGEN_CACHE_DIR": str(program / "p.k")}
    argv = [sys.executable, *command]
    done = subprocess.run(argv, cwd=program, env=environ, capture_output=True, text=True, check=True)
    assert done.stderr.startswith(
        f"note: kgen cannot keep compiled kernels in {program / 'p.k' / 'cpu'}: Not a directory;"
    )
    assert done.stderr.count("\n") == 1
    assert (program / "out.npy").exists()


@pytest.mark.parametrize("name", ["n" * 250, "é" * 120, "a'b\"c", "-"])
def test_names_of_programs(run: Run, program: Path, name: str) -> None:  # noqa: F811
    """Whatever a file system takes, the cache takes."""
    (program / f"{name}.k").write_text(PROGRAM)
    status, _, err = run("run", f"./{name}.k", "--input", "a=a.npy", "--device", "cpu", "-o", "out.npy")
    assert (status, err) == (0, "")


@pytest.mark.parametrize("folder", ["with space", "quo'te\"", "new\nline", "é", b"\xff", "-x", "p%d", "$HOME"])
def test_names_of_the_cache(
    run: Run,  # noqa: F811
    program: Path,
    monkeypatch: pytest.MonkeyPatch,
    folder: str | bytes,
) -> None:
    """Whatever a file system takes, and every command that shows it works."""
    cache = program / os.fsdecode(folder)
    monkeypatch.setenv("KGEN_CACHE_DIR", str(cache))
    status, _, err = run("run", "p.k", "--input", "a=a.npy", "--device", "cpu", "-o", "out.npy")
    assert (status, err) == (0, "")
    assert len(list((cache / "cpu").iterdir())) == 2
    for command in ("info", "list", "clear"):
        assert run("cache", command)[0] == 0
    assert run("cache", "info", "--json")[0] == 0
    assert run("doctor")[0] == 0
    assert len(list((cache / "cpu").iterdir())) == 0


def test_a_wrong_dtype(run: Run, program: Path) -> None:  # noqa: F811
    """A declared dtype is exact; the error names the file's and the declared one."""
    (program / "q.k").write_text("input a: half\nout = a")
    said = check(run, "dtype-mismatch", "run", "q.k", "--input", "a=a.npy", "--device", "cpu")
    assert "float16" in said
    assert "float32" in said
