"""The devices that kernels run on: a CUDA device, or the host through the CPU target."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgen.arrays.base import Device
from kgen.codegen.kernels import Module
from kgen.diagnostics import KgenError, error, shown
from kgen.options import Options
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.runtime.code import load_code
from kgen.runtime.launcher import LoadedKernels
from kgen.runtime.parameters import Signature
from kgen.schedule.target import PORTABLE, Target, target_of

if TYPE_CHECKING:
    from kgen.runtime.cuda.usage import Usage

CPU = Device("cpu", 0)


@dataclass(frozen=True, slots=True)
class HostBackend:
    """The CPU target: the same text through the host's compiler.  ``key`` identifies the device in caches."""

    device: Device = CPU
    key: tuple[object, ...] = ("cpu",)
    target: Target = PORTABLE

    def load_compiler(self) -> None:
        """A compiler that runs in a process of its own needs no loading."""

    def load(self, module: Module, steps: Sequence[Step], name: str, options: Options) -> LoadedKernels:
        loaded = load_code("cpu", module.text, [e.name for e in module.entries], name, options)
        return LoadedKernels(module.entries, Signature.of(module.entries, steps), loaded, options.pdl)


@dataclass(frozen=True, slots=True)
class CudaBackend:
    """One CUDA device: NVRTC for its exact architecture, loaded into its primary context."""

    device: Device
    key: tuple[object, ...]
    target: Target

    def load_compiler(self) -> None:
        """Begin to load NVRTC, in another thread."""
        from kgen.runtime.cuda.nvrtc import load_ahead

        load_ahead()

    def load(self, module: Module, steps: Sequence[Step], name: str, options: Options) -> LoadedKernels:
        loaded = load_code(str(self.device), module.text, [e.name for e in module.entries], name, options)
        return LoadedKernels(module.entries, Signature.of(module.entries, steps), loaded, options.pdl)


def default_backend(wanted: str | None) -> HostBackend | CudaBackend:
    """The device ``wanted``, else a GPU if there is one, else the CPU."""
    if wanted is not None:
        return backend_of(parse_device(wanted))
    from kgen.runtime.cuda.driver import probe

    return backend_of(Device("cuda", 0) if probe().available else CPU)


def parse_device(wanted: object) -> Device:
    """The device that a text names.  Raises :class:`~kgen.KgenError` (``bad-device``)."""
    if isinstance(wanted, str) and wanted == "cpu":
        return CPU
    if isinstance(wanted, str) and (found := re.fullmatch(r"cuda(?::([0-9]{1,9}))?", wanted)):
        return Device("cuda", int(found[1] or 0))
    raise error("bad-device", f"{shown(wanted)} is not a device", 'one of "cuda", "cuda:1", "cpu"')


def backend_of(device: Device) -> HostBackend | CudaBackend:
    if device.kind == "cpu":
        return HostBackend()
    from kgen.runtime.cuda.device import device_info
    from kgen.runtime.cuda.driver import require

    state = require()
    if device.index >= state.device_count:
        raise error("wrong-device", f"this machine has no {device}: it has {state.device_count} CUDA device(s)")
    arch = device_info(device.index).arch
    return CudaBackend(device, ("cuda", device.index, arch), target_of(arch))


def arch_here() -> str:
    """The architecture of the first GPU.  Raises :class:`~kgen.KgenError` where there is none."""
    from kgen.runtime.cuda.device import device_info
    from kgen.runtime.cuda.driver import require

    require()
    return device_info(0).arch


def arch_to_explain(arch: str | None, device: str | None = None) -> str | None:
    """``arch``, else the first GPU's, unless ``device`` is the CPU; None without a GPU."""
    from kgen.runtime.cuda.driver import probe

    return arch_here() if arch is None and device != "cpu" and probe().available else arch


def usage_for(text: str, name: str, options: Options, arch: str | None) -> dict[str, Usage]:
    """The registers and memory of each kernel of a text, for ``arch`` or the first GPU.

    Empty without ``arch`` if there is no GPU or no compiler.
    """
    from kgen.runtime.cuda.compiler import CompilerBug, flags
    from kgen.runtime.cuda.device import device_info
    from kgen.runtime.cuda.driver import probe
    from kgen.runtime.cuda.usage import usage

    chosen = device_info(0).arch if arch is None and probe().available else arch
    if chosen is None:
        return {}
    try:
        return usage(text, name=f"{name}.cu", arch=chosen, options=flags(chosen, options.fmad, options.fast))
    except KgenError as problem:
        if arch is None and not isinstance(problem, CompilerBug):
            return {}
        raise


def compile_for(text: str, name: str, options: Options, kind: str, arch: str | None) -> bytes:
    """A text as ``cubin`` or ``ptx``; without ``arch``, for the first GPU."""
    from kgen.runtime.cuda.compiler import compile_cubin, compile_ptx, flags

    arch = arch_here() if arch is None else arch
    build = compile_cubin if kind == "cubin" else compile_ptx
    return build(text, name=f"{name}.cu", arch=arch, options=flags(arch, options.fmad, options.fast))
