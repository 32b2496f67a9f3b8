"""The fast paths of one program: for one layout each, and for classes of layouts."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from kgen.records import dataclass

if TYPE_CHECKING:
    from kgen.call.fastpath import FastCall, ObservedCall

#: Of one program: each call tries them in turn, those for one layout first.
MAX_LAYOUTS, MAX_CLASSES = 8, 48
#: Layouts of one kernel whose class is looked for; of later ones, it is for every fourth.
MANY_LAYOUTS = 32
#: Computations of all classes; then they are forgotten.
_MAX_NUMBERS = 1 << 16


class _Class(NamedTuple):
    call: FastCall
    known: set[tuple[int, ...]]


@dataclass(slots=True)
class FastCalls:
    """``calls``: what each call tries.  ``_counts``: layouts that each kernel was called on."""

    calls: list[FastCall] = field(default_factory=list)
    _of_layouts: list[FastCall] = field(default_factory=list)
    _classes: dict[Hashable, _Class] = field(default_factory=dict)
    _numbers: dict[object, int] = field(default_factory=dict)
    _counts: dict[Hashable, int] = field(default_factory=dict)

    def add_layout(self, call: ObservedCall) -> None:
        """Add a fast path for calls of this layout."""
        from kgen.call.fastpath import same_layout_call

        made = same_layout_call(call)
        if made is not None:
            self._of_layouts[MAX_LAYOUTS - 1 :] = []
            self._of_layouts.insert(0, made)
            self._update()

    def add_class(self, kernel: Hashable, observed: Callable[[], ObservedCall]) -> None:
        """At the second layout for the same ``kernel``, add a fast path for its class: more layouts will follow.

        Where that does not recognise a later one, its class has another form, or only another key.
        """
        count = self._counts[kernel] = self._counts.get(kernel, 0) + 1
        if count == 1 or (count > MANY_LAYOUTS and count % 4):
            return
        from kgen.call.fastpath import class_of, same_class_call

        found = class_of(observed())
        if found is None:
            return
        if len(self._numbers) > _MAX_NUMBERS:
            self._numbers.clear()
            self._classes.clear()
        call, layouts = found
        form = (kernel, layouts.form(self._numbers))
        if form in self._classes:
            self._classes[form].known.update(layouts.known)
            return
        made = same_class_call(call, layouts)
        if made is not None:
            while len(self._classes) >= MAX_CLASSES:
                del self._classes[next(iter(self._classes))]
            self._classes[form] = _Class(made, layouts.known)
            self._update()

    def _update(self) -> None:
        self.calls[:] = [*self._of_layouts, *(one.call for one in self._classes.values())]
