"""``generated/`` is what kgen makes of the examples today."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kgen
from benchmarks import random_programs
from kgen.cli.compile_ import command
from tests.snapshots.cases import CASES, EXAMPLES, GENERATED, ROOT, Case

MAX_COLUMNS = 120
_DECLARED = re.compile(
    r"\b(?:const )?(?:auto|Pack<[^>]*>|(?:unsigned )?\w+)[&*]? (?:__restrict__ )?(?!short|char|int)(\w+)(?= =|[,;)])"
)
HOST = "\n// --- Host code"  # where the launcher begins


def made(case: Case, folder: Path) -> str:
    """The text of a case, by the command line that its banner names."""
    path = folder / f"{case.name}.cu"
    arguments = [str(EXAMPLES / f"{case.example}.k"), "-o", str(path), "--name", case.name, *case.options.split()]
    command.main(arguments, standalone_mode=False)
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_current(case: Case, bless: Callable[[Path, str], None], tmp_path: Path) -> None:
    """A committed file is what its example gives now."""
    bless(case.path, made(case, tmp_path))


def test_nothing_else() -> None:
    """Every file of ``generated/`` is in the table, and every example is among them."""
    assert sorted(GENERATED.iterdir()) == sorted(case.path for case in CASES)
    assert {path.stem for path in EXAMPLES.glob("*.k")} == {case.example for case in CASES if "/" not in case.example}


@pytest.mark.parametrize("seed", ["0", "4242", pytest.param("1", marks=pytest.mark.whole)])
def test_same_text_in_another_process(seed: str) -> None:
    """``kgen check`` makes the same texts, which do not depend on the process: hash seeds, import order, time."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    check = [sys.executable, "-m", "kgen", "check", "generated", "examples"]
    done = subprocess.run(check, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr == f"checked {len(CASES)} files\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_text(case: Case) -> None:
    """A file is plain text that a reviewer would let pass: no long lines, blanks at ends, or double blank lines."""
    text = case.path.read_text(encoding="utf-8")
    code = text[text.index("\n\n") :]  # the banner quotes the program as it is
    code = re.sub(r"^(?:namespace \w+ \{|\}  // namespace \w+)\n\n?", "", code, flags=re.MULTILINE)
    assert max(map(len, code.split("\n"))) <= MAX_COLUMNS
    assert not re.search(r"[ \t]\n|\n\n\n|\t|\n\n}|{\n\n", code)
    assert text.endswith("}\n\n#endif\n")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_unused(case: Case) -> None:
    """Every local variable, parameter, helper, struct and header of a file is used; a struct may have more members."""
    text, _, launcher = case.path.read_text(encoding="utf-8").partition(HOST)
    functions = re.findall(r"^static [^=;]*?\b(\w+)\(", launcher, re.MULTILINE)
    assert len(functions) > 10
    for name in functions:  # compilers warn of unused variables and parameters of the host
        assert len(re.findall(rf"\b{name}\b", launcher)) > 1, name
    assert unused(text) == []


@pytest.mark.parametrize(
    "first", [112000, *(pytest.param(n, marks=pytest.mark.whole) for n in range(112100, 112900, 100))]
)
@pytest.mark.filterwarnings("ignore::kgen.LintWarning")
def test_random_programs(first: int) -> None:
    """The same of programs that nobody chose; only a program's own lines, in comments, may be long."""
    for seed in range(first, first + 100):
        program = random_programs.program(seed)
        kernel = kgen.jit(program.text, name=f"seed{seed}")
        specs: dict[str, Any] = {name: kgen.spec(a.shape, a.dtype, a.strides) for name, a in program.operands.items()}
        text = kernel.source(arch="sm_90", **specs)
        assert unused(text.partition(HOST)[0]) == [], seed
        long = [line for line in text.split("\n") if len(line) > MAX_COLUMNS]
        assert [line for line in long if "//" not in line or line.startswith("// Chosen")] == [], seed
        assert re.findall(r"(?<! x)(?<! of) 1 (?:elements|columns|rows|threads)", text) == [], seed


def unused(text: str) -> list[str]:
    """The names of device code that nothing uses."""
    code = re.sub(r"//.*|\"[^\"\n]*\"", "", text)
    functions_only = re.sub(r"^(?:template <[^\n]*>\n)?struct .*?^};$", "", code, flags=re.DOTALL | re.MULTILINE)
    found: list[str] = []
    for function in re.split(r"\n}\n", functions_only):
        declared = _DECLARED.findall(function)
        found += [name for name in declared if len(re.findall(rf"\b{name}\b", function)) < 2]
    helpers = re.findall(r"^static __device__ __forceinline__ [\w ]+?\s+(\w+)\(", code, re.MULTILINE)
    structs = re.findall(r"^struct (?:alignas\(\w+\) )?(\w+)", code, re.MULTILINE)
    found += [name for name in (*helpers, *structs) if len(re.findall(rf"\b{name}\b", code)) < 2]
    used = {"cuda_fp16.h": "half", "cuda_bf16.h": "bfloat16", "cuda_fp8.h": "fp8"}
    return [*found, *(h for h, word in used.items() if (h in code) != bool(re.search(word, code.replace(h, ""))))]
