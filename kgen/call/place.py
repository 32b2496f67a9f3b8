"""Where ``kgen.jit`` keeps a kernel for its next call with the same arguments."""

from __future__ import annotations

from typing import Any

MOST_SCRATCH = 1 << 20  #: bytes that the launches of a kernel own which is kept


class Place:
    """``kernel``: a :class:`kgen.Kernel`; None until it is made, and again once its launches own much memory."""

    __slots__ = ("__weakref__", "kernel")

    def __init__(self) -> None:
        self.kernel: Any = None

    def note(self, scratch: int) -> None:
        """Launches of the kernel own so many bytes."""
        if scratch > MOST_SCRATCH:
            self.kernel = None
