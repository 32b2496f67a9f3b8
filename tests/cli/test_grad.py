"""``kgen grad`` writes programs that ``kgen compile`` takes."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


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
