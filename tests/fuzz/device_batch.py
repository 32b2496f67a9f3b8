"""Many small programs in one text for NVRTC, which takes longer to begin than to compile one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from kgen.banner import Options
from kgen.codegen.emit import Module
from kgen.partition.step import Step
from kgen.runtime.backend import CudaBackend
from kgen.runtime.bound import Loaded
from kgen.runtime.frame import Signature

from .batch import Collected, joined


@dataclass(slots=True)
class DeviceBatch:
    """Texts seen so far with their options, and the modules that hold them: one for each set of options."""

    texts: dict[str, tuple[Options, tuple[str, ...]]] = field(default_factory=dict)
    modules: dict[Options, Any] = field(default_factory=dict)

    def compile(self) -> None:
        from kgen.runtime.cuda import nvrtc
        from kgen.runtime.cuda.compiler import flags
        from kgen.runtime.cuda.device import device_info
        from kgen.runtime.cuda.module import CudaModule

        arch = device_info(0).arch
        for options in {o for o, _ in self.texts.values()}:
            parts = [(text, names) for text, (o, names) in self.texts.items() if o == options]
            chosen = flags(arch, options.fmad, options.fast)
            cubin, _ = nvrtc.build(joined(parts), "cubin", name="batch.cu", options=chosen)
            self.modules[options] = CudaModule.load(cubin, 0)


_load = CudaBackend.load


@contextmanager
def collecting(batch: DeviceBatch) -> Iterator[None]:
    """Calls in here raise :class:`Collected` where they would compile."""

    def load(self: CudaBackend, module: Module, steps: Sequence[Step], name: str, options: Options) -> Loaded:
        batch.texts[module.text] = options, tuple(e.name for e in module.entries)
        raise Collected

    with mock.patch.object(CudaBackend, "load", load):
        yield


@contextmanager
def running(batch: DeviceBatch) -> Iterator[None]:
    """Calls in here launch the batch's kernels; a text that it lacks is compiled by itself."""

    def load(self: CudaBackend, module: Module, steps: Sequence[Step], name: str, options: Options) -> Loaded:
        if module.text not in batch.texts or options not in batch.modules:
            return _load(self, module, steps, name, options)
        loaded = batch.modules[options]
        for entry in module.entries:
            loaded.prepare(entry.name)
        return Loaded(module.entries, Signature.of(module.entries, steps), loaded)

    with mock.patch.object(CudaBackend, "load", load):
        yield
