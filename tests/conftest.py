"""Options that every test folder shares."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from kgen.call.kept import Kept
from kgen.resources import IN_CHECKOUT
from tests.build_products import make_products
from tests.headers import compile_library, precompiled
from tests.variants import is_variant

# JAX would take three quarters of a GPU's memory for itself, in each of pytest-xdist's processes.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

# A test that fails shows where in kgen it did.
os.environ.setdefault("KGEN_DEBUG", "1")

# Where Python shall write no compiled modules beside sources, they go into ``build``: what tests start then begins in a
# third of the time.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(IN_CHECKOUT.parent / "pycache"))

# Kernels for the CPU target, except those of OPTIMISED, compile in a third of the time.  Their bits are the same.
CXXFLAGS = os.environ.setdefault("KGEN_CXXFLAGS", "-O0")


# A shell's background jobs ignore Ctrl-C, and what they start inherits that: tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


TESTS = Path(__file__).parent
#: What ``pytest -m fast`` runs: the front end, the IR, decisions and texts; nothing that runs a host compiler.
FAST = (
    "syntax/", "resolve/", "check/", "ir/", "passes/", "layout/", "schedule/", "codegen/", "snapshots/",
    "test_architecture.py",
)  # fmt: skip
COMPILED = (
    "check/test_values.py", "check/test_reviewed.py", "check/test_weak_values.py", "codegen/test_values.py",
    "codegen/test_spelling_compiles.py", "layout/test_operand_summary.py", "snapshots/test_compiles.py",
    "codegen/test_accumulators.py", "schedule/test_launch_rules.py", "snapshots/test_examples.py",
    "snapshots/test_maps.py",
)  # fmt: skip
#: Whose kernels the host's compiler optimises, as for users; the first because its arrays are large.
OPTIMISED = (
    "calls/test_scratch.py", "cpu/test_conversions.py", "cpu/test_execution.py", "cpu/test_low_precision.py",
    "cpu/test_math.py", "fuzz/test_fuzz.py", "fuzz/test_regressions.py",
)  # fmt: skip
#: Whose tests take longest: a process that began one of them last would keep the others waiting.
LONG = ("sanitize/", "snapshots/test_examples.py", "test_documents.py", "cpu/test_cached.py")


def name_of(path: Path) -> str:
    return path.relative_to(TESTS).as_posix()


def is_fast(path: Path) -> bool:
    return name_of(path).startswith(FAST) and name_of(path) not in COMPILED


def pytest_configure() -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        make_products()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """``-m fast`` does not even import the others."""
    skipped = config.option.markexpr == "fast" and collection_path.suffix == ".py" and not is_fast(collection_path)
    return True if skipped else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not name_of(item.path).startswith(LONG))
    for item in items:
        if is_variant(name_of(item.path), item.name):
            item.add_marker(pytest.mark.whole)
        if is_fast(item.path) and not any(item.iter_markers("gpu")) and not any(item.iter_markers("whole")):
            item.add_marker(pytest.mark.fast)
        if name_of(item.path).startswith(OPTIMISED):
            item.add_marker(pytest.mark.optimised)


def pytest_collection_finish() -> None:
    """What is imported by now stays: garbage collections need not look at it again, which takes a tenth of the time.
    Few of them are enough: kgen makes few cycles.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that pytest-xdist's processes share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def precompile(shared: Path) -> Callable[..., str]:
    """``precompile(flags, sanitize)`` is what ``KGEN_CXXFLAGS`` has to be for these flags and precompiled headers."""
    return partial(precompiled, shared / "headers")


@pytest.fixture(scope="session", autouse=True)
def _fresh_cache(request: pytest.FixtureRequest, shared: Path, precompile: Callable[..., str]) -> Iterator[None]:
    """Every run compiles afresh, into a folder that pytest-xdist's processes share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGEN_CACHE_DIR", str(shared / "kgen-cache"))
        patch.setattr("kgen.runtime.cpu.build.compile_library", compile_library)
        if CXXFLAGS == "-O0" and not all(item.get_closest_marker("fast") for item in request.session.items):
            patch.setenv("KGEN_CXXFLAGS", precompile(CXXFLAGS))
        yield


@pytest.fixture(scope="session", autouse=True)
def _lower_anew() -> Iterator[None]:
    """Tests change how kgen lowers, such as ``forced``: what they lower is kept neither on disk nor by ``kgen.jit``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kgen.call.stored_lowering.find", lambda key, target: None)
        patch.setattr("kgen.call.stored_lowering.keep", lambda key, target, lowering: None)
        patch.setattr("kgen.call.stored_call.find", lambda key: ())
        patch.setattr("kgen.call.stored_call.keep", lambda *_: None)
        patch.setattr(sys.modules["kgen.jit"], "_kept", lambda *_: Kept())
        yield


@pytest.fixture(autouse=True)
def _optimised(request: pytest.FixtureRequest, precompile: Callable[..., str]) -> Iterator[None]:
    """Kernels of tests with this marker are compiled as for users."""
    if request.node.get_closest_marker("optimised") is None:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGEN_CXXFLAGS", precompile(""))
        yield


@pytest.fixture(autouse=True)
def _no_host_compiler(request: pytest.FixtureRequest) -> Iterator[None]:
    """In fast tests."""
    if request.node.get_closest_marker("fast") is None:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kgen.runtime.cpu.build.compile_library", None)
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the expected texts of golden tests")
    parser.addoption("--fuzz", type=int, default=None, metavar="N", help="run N random programs (default 120)")
    parser.addoption("--stress", type=int, default=None, metavar="S", help="stress caches for S seconds (default 1)")
    parser.addoption("--accuracy", type=int, default=None, metavar="N", help="measure N values a function (default 60)")


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """``bless(path, text)`` asserts that a golden file holds the text; under ``--bless`` it writes it."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--bless"):
            path.write_text(text, encoding="utf-8")
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        assert text == expected, f"{path.name} differs; if intended: pytest --bless"

    return compare
