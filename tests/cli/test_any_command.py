"""Random command lines: whatever is given, the answer is a result or a diagnostic, never a traceback."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st

from tests.cli.conftest import EXPR, SEVERAL, Run

PROGRAMS = [
    EXPR, SEVERAL, "out = 2 * x", "out = index(0)", "param k\nout = k", "out = sum(x, axis=-1)", "out = foo(x)",
    "out =", "input x: c64; out = floor(x)", "", "x.k", "out = x # \x1b[2J", "out = a + b + c + d + e", "\udcff = a",
]  # fmt: skip
FILES = [
    "expr.k", "several.k", "a.npy", "b.npy", "all.npz", "all.npz:a", "all.npz:z", "none.npy", ".", "-", "", "/dev/null",
    "folder", "folder/x", "missing/x", "o.cu", "o.npy", "o.npz", "o.csv", "o.ptx", "\x1b.npy", "\udcff.npy", "é.npy",
    "n" * 300,
]  # fmt: skip
NAMES = ["a", "b", "c", "p", "x", "k", "alpha", "out", "s", "q", "z", "", "=", "e", "file"]
VALUES = [
    "1", "-1", "0", "2.5", "1e400", "nan", "true", "2j", "1" * 5000, "two", "", "4x4", "?", "4x?", "()", "1x1", "-4x1",
    "4x", "x".join("1" * 70), "999999999999999999", "1000000x1000000", "99999999x99999999x99999999", "x", "f32",
    "bf16", "e4m3fn", "c64", "f7", "float", "int", "٣", "\x1b[31m", "\udcff", ",", "a=1", "int,float",
]  # fmt: skip
WORDS = {
    "--emit": ["cu", "ir", "cu,ir", "exe", "", ",", "ir,ir"],
    "--arch": ["sm_90", "sm_90a", "sm_80f", "banana", "", "sm_\u0663"],
    "--name": ["kernel", "a b", "", "n" * 101, "int", "9", "\udcff"],
    "--layout": ["any", "contiguous", "strided", "rows"],
    "--rank": ["1", "4", "8", "9", "0", "-1", "two", "9" * 30],
    "--device": ["cpu", "tpu", "cuda:99", ""],
    "--fmad": ["on", "off", "maybe"],
    "--tuning": ["0", "7", "25", "-1", "two", ""],
}
FLAGS = ["--fast", "--tune", "--line-directives", "--json", "--help", "--nosuch", "-", "--"]

pair = st.builds(lambda n, v: f"{n}={v}", st.sampled_from(NAMES), st.sampled_from(VALUES))
place = st.one_of(
    st.sampled_from(FILES), st.builds(lambda n, f: f"{n}={f}", st.sampled_from(NAMES), st.sampled_from(FILES))
)
several = st.lists(st.one_of(pair, st.sampled_from(VALUES)), min_size=1, max_size=3).map(",".join)
option = st.one_of(
    st.tuples(st.sampled_from(["--dtype", "--shape", "--strides", "--scalar", "--param"]), several).map(list),
    st.tuples(st.sampled_from(["--input", "-o"]), st.lists(place, min_size=1, max_size=3).map(",".join)).map(list),
    *[st.tuples(st.just(name), st.sampled_from(values)).map(list) for name, values in WORDS.items()],
    st.sampled_from(FLAGS).map(lambda flag: [flag]),
)
program = st.one_of(st.sampled_from(PROGRAMS).map(lambda text: ["-c", text]), st.sampled_from(FILES).map(lambda f: [f]))
command_line = st.builds(
    lambda command, what, options: [command, *what, *(word for words in options for word in words)],
    st.sampled_from(["compile", "compile", "explain", "run", "check"]),
    program,
    st.lists(option, max_size=4),
)


@hypothesis.settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow],
)
@hypothesis.given(argv=command_line)
def test_any_command_line(argv: list[str], run: Run, files: Any, tmp_path: Path) -> None:
    """It ends with 0, 1 or 2; what it prints is printable; ``--json`` prints JSON, of errors too.

    What ``kgen compile`` writes, ``kgen check`` makes again.
    """
    (tmp_path / "folder").mkdir(exist_ok=True)
    (tmp_path / "expr.k").write_text(EXPR)
    (tmp_path / "several.k").write_text(SEVERAL)
    np.savez(tmp_path / "all.npz", **files)
    status, out, err = run(*argv, stdin="out = 2 * x")
    assert status in (0, 1, 2), err
    assert "internal-error" not in out + err
    assert "system-error" not in out + err
    assert (tmp_path / "expr.k").read_text() == EXPR
    if status == 1:
        if "--json" in argv and (out or "--" not in argv):  # behind `--` it is the name of a file
            assert json.loads(out)["errors"]
        else:
            assert re.match(r"(?:[^\n]*: )?error\[[a-z-]+\]: ", err)
    made = tmp_path / "o.cu"
    if argv[0] == "compile" and status == 0 and made.is_file() and made.read_bytes().startswith(b"// Made by"):
        assert run("check", "o.cu", "expr.k", "several.k")[::2] == (0, "checked 1 file\n")
    if "--emit" not in argv:
        assert not [c for c in out + err if not c.isprintable() and c not in "\n\t"]
