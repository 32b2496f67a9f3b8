"""``kgen compile --emit`` and ``--after``: what each stage made of a program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgen import pipeline
from kgen.cli.stages import STAGES
from kgen.ir.reader import parse_kernel
from tests.cli.conftest import Run

PROGRAM = """input x, w
param eps = 1e-6
def sq(a) = a * a
let m = mean(sq(x), axis=-1, keepdims=true)
y = (x / 2) * rsqrt(m + eps) * w
"""
SHAPE = ["--shape", "x=4x8,w=8"]


def emitted(run: Run, *options: str, text: str = PROGRAM) -> str:
    status, out, err = run("compile", "-c", text, *options)
    assert status == 0, err
    return out


def test_tree(run: Run) -> None:
    """One s-expression a statement, names as they are written."""
    assert emitted(run, *SHAPE, "--emit", "tree").splitlines()[3] == "(let m (mean (sq x) axis=(- 1) keepdims=true))"


def test_program(run: Run) -> None:
    """Arguments in call order, params, outputs, functions, statements."""
    text = "param k: f16 = 2\nparam b = true\nout: bf16 = where(b, z * k, a)"
    assert emitted(run, "--emit", "program", text=text).splitlines() == [
        "input z", "input a", "param k: float16 = 2.0", "param b = true", "output out: bfloat16",
        "(= out:bfloat16 (where b (* z k) a))",
    ]  # fmt: skip


def test_steps(run: Run) -> None:
    """The cut that these shapes get, each kernel with an IR that can be read back."""
    text = "s = sum(x, axis=-1)\nt = sum(x, axis=0)"
    steps = emitted(run, "--shape", "x=4x8", "--emit", "steps", text=text).split("# step ")[1:]
    assert [s.partition("\n")[0] for s in steps] == [
        "1: over [n0], reduces [n1]; writes s; reads x", "2: over [n1], reduces [n0]; writes t; reads x",
    ]  # fmt: skip
    for step in steps:
        assert parse_kernel(step.partition("\n")[2]).ops


def test_schedule(run: Run) -> None:
    """Reasons and schedule; the launch too, unless an extent is not known."""
    (kernel,) = json.loads(emitted(run, *SHAPE, "--emit", "schedule"))
    assert kernel["schedule"]["template"] == "row_reduce"
    assert kernel["launch"]["block"][0] == kernel["schedule"]["block"]
    kernel, *_ = json.loads(emitted(run, "--shape", "x=?x8,w=8", "--emit", "schedule"))
    assert kernel["reasons"]
    assert "launch" not in kernel
    covered = json.loads(emitted(run, "--layout", "contiguous", "--emit", "schedule", text="out = a + b"))
    assert [k["kernel"] for k in covered] == ["kernel_contiguous", "kernel_contiguous_64bit"]


def test_several_at_once(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in a file with its own suffix."""
    monkeypatch.chdir(tmp_path)
    kinds = ["cu", *STAGES]
    emitted(run, *SHAPE, "--emit", ",".join(kinds), "-o", "k.cu")
    assert sorted(p.suffix for p in tmp_path.glob("k.*")) == sorted(f".{kind}" for kind in kinds)


def test_after(run: Run) -> None:
    """``--after`` alone writes the IR; the last pass gives what ``--emit ir`` does."""
    before, last = (emitted(run, *SHAPE, "--after", stage) for stage in ("check", "dce"))
    assert "div" in before
    assert "div" not in last
    assert last == emitted(run, *SHAPE, "--emit", "ir")
    for stage in pipeline.IR_STAGES:
        assert parse_kernel(emitted(run, *SHAPE, "--after", stage)).ops


def test_after_an_unknown_pass(run: Run) -> None:
    status, _, err = run("compile", "-c", PROGRAM, *SHAPE, "--after", "inline")
    assert status == 1
    assert "--after: `inline` is not a pass" in err
    assert f"one of {', '.join(pipeline.IR_STAGES)}" in err


def test_after_is_for_the_ir(run: Run) -> None:
    status, _, err = run("compile", "-c", PROGRAM, *SHAPE, "--emit", "cu", "--after", "dce")
    assert status == 1
    assert "hint: --emit cu,ir" in err
