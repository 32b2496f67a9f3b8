"""``--emit json``: a file as data, for build systems and other languages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kgen import KgenError
from kgen.cli.compile_ import command
from kgen.runtime.cuda.compiler import nvrtc_version
from kgen.version import VERSION
from tests.snapshots.cases import EXAMPLES, ROOT


def described(folder: Path, *arguments: str) -> dict[str, Any]:
    """What is written beside the header."""
    path = folder / "made.cu"
    command.main([*arguments, "-o", str(path), "--emit", "cu,h,json"], standalone_mode=False)
    found: dict[str, Any] = json.loads((folder / "made.json").read_text(encoding="utf-8"))
    return found


def documented() -> str:
    text = (ROOT / "docs" / "generated-code.md").read_text(encoding="utf-8")
    return text[text.index("## As JSON") :].partition("\n## ")[0]


def keys(value: Any) -> set[str]:
    """All keys of a value but those of schedules and usage, which are listed as such."""
    if isinstance(value, list):
        return {k for v in value for k in keys(v)}
    if not isinstance(value, dict):
        return set()
    return set(value) | {k for name, v in value.items() if name != "schedule" for k in keys(v)}


def test_functions_are_those_of_the_header(tmp_path: Path) -> None:
    """With their parameters in order, for two sets of dtypes."""
    found = described(tmp_path, str(EXAMPLES / "axpy.k"), "--dtypes", "f16; y=f64")
    header = (tmp_path / "made.h").read_text(encoding="utf-8")
    names = [one["launch"] for one in found["launchers"]]
    assert names == ["axpy_launch", "axpy_f16_launch", "axpy_f32_f64_launch"]
    for one in found["launchers"]:
        declared = re.search(rf"int {one['launch']}\((.*?)\);", header, re.DOTALL)
        assert declared
        wanted = [
            " ".join(part.split()).replace("struct CUstream_st*", "cudaStream_t") for part in declared[1].split(",")
        ]
        assert [f"{p['type']} {p['name']}" for p in one["parameters"]] == wanted
        assert f"{one['workspace_size']}(" in header
        assert f"{one['error_string']}(" in header
    both = found["launchers"][0]["arrays"]
    assert [(a["name"], a["use"], a["dtypes"], a["shape"]) for a in both] == [
        ("x", "read", ["float16", "float32"], None),
        ("y", "read", ["float16", "float64"], None),
        ("out", "written", ["float32", "float64"], None),
    ]
    kernels = re.findall(r'extern "C" __global__.*\n(\w+)\(', (tmp_path / "made.cu").read_text(encoding="utf-8"))
    assert [k["name"] for k in found["kernels"]] == kernels


def test_shapes_rules_and_what_kernels_use(tmp_path: Path) -> None:
    try:
        nvrtc_version()
    except KgenError as problem:
        pytest.skip(str(problem))
    found = described(
        tmp_path, str(EXAMPLES / "softmax.k"), "--shape", "x=?x1000", "--dtype", "bf16", "--arch", "sm_90"
    )
    assert (found["schema"], found["kgen"], found["name"], found["program"]) == (1, VERSION, "softmax", "softmax.k")
    assert [a["shape"] for a in found["launchers"][0]["arrays"]] == [[None, 1000]] * 2
    first = found["kernels"][0]
    assert re.match(r"launch: \w+ blocks of \d+ threads; rows = shape\[1\]", first["launch"][0])
    assert first["parameters"][0] == {"name": "x_ptr", "type": "const __nv_bfloat16*"}
    assert first["threads"] == first["schedule"]["block"]
    usage = first["usage"]
    assert usage["arch"] == "sm_90"
    assert 0 < usage["registers"] <= 255
    assert usage["spilled"] == 0
    missing = [k for k in keys(found) if f"`{k}`" not in documented()]
    assert not missing, "docs/generated-code.md lists every key"


def test_without_an_architecture_nothing_is_compiled(tmp_path: Path) -> None:
    found = described(tmp_path, "-c", "param z: c64; out = a * z")
    assert "usage" not in found["kernels"][0]
    (scalar,) = found["launchers"][0]["scalars"]
    assert scalar == {
        "name": "z",
        "parameters": [{"name": "z_real", "type": "double"}, {"name": "z_imag", "type": "double"}],
        "dtypes": ["complex64"],
    }
