"""Commands and options of ``kgen``, run in this process as a shell would run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import EXPR, Run

INPUTS = ["--input", "a=a.npy,b=b.npy", "--input", "c=c.npy"]


def test_help_names_every_command(run: Run) -> None:
    """``kgen --help`` lists the commands, and each has a page of its own."""
    status, out, _ = run("--help")
    assert status == 0
    for command in ("compile", "run", "explain", "doctor"):
        assert command in out
        status, page, _ = run(command, "--help")
        assert status == 0
        assert "Usage" in page


@pytest.mark.parametrize("argv", [["nosuch"], ["compile"], ["compile", "x.k", "--rank", "two"], ["run", "--nosuch"]])
def test_a_wrong_command_line_exits_with_2(run: Run, argv: list[str]) -> None:
    """And says what is wrong on standard error."""
    status, out, err = run(*argv)
    assert (status, out) == (2, "")
    assert "Error" in err


def test_a_rule_for_make(run: Run, files: Any, tmp_path: Path) -> None:
    """The file, and what it depends on; paths as make and ninja read them."""
    (tmp_path / "an op.k").write_text(EXPR)
    assert run("compile", "an op.k", "-o", "x#1.cu", "--emit", "cu,h", "--depfile", "x.d")[0] == 0
    rule = (tmp_path / "x.d").read_text()
    assert rule.startswith("x\\#1.cu: an\\ op.k ")
    assert rule.endswith("kgen/version.py\n")
    status, _, err = run("compile", "expr.k", "--depfile", "y.d")
    assert status == 1
    assert "--depfile is about files" in err
    assert run("compile", "expr.k", "-o", "y.cu", "--depfile", "y.cu")[0] == 1
    assert not list(tmp_path.glob("y.*"))


def test_compile_prints_or_writes(run: Run, files: Any, tmp_path: Path) -> None:
    """Without ``-o`` the text goes to standard output; with it, into the file, and a line says so."""
    status, printed, _ = run("compile", "expr.k")
    assert status == 0
    status, out, err = run("compile", "expr.k", "-o", "expr.cu")
    assert (status, out) == (0, "")
    assert err == "wrote expr.cu: 9 kernels\n"
    assert (tmp_path / "expr.cu").read_text() == printed
    assert run("compile", "-", "--name", "expr", stdin=EXPR)[1].split("\n")[3:] == printed.split("\n")[3:]


def test_options_of_arrays_may_be_repeated(run: Run) -> None:
    """As well as joined by commas: the banner says the same."""
    joined = ["--shape", "x=8x?,y=?", "--dtype", "x=f16,y=f32", "--scalar", "s=float"]
    apart = ["--shape", "x=8x?", "--shape", "y=?", "--dtype", "x=f16", "--dtype", "y=f32", "--scalar", "s=float"]
    texts = [run("compile", "-", *options, stdin="out = x * y + s") for options in (joined, apart)]
    assert texts[0][0] == 0
    assert texts[0] == texts[1]
    status, _, errors = run("compile", "-", "--shape", "x=8", "--shape", "x=9", stdin="out = x + 1")
    assert status == 1
    assert "names `x` twice" in errors


def test_compile_emits_every_kind_beside_the_other(run: Run, files: Any, tmp_path: Path) -> None:
    """``--emit cu,ir,ptx,cubin`` writes four files; PTX and CUBIN are for ``--arch``."""
    status, out, _ = run(
        "compile", "expr.k", "-o", "x.cu", "--emit", "cu,ir,ptx,cubin", "--arch", "sm_80",
        "--layout", "contiguous", "--json",
    )  # fmt: skip
    assert status == 0
    facts = json.loads(out)
    assert facts["written"] == ["x.cu", "x.ir", "x.ptx", "x.cubin"]
    assert [k["name"] for k in facts["kernels"]] == ["expr_contiguous", "expr_contiguous_64bit"]
    assert "%0 = load a" in (tmp_path / "x.ir").read_text()
    assert ".target sm_80" in (tmp_path / "x.ptx").read_text()
    assert (tmp_path / "x.cubin").read_bytes().startswith(b"\x7fELF")


def test_each_file_has_the_suffix_of_its_kind(run: Run, files: Any, tmp_path: Path) -> None:
    """One kind goes where ``-o`` says; several go beside it; no file gets the suffix of another kind."""
    few = ["compile", "expr.k", "--layout", "contiguous"]
    assert run(*few, "--emit", "ir", "-o", "bare")[2].startswith("wrote bare:")
    assert run(*few, "--emit", "ir", "-o", "text.txt")[2].startswith("wrote text.txt:")
    assert run(*few, "--emit", "cu,ir", "-o", "x.v2")[2].startswith("wrote x.v2.cu, x.v2.ir:")
    assert run(*few, "--emit", "cu,ir", "-o", "y.ir")[2].startswith("wrote y.cu, y.ir:")
    status, _, err = run(*few, "--emit", "ir", "-o", "o.cu")
    assert status == 1
    assert "hint: -o o.ir, or --emit ir,cu for both" in err
    assert not (tmp_path / "o.cu").exists()


def test_run_computes_and_saves(run: Run, files: Any, tmp_path: Path) -> None:
    """``kgen run`` writes the result that NumPy computes, and says where it ran and what came out."""
    status, out, _ = run("run", "expr.k", *INPUTS, "--param", "alpha=3", "--device", "cpu", "-o", "out.npy")
    assert status == 0
    assert out.startswith("ran expr on cpu in ")
    assert "out: float32[4, 5] [" in out
    assert out.endswith("-> out.npy\n")
    wanted = 3 * files["a"] * files["b"] + files["c"]
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), wanted, rtol=1e-6)


def test_run_prints_a_summary_as_json(run: Run, files: Any) -> None:
    """``--out - --json`` prints shapes, dtypes and the device, for programs to read."""
    status, out, _ = run("run", "-", *INPUTS, "--device", "cpu", "--out", "-", "--json", stdin=EXPR)
    assert status == 0
    facts = json.loads(out)
    assert facts["device"] == "cpu"
    assert facts["results"] == {"out": {"shape": [4, 5], "dtype": "float32", "file": None}}


def test_run_by_another_table(run: Run, files: Any) -> None:
    """``--tuning`` is said in the summary, and only a GPU's clock can choose one."""
    text, inputs = "out = sum(a, axis=0)", ("--input", "a=a.npy", "--device", "cpu")
    status, out, _ = run("run", "-", *inputs, "--tuning", "6", "--json", stdin=text)
    assert (status, json.loads(out)["tuning"]) == (0, 6)
    status, _, err = run("run", "-", *inputs, "--tune", stdin=text)
    assert status == 1
    assert "tune() times kernels on a GPU" in err


