"""Lowerings on disk: a later process neither lowers nor writes text, and never takes what belongs to another call."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen import pipeline, resources
from kgen.call.stored_lowering import StoredLowering, find, keep, key_of
from kgen.dtypes import FLOAT16, FLOAT32
from kgen.operands import ArrayOperand, Operands
from kgen.options import Options
from kgen.program import Program
from kgen.runtime.store import Store
from kgen.schedule.target import HOPPER, PORTABLE
from tests.forced import forced
from tests.schedule.case import parse

ROOT = Path(__file__).parents[2]
RUN = """
import json, sys
import numpy as np
import kgen
x = np.arange(24, dtype=np.float32).reshape(4, 6)
kernel = kgen.jit(sys.argv[1], device="cpu")
first = kernel(x).tolist()
stages = "jinja2", "kgen.pipeline", "kgen.check", "kgen.families", "kgen.codegen.emit", "kgen.syntax.hints"
loaded = [m for m in stages if m in sys.modules]
print(json.dumps([first, loaded, kernel(x).tolist(), kernel(x[:, ::2]).tolist(), kernel(x[:2]).tolist()]))
"""
SOFTMAX = "let e = exp(x - max(x, axis=-1, keepdims=true))\nout = e / sum(e, axis=-1, keepdims=true)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, whose lowerings are read."""
    monkeypatch.setattr("kgen.call.stored_lowering.find", find)
    monkeypatch.setattr("kgen.call.stored_lowering.keep", keep)
    monkeypatch.setenv("KGEN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(text: str) -> list[Any]:
    argv = [sys.executable, "-c", RUN, text]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=ROOT)
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.mark.new_process
@pytest.mark.parametrize("text", ["out = x * x - 1", SOFTMAX])
@pytest.mark.usefixtures("folder")
def test_a_later_process_imports_neither_stages_nor_templates(text: str) -> None:
    first, second = run(text), run(text)
    assert first[1]
    assert second[1] == []
    first[1] = second[1] = None
    assert first == second


def operands(shape: tuple[int, ...] = (64, 32), **changed: Any) -> Operands:
    array = dataclasses.replace(ArrayOperand(FLOAT32, shape, (shape[1], 1), 1 << 20), **changed)
    return Operands({"x": array, "y": array})


def load(text: str = "out = x + y", name: str = "<string>") -> Program:
    return pipeline.load(text, name)


def test_every_difference_makes_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    tuning = dataclasses.replace(HOPPER.tuning, rows=dataclasses.replace(HOPPER.tuning.rows, elements=16))
    here = Options()
    calls: list[tuple[Program, str, Options, Operands, Any]] = [
        (load(), "k", here, operands(), HOPPER),
        (load("out = y + x"), "k", here, operands(), HOPPER),
        (load(name="add.k"), "k", here, operands(), HOPPER),
        (load(), "other", here, operands(), HOPPER),
        (load(), "k", Options(fmad=False), operands(), HOPPER),
        (load(), "k", Options(fast=True), operands(), HOPPER),
        (load(), "k", Options(pdl=False), operands(), HOPPER),
        (load(), "k", here, operands(dtype=FLOAT16), HOPPER),
        (load(), "k", here, operands((64, 33)), HOPPER),
        (load(), "k", here, operands(strides=(64, 1)), HOPPER),
        (load(), "k", here, operands(address=(1 << 20) + 4), HOPPER),
        (load(), "k", here, operands(), PORTABLE),
        (load(), "k", here, operands(), dataclasses.replace(HOPPER, tuning=tuning)),
    ]
    keys = [key_of(*call) for call in calls]
    monkeypatch.setattr(resources, "identity", lambda: "another kgen")
    keys.append(key_of(*calls[0]))
    assert len(set(keys)) == len(calls) + 1
    assert key_of(*calls[0]) == keys[-1]


def test_addresses_of_equal_alignment_make_one_key() -> None:
    one, other = (key_of(load(), "k", Options(), operands(address=n << 20), HOPPER) for n in (1, 2))
    assert one == other


