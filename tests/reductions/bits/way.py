"""A way in which a program can be run: a forced schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from unittest import mock

from tests.forced import AS_MANY, Tuned, both, forced

#: Elements of a row that a thread keeps at most, where that is forced: what compiles in reasonable time.
MOST_KEPT = 64

#: Rows are walked by the threads that share them, and where they lie.
BY_ROWS = ("row_reduce",)

Patches = Mapping[str, object]  #: where something is looked up, and what is found there instead


@dataclass(frozen=True, slots=True)
class Way:
    """``arch``: on which devices only there is such a way.  ``tuning`` and ``only``: as :func:`tests.forced.forced`.

    ``few``: whether few elements are taken otherwise than many.  ``number``: of the table of tuned numbers.
    """

    name: str
    patches: Patches = field(default_factory=dict)
    arch: int = 0
    tuning: Tuned = field(default_factory=dict)
    only: tuple[str, ...] = ()
    few: bool = False
    number: int = 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        with ExitStack() as stack:
            changes = self.tuning if self.few else both(AS_MANY, self.tuning)
            stack.enter_context(forced(changes, self.only, number=self.number))
            for place, value in self.patches.items():
                stack.enter_context(mock.patch(place, value))
            yield