def test_run_saves_several_results(run: Run, files: Any, tmp_path: Path) -> None:
    """``-o s=s.npy -o q=q.npy -o p=p2.npy``: outputs, and arguments that were updated."""
    inputs = ["--input", "a=a.npy,b=b.npy,p=p.npy", "--device", "cpu"]
    status, _, _ = run("run", "several.k", *inputs, "-o", "s=s.npy,q=q.npy", "-o", "p=p2.npy")
    assert status == 0
    np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), files["a"] + files["b"])
    np.testing.assert_array_equal(np.load(tmp_path / "q.npy"), files["a"] * files["b"])
    np.testing.assert_array_equal(np.load(tmp_path / "p2.npy"), files["p"] + files["a"])
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), files["p"])


def test_run_reads_and_writes_bfloat16(run: Run, files: Any, tmp_path: Path) -> None:
    """``.npy`` cannot name bfloat16: it is saved as raw bytes, and ``--dtype`` reads those."""
    assert run("run", "-", "--input", "a=a.npy", "--device", "cpu", "-o", "h.npy", stdin="out: bf16 = a")[0] == 0
    status, out, _ = run("run", "-", "--input", "a=h.npy", "--dtype", "a=bf16", "--device", "cpu", stdin="out = a + 1")
    assert status == 0
    assert "out: bfloat16[4, 5]" in out


