"""Wrong arguments give codes: no crash, no undefined behaviour, nothing launched."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kgen import pipeline
from kgen.cli.pair import with_backward
from kgen.cli.request import Prepared, prepared
from kgen.compile_spec import CompileSpec
from kgen.options import Options
from tests.launcher.host import (
    BAD_DTYPE,
    BAD_RANK,
    BAD_SHAPE,
    INCLUDE,
    MISALIGNED,
    NOT_COVERED,
    NULL_ARRAY,
    OVERLAP,
    SMALL_WORKSPACE,
    SUCCESS,
    TOO_LARGE,
    Array,
    Host,
    host,
    of_numpy,
)

COMPILER = shutil.which("g++")
CPU = Path(__file__).parents[2] / "kgen" / "runtime" / "cpu" / "include"


@pytest.fixture(scope="module")
def add(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return host("out = a + b", CompileSpec("f32"), tmp_path_factory.mktemp("add"), "add")


X = np.ones((6, 8), np.float32)


def no_shape(x: Array) -> None:
    x.shape = None


def negative(x: Array) -> None:
    x.shape[0] = -6


def large(x: Array) -> None:
    x.shape[0] = 1 << 60


def far(x: Array) -> None:
    x.strides[0] = 1 << 62


def other_dtype(x: Array) -> None:
    x.bits = 64


def rank_9(x: Array) -> None:
    x.ndim = 9


def no_data(x: Array) -> None:
    x.data = None


def between_elements(x: Array) -> None:
    x.byte_offset = 2


def other_shape(x: Array) -> None:
    x.shape[1] = 7


def repeats(x: Array) -> None:
    x.strides[0] = 0


WRONG: list[tuple[Callable[[Array], None], int, tuple[int, ...]]] = [
    (no_shape, NULL_ARRAY, (0, 1, 2)),
    (no_data, NULL_ARRAY, (0, 1, 2)),
    (rank_9, BAD_RANK, (0, 1, 2)),
    (other_dtype, BAD_DTYPE, (0, 1, 2)),
    (negative, BAD_SHAPE, (0, 1, 2)),
    (other_shape, BAD_SHAPE, (0, 1)),
    (large, TOO_LARGE, (0, 1, 2)),
    (far, TOO_LARGE, (0, 1, 2)),
    (between_elements, MISALIGNED, (0, 1, 2)),
    (repeats, OVERLAP, (2,)),
]


@pytest.mark.parametrize(("change", "code", "of"), WRONG, ids=[row[0].__name__ for row in WRONG])
def test_the_array_at_fault_is_named(
    add: Host, change: Callable[[Array], None], code: int, of: tuple[int, ...]
) -> None:
    for place in of:
        out = np.full_like(X, 7)
        arrays = [of_numpy(X), of_numpy(X.copy()), of_numpy(out)]
        change(arrays[place])
        status = add.launch(arrays)
        assert (status % 256, status // 256) == (code, place + 1)
        assert add.message(status).startswith(f"{['a', 'b', 'out'][place]}: ")
        assert (out == 7).all()


def test_null_pointers(add: Host) -> None:
    for place in range(3):
        arrays: list[Array | None] = [of_numpy(X), of_numpy(X), of_numpy(X.copy())]
        arrays[place] = None
        assert add.launch(arrays) == NULL_ARRAY + 256 * (place + 1)


def test_what_is_written_overlaps_nothing(add: Host) -> None:
    """Parts of one matrix that lie beside each other do not overlap; any shared byte is an error."""
    whole = np.arange(200, dtype=np.float32).reshape(10, 20)
    beside, out = of_numpy(whole[:, :10]), of_numpy(whole[:, 10:])
    wanted = whole[:, :10] * 2
    assert add.launch([beside, beside, out]) == SUCCESS
    np.testing.assert_array_equal(whole[:, 10:], wanted)
    even, odd = of_numpy(whole[:, ::2]), of_numpy(whole[:, 1::2])
    assert add.launch([even, even, odd]) == SUCCESS
    for other in (whole[:, 9:19], whole[:, 10:], whole[::-1, 10:], whole[:, 1:11]):
        assert add.launch([beside, of_numpy(other), out]) == OVERLAP + 256 * 3
    assert add.launch([beside, beside, beside]) == OVERLAP + 256 * 3


def test_layouts_that_no_kernel_takes(tmp_path: Path) -> None:
    loaded = host("out = a + 1", CompileSpec("f32", layout="contiguous"), tmp_path, "dense")
    x = np.ones((6, 8), np.float32)
    assert loaded.launch([of_numpy(x), of_numpy(np.empty_like(x))]) == SUCCESS
    assert loaded.launch([of_numpy(x.T), of_numpy(np.empty((8, 6), np.float32))]) == NOT_COVERED
    shaped = host("out = sum(a, axis=-1)", CompileSpec("f32", {"a": (None, 8)}), tmp_path, "rows")
    out = np.empty(6, np.float32)
    assert shaped.launch([of_numpy(x), of_numpy(out)]) == SUCCESS
    padded = np.ones((6, 9), np.float32)[:, :8]
    assert shaped.launch([of_numpy(padded), of_numpy(out)]) == NOT_COVERED + 256
    assert shaped.launch([of_numpy(x.reshape(12, 4)), of_numpy(out)]) == BAD_SHAPE + 256
    assert shaped.launch([of_numpy(x), of_numpy(out[:5])]) == BAD_SHAPE + 512
    assert shaped.launch([of_numpy(x.ravel()), of_numpy(out)]) == BAD_RANK + 256


def test_a_workspace_that_is_too_small(tmp_path: Path) -> None:
    loaded = host("out = sum(a, axis=-1)", CompileSpec("f32", {"a": (2, 1 << 20)}), tmp_path, "split")
    x, out = np.ones((2, 1 << 20), np.float32), np.empty(2, np.float32)
    arrays = [of_numpy(x), of_numpy(out)]
    memory = ctypes.create_string_buffer(4096)
    start = -(-ctypes.addressof(memory) // 256) * 256
    size = loaded.workspace_size(arrays)
    assert loaded.launch(arrays, (), 0, size) == SMALL_WORKSPACE
    assert loaded.launch(arrays, (), start, size - 1) == SMALL_WORKSPACE
    assert loaded.launch(arrays, (), start + 4, size) == MISALIGNED
    assert loaded.launch(arrays, (), start, size) == SUCCESS


def test_messages(add: Host) -> None:
    assert add.message(SUCCESS) == "success"
    assert add.message(-700) == "an error of CUDA"
    texts = {add.message(code) for code in range(1, 10)}
    assert len(texts) == 9
    assert add.message(200) not in texts


#: A program, and the shapes of its inputs.
PROGRAMS: dict[str, tuple[str, CompileSpec]] = {
    "elements": ("param s: float = 1.0; out = a * s + b", CompileSpec("f32", rank=2)),
    "rows": (
        "let e = exp(a - max(a, axis=-1, keepdims=true)); out = e / sum(e, axis=-1, keepdims=true)",
        CompileSpec("f32", {"a": (None, None)}),
    ),
    "any rank": ("out = sum(x * y, axis=-1)", CompileSpec("f32", {"y": (8,)})),
    "several": ("inout p; input x, i; p = p + x; out = x[i] + sum(x); top = max(x, axis=0)", CompileSpec(
        {"p": "f32", "x": "f32", "i": "i64"}, {"p": (None, 8), "x": (None, 8), "i": (None,)}
    )),
}  # fmt: skip

#: Programs whose gradients have launchers, too.
PAIRS: dict[str, tuple[str, CompileSpec]] = {
    "norm": (
        "out = x * rsqrt(mean(x * x, axis=-1, keepdims=true)) * w", CompileSpec("f32", {"x": (None, 8), "w": (8,)})
    ),
    "elements": (
        "out = tanh(a * b) + c", CompileSpec("f32", {"a": (None, None), "b": (None, None), "c": (None,)})
    ),
}  # fmt: skip


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("name", PROGRAMS)
def test_sanitizers(name: str, tmp_path: Path) -> None:
    """UndefinedBehaviorSanitizer and AddressSanitizer, over 50,000 rounds of calls with random wrong arguments."""
    text, spec = PROGRAMS[name]
    check_sanitized(prepared(pipeline.load(text), "program", Options(), {"": spec}, None), tmp_path)


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.whole) for n in PAIRS])
def test_sanitizers_of_gradients(name: str, tmp_path: Path) -> None:
    text, spec = PAIRS[name]
    for made in with_backward(prepared(pipeline.load(text), "program", Options(), {"": spec}, None), None):
        check_sanitized(made, tmp_path)


def check_sanitized(made: Prepared, folder: Path) -> None:
    """No sanitizer reports anything, and arrays are refused for every reason."""
    file = folder / f"{made.base}.cu"
    file.write_text(made.module.text, encoding="utf-8")
    described = re.findall(r'\{"\w+", (KGEN_\w+), (-?\d+), (?:true|false)\}', made.module.text)
    scalars = re.findall(r"\bdouble \w+_value\b", made.module.text.split(f"int {made.base}_launch(")[1].split(")")[0])
    defined = {
        "PROGRAM": f'"{file}"', "LAUNCHER(name)": f"{made.base}_##name", "ARRAYS": str(len(described)),
        "DTYPES": ", ".join(dtype for dtype, _ in described), "RANKS": ", ".join(rank for _, rank in described),
        "GIVEN": ", ".join(f"given[{i}]" for i in range(len(described))), "ROUNDS": "50000",
        "SCALARS": "1.0, " * len(scalars),
    }  # fmt: skip
    command = [str(COMPILER), "-std=c++17", "-O1", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command += [f"-D{name}={value}" for name, value in defined.items()]
    source = Path(__file__).parent / "wrong.cpp"
    command += [f"-I{CPU}", f"-I{INCLUDE}", str(source), "-o", str(folder / "wrong")]
    subprocess.run(command, check=True, timeout=300)
    done = subprocess.run([folder / "wrong", "42"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-2000:]
    seen = [int(n) for n in done.stdout.split()]
    assert all(n > 0 for n in seen[:NOT_COVERED]), seen
