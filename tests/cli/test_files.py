"""Programs on the command line, and arrays in ``.npy`` and ``.npz`` files."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Run

TWICE = "out = 2 * x"


@pytest.fixture
def arrays(tmp_path: Path) -> dict[str, Any]:
    """``x.npy``, ``pair.npz`` with ``x`` and ``y``, and ``single.npz`` with ``weights``."""
    found = {"x": np.arange(6, dtype=np.float32), "y": np.ones(6, np.float32)}
    np.save(tmp_path / "x.npy", found["x"])
    np.savez(tmp_path / "pair.npz", x=found["x"], y=found["y"])
    np.savez(tmp_path / "single.npz", weights=found["x"])
    return found


def test_a_program_on_the_command_line(run: Run, arrays: Any, tmp_path: Path) -> None:
    """``-c`` takes the program itself, in every command that takes a file of one."""
    status, out, err = run("run", "-c", TWICE, "--input", "x.npy", "--device", "cpu", "-o", "out.npy")
    assert (status, err) == (0, "")
    assert "out: float32[6] [0.0, 2.0, 4.0, 6.0, 8.0, 10.0] -> out.npy" in out
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), 2 * arrays["x"])
    assert run("compile", "-c", TWICE)[1] == run("compile", "-", stdin=TWICE)[1]
    assert run("explain", "-c", TWICE)[1] == run("explain", "-", stdin=TWICE)[1]
    assert run("compile", "-c", "out = x +")[2].startswith("<string>:1:9: error[syntax]")


@pytest.mark.parametrize("argv", [["compile"], ["compile", "x.k", "-c", TWICE], ["run", "-", "-c", TWICE], ["explain"]])
def test_one_program(run: Run, argv: list[str]) -> None:
    """FILE or ``-c``: neither and both are wrong command lines."""
    status, out, err = run(*argv)
    assert (status, out) == (2, "")
    assert "FILE or with -c TEXT" in err


@pytest.mark.parametrize(
    "argv",
    [
        ["-c", TWICE, "--input", "x.npy"],
        ["-c", "out = 2 * other", "--input", "x.npy"],
        ["-c", "out = x + x", "--input", "pair.npz"],
        ["-c", "out = x + y - 1 + x", "--input", "pair.npz"],
        ["-c", "out = x + y - 1 + x", "--input", "x.npy", "--input", "y=pair.npz"],
        ["-c", TWICE, "--input", "x=single.npz"],
        ["-c", TWICE, "--input", "single.npz"],
        ["-c", "out = x + w", "--input", "x.npy,w=pair.npz:x"],
        ["-c", "param k; out = k * x", "--param", "k=2", "--input", "x.npy"],
        ["-c", "out = k * x", "--param", "k=2.0", "--input", "x.npy"],
    ],
    ids=lambda argv: " ".join(argv),
)
def test_inputs_without_a_name(run: Run, arrays: Any, argv: list[str], tmp_path: Path) -> None:
    """A bare file is for the only input, or for those that it, or what it holds, is called after."""
    status, _, err = run("run", *argv, "--device", "cpu", "-o", "out.npy")
    assert (status, err) == (0, "")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), 2 * arrays["x"])


def test_results_in_one_file(run: Run, arrays: Any, tmp_path: Path) -> None:
    """An ``.npz`` holds several results by name, whatever they are called, and is the same file every time."""
    argv = ["run", "-c", "file = x + y; args = x - y", "--input", "pair.npz", "--device", "cpu"]
    assert run(*argv, "-o", "all.npz")[0] == 0
    first = (tmp_path / "all.npz").read_bytes()
    assert run(*argv, "-o", "file=all.npz,args=all.npz")[0] == 0
    assert (tmp_path / "all.npz").read_bytes() == first
    with np.load(tmp_path / "all.npz") as found:
        assert list(found) == ["file", "args"]
        np.testing.assert_array_equal(found["file"], arrays["x"] + 1)
        np.testing.assert_array_equal(found["args"], arrays["x"] - 1)
    assert run(*argv, "-o", "args=one.npz")[0] == 0
    with np.load(tmp_path / "one.npz") as found:
        assert list(found) == ["args"]


@pytest.mark.parametrize(
    ("argv", "code", "hint"),
    [
        (["-c", TWICE, "--input", "x.npy", "-o", "out.csv"], "bad-option", "-o out.npy"),
        (["-c", TWICE, "--input", "x.npy", "-o", "out"], "bad-option", "-o out.npy"),
        (["-c", TWICE, "--input", "x.npy", "-o", "out=out.txt"], "bad-option", "-o out.npy"),
        (["-c", "a = x; b = x", "--input", "x.npy", "-o", "o.npy"], "bad-option", "-o all.npz"),
        (["-c", "out = x + y", "--input", "single.npz"], "bad-option", "is for is not clear"),
        (["-c", "out = x + y", "--input", "x.npy,x=x.npy"], "bad-option", "names `x` twice"),
        (["-c", "out = x + y", "--input", "x=pair.npz:z,y=pair.npz"], "unreadable-file", "--input x=pair.npz:x"),
        (["-c", TWICE, "--input", "damaged.npz"], "unreadable-file", "damaged"),
        (["-c", TWICE, "--input", "text.npz"], "unreadable-file", "is not an array"),
        (["-c", TWICE, "--input", "header.npy"], "unreadable-file", "damaged"),
        (["-c", "x.k", "--input", "x.npy"], "bad-option", "remove -c"),
        ([TWICE, "--input", "x.npy"], "unreadable-file", "-c 'out = 2 * x'"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else v,
)
def test_mistakes_about_files(run: Run, arrays: Any, tmp_path: Path, argv: list[str], code: str, hint: str) -> None:
    """Each is refused before anything runs, and nothing is written."""
    good = (tmp_path / "pair.npz").read_bytes()
    (tmp_path / "damaged.npz").write_bytes(good[:100] + b"?" * 40 + good[140:])
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("x.txt", "hello")
    (tmp_path / "header.npy").write_bytes(b"\x93NUMPY\x01\x00\x10\x00{'descr': ((((((\n" + b" " * 64)
    before = sorted(tmp_path.iterdir())
    status, out, err = run("run", *argv, "--device", "cpu")
    assert (status, out) == (1, "")
    assert f"error[{code}]" in err
    assert hint in err
    assert sorted(tmp_path.iterdir()) == before