def test_run_takes_scalars_and_a_shape(run: Run, files: Any) -> None:
    """A number may stand for an input; without arrays ``--shape`` says how many elements there are."""
    status, out, _ = run("run", "-", "--param", "a=2,b=0.5", "--shape", "3", "--device", "cpu", stdin="out = a + b")
    assert status == 0
    assert "out: float32[3] [2.5, 2.5, 2.5]" in out


def test_banners_say_what_matters(run: Run, files: Any) -> None:
    """Nothing on contraction where there are no floats, and one dimension is one."""
    text = run("compile", "-", "--dtype", "i32", "--layout", "strided", "--rank", "1", stdin="out = a ^ 1")[1]
    assert text.startswith("// Made by kgen 0.1.0 from the text below. Do not edit;")
    assert "Floating point" not in text
    assert "up to 1 dimension after merging" in text
    assert "Floating point" in run("compile", "-", "--dtype", "i32", stdin="out = a / 2")[1]


def test_doctor_says_what_is_here(run: Run, files: Any) -> None:
    """A host compiler and NVRTC are found on a machine that can run these tests; each lack comes with a remedy."""
    status, out, _ = run("doctor", "--json")
    findings = {f["what"]: f for f in json.loads(out)}
    assert status == 0
    assert findings["NVRTC"]["ok"]
    assert findings["host compiler"]["ok"]
    assert all(f["fix"] for n, f in findings.items() if n == "GPU" and not f["ok"])
    status, text, _ = run("doctor")
    assert status == 0
    assert "host compiler" in text


