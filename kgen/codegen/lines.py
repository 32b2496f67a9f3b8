"""The width of generated lines."""

from __future__ import annotations

MAX_COLUMNS = 104
