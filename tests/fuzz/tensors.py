"""The arguments of a call as torch tensors of the same layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array, native
from .program import Arguments

_BYTES = {1: "uint8", 2: "int16", 4: "int32", 8: "int64", 16: "complex128"}


def on_torch(torch: Any, arguments: Arguments, device: str) -> Arguments:
    """Every array as a tensor; an array that is given twice is one tensor."""
    made: dict[int, Any] = {}

    def convert(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        if id(value) not in made:
            made[id(value)] = to_tensor(torch, native(value), device)
        return made[id(value)]

    inputs = {name: convert(value) for name, value in arguments.inputs.items()}
    outs = None if arguments.outs is None else tuple(convert(o) for o in arguments.outs)
    return Arguments(inputs, arguments.params, outs, arguments.shape)


def to_tensor(torch: Any, array: Array, device: str) -> Any:
    """A tensor with these values and strides, but that none is negative, at the same place in 16 bytes."""
    steps = [abs(s) // array.itemsize if n > 1 else 1 for s, n in zip(array.strides, array.shape, strict=True)]
    own = [1 if step == 0 else n for step, n in zip(steps, array.shape, strict=True)]
    span = 1 + sum((n - 1) * step for n, step in zip(own, steps, strict=True)) if array.size else 0
    offset = array.ctypes.data % 16 // array.itemsize
    bits = getattr(torch, _BYTES[array.itemsize])
    memory = torch.zeros(offset + span, dtype=bits, device=device)
    narrow = memory.as_strided(own, steps, offset)
    if array.size:
        values = np.array(array[tuple(slice(0, n) for n in own)] if own else array, order="C")
        flat = torch.from_numpy(values.reshape(-1).view(_BYTES[array.itemsize]))
        narrow.copy_(flat.to(device).reshape(own))
    tensor = narrow.expand(array.shape)
    return tensor if bits is getattr(torch, array.dtype.name) else tensor.view(getattr(torch, array.dtype.name))


def to_array(torch: Any, tensor: Any, dtype: np.dtype[Any]) -> Array:
    """The values of a tensor."""
    dense = torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    if tensor.numel():
        bits = getattr(torch, _BYTES[dtype.itemsize])
        dense.view(bits).copy_(tensor.view(bits))
        flat = dense.reshape(-1).view(bits).cpu().numpy()
        return np.asarray(flat.view(dtype).reshape(tuple(tensor.shape)))
    return np.empty(tuple(tensor.shape), dtype)