def test_an_edited_file_makes_another_kgen(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.py").write_text("1")
    before = sorted(resources._files(str(tmp_path)))
    (tmp_path / "a" / "__pycache__").mkdir()
    (tmp_path / "a" / "__pycache__" / "x.pyc").write_text("1")
    assert sorted(resources._files(str(tmp_path))) == before
    (tmp_path / "a" / "x.py").write_text("12")
    assert sorted(resources._files(str(tmp_path))) != before
    assert str(Path(kgen.__file__).parent / "pipeline.py") in resources.identity()


def test_each_file_of_a_wheel_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its grammar and templates are below the package."""
    for name in ("grammar", "templates"):
        (tmp_path / "_data" / name).mkdir(parents=True)
        (tmp_path / "_data" / name / "x").touch()
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path)
    monkeypatch.setattr(resources, "folder", tmp_path.joinpath("_data").joinpath)
    assert resources.identity.__wrapped__().count(repr(str(tmp_path / "_data"))[:-1]) == 2


@pytest.mark.new_process
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(path, marks=[pytest.mark.whole] if number % 4 else [])
        for number, path in enumerate(sorted((ROOT / "tests/cases/schedule").glob("*.txt")))
    ],
    ids=lambda path: path.stem,
)
@pytest.mark.usefixtures("folder")
def test_what_is_read_is_what_was_kept(case: Path) -> None:
    parsed = parse(case.read_text(encoding="utf-8").partition("\n---\n")[0])
    typed = pipeline.specialise_for(parsed.program, parsed.operands)
    stages = dataclasses.replace(pipeline.STAGES, specialise=lambda program, operands: typed)
    lowered = pipeline.run_stages(stages, parsed.program, parsed.operands, parsed.target)
    module = pipeline.source(parsed.program, lowered, "k", Options(), ["kgen"])
    launches = [step.launch for step in lowered.steps]  # generates functions, which a file leaves out
    keep("k.0", parsed.target, StoredLowering(typed, lowered, module))
    found = find("k.0", parsed.target)
    assert found is not None
    assert (found.typed, found.module) == (typed, module)
    assert (found.lowered.steps, found.lowered.schedules) == (lowered.steps, lowered.schedules)
    assert [step.launch for step in found.lowered.steps] == launches
    assert found.lowered.target is parsed.target
    same = lowered.specialised is typed, lowered.specialised is typed.online, lowered.specialised is typed.split
    read = found.typed, found.typed.online, found.typed.split
    assert tuple(found.lowered.specialised is one for one in read) == same


def test_a_damaged_file_is_lowered_again(folder: Path) -> None:
    x = np.arange(8, dtype=np.float32)
    assert kgen.jit("out = x * 3", device="cpu")(x).tolist() == (x * 3).tolist()
    (file,) = (folder / "lowering").iterdir()
    good = file.read_bytes()
    file.write_bytes(good[:-40] + bytes(40))
    assert kgen.jit("out = x * 3", device="cpu")(x).tolist() == (x * 3).tolist()
    assert len(file.read_bytes()) == len(good)
    assert file.read_bytes() != good[:-40] + bytes(40)


def test_another_allocation_is_lowered_again(folder: Path) -> None:
    """The key has no addresses of outputs: those of the call decide."""
    x = np.arange(8, dtype=np.float32)
    kgen.jit("out = x * 3", device="cpu")(x)
    kernel = kgen.jit("out = x * 3", device="cpu")
    whole = np.zeros(9, np.float32)
    kernel(x, out=whole[1:])
    assert whole.tolist() == [0, *(x * 3).tolist()]
    assert len(list((folder / "lowering").iterdir())) == 2


@pytest.mark.usefixtures("folder")
def test_lints_are_shown_by_a_hit_as_well() -> None:
    for _ in range(2):
        with pytest.warns(kgen.LintWarning, match="abs-of-unsigned"):
            kgen.jit("out = abs(x)", device="cpu")(np.arange(8, dtype=np.uint8))


def test_a_folder_that_cannot_be_used_gives_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KGEN_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x = np.arange(8, dtype=np.float32)
        kgen.jit("out = x * 5", device="cpu")(x)
    assert len(caught) == 1
    assert Store(tmp_path, "lowering").get("absent") is None


def test_other_tests_lower_anew() -> None:
    """One test does not take what another one lowered, which may have changed how."""
    x, text = np.arange(64, dtype=np.float32), "out = x * 7"
    kgen.jit(text, device="cpu")(x)
    with forced(elementwise="strided"):
        kernel = kgen.jit(text, device="cpu")
        kernel(x)
        (lowered,) = kernel._engine._records
    assert [s.template for s in lowered.schedules] == ["strided"]
