"""Every test that calls in this process runs twice: calls recognised by generated Python, and by the C extension."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgen._extension import compile_extension, has_headers
from kgen.call import extension as built
from kgen.runtime.cuda.driver import probe

#: Files about what kernels compute, which is the same either way.
OF_KERNELS = (
    "test_arranged", "test_batches", "test_bins", "test_ends", "test_gathers", "test_gradients", "test_horizontal",
    "test_interleaved", "test_row_batches", "test_row_pairs", "test_scatters", "test_trace", "test_two_rows",
    "test_views",
)  # fmt: skip
on_gpu = [pytest.mark.gpu, pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU")]
SOURCE = Path(__file__).parents[2] / "kgen" / "_call.c"


@pytest.fixture(scope="session")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """``_call.c``, compiled now, with every warning an error would deserve."""
    if not has_headers():
        pytest.skip("this Python has no Python.h (python3-dev)")
    built = compile_extension(SOURCE, tmp_path_factory.mktemp("call"))
    spec = importlib.util.spec_from_file_location("kgen._call", built)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Processes that a test starts choose for themselves: such a test runs once."""
    alone = metafunc.definition.get_closest_marker("new_process") is not None
    twice = metafunc.definition.path.stem not in OF_KERNELS or not has_headers()
    python = pytest.param("python", marks=[] if alone or twice else [pytest.mark.whole])
    metafunc.parametrize("how", [python] if alone else [python, "c"], indirect=True)


@pytest.fixture(autouse=True)
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which of the two recognises calls."""
    chosen: str = request.param
    module = request.getfixturevalue("extension") if chosen == "c" else None
    monkeypatch.setattr(built, "extension", lambda: module)
    return chosen


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=on_gpu)])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
