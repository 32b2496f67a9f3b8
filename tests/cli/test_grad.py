"""``kgen grad`` writes programs that ``kgen compile`` takes."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.library.tools import missing


def test_a_file(run: Run, tmp_path: Path) -> None:
    backward = tmp_path / "backward.k"
    program = "out = silu(a) * b\nsign = a > 0"
    assert run("grad", "-c", program, "--shape", "a=4x8,b=8", "--dtype", "bf16", "-o", str(backward))[0] == 0
    assert backward.read_text(encoding="utf-8") == (
        "input a, b, out_grad\n"
        "let v1 = silu(a)\n"
        "a_grad = out_grad * b * sigmoid(a) * (1 + a * (1 - sigmoid(a)))\n"
        "b_grad = sum(out_grad * v1, axis=0)\n"
    )
    assert run("compile", str(backward), "--shape", "a=4x8,b=8,out_grad=4x8", "-o", str(tmp_path / "o.cu"))[0] == 0


def test_standard_output(run: Run) -> None:
    status, text, _ = run("grad", "-c", "out = a * b", "--wrt", "b")
    assert (status, text) == (0, "input a, b, out_grad\nb_grad = out_grad * a\n")


def test_refused(run: Run) -> None:
    for program, more, code in (
        ("out = a * b", ("--wrt", "c"), "bad-wrt"),
        ("out = a * b", ("--wrt", "b", "--dtype", "a=f32,b=i32"), "bad-wrt"),
        ("out = a > b", (), "no-derivative"),
        ("out = lgamma(a)", (), "no-derivative"),
        ("out = a *", (), "syntax"),
    ):
        status, _, problem = run("grad", "-c", program, *more)
        assert status == 1
        assert code in problem


NORM = "let d = x - mean(x, axis=0)\ny = d * rsqrt(mean(d * d, axis=0) + 1e-5) * w\n"


def test_a_pair_of_files(run: Run, tmp_path: Path) -> None:
    """The first returns what the second reads of it; headers have the names of both programs' arguments."""
    options = ("--shape", "x=1024x?,w=?", "--dtype", "bf16", "--wrt", "x,w", "--emit", "cu,h")
    status, _, problem = run(
        "compile", "-c", NORM, "--grad", "--name", "norm", *options, "-o", str(tmp_path / "norm.cu")
    )
    assert (status, problem.count("wrote")) == (0, 1)
    forward, backward = ((tmp_path / f"norm{end}.h").read_text(encoding="utf-8") for end in ("", "_backward"))
    assert "v4_saved" in forward
    assert "v4_saved" in backward
    assert "w_grad" in backward
    text = (tmp_path / "norm_backward.cu").read_text(encoding="utf-8")
    assert "// Inputs:  x: bfloat16, w: bfloat16, v4_saved: float32, v2_saved: float32, y_grad: bfloat16" in text
    assert "// Outputs: x_grad: bfloat16, w_grad: bfloat16" in text


def test_a_backward_program_is_by_the_usual_table(run: Run, tmp_path: Path) -> None:
    """A table is found for one program."""
    out = tmp_path / "s.cu"
    options = ("--shape", "x=3000x500", "--tuning", "6", "--grad", "-o", str(out))
    assert run("compile", "-c", "out = sum(x, axis=0)", *options)[0] == 0
    assert "--tuning 6" in out.read_text(encoding="utf-8")
    assert "--tuning" not in (tmp_path / "s_backward.cu").read_text(encoding="utf-8")


def test_a_pair_in_a_library(run: Run, tmp_path: Path) -> None:
    if (why := missing()) is not None:
        pytest.skip(why)
    program = tmp_path / "gate.k"
    program.write_text("out = silu(a) * b\n", encoding="utf-8")
    library = tmp_path / "libgate.so"
    options = ("--layout", "contiguous", "--arch", "sm_90", "--compiler", "nvrtc", "--wrt", "a,b")
    assert run("build", str(program), "--grad", *options, "-o", str(library))[0] == 0
    header = library.with_name("gate.h").read_text(encoding="utf-8")
    loaded = ctypes.CDLL(str(library))
    for name in ("gate_launch", "gate_backward_launch"):
        assert name in header
        assert hasattr(loaded, name)


def test_a_pair_is_refused(run: Run, tmp_path: Path) -> None:
    place = ("-o", str(tmp_path / "o.cu"))
    for program, more, code in (
        ("out = a * b", (), "bad-option"),
        ("out = a * b", ("--dtypes", "f16; f32", *place), "bad-option"),
        ("out = a * b", ("--wrt", "c", *place), "bad-wrt"),
        ("inout p; p = p * 2", place, "no-derivative"),
    ):
        status, _, problem = run("compile", "-c", program, "--grad", *more)
        assert status == 1
        assert code in problem
    assert not list(tmp_path.iterdir())
