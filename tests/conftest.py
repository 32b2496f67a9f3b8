"""Options that every test folder shares."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

# JAX would take three quarters of a GPU's memory for itself, in each of pytest-xdist's processes.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

# A test that fails shows where in kgen it did.
os.environ.setdefault("KGEN_DEBUG", "1")


# A shell's background jobs ignore Ctrl-C, and what they start inherits that: tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the expected texts of golden tests")
    parser.addoption("--fuzz", type=int, default=None, metavar="N", help="run N random programs (default 120)")
    parser.addoption("--stress", type=int, default=None, metavar="S", help="stress caches for S seconds (default 3)")
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
