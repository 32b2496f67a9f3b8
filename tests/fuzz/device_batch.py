"""Many small programs in one text for NVRTC, which takes longer to begin than to compile one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from kgen.codegen.kernels import Module
from kgen.options import Options
from kgen.partition.step import Step
from kgen.runtime.backend import CudaBackend
from kgen.runtime.launcher import LoadedKernels
from kgen.runtime.parameters import Signature

from .batch import Deferred, joined

#: Compiles in a fifth of the time.  Code is less optimised: a share of the batches is compiled as for users.
SHALLOW = "--Ofast-compile=mid"
_NOT_SHALLOW = "Moments"  # NVRTC 13 then refuses texts that compute variances: "unsupported operation"


@dataclass(slots=True)
class DeviceBatch:
    """Texts seen so far with their options, and the modules that hold them: one for each way of compiling."""

    shallow: bool = False
    texts: dict[str, tuple[Options, tuple[str, ...]]] = field(default_factory=dict)
    modules: dict[str, Any] = field(default_factory=dict)  # by text

    def compile(self) -> None:
        from kgen.runtime.cuda import nvrtc
        from kgen.runtime.cuda.compiler import flags
        from kgen.runtime.cuda.device import device_info
        from kgen.runtime.cuda.module import CudaModule

        arch = device_info(0).arch
        for options, shallow in {self._way(text, o) for text, (o, _) in self.texts.items()}:
            parts = [(t, names) for t, (o, names) in self.texts.items() if self._way(t, o) == (options, shallow)]
            chosen = flags(arch, options.fmad, options.fast)
            try:
                cubin = _build(parts, (*chosen, SHALLOW) if shallow else chosen)
            except nvrtc.CompilerBug:
                if not shallow:
                    raise
                cubin = _build(parts, chosen)  # what NVRTC refuses only in a hurry, users never see
            module = CudaModule.load(cubin, 0)
            for text, names in parts:
                self.modules[text] = module
                for name in names:
                    module.load_kernel(name)

    def _way(self, text: str, options: Options) -> tuple[Options, bool]:
        return options, self.shallow and _NOT_SHALLOW not in text


def _build(parts: Sequence[tuple[str, Sequence[str]]], options: Sequence[str]) -> bytes:
    from kgen.runtime.cuda.compiler import assemble

    return assemble(joined(parts), name="batch.cu", options=tuple(options))[0]


_load = CudaBackend.load


@contextmanager
def collecting(batch: DeviceBatch) -> Iterator[None]:
    """Calls in here raise :class:`Collected` where they would launch; later they launch the batch's modules."""

    def load(self: CudaBackend, module: Module, steps: Sequence[Step], name: str, options: Options) -> LoadedKernels:
        batch.texts[module.text] = options, tuple(e.name for e in module.entries)
        deferred: Any = Deferred(lambda: batch.modules.get(module.text))
        return LoadedKernels(module.entries, Signature.of(module.entries, steps), deferred, options.pdl)

    with mock.patch.object(CudaBackend, "load", load):
        yield


@contextmanager
def running(batch: DeviceBatch) -> Iterator[None]:
    """Calls in here find texts of the batch compiled; one that it lacks is compiled by itself."""

    def load(self: CudaBackend, module: Module, steps: Sequence[Step], name: str, options: Options) -> LoadedKernels:
        if module.text not in batch.texts:
            return _load(self, module, steps, name, options)
        return LoadedKernels(
            module.entries, Signature.of(module.entries, steps), batch.modules[module.text], options.pdl
        )

    with mock.patch.object(CudaBackend, "load", load):
        yield
