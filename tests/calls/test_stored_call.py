"""First calls on disk: a later process makes the same call without the stages, and others as if nothing were there."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.call.stored_call import find, keep
from kgen.kernel import Kernel
from kgen.runtime.cuda.driver import probe

ROOT = Path(__file__).parents[2]
TEXT = "param s\nout = x * s + y"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, whose calls are read."""
    monkeypatch.setattr("kgen.call.stored_call.find", find)
    monkeypatch.setattr("kgen.call.stored_call.keep", keep)
    monkeypatch.setenv("KGEN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def arrays(count: int = 24, dtype: Any = np.float32) -> tuple[Any, Any]:
    return np.arange(count, dtype=dtype), np.full(count, 2, dtype)


def jit(text: str = TEXT, **options: Any) -> Kernel:
    return kgen.jit(text, device="cpu", **options)


def was_lowered(kernel: Kernel) -> bool:
    return "_engine" in vars(kernel)


def test_the_same_call_is_not_lowered(how: str) -> None:
    x, y = arrays()
    first = jit()(x, y, s=3.0)
    kernel = jit()
    assert "program" not in vars(kernel) or how == "python"
    again = kernel(x[::-1].copy(), y, s=4.0)
    assert was_lowered(kernel) is (how == "python")
    np.testing.assert_array_equal(first, x * 3 + y)
    np.testing.assert_array_equal(again, x[::-1] * 4 + y)
    assert kernel.ran_on == "cpu"
    np.testing.assert_array_equal(kernel(x[:7], y[:7], s=4.0), x[:7] * 4 + y[:7])
    assert kernel.inputs == ("x", "y")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(x, y, s=3.0), first)


@pytest.mark.parametrize("change", ["extent", "stride", "dtype", "type", "names", "out", "alignment", "overlap"])
def test_another_call_is_lowered(change: str) -> None:
    x, y = arrays()
    jit()(x, y, s=3.0)
    kernel = jit()
    scalar: Any = 3.0
    out = None
    match change:
        case "extent":
            x, y = arrays(25)
        case "stride":
            x, y = (np.repeat(one, 2)[::2] for one in (x, y))
        case "dtype":
            x, y = arrays(dtype=np.float64)
        case "type":
            scalar = 3
        case "out":
            out = np.empty_like(x)
        case "alignment":
            x = np.concatenate([x[:1], x])[1:]
        case "overlap":
            out = x
    expected = x * 3 + y
    found = kernel(x, y=y, s=scalar) if change == "names" else kernel(x, y, s=scalar, out=out)
    np.testing.assert_array_equal(found, expected)
    assert was_lowered(kernel)


@pytest.mark.parametrize(
    ("text", "options"),
    [("param s\nout = x * s - y", {}), (TEXT, {"fmad": False}), (TEXT, {"fast": True}), (TEXT, {"name": "other"})],
)
def test_another_program_is_lowered(text: str, options: dict[str, Any]) -> None:
    x, y = arrays()
    jit()(x, y, s=3.0)
    kernel = jit(text, **options)
    kernel(x, y, s=3.0)
    assert was_lowered(kernel)


@pytest.mark.parametrize(
    "text",
    ["out = x - sum(x)", "out = exp(x)\nmost = max(x)", "inout x\nx = x * 2", "out = x[1:]", "out = x[::-1] + 1"],
)
def test_programs(text: str) -> None:
    """Several kernels, outputs and results, and memory that changes."""
    x, other = arrays()[0], arrays()[0]
    first = jit(text)(x)
    kernel = jit(text)
    again = kernel(other)
    np.testing.assert_equal(again, first)
    np.testing.assert_array_equal(x, other)


def test_several_first_calls_are_kept(how: str) -> None:
    """The last four."""
    for count in (8, 9, 10, 11, 12, 9):
        jit()(*arrays(count), s=3.0)
    for count, is_kept in ((9, True), (8, False), (12, True)):
        x, y = arrays(count)
        kernel = jit()
        np.testing.assert_array_equal(kernel(x, y, s=3.0), x * 3 + y)
        assert was_lowered(kernel) is not (is_kept and how == "c")


