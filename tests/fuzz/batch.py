"""Many small programs in one host-compiled file: most of a compile is reading headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from kgen.runtime.cpu.module import CpuModule

_INCLUDE = re.compile(r"^#include <[^>]+>\n", re.MULTILINE)


class Collected(Exception):
    """A call got as far as launching what its batch has not compiled yet."""


class Deferred:
    """Stands for the module of a batch, which calls that are decided before it is compiled keep."""

    def __init__(self, module: Callable[[], Any]) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        module = self._module()
        if module is None:
            raise Collected
        return getattr(module, name)


@dataclass(slots=True)
class Batch:
    """Texts seen so far, and the one module that holds them all."""

    sanitize: str | None = None
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    module: CpuModule | None = None
    edit: dict[str, str] = field(default_factory=dict)  # text -> what to compile in its place

    def compile(self) -> None:
        if self.texts:
            kernels = [k for names in self.texts.values() for k in names]
            assert len(set(kernels)) == len(kernels), "kernels of one batch need names of their own"
            edited = [(self.edit.get(text, text), names) for text, names in self.texts.items()]
            self.module = _load(joined(edited), kernels, name="batch.cu", sanitize=self.sanitize)


def joined(texts: Sequence[tuple[str, Sequence[str]]]) -> str:
    """One text: the headers first, then each program in a namespace of its own."""
    headers = dict.fromkeys(h for text, _ in texts for h in _INCLUDE.findall(text))
    parts = [*headers]
    for number, (text, kernels) in enumerate(texts):
        parts.append(f"namespace program{number} {{\n{_INCLUDE.sub('', text)}}}\n")
        parts += [f"using program{number}::{kernel};\n" for kernel in kernels]
    return "".join(parts)


_load = CpuModule.load


@contextmanager
def collecting(batch: Batch) -> Iterator[None]:
    """Calls in here raise :class:`Collected` where they would launch; later they launch the batch's module."""

    def load(text: str, kernels: Sequence[str], **_: Any) -> Any:
        batch.texts[text] = tuple(kernels)
        return Deferred(lambda: batch.module)

    with mock.patch.object(CpuModule, "load", load):
        yield


@contextmanager
def running(batch: Batch) -> Iterator[None]:
    """Calls in here find texts of the batch compiled; one that it lacks is compiled by itself."""

    def load(text: str, kernels: Sequence[str], *, name: str = "kernel.cu", sanitize: str | None = None) -> CpuModule:
        if text in batch.texts:
            assert batch.module is not None
            return batch.module
        return _load(text, kernels, name=name, sanitize=batch.sanitize)

    with mock.patch.object(CpuModule, "load", load):
        yield
