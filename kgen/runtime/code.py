"""Compiled code on a device, of a text: from the cache where it is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from kgen.options import Options

if TYPE_CHECKING:
    from kgen.runtime.cpu.module import CpuModule
    from kgen.runtime.cuda.module import CudaModule

    Module: TypeAlias = CpuModule | CudaModule


def load_code(device: str, text: str, kernels: Sequence[str], name: str, options: Options) -> Module:
    """The kernels of a text on ``"cpu"`` or ``"cuda:0"``."""
    if device == "cpu":
        from kgen.runtime.cpu.module import CpuModule

        return CpuModule.load(text, kernels, name=f"{name}.cu")
    from kgen.runtime.cuda.compiler import compile_cubin, flags
    from kgen.runtime.cuda.device import device_info
    from kgen.runtime.cuda.module import CudaModule

    index = int(device.removeprefix("cuda:"))
    arch = device_info(index).arch
    cubin = compile_cubin(text, name=f"{name}.cu", arch=arch, options=flags(arch, options.fmad, options.fast))
    loaded = CudaModule.load(cubin, index)
    for kernel in kernels:
        loaded.function(kernel)  # now: a first launch may be captured
    return loaded


def place_of(device: str) -> tuple[str, ...]:
    """A device, and what it is: ``("cuda:0", "sm_90")``."""
    if device == "cpu":
        return (device,)
    from kgen.runtime.cuda.device import device_info

    return device, device_info(int(device.removeprefix("cuda:"))).arch
