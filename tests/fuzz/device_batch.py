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

from .batch import Deferred, joined

#: Compiles in a fifth of the time.  Code is less optimised: a share of the batches is compiled as for users.
SHALLOW = "--Ofast-compile=mid"


@dataclass(slots=True)
class DeviceBatch:
    """Texts seen so far with their options, and the modules that hold them: one for each set of options."""

    shallow: bool = False
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
            chosen = (*flags(arch, options.fmad, options.fast), *([SHALLOW] if self.shallow else []))
            cubin, _ = nvrtc.build(joined(parts), "cubin", name="batch.cu", options=chosen)
            module = CudaModule.load(cubin, 0)
            for _, names in parts:
                for name in names:
                    module.prepare(name)
            self.modules[options] = module


_load = CudaBackend.load


@contextmanager
def collecting(batch: DeviceBatch) -> Iterator[None]:
    """Calls in here raise :class:`Collected` where they would launch; later they launch the batch's modules."""

    def load(self: CudaBackend, module: Module, steps: Sequence[Step], name: str, options: Options) -> Loaded:
        batch.texts[module.text] = options, tuple(e.name for e in module.entries)
        deferred: Any = Deferred(lambda: batch.modules.get(options))
        return Loaded(module.entries, Signature.of(module.entries, steps), deferred)

    with mock.patch.object(CudaBackend, "load", load):
        yield


@contextmanager
def running(batch: DeviceBatch) -> Iterator[None]:
    """Calls in here find texts of the batch compiled; one that it lacks is compiled by itself."""

    def load(self: CudaBackend, module: Module, steps: Sequence[Step], name: str, options: Options) -> Loaded:
        if module.text not in batch.texts:
            return _load(self, module, steps, name, options)
        return Loaded(module.entries, Signature.of(module.entries, steps), batch.modules[options])

    with mock.patch.object(CudaBackend, "load", load):
        yield
