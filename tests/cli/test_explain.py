"""``kgen explain``: types, schedules, reasons and registers."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kgen.runtime.cuda.driver import probe
from tests.cli.conftest import Run


def test_explain_prints_and_is_json(run: Run, files: Any) -> None:
    """The same facts as text and as JSON."""
    argv = ["explain", "expr.k", "--dtype", "a=f16,b=f16,c=i64", "--shape", "a=4x8,b=8,c=4x1", "--strides", "a=1x4"]
    status, text, _ = run(*argv)
    assert status == 0
    assert "a      input float16" in text
    status, out, _ = run(*argv, "--json")
    facts = json.loads(out)
    assert facts["types"]["c"] == "input int64"
    assert facts["kernels"][0]["operands"][1]["strides"] == [1, 4]
    assert facts["kernels"][0]["usage"] is None or probe().available


def test_explain_takes_the_options_of_compile(run: Run, files: Any) -> None:
    argv = ["explain", "-c", "out = x - mean(x, axis=-1, keepdims=true)", "--shape", "x=64x5120", "--arch", "sm_90"]
    _, usual, _ = run(*argv)
    _, tuned, _ = run(*argv, "--tuning", "3")
    assert "predicted time" in usual
    assert "of tuned numbers" not in usual
    assert "table 3 of tuned numbers" in tuned
    assert "predicted time" not in tuned
    assert run(*argv, "--fast", "--fmad", "off")[0] == 1


def test_explain_counts_registers(run: Run, files: Any) -> None:
    """For an architecture that is asked for, with or without a GPU of it."""
    argv = [
        "explain",
        "expr.k",
        "--shape",
        "a=4096x4096,b=4096x4096,c=4096",
        "--strides",
        "b=1x4096",
        "--arch",
        "sm_80",
    ]
    status, text, _ = run(*argv)
    assert status == 0
    assert "transposed: transposed through shared memory; makes the kernel work by tiles of 64 x 64" in text
    assert re.search(r"on sm_80: \d+ registers a thread, 16,384 bytes of shared memory a block, no local memory", text)
    usage = json.loads(run(*argv, "--json")[1])["kernels"][0]["usage"]
    assert 16 < usage["registers"] < 128
    assert (usage["arch"], usage["shared"], usage["local"], usage["spilled"]) == ("sm_80", 16384, 0, 0)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_three_blocks_of_skewed_tiles_fit(run: Run, dtype: str) -> None:
    """Of 256 threads, with the registers of an SM, and nothing in local memory."""
    side = 16383
    argv = ["explain", "-c", "out = a + b", "--shape", f"a={side}x{side},b={side}x{side}", "--strides", f"b=1x{side}"]
    status, text, _ = run(*argv, "--dtype", dtype, "--arch", "sm_90")
    assert status == 0
    assert "makes the kernel work by tiles of 128 x 112" in text
    assert "on sm_90: 80 registers a thread, 38,016 bytes of shared memory a block, no local memory" in text


def test_explain_says_what_a_question_mark_stands_for(run: Run, files: Any) -> None:
    """Sizes that no operand states are large ones here, and the output says which."""
    for argv, name, shape in (
        (["--shape", "a=?x8,b=8,c=8"], "a", [1013, 8]),
        (["--shape", "a=?x8,b=8,c=?x8"], "c", [1013, 8]),
        (["--shape", "a=?x8,b=8,c=4x8"], "a", [4, 8]),
        (["--shape", "a=?x?,b=?,c=4x8"], "b", [8]),
        (["--shape", "a=?x?x?x?x?x?x?x?x?x?,b=?,c=?"], "b", [1009]),
        ([], "c", [1009]),
    ):
        facts = json.loads(run("explain", "expr.k", *argv, "--json")[1])
        assert facts["assumed"][name] == shape
    assert "a: ?x8 is taken as 1013 x 8" in run("explain", "expr.k", "--shape", "a=?x8,b=8,c=()")[1]
    assert "the result: ?x1 is taken as 1009 x 1" in run("explain", "-", "--shape", "?x1", stdin="out = index(0)")[1]
    out = run("explain", "expr.k", "--shape", "a=1,b=1,c=1")[1]
    assert "stands for" not in out
    assert "1 element," in out
