"""Libraries of ``kgen build --abi``, called without kgen: every door runs the same recorded layouts."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from kgen.cli.build_ import command
from kgen.library.doors import DOORS as BUILT
from kgen.runtime.cuda.device import device_info
from kgen.runtime.cuda.driver import probe
from tests.gpu.doors import DOORS
from tests.gpu.test_launcher import SETS, graph_of, recorded

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]


def cases() -> list[dict[str, Any]]:
    """Each with one of the program's sets of dtypes in turn, aligned and not."""
    found: list[dict[str, Any]] = []
    for number, case in enumerate(recorded()):
        inputs = case["inputs"]
        sets = SETS[len(inputs)][1]
        operands = graph_of(len(inputs), sets[number % len(sets)]).operands
        layouts = [*((x["shape"], x["strides"]) for x in inputs), (case["out_shape"], case["out_strides"])]
        arrays = [
            {"shape": shape, "strides": strides, "dtype": o.dtype.name}
            for (shape, strides), o in zip(layouts, operands, strict=True)
        ]
        found.append({"program": f"inputs{len(inputs)}", "offset": number // len(sets) % 2, "arrays": arrays})
    return found


def build(folder: Path, abi: str | None) -> None:
    """The programs' libraries, with this door or with none."""
    folder.mkdir()
    for inputs, (text, sets) in SETS.items():
        program = folder / f"inputs{inputs}.k"
        program.write_text(text + "\n", encoding="utf-8")
        options = ["--dtypes", "; ".join(sets), "--arch", device_info(0).arch, *([] if abi is None else ["--abi", abi])]
        command.main(
            [str(program), "-o", str(program.with_name(f"lib{program.stem}.so")), *options], standalone_mode=False
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cases."""
    made = tmp_path_factory.mktemp("doors")
    (made / "cases.json").write_text(json.dumps(cases()), encoding="utf-8")
    return made


@pytest.mark.parametrize("door", DOORS)
def test_every_door(folder: Path, door: str) -> None:
    abi = next((abi for abi in BUILT if door.startswith(abi)), None)
    if abi is not None and find_spec(BUILT[abi].package) is None:
        pytest.skip(f"{BUILT[abi].pip} is not installed")
    libraries = folder / (abi or door)
    if not libraries.exists():
        build(libraries, abi)
    run = [sys.executable, str(Path(__file__).with_name("doors.py")), str(libraries), door]
    found = subprocess.run(run, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    if found.returncode == 77:
        pytest.skip(found.stdout.strip())
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.startswith(f"{door}: ")
