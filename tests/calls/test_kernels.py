"""Kernels as Python objects: copies, pickles, signatures, tracebacks, and ``kgen.torch`` without its import."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
import pydoc
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgen

X = np.arange(4, dtype=np.float32)
TEXT = "param s: float = 2.0\nout = x * s"


def used(text: str = TEXT, **options: Any) -> kgen.Kernel:
    """A kernel that was called, learnt and planned: it holds code, memory and functions made at run time."""
    kernel = kgen.jit(text, device="cpu", **options)
    for _ in range(4):
        kernel(X)
    kernel.plan(X)()
    return kernel


def by_pickle(protocol: int) -> Callable[[Any], Any]:
    return lambda kernel: pickle.loads(pickle.dumps(kernel, protocol))


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {n}": by_pickle(n) for n in range(pickle.HIGHEST_PROTOCOL + 1)},
}


@pytest.mark.parametrize("how_copied", COPIES)
def test_copies(how_copied: str) -> None:
    """A copy is the same program with the same options, and shares nothing that a call changes."""
    kernel = used(name="mine", fmad=False)
    found: Any = COPIES[how_copied](kernel)
    assert type(found) is type(kernel)
    assert (found.name, found.options, repr(found)) == (kernel.name, kernel.options, repr(kernel))
    assert found.program.source == kernel.program.source
    assert found.ran_on is None
    assert found._fast_calls is not kernel._fast_calls
    for _ in range(4):
        assert np.array_equal(found(X, s=3.0), X * 3)
    assert found.source() == kernel.source()


def test_copies_of_files(tmp_path: Path) -> None:
    """A kernel of a file is copied without it, and its errors still name it."""
    path = tmp_path / "mine.k"
    path.write_text("out = a * b")
    kernel = kgen.jit(path=path, device="cpu")
    path.unlink()
    with pytest.raises(kgen.KgenError, match=r"mine\.k:1:9: error\[shape-mismatch\]"):
        copy.deepcopy(kernel)(X, np.ones(3, np.float32))


def test_modules_with_kernels(tmp_path: Path) -> None:
    """``copy.deepcopy`` and ``torch.save`` of a module that calls one."""
    torch: Any = pytest.importorskip("torch", reason="these are modules of torch")
    module = torch.nn.Linear(2, 2)
    module.scale = used()
    x = torch.ones(3)
    assert (copy.deepcopy(module).scale(x) == 2).all()
    stored = io.BytesIO()
    torch.save(module, stored)
    stored.seek(0)
    assert (torch.load(stored, weights_only=False).scale(x) == 2).all()


@pytest.mark.new_process
def test_spawned_processes(tmp_path: Path) -> None:
    """A kernel goes to a worker as any argument does."""
    script = tmp_path / "spawn.py"
    script.write_text(
        textwrap.dedent("""
        import multiprocessing, numpy, kgen

        def work(kernel, x):
            return kernel(x)

        if __name__ == "__main__":
            kernel, x = kgen.jit("out = x * 2", device="cpu"), numpy.ones(3, "f4")
            kernel(x), kernel(x)
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.apply(work, (kernel, x)).tolist())
        """)
    )
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout == "[2.0, 2.0, 2.0]\n"


def test_errors_are_pickled() -> None:
    """With their diagnostics, also those of a worker."""
    with pytest.raises(kgen.KgenError) as caught:
        kgen.jit("out = ")
    found = pickle.loads(pickle.dumps(caught.value))
    assert (type(found), found.code, str(found)) == (kgen.KgenError, "syntax", str(caught.value))


def test_signatures() -> None:
    """``inspect.signature`` shows a program's inputs, params and defaults; the class keeps its own."""

    def shown(text: str) -> str:
        return str(inspect.signature(kgen.jit(text)))

    options = "out=None, stream=None, shape=None, check_indices=False"
    assert shown("param s: float = 2.0\nparam n: int\nout = b * s + a * n") == f"(b, a, *, s=2.0, n, {options})"
    assert shown("out = 1") == f"(*, {options})"
    assert shown("param lambda: float\nout = x * lambda") == f"(x, *, {options}, **named)"
    assert shown("out = x * lambda") == f"(x, lambda, /, *, {options})"
    assert "load" in inspect.signature(kgen.Kernel).parameters
    assert "kgen.kernel" in pydoc.render_doc(kgen.jit("out = x"))
    bound = inspect.signature(kgen.jit("out = a + b")).bind(1, b=2)
    assert bound.arguments == {"a": 1, "b": 2}


# --- tracebacks ---------------------------------------------------------------------------------------------------

WRONG = {
    "a syntax error": 'kgen.jit("out = a +")',
    "no file": 'kgen.jit(path="missing.k")',
    "a call": 'kgen.jit("out = a * b")(x, numpy.ones(3))',
    "a call that was learnt": "[learnt(x), learnt(x), learnt(x), learnt([1, 2])]",
    "a plan": 'kgen.jit("out = a").plan([1, 2])',
    "another plan": "learnt.plan(x)(numpy.ones(9))",
    "source": 'kgen.jit("out = a").source(rank=99)',
    "meta": 'kgen.jit("out = a").meta("text")',
    "explain": 'kgen.jit("out = a").explain()',
    "warmup": 'kgen.jit("out = a").warmup([3], progress=False)',
    "a spec": 'kgen.spec((-1,), "f32")',
}


@pytest.mark.parametrize("name", WRONG)
def test_tracebacks_show_the_users_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of kgen's frames, and nothing that it caught on the way; under ``KGEN_DEBUG=1`` all of that."""
    scope = {"kgen": kgen, "numpy": np, "x": X, "learnt": kgen.jit("out = a + 1", device="cpu")}

    def report() -> str:
        try:
            exec(compile(WRONG[name], "<user>", "exec"), scope)
        except kgen.KgenError:
            return traceback.format_exc()
        raise AssertionError("no error")

    monkeypatch.setenv("KGEN_DEBUG", "1")
    assert f"kgen{'/'}" in report().replace("\\", "/")
    monkeypatch.delenv("KGEN_DEBUG")
    found = report()
    frames = [line for line in found.splitlines() if line.startswith("  File ")]
    assert [frame.split('"')[1] for frame in frames] == [__file__, "<user>"]
    assert found.count("Traceback") == 1
    assert "\nkgen.KgenError: " in found


def test_what_the_caller_was_handling_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error inside an ``except`` block still says during the handling of what it came."""
    monkeypatch.delenv("KGEN_DEBUG", raising=False)

    def call() -> None:
        try:
            raise KeyError("mine")
        except KeyError:
            kgen.jit("out = a")([1, 2])

    with pytest.raises(kgen.KgenError) as caught:
        call()
    assert isinstance(caught.value.__context__, KeyError)
    assert caught.value.__context__.args == ("mine",)


# --- kgen.torch ---------------------------------------------------------------------------------------------------


@pytest.mark.new_process
def test_kgen_torch_needs_no_import() -> None:
    """It is loaded when it is first used, and torch when it is."""
    pytest.importorskip("torch", reason="these are operators of torch")
    code = """
import os, sys
import kgen
assert "torch" in dir(kgen) and "kgen.torch" not in sys.modules and "torch" not in sys.modules
child = os.fork()
if child == 0:
    from kgen import torch
    assert callable(torch.op) and "torch" not in sys.modules
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
op = kgen.torch.op
assert "torch" not in sys.modules
op("mine::twice", "out = x * 2")
import torch
assert torch.ops.mine.twice(torch.ones(3)).tolist() == [2, 2, 2]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    with pytest.raises(AttributeError, match="nothing"):
        getattr(kgen, "nothing")  # noqa: B009
