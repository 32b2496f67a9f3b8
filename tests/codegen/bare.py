"""Generated text as a compiler sees it, for tests of what code does: comments, blanks and new lines do not matter."""

from __future__ import annotations

import re


def bare(source: str) -> str:
    """The text without comments, and with one blank for all white space."""
    return re.sub(r"\s+", " ", re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.DOTALL))