MISTAKES = [
    (["compile", "nofile.k"], "unreadable-file"),
    (["compile", "."], "unreadable-file"),
    (["compile", "/dev/zero"], "unreadable-file"),
    (["compile", "expr.k", "--emit", "exe"], "bad-option"),
    (["compile", "expr.k", "--emit", ","], "bad-option"),
    (["compile", "expr.k", "--fast", "--fmad=off"], "bad-option"),
    (["compile", "expr.k", "--name", "a b"], "bad-name"),
    (["compile", "expr.k", "--name", ""], "bad-name"),
    (["compile", "expr.k", "--name", "_x"], "bad-name"),
    (["compile", "expr.k", "--name", "x_"], "bad-name"),
    (["compile", "expr.k", "--name", "9x"], "bad-name"),
    (["compile", "expr.k", "--emit", "cu,ir"], "bad-option"),
    (["compile", "expr.k", "--emit", "ptx", "--arch", "sm_90", "-o", "x.cu"], "bad-option"),
    (["compile", "expr.k", "--emit", "cu,ir", "-o", "."], "unwritable"),
    (["compile", "expr.k", "-o", "new/"], "unwritable"),
    (["compile", "expr.k", "--dtype", "f16,f32"], "bad-option"),
    (["compile", "expr.k", "--emit", "ptx", "--arch", "sm_1"], "unknown-arch"),
    (["compile", "-c", "out = a", "-o", "several.k"], "bad-option"),
    (["compile", "expr.k", "--rank", "9"], "bad-rank"),
    (["compile", "expr.k", "--rank", "2", "--shape", "a=?,b=?,c=?"], "bad-option"),
    (["compile", "expr.k", "--dtype", "f7"], "unknown-dtype"),
    (["compile", "expr.k", "--dtype", "z=f32"], "unknown-argument"),
    (["compile", "expr.k", "--dtype", "a=f32,a=f16"], "bad-option"),
    (["compile", "expr.k", "--dtype", "a="], "bad-option"),
    (["compile", "expr.k", "--shape", "4x4"], "bad-option"),
    (["compile", "expr.k", "--shape", "a=4"], "shape-needed"),
    (["compile", "expr.k", "--shape", "a=4x,b=4,c=4"], "bad-option"),
    (["compile", "expr.k", "--shape", "a=4,b=5,c=4"], "shape-mismatch"),
    (["compile", "expr.k", "--shape", "z=4"], "unknown-argument"),
    (["compile", "expr.k", "--strides", "a=1"], "bad-option"),
    (["compile", "expr.k", "--shape", "a=4,b=4,c=4", "--strides", "a=one"], "bad-option"),
    (["compile", "expr.k", "--shape", "a=4,b=4,c=4", "--strides", "a=1x1"], "bad-strides"),
    (["compile", "expr.k", "--scalar", "a=text"], "bad-option"),
    (["compile", "expr.k", "--scalar", "alpha=int"], "unknown-argument"),
    (["compile", "-"], "empty-program"),
    (["explain", "-"], "empty-program"),
    (["run", "expr.k"], "missing-argument"),
    (["run", "expr.k", "--input", "a.npy"], "missing-argument"),
    (["run", "expr.k", "--input", "d.npy"], "bad-option"),
    (["run", "expr.k", "--input", "z=a.npy"], "unknown-argument"),
    (["run", "expr.k", *INPUTS, "--param", "beta=1"], "unknown-argument"),
    (["run", "expr.k", *INPUTS, "--param", "alpha=two"], "bad-option"),
    (["run", "expr.k", *INPUTS, "--param", "alpha=2j"], "bad-value"),
    (["run", "expr.k", *INPUTS, "--param", f"alpha={'1' * 5000}"], "bad-option"),
    (["run", "expr.k", *INPUTS, "--param", "alpha=٣"], "bad-option"),
    (["run", "expr.k", *INPUTS, "--shape", "3"], "bad-option"),
    (["run", "expr.k", *INPUTS, "--device", "tpu"], "bad-device"),
    (["run", "expr.k", *INPUTS, "--dtype", "z=bf16"], "unknown-argument"),
    (["run", "expr.k", *INPUTS, "--dtype", "a=bf16"], "dtype-mismatch"),
    (["run", "expr.k", *INPUTS, "-o", "s=x.npy"], "unknown-argument"),
    (["run", "several.k", "--input", "a=a.npy,b=b.npy,p=p.npy", "-o", "x.npy"], "bad-option"),
    (["run", "several.k", "--input", "a=a.npy,b=b.npy,p=p.npy", "-o", "s=x.npy", "-o", "q=./x.npy"], "bad-option"),
    (["explain", "expr.k", "--arch", "sm_1"], "unknown-arch"),
    (["run", "expr.k", "--param", "a=1,b=1,c=1"], "shape-needed"),
    (["run", "expr.k", "--param", "a=1,b=1,c=1", "--shape", "?"], "bad-option"),
]


@pytest.mark.parametrize(("argv", "code"), MISTAKES, ids=lambda v: " ".join(v) if isinstance(v, list) else v)
def test_mistakes_have_codes(run: Run, files: Any, argv: list[str], code: str) -> None:
    """A mistake exits with 1, prints a diagnostic with this code and no traceback; under ``--json``, as JSON."""
    status, out, err = run(*argv)
    assert (status, out) == (1, "")
    assert f"error[{code}]" in err
    assert "Traceback" not in err
    assert json.loads(run(*argv, "--json")[1])["errors"][0]["message"]


HINTS = [
    (["compile", "expr.k", "--shape", "a=4,8"], "extents are joined by x: a=4x8"),
    (["compile", "expr.k", "--shape", "4,8"], "--shape a=4x8"),
    (["compile", "expr.k", "--emit", "ptx", "--arch", "90"], "did you mean `sm_90`?"),
    (["compile", "expr.k", "--emit", "cubin", "--arch", "compute_90"], "did you mean `sm_90`?"),
    (["run", "expr.k", "--input", "a=a.npy,c=c.npy"], "--input b=b.npy"),
    (["run", "typo.k", "--input", "a=a.npy"], "did you mean `gate`?"),
    (["run", "-c", "out = n + e", "--input", "n=a.npy,e=b.npy"], "for an array write `input e`"),
    (["run", "expr.k", *INPUTS, "--param", "alhpa=2"], "did you mean `alpha`?"),
]


