"""Which kernels are launched with programmatic dependent launch (PDL); without a GPU."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.runtime.cpu.module import CpuModule
from kgen.runtime.cuda import libcuda, module as cuda_module
from kgen.runtime.cuda.module import CudaModule
from kgen.schedule.expressions import Int
from kgen.schedule.launch import Launch, Rule

LAUNCH = Launch(Rule((Int(3), Int(1), Int(1)), 64, Int(192)), (3, 1, 1), 192, b"", {})


@pytest.fixture(params=[(8, 0), (9, 0), (10, 0)], ids=["sm_80", "sm_90", "sm_100"])
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[CudaModule, bool]:
    """A module for a device of this compute capability, and whether it has PDL."""
    info = types.SimpleNamespace(capability=request.param)
    monkeypatch.setattr(cuda_module, "device_info", lambda device: info)
    monkeypatch.setattr(libcuda, "launch", lambda: None)
    found = CudaModule(0, 0)
    monkeypatch.setattr(found, "function", lambda kernel: 5)
    return found, request.param >= (9, 0)


@pytest.mark.parametrize("pdl", [True, False])
def test_the_launch_attribute(made: tuple[CudaModule, bool], pdl: bool) -> None:
    """Where it is asked for and the device has it; for launches in Python and in C."""
    module, is_supported = made
    config = module.launch_arguments("k", LAUNCH, 0, 7, pdl)[0]
    attributes = config.attrs[: config.numAttrs]
    assert [a.id for a in attributes] == [libcuda.PROGRAMMATIC_STREAM_SERIALIZATION] * (pdl and is_supported)
    assert all(a.value.flag == 1 for a in attributes)
    assert module.native_launch("k", LAUNCH, pdl)[-1] is (pdl and is_supported)


@pytest.mark.parametrize("pdl", [True, False])
def test_which_kernels_of_a_call(pdl: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one with ``pdl=True``; those behind it always."""
    asked: list[bool] = []
    arguments = CpuModule.launch_arguments

    def recorded(self: CpuModule, kernel: str, launch: Launch, params: int, stream: int, pdl: bool) -> tuple[Any, ...]:
        asked.append(pdl)
        return arguments(self, kernel, launch, params, stream, pdl)

    monkeypatch.setattr(CpuModule, "launch_arguments", recorded)
    x = np.ones((64, 64), np.float32)
    program = kgen.jit("out = x - sum(x, axis=1)", device="cpu", pdl=pdl)
    np.testing.assert_array_equal(program(x), x - 64)
    assert asked == [pdl, True]
