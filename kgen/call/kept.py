"""What ``kgen.jit`` keeps for its next call with the same arguments."""

from __future__ import annotations

from typing import Any

MOST_SCRATCH = 1 << 20  #: bytes of scratch memory that a kernel owns which is kept
MOST_TEXT = 1 << 12  #: characters of a program whose kernel is kept


class Kept:
    """``kernel``: a :class:`kgen.Kernel`; None until it is made, and again once it owns much scratch memory."""

    __slots__ = ("__weakref__", "_scratch", "kernel")

    def __init__(self) -> None:
        self.kernel: Any = None
        self._scratch = 0

    def owns(self, scratch: int) -> None:
        """The kernel, or one that was derived from it, allocated so many bytes more."""
        self._scratch += scratch
        if self._scratch > MOST_SCRATCH:
            self.kernel = None
