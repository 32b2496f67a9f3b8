"""The command in a generated file's banner makes the same file again, byte for byte."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import kgen
from kgen.cli import main

AXPY = "param alpha: float = 2.0\nout = alpha * x + y"
WEAK = "param alpha = 1.0\nparam beta\nout = alpha * x + beta * y"


def command_of(text: str) -> list[str]:
    """The banner's second line, as argv."""
    first, second = (line.removeprefix("//").strip() for line in text.split("\n")[:2])
    assert first.startswith("Made by kgen")
    return shlex.split(second)


def remake(text: str, program: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    """What the banner's command writes, run in ``folder``."""
    argv = command_of(text)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", argv)
    if argv[2] == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(program.encode()), "utf-8"))
    main()
    return (folder / argv[argv.index("-o") + 1]).read_text(encoding="utf-8")


CALLS: list[tuple[str, dict[str, Any], list[Any], dict[str, Any]]] = [
    (AXPY, {}, [], {}),
    (AXPY, {}, [], {"layout": "strided", "rank": 2}),
    (AXPY, {}, [], {"layout": "contiguous", "dtypes": "bf16"}),
    (AXPY, {"name": "my_axpy_v2"}, [], {"dtypes": {"x": "f16"}}),
    (AXPY, {"fmad": False}, [kgen.spec((4, 5), "f32"), kgen.spec((4, 5), "f64")], {}),
    (AXPY, {"fast": True}, [kgen.spec((4, 5), "f32", (1, 4)), kgen.spec((4, 5), "f32")], {}),
    (AXPY, {"fmad": False}, [kgen.spec((), "f32"), kgen.spec((3, 1, 5), "i8", (-5, 7, -1))], {}),
    (AXPY, {}, [kgen.spec((0, 5), "f32"), kgen.spec((1, 5), "f32", (0, 0))], {}),
    (WEAK, {}, [2.5, kgen.spec((7,), "f16")], {"alpha": 3, "beta": True}),
    (WEAK, {}, [kgen.spec((7,), "f16"), 2j], {"beta": 1.5}),
    ("out = index(0) + 2 * index(1)", {}, [], {"shape": (3, 4)}),
    ("out = 1 + a", {}, [2], {"shape": ()}),
    (
        "inout o\no[i] += x",
        {"deterministic": True},
        [kgen.spec((4, 5), "f32"), kgen.spec((7,), "i64"), kgen.spec((5,), "f32")],
        {},
    ),
    ("out = sum(x, axis=0)", {"tuning": 6}, [kgen.spec((3000, 500), "f32")], {"arch": "sm_90"}),
    ("out = sum(x, axis=0)", {"tuning": 6}, [kgen.spec(("?", 500), "f32")], {}),
    ("inout p: half\np = p * 2", {}, [kgen.spec((70000, 70000), "f16")], {}),
]


@pytest.mark.parametrize("call", range(len(CALLS)))
@pytest.mark.parametrize("in_file", [False, True])
def test_the_banner_remakes_the_file(call: int, in_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For programs from files and from strings, whatever the shapes, strides, dtypes, scalars and options."""
    program, options, args, named = CALLS[call]
    path = tmp_path / "an op.k"
    path.write_text(program, encoding="utf-8")
    kernel = kgen.jit(path=path, **options) if in_file else kgen.jit(program, **options)
    text = kernel.source(*args, **named)
    assert remake(text, program, monkeypatch, tmp_path) == text


def test_a_file_whose_name_looks_like_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``-x.k`` is named ``./-x.k`` on a command line."""
    path = tmp_path / "-x.k"
    path.write_text("out = a")
    text = kgen.jit(path=path).source()
    assert "./-x.k" in command_of(text)
    assert remake(text, "", monkeypatch, tmp_path) == text


_SHAPED = ("batch_stats", "cross_entropy")  # examples that are not of matrices


def test_the_examples_remake_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example, on matrices or as many dimensions as it reduces over, names a command that makes it again."""
    examples = sorted(Path(__file__).parents[2].glob("examples/*.k"))
    assert examples
    for path in examples:
        copy = tmp_path / path.name
        copy.write_bytes(path.read_bytes())
        kernel = kgen.jit(path=copy)
        shapes = {"image": (2, 3, 4, 5), "label": (4,)} if path.stem in _SHAPED else {}
        specs = [kgen.spec(shapes.get(a.name, (4, 4)), a.dtype or "f32") for a in kernel.program.arguments]
        params: dict[str, Any] = dict.fromkeys(kernel.params, 1)
        text = kernel.source(*specs, shape=None if specs else (4, 4), **params)
        assert remake(text, "", monkeypatch, tmp_path) == text