@pytest.mark.parametrize(("argv", "hint"), HINTS, ids=lambda v: " ".join(v) if isinstance(v, list) else v)
def test_mistakes_have_hints(run: Run, files: Any, tmp_path: Path, argv: list[str], hint: str) -> None:
    """What to write instead."""
    (tmp_path / "typo.k").write_text("let gate = a * 2\nout = gaet + a\n")
    status, _, err = run(*argv)
    assert status == 1
    assert hint in err


@pytest.mark.parametrize(("word", "meant"), [("expr.k", "kgen compile expr.k"), ("complie", "kgen compile")])
def test_what_is_no_command(run: Run, word: str, meant: str) -> None:
    """A file, and a misspelt command."""
    status, _, err = run(word)
    assert status == 2
    assert f"Did you mean '{meant}'?" in err


def test_errors_as_json_say_where(run: Run, files: Any, tmp_path: Path) -> None:
    """All errors of a file, each with its line and column."""
    (tmp_path / "bad.k").write_text("x = a +* b\nout = foo(a)\n")
    errors = json.loads(run("explain", "bad.k", "--json")[1])["errors"]
    assert [(e["code"], e["file"], e["line"], e["column"]) for e in errors] == [
        ("syntax", "bad.k", 1, 8),
        ("unknown-function", "bad.k", 2, 7),
    ]


def test_doctor_and_the_cache(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at the cache as a run does: where it cannot be used, doctor says why, and what to do."""
    folder = tmp_path / "kept"

    def said() -> dict[str, Any]:
        monkeypatch.setenv("KGEN_CACHE_DIR", str(folder))
        (found,) = [f for f in json.loads(run("doctor", "--json")[1]) if f["what"] == "cache"]
        return dict(found)

    assert said()["ok"]
    folder.chmod(0o777)
    assert said()["found"] == f"{folder / 'cubin'}: other users can write to {folder}"
    folder = tmp_path / "file"
    folder.write_text("")
    assert not said()["ok"]
    assert said()["found"].endswith(": Not a directory")
    assert "KGEN_CACHE_DIR" in said()["fix"]


def test_cache(run: Run, files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kgen cache` shows what a run left on disk, by name, and removes it."""
    monkeypatch.setenv("KGEN_CACHE_DIR", str(tmp_path / "kept"))
    argv = [sys.executable, "-m", "kgen", "run", "expr.k", *INPUTS, "--device", "cpu", "-o", "out.npy"]
    subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, timeout=120)  # tests keep no lowering
    (kernel,) = json.loads(run("cache", "list", "--json")[1])
    assert kernel["kind"] == "cpu"
    assert kernel["name"] == "expr"
    listed = run("cache", "list")[1]
    assert "expr" in listed
    assert "out = alpha" in listed
    assert "float32" in listed
    assert "out = alpha * s" in kernel["of"]
    facts = json.loads(run("cache", "info", "--json")[1])
    assert facts["folder"] == str(tmp_path / "kept")
    assert (facts["kernels"], facts["bytes"]) == (1, kernel["bytes"])
    assert facts["lowering_bytes"] == sum(f.stat().st_size for f in (tmp_path / "kept" / "lowering").iterdir()) > 0
    assert "1 kernel" in run("cache", "info")[1]
    assert "removed 1 kernel" in run("cache", "clear")[1]
    assert list((tmp_path / "kept" / "lowering").iterdir()) == []
    assert json.loads(run("cache", "list", "--json")[1]) == []
