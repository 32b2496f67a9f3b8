"""Memory that kernels get to write begins as what no test expects: a result that no kernel has written is found."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from kgen.arrays import numpy_
from kgen.arrays.torch_ import TorchAdapter
from kgen.dtypes import DType
from kgen.runtime.cuda.memory import DeviceBuffer, Staging, own_stream, synchronise
from kgen.runtime.launcher import Launcher, ParameterBuffer
from kgen.schedule.expressions import Int
from kgen.schedule.reduction.launch import ROW_BLOCKS
from kgen.schedule.scratch import COUNTER_BYTES

#: The bytes of results: a small number that no test computes.
RESULT = 0xA5
#: The bytes of scratch memory: nan in every float dtype, which sums of it are as well.
SCRATCH = 0xFF
#: What has to begin as zeros.
COUNTERS = (ROW_BLOCKS * COUNTER_BYTES, Int(COUNTER_BYTES))

_empty = numpy_.empty
_make_parameters = Launcher._make_parameters
_empty_tensor = TorchAdapter.empty
_allocate = Staging.allocate


def _array(shape: Sequence[int], strides: Sequence[int], dtype: DType) -> Any:
    made = _empty(shape, strides, dtype)
    memory: Any = made if made.base is None else made.base
    ctypes.memset(memory.ctypes.data, RESULT, memory.nbytes)
    return made


def _filled(tensor: Any) -> Any:
    tensor.untyped_storage().fill_(RESULT)
    return tensor


def _tensor(self: TorchAdapter, shape: Sequence[int], strides: Sequence[int], dtype: DType, like: Any) -> Any:
    return _filled(_empty_tensor(self, shape, strides, dtype, like))


def _allocate_on(self: TorchAdapter, like: Any) -> Callable[..., Any]:
    return lambda shape, strides, dtype: _filled(
        self._torch.empty_strided(shape, strides, dtype=dtype, device=like.device)
    )


def _staged(self: Staging, size: int) -> int:
    address = _allocate(self, size)
    if address:
        _fill_device(address, RESULT, size, self._handle)
    return address


def _fill_device(address: int, byte: int, size: int, stream: Any) -> None:
    from cuda.bindings import driver

    (status,) = driver.cuMemsetD8Async(address, byte, size, stream)
    assert int(status) == 0, status


def _parameters(self: Launcher, stream: int, *, is_captured: bool) -> ParameterBuffer:
    made = _make_parameters(self, stream, is_captured=is_captured)
    if made.scratch is None or is_captured:
        return made
    start = made.scratch.address
    for room in self.rooms:
        if room.kernel is None or room.needed not in COUNTERS:
            if isinstance(made.scratch, DeviceBuffer):
                _fill_device(start, SCRATCH, room.size, own_stream(made.scratch.device))
            else:
                ctypes.memset(start, SCRATCH, room.size)
        start += room.size
    if isinstance(made.scratch, DeviceBuffer):
        synchronise(made.scratch.device, own_stream(made.scratch.device))
    return made


@contextmanager
def poisoned() -> Iterator[None]:
    """Results that kgen allocates, and scratch memory but for counters, in calls of kernels that are new in here.

    Tensors are filled on torch's current stream, which has to be the one that kernels are launched on.
    """
    with ExitStack() as stack:
        for target, name, value in (
            (numpy_, "empty", _array),
            (TorchAdapter, "empty", _tensor),
            (TorchAdapter, "_allocate_on", _allocate_on),
            (Staging, "allocate", _staged),
            (Launcher, "_make_parameters", _parameters),
        ):
            stack.enter_context(mock.patch.object(target, name, value))
        yield