def test_one_array_for_several_arguments() -> None:
    """Later calls may pass different ones, of other dtypes."""
    x, y = arrays()
    jit()(x, x, s=3.0)
    kernel = jit()
    np.testing.assert_array_equal(kernel(x, x, s=3.0), x * 4)
    np.testing.assert_array_equal(kernel(x, y, s=3.0), x * 3 + y)
    wide = kernel(x, y.astype(np.float64), s=3.0)
    assert wide.dtype == np.float64
    np.testing.assert_array_equal(wide, x * 3.0 + y)
    other = jit()
    np.testing.assert_array_equal(other(x, y, s=3.0), x * 3 + y)


def test_lints_are_shown_again() -> None:
    for _ in range(2):
        with pytest.warns(kgen.LintWarning, match="abs-of-unsigned"):
            jit("out = abs(x)")(np.arange(8, dtype=np.uint8))


def test_a_damaged_file_is_not_used(folder: Path, how: str) -> None:
    x, y = arrays()
    jit()(x, y, s=3.0)
    if how == "python":
        assert not (folder / "call").exists()
        return
    (file,) = (folder / "call").iterdir()
    file.write_bytes(file.read_bytes()[:-40] + bytes(40))
    kernel = jit()
    np.testing.assert_array_equal(kernel(x, y, s=3.0), x * 3 + y)
    assert was_lowered(kernel)


@pytest.mark.gpu
@pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU")
@pytest.mark.parametrize(("text", "is_kept"), [(TEXT, True), ("param s\nout = (x - sum(y)) * s", False)])
def test_on_a_gpu(text: str, is_kept: bool, how: str) -> None:
    """Of torch's tensors, also where they need gradients, on another stream and in a graph.

    What several blocks share for the sum belongs to a process.
    """
    torch = pytest.importorskip("torch")
    x, y = (torch.from_numpy(one).cuda() for one in arrays(1024))
    first = kgen.jit(text)(x, y, s=3.0)
    kernel = kgen.jit(text)
    again = kernel(x.clone(), y, s=3.0)
    assert was_lowered(kernel) is not (is_kept and how == "c")
    assert kernel.ran_on == "cuda:0"
    assert torch.equal(again, first)
    other = kgen.jit(text)
    needs = x.clone().requires_grad_()
    made = other(needs, y, s=3.0)
    assert made.requires_grad
    assert torch.equal(made.detach(), first)
    third = kgen.jit(text)
    out = torch.zeros_like(x)
    with torch.cuda.stream(torch.cuda.Stream()):
        assert torch.equal(third(x, y, s=3.0), first)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out.copy_(third(x, y, s=3.0))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, first)


RUN = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("kgen._call", sys.argv[1])
sys.modules["kgen._call"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
import numpy as np
import kgen
x = np.arange(24, dtype=np.float32).reshape(4, 6)
kernel = kgen.jit("out = x - mean(x, axis=1, keepdims=true)", device="cpu")
first = kernel(x).tolist()
stages = "jinja2", "kgen.lowering", "kgen.syntax", "kgen.ir.graph", "kgen.schedule", "kgen.call.engine"
print(json.dumps([first, [m for m in stages if m in sys.modules], kernel(x[:2]).tolist()]))
"""


@pytest.mark.new_process
def test_a_later_process_imports_no_stages(extension: Any) -> None:
    found = []
    for _ in range(2):
        argv = [sys.executable, "-c", RUN, extension.__file__]
        found.append(json.loads(subprocess.run(argv, capture_output=True, text=True, check=True, cwd=ROOT).stdout))
    first, second = found
    assert first[1]
    assert second[1] == []
    assert (first[0], first[2]) == (second[0], second[2])
