"""Several sets of dtypes in one file: the functions of the program's name take arrays of any of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from kgen import KgenError, pipeline
from kgen.aot import aot_sets
from kgen.cli.compile_ import command
from kgen.compile_spec import CompileSpec
from kgen.dtypes import FLOAT32, FLOAT64
from kgen.launcher.dispatch import set_name
from kgen.options import Options
from tests.launcher.host import BAD_DTYPE, BAD_SHAPE, SUCCESS, loaded, of_numpy
from tests.snapshots.cases import EXAMPLES

SETS = {
    "f32": CompileSpec("f32", {"a": (None, None)}),
    "f64": CompileSpec("f64", {"a": (None, None)}),
    "i32": CompileSpec("i32", {"a": (None, None)}),
}


def test_any_set_is_found_by_dtypes(tmp_path: Path) -> None:
    """With a workspace, and statuses of the set that arrays are of."""
    program = pipeline.load("param s: i64; out = a * s - sum(a, axis=0)")
    file = loaded(aot_sets(program, "sets", Options(fmad=False), SETS), tmp_path, "sets")
    memory = np.zeros(1 << 20, np.uint8)
    start = -(-memory.ctypes.data // 256) * 256
    for name in ("float32", "float64", "int32"):
        a = np.arange(1200).reshape(30, 40).astype(name)
        wanted = a * 3 - a.sum(axis=0)
        out = np.zeros_like(a, dtype=wanted.dtype if name == "int32" else a.dtype)
        arrays = [of_numpy(a), of_numpy(out)]
        size = file.workspace_size(arrays)
        assert file.launch(arrays, [3], start, size) == SUCCESS
        np.testing.assert_array_equal(out, wanted)
        status = file.launch([of_numpy(a), of_numpy(out[1:])], [3], start, size)
        assert status % 256 == BAD_SHAPE
        assert file.message(status).startswith("out: ")
    short = np.zeros((30, 40), np.int16)
    status = file.launch([of_numpy(short), of_numpy(short)], [3], start, 0)
    assert status % 256 == BAD_DTYPE
    assert file.message(status).startswith("a: ")
    for name in ("float32", "float64"):  # of one set but for the last array
        a = np.zeros((30, 40), name)
        assert file.message(file.launch([of_numpy(a), of_numpy(short)], [3], start, 0)).startswith("out: ")


def test_sets_share_helpers() -> None:
    """Functions that no dtype is in are in the file once, on the device and on the host."""
    file = aot_sets(pipeline.load("out = a + 1"), "sets", Options(), {one: CompileSpec(one) for one in ("f32", "f64")})
    for helper in ("wait_for_earlier_kernels", "find_coordinates", "read_array", "merge_dimensions", "launch"):
        assert len(re.findall(rf"^static .*\b{helper}\(", file.text, re.MULTILINE)) == 1, helper


def test_names() -> None:
    assert set_name("axpy", {"x": FLOAT32, "y": FLOAT32}) == "axpy_f32"
    assert set_name("axpy", {"x": FLOAT32, "y": FLOAT64}) == "axpy_f32_f64"


def test_the_command_in_the_file_makes_it_again(tmp_path: Path) -> None:
    made = [str(tmp_path / "axpy.cu"), str(tmp_path / "axpy.h")]
    arguments = [str(EXAMPLES / "axpy.k"), "-o", made[0], "--emit", "cu,h"]
    command.main([*arguments, "--dtypes", " f16;x=f32, y=f16 "], standalone_mode=False)
    text, header = (Path(path).read_text(encoding="utf-8") for path in made)
    assert "--layout any --dtypes 'f16; x=f32,y=f16'\n" in text
    assert "float16 or float32, of the shape" in header
    assert "int axpy_f32_f16_launch(" in header
    command.main([*arguments, "--layout", "any", "--dtypes", "f16; x=f32,y=f16"], standalone_mode=False)
    assert Path(made[0]).read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--dtypes", "f16; ; f32"], "has an empty set"),
        (["--dtypes", "f16; f16"], "has a set twice"),
        (["--dtypes", "f16; x=f16,y=f16"], "twice"),
        (["--dtypes", "f16; banana"], "banana"),
        (["--dtypes", "f16", "--dtype", "f32"], "--dtype says nothing beside --dtypes"),
        (["--dtypes", "f16; f32", "--emit", "ir"], "--dtypes is for --emit cu,h"),
    ],
)
def test_bad_sets(options: list[str], said: str) -> None:
    result = CliRunner().invoke(command, [str(EXAMPLES / "axpy.k"), *options])
    assert isinstance(result.exception, KgenError)
    assert said in str(result.exception)
