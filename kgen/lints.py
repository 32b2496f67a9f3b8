"""Lints as Python warnings: :class:`LintWarning`, at the line that called kgen."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

from kgen.diagnostics import MAX_SHOWN, Diagnostic

_OURS = (f"{Path(__file__).parent}{os.sep}", contextlib.__file__)  # frames between the warning and the user's line


class LintWarning(UserWarning):
    """A legal program that is probably a mistake; ``diagnostic`` has the code, the place and the hint."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.render())
        self.diagnostic = diagnostic

    def __reduce__(self) -> tuple[type[LintWarning], tuple[Diagnostic]]:
        return LintWarning, (self.diagnostic,)


def warn(lints: Iterable[Diagnostic], warned: dict[Diagnostic, None]) -> None:
    """Warn of each lint not in ``warned``, which is updated first: a filter may turn the warning into an exception.

    A kernel warns of at most twenty lints.
    """
    for lint in lints:
        if lint not in warned:
            warned[lint] = None
            if len(warned) <= MAX_SHOWN:
                warnings.warn(LintWarning(lint), stacklevel=_users_level())


def _users_level() -> int:
    """The ``stacklevel`` of the first caller outside kgen, for :func:`warn`."""
    level, frame = 0, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        level, frame = level + 1, frame.f_back
    return level + 1
