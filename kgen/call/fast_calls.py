"""The fast paths of one program: for one layout each, and for classes of layouts."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from kgen.records import dataclass

if TYPE_CHECKING:
    from kgen.call.fastpath import FastCall, ObservedCall

#: Of one program: each call tries them in turn, those for one layout first.
MAX_LAYOUTS, MAX_CLASSES = 8, 256
#: Layouts of one kernel whose class is looked for; of later ones, it is for every fourth.
MANY_LAYOUTS = 128
#: Computations of all classes; then they are forgotten.
_MAX_NUMBERS = 1 << 16


class _Class(NamedTuple):
    call: FastCall
    known: set[tuple[int, ...]]


@dataclass(slots=True)
class FastCalls:
    """``calls``: what each call tries.  ``ran_on``: the device of the last call, which a fast path sets.
    ``_counts``: layouts that each kernel was called on.

    Several threads may add at the same time, so computations have numbers that no other has had.
    """

    calls: list[FastCall] = field(default_factory=list)
    ran_on: str | None = None
    _of_layouts: list[FastCall] = field(default_factory=list)
    _classes: dict[Hashable, _Class] = field(default_factory=dict)
    _numbers: dict[object, int] = field(default_factory=dict)
    _next_number: count[int] = field(default_factory=count)
    _counts: dict[Hashable, int] = field(default_factory=dict)

    def add_layout(self, call: ObservedCall) -> None:
        """Add a fast path for calls of this layout."""
        from kgen.call.fastpath import same_layout_call

        made = same_layout_call(call)
        if made is not None:
            self.add(made)

    def add(self, made: FastCall) -> None:
        """Add a fast path for calls of one layout."""
        self._of_layouts[MAX_LAYOUTS - 1 :] = []
        self._of_layouts.insert(0, made)
        self._update()

    def add_class(self, kernel: Hashable, observed: Callable[[], ObservedCall]) -> None:
        """At the second layout for the same ``kernel``, add a fast path for its class: more layouts will follow.

        Where that does not recognise a later one, its class has another form, or only another key.
        """
        layouts_of = self._counts[kernel] = self._counts.get(kernel, 0) + 1
        if layouts_of == 1 or (layouts_of > MANY_LAYOUTS and layouts_of % 4):
            return
        from kgen.call.fastpath.same_class import class_of, same_class_call

        found = class_of(observed())
        if found is None:
            return
        if len(self._numbers) > _MAX_NUMBERS:
            self._numbers.clear()
            self._classes.clear()
        call, layouts = found
        form = (kernel, layouts.form(self._number))
        same = self._classes.get(form)
        if same is not None:
            same.known.update(layouts.known)
            return
        made = same_class_call(call, layouts)
        if made is not None:
            for oldest in list(self._classes)[: 1 - MAX_CLASSES]:
                self._classes.pop(oldest, None)
            self._classes[form] = _Class(made, layouts.known)
            self._update()

    def _number(self, computation: object) -> int:
        """The same for the same computations."""
        found = self._numbers.get(computation)
        return self._numbers.setdefault(computation, next(self._next_number)) if found is None else found

    def _update(self) -> None:
        classes = [one.call for one in list(self._classes.values())]
        classes.sort(key=lambda one: -getattr(one, "hits", 0))  # those in C count
        self.calls[:] = [*self._of_layouts, *classes]
