"""Many small programs in one host-compiled file: most of a compile is reading headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from kgen.runtime.cpu.driver import without_comments
from kgen.runtime.cpu.module import CpuModule
from tests.poison import poisoned

_DECLARED = {"__half": "cuda_fp16.h", "__nv_bfloat16": "cuda_bf16.h", "__nv_fp8": "cuda_fp8.h"}  # by what they declare
_INCLUDE = re.compile(r"^#include <[^>]+>\n", re.MULTILINE)
_NAMESPACE = re.compile(r"^(namespace |\}  // namespace )kgen_\w+", re.MULTILINE)


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
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)  # and the kernels of each
    named: dict[str, str] = field(default_factory=dict)  # text -> the program's name
    module: CpuModule | None = None
    edit: dict[str, str] = field(default_factory=dict)  # text -> what to compile in its place
    compiled_as: dict[str, Sequence[str]] = field(default_factory=dict)  # text -> names of its kernels in the module

    def compile(self) -> None:
        """Texts that differ in names and comments alone are compiled once; kernels of one name get a number."""
        if self.texts:
            distinct: dict[str, tuple[str, Sequence[str]]] = {}
            used: set[str] = set()
            for number, (text, names) in enumerate(self.texts.items()):
                edited = self.edit.get(text, text)
                code = nameless(edited, self.named[text])
                if code not in distinct:
                    again = {name: f"{name}_again{number}" for name in names if name in used}
                    for name, other in again.items():
                        edited = re.sub(rf"\b{name}\b", other, edited)
                    distinct[code] = edited, [again.get(name, name) for name in names]
                    used.update(names)
                self.compiled_as[text] = distinct[code][1]
            compiled = [name for _, names in distinct.values() for name in names]
            text = joined(list(distinct.values()))
            self.module = _load(text, compiled, name="batch.cu", sanitize=self.sanitize)

    def code_of(self, name: str) -> str:
        """The code of the program of this name, empty where it launches nothing."""
        return next((nameless(text, name) for text, known in self.named.items() if known == name), "")

    def loaded(self, text: str) -> CpuModule:
        """The module, with kernels under the names that they have in ``text``."""
        assert self.module is not None
        module = copy(self.module)
        pairs = zip(self.texts[text], self.compiled_as[text], strict=True)
        module._entries = {name: self.module._entries[first] for name, first in pairs}
        return module


def nameless(text: str, name: str) -> str:
    """The code of the program called ``name``, without that, comments, and where its lines break."""
    code = re.sub(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", "", without_comments(text))
    return " ".join(code.split())


def joined(texts: Sequence[tuple[str, Sequence[str]]]) -> str:
    """One text: the headers first, then each program without its launcher, in namespaces with numbers, as several may
    have one name.
    """
    texts = [(text.partition("\n// --- Host code")[0], kernels) for text, kernels in texts]
    for text, _ in texts:
        for name, header in _DECLARED.items():  # the others would give what one text lacks
            assert name not in text or f"#include <{header}>" in text, f"{header} is missing"
    headers = dict.fromkeys(h for text, _ in texts for h in _INCLUDE.findall(text))
    parts = [*headers]
    for number, (text, kernels) in enumerate(texts):
        parts.append(_NAMESPACE.sub(rf"\1program{number}", _INCLUDE.sub("", text)))
        parts += [f"using program{number}::{kernel};\n" for kernel in kernels]
    return "".join(parts)


_load = CpuModule.load


@contextmanager
def collecting(batch: Batch) -> Iterator[None]:
    """Calls in here raise :class:`Collected` where they would launch; later they launch the batch's module."""

    def load(text: str, kernels: Sequence[str], *, name: str = "kernel.cu", **_: Any) -> Any:
        batch.texts[text] = tuple(kernels)
        batch.named[text] = name.removesuffix(".cu")
        return Deferred(lambda: None if batch.module is None else batch.loaded(text))

    with mock.patch.object(CpuModule, "load", load):
        yield


@contextmanager
def running(batch: Batch) -> Iterator[None]:
    """Calls in here find texts of the batch compiled; one that it lacks is compiled by itself.

    Their results and scratch memory begin as what no test expects.
    """

    def load(text: str, kernels: Sequence[str], *, name: str = "kernel.cu", sanitize: str | None = None) -> CpuModule:
        if text in batch.texts:
            return batch.loaded(text)
        return _load(text, kernels, name=name, sanitize=batch.sanitize)

    with mock.patch.object(CpuModule, "load", load), poisoned():
        yield
