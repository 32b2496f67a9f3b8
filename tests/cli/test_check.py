"""``kgen check``: generated files are what their programs give today."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest

import kgen
from tests.cli.conftest import EXPR, Run
from tests.cli.test_terminal import on_terminal
from tests.test_architecture import ROOT

FLAGS = ["--dtype", "a=f16,b=f32,c=i32", "--shape", "a=4x?,b=4x?,c=?", "--fmad=off", "--arch", "sm_90", "--name", "own"]


@pytest.fixture
def project(run: Run, tmp_path: Path) -> Path:
    """Programs in ``src/``, and what was made of them, with many options, in ``gen/`` and ``gen/more/``."""
    (tmp_path / "src").mkdir()
    (tmp_path / "gen" / "more").mkdir(parents=True)
    (tmp_path / "src" / "expr.k").write_text(EXPR)
    (tmp_path / "src" / "an op.k").write_text("out = 2 * x\n")
    for argv in (
        ["src/expr.k", "-o", "gen/expr.cu", *FLAGS],
        [
            "src/expr.k",
            "-o",
            "gen/more/weak.cu",
            "--layout",
            "strided",
            "--rank",
            "2",
            "--scalar",
            "a=int",
            "--fast",
            "--line-directives",
        ],
        ["src/an op.k", "-o", "gen/op.cu", "--emit", "cu,h", "--dtypes", "f16; x=f64"],
    ):
        assert run("compile", *argv)[0] == 0
    return tmp_path


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def codes(err: str) -> list[str]:
    return re.findall(r"^(?:[\w.:]+ )?error\[([a-z-]+)\]", err, re.MULTILINE)


def test_files_that_are_current(run: Run, project: Path) -> None:
    """Headers and files of several sets of dtypes too; programs are beside them, or in a folder that is named."""
    assert run("check", "gen", "src") == (0, "", "checked 4 files\n")
    assert run("check", ".") == (0, "", "checked 4 files\n")
    assert run("check", "gen/op.h", "gen/op.cu", "src/an op.k") == (0, "", "checked 2 files\n")
    (project / "src" / "expr.k").rename(project / "gen" / "expr.k")
    assert run("check", "gen/expr.cu") == (0, "", "checked 1 file\n")


def test_a_release_that_changes_no_text_breaks_nobody(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version is not compared, and ``--update`` does not rewrite it."""
    before = {path: path.read_bytes() for path in project.rglob("*.*") if path.is_file()}
    monkeypatch.setattr("kgen.header.VERSION", "99.0.0rc1")
    assert "99.0.0rc1" in run("compile", "-c", "out = a")[1]
    for more in ([], ["--update"]):
        assert run("check", "gen", "src", *more) == (0, "", "checked 4 files\n")
    assert {path: path.read_bytes() for path in before} == before


def test_a_file_that_differs(run: Run, project: Path) -> None:
    """A diff that ``patch`` takes, the command that mends it, and 1; ``--update`` rewrites that file alone."""
    path = project / "gen" / "expr.cu"
    made = path.read_text()
    edited(path, "wait_for_earlier_kernels()", "hacked()")
    status, out, err = run("check", "gen", "src")
    assert status == 1
    assert out.startswith("--- gen/expr.cu\n+++ gen/expr.cu\n@@ ")
    assert re.search(r"^-.*hacked\(\)$", out, re.MULTILINE)
    assert codes(err) == ["stale-snapshot"]
    assert err.endswith("checked 4 files; kgen check gen src --update rewrites 1 file\n")
    hint = re.search(r"hint: kgen (.*)", err)
    assert hint
    subprocess.run(["patch", "-p0"], input=out, text=True, check=True, cwd=project, capture_output=True)
    assert path.read_text() == made
    for mend in (shlex.split(hint[1]), ["check", "gen", "src", "--update"]):
        edited(path, "wait_for_earlier_kernels()", "hacked()")
        kept = (project / "gen" / "op.cu").stat().st_mtime_ns
        status, out, err = run(*mend)
        assert (status, out) == (0, "")
        assert path.read_text() == made
        assert (project / "gen" / "op.cu").stat().st_mtime_ns == kept
    assert err == "checked 4 files, rewrote gen/expr.cu\n"


def test_a_program_that_changed(run: Run, project: Path) -> None:
    """Each of its files differs."""
    edited(project / "src" / "expr.k", "a * b", "a - b")
    status, out, err = run("check", "gen", "src", "--json")
    assert (status, err) == (1, "")
    said = json.loads(out)
    assert said["checked"] == ["gen/expr.cu", "gen/op.cu", "gen/op.h", "gen/more/weak.cu"]
    assert [one["file"] for one in said["different"]] == ["gen/expr.cu", "gen/more/weak.cu"]
    assert said["different"][0]["program"] == "src/expr.k"
    assert said["different"][0]["command"][:5] == ["kgen", "compile", "src/expr.k", "-o", "gen/expr.cu"]
    assert said["different"][0]["diff"].startswith("--- gen/expr.cu\n")
    assert [one["code"] for one in said["errors"]] == ["stale-snapshot"] * 2


def test_programs_that_are_texts(run: Run, tmp_path: Path) -> None:
    """They are in the file itself, however long they are."""
    text = "# A text.\n\n" + "".join(f"let t{n} = a * {n}\n" for n in range(60)) + "\n  \nout = t59 # \\\n"
    (tmp_path / "text.cu").write_text(kgen.jit(text, name="own").source(dtypes="f16"))
    (tmp_path / "text.h").write_text("")
    assert run("compile", "-c", text, "--emit", "cu,h", "-o", "more.cu", "--shape", "a=?")[0] == 0
    assert run("check", ".") == (0, "", "checked 3 files\n")
    edited(tmp_path / "more.h", "int64_t", "long")
    status, _, err = run("check", ".")
    assert status == 1
    assert "hint: kgen check more.h --update" in err
    assert run("check", "more.h", "--update")[0] == 0
    assert run("check", ".")[0] == 0


