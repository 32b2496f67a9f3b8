"""pytest's plugin, active wherever kgen is installed: ``kgen_snapshot`` and ``--kgen-bless``."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

import pytest

from kgen.codegen.writer import write
from kgen.snapshots import difference, is_same


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = "rewrite the files that kgen_snapshot compares, where they differ"
    parser.getgroup("kgen").addoption("--kgen-bless", action="store_true", help=help_text)


@pytest.fixture
def kgen_snapshot(request: pytest.FixtureRequest) -> Callable[[str, str | PathLike[str]], None]:
    """``kgen_snapshot(text, path)`` asserts that a file is this generated text, whichever version of kgen made it.

    ``path`` is relative to the test's folder.  With ``--kgen-bless`` the file is written.
    """

    def compare(text: str, path: str | PathLike[str]) -> None:
        __tracebackhide__ = True
        file = request.path.parent / path
        committed = file.read_text(encoding="utf-8") if file.exists() else ""
        if is_same(committed, text):
            return
        if request.config.getoption("--kgen-bless"):
            file.parent.mkdir(parents=True, exist_ok=True)
            write(file, text)
            return
        if not committed:
            pytest.fail(f"there is no {file}; `pytest --kgen-bless` writes it", pytrace=False)
        diff = difference(str(path), committed, text)
        pytest.fail(f"{file} is not what kgen gives today; `pytest --kgen-bless` rewrites it\n{diff}", pytrace=False)

    return compare