def test_all_that_is_wrong_is_said_at_once(run: Run, project: Path) -> None:
    """Programs that are missing, in two places or wrong, and damaged first comments; the others are rewritten."""
    (project / "src" / "wrong.k").write_text("out = foo(x)\n")
    (project / "src" / "two.k").write_text("out = x\n")
    (project / "src" / "below").mkdir()
    (project / "src" / "below" / "two.k").write_text("out = x\n")
    made = (project / "gen" / "expr.cu").read_text()
    changes = {
        "gone.cu": ("compile expr.k", "compile gone.k"), "two.cu": ("compile expr.k", "compile two.k"),
        "wrong.cu": ("compile expr.k", "compile wrong.k"), "escape.cu": ("compile expr.k", "compile ../src/expr.k"),
        "absolute.cu": ("compile expr.k", "compile /etc/passwd"), "quote.cu": ("compile expr.k", "compile 'expr.k"),
        "flag.cu": ("--arch sm_90", "--depfile x"), "help.cu": ("--arch sm_90", "--help"),
        "text.cu": ("--arch sm_90", "-c 'out = 1'"), "rank.cu": ("sm_90", "sm_90 --rank x"),
        "shell.cu": ("kgen compile", "touch hacked; kgen compile"), "parts.cu": ("--fmad=off", "$(touch hacked)"),
        "first.cu": ("Do not edit", "Do edit"), "arch.cu": ("sm_90", "banana"), "stale.cu": ("wait_for", "hack_for"),
    }  # fmt: skip
    for name, (old, new) in changes.items():
        (project / "gen" / name).write_text(made)
        edited(project / "gen" / name, old, new)
    (project / "gen" / "bytes.cu").write_bytes(made.encode() + b"\xff")
    found = {"gone": "missing-program", "two": "ambiguous-program", "wrong": "unknown-function", "arch": "unknown-arch"}
    expected = {f"gen/{name}": found.get(name[:-3], "bad-snapshot") for name in changes if name != "stale.cu"}
    status, out, _ = run("check", "gen", "src", "missing", "--json")
    assert status == 1
    said = {re.split(r"[: ]", e["message"])[0]: e["code"] for e in json.loads(out)["errors"]}
    stale = {"gen/stale.cu": "stale-snapshot", "gen/bytes.cu": "stale-snapshot", "cannot": "unreadable-file"}
    assert said == expected | stale
    status, out, err = run("check", "gen", "src", "--update")
    assert (status, out) == (1, "")
    assert sorted(codes(err)) == sorted([*expected.values()])
    assert err.endswith(", rewrote gen/bytes.cu, gen/stale.cu\n")
    assert "src/wrong.k" not in err
    assert "wrong.k:1:7: error[unknown-function]: gen/wrong.cu: " in err
    for name in ("stale.cu", "bytes.cu"):
        assert (project / "gen" / name).read_text() == made
    assert not (project / "hacked").exists()
    assert not (project / "gen" / "hacked").exists()


def test_files_for_arrays_that_are_not_aligned(run: Run, tmp_path: Path) -> None:
    """``--update`` would make another file of them."""
    x = np.zeros(9, np.float32)
    shift = next(n for n in range(1, 4) if x[n:].ctypes.data % 16)
    (tmp_path / "off.cu").write_text(kgen.jit("out = 2 * x").source(x[shift:][:5]))
    before = (tmp_path / "off.cu").read_text()
    status, _, err = run("check", ".", "--update")
    assert (status, codes(err)) == (1, ["bad-snapshot"])
    assert (tmp_path / "off.cu").read_text() == before


def test_nothing_to_check(run: Run, project: Path) -> None:
    """A folder without generated files is no success; hidden folders and other files are left alone."""
    (project / "src" / ".hidden").mkdir()
    (project / "gen" / "expr.cu").rename(project / "src" / ".hidden" / "expr.cu")
    (project / "src" / "own.cu").write_text("// Mine, not Made by kgen 1\n")
    for folder in ("src", "src/own.cu"):
        status, out, err = run("check", folder)
        assert (status, out, codes(err)) == (1, "", ["no-snapshots"])
    assert run("check")[0] == 2


def test_what_cannot_be_rewritten(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files are as they were."""
    for name in ("expr.cu", "op.h"):
        edited(project / "gen" / name, "int64_t", "long")
    before = {path: path.read_bytes() for path in project.rglob("*.*") if path.is_file()}

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kgen.codegen.writer.os.fdopen", full)
    status, _, err = run("check", "gen", "src", "--update")
    assert (status, codes(err)) == (1, ["unwritable"])
    assert "rewrote" not in err
    assert {path: path.read_bytes() for path in project.rglob("*.*") if path.is_file()} == before


def test_colours(project: Path) -> None:
    """On a terminal, the diff has them."""
    edited(project / "gen" / "op.h", "int64_t", "long")
    text = on_terminal(project, ["check", "gen", "src"])
    assert re.search(r"\x1b\[31m-.*long", text)
    assert re.search(r"\x1b\[32m\+.*int64_t", text)
    assert "\x1b[1;31merror[stale-snapshot]:" in text


def test_the_pre_commit_hook(run: Run, project: Path) -> None:
    """Its entry is a command that takes folders as ``args``."""
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entry = re.search(r"^  entry: kgen (.*)$", hook, re.MULTILINE)
    assert entry
    assert run(*entry[1].split(), "gen", "src")[0] == 0
    assert re.search(r"^  pass_filenames: false$", hook, re.MULTILINE)
