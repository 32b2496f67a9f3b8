"""The arrays of many programs as torch tensors in one block of memory: one copy there, one copy back.

Launches of different programs are not waited for in between.  Bytes around the arrays are compared as well, so that a
write beside an array is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401 (its dtypes' names)
import numpy as np

from .arrays import Array, native
from .program import Arguments

_GUARD = 64
_FILL = 0xA5


@dataclass(frozen=True, slots=True)
class Place:
    """An array in the block: its first byte, and strides in elements, none of which is negative."""

    start: int
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    dtype: np.dtype[Any]

    def view(self, block: Array) -> Array:
        strides = tuple(step * self.dtype.itemsize for step in self.steps)
        return np.ndarray(self.shape, self.dtype, block.data, self.start, strides)

    def tensor(self, torch: Any, block: Any) -> Any:
        at = self.start // self.dtype.itemsize
        return block.view(getattr(torch, self.dtype.name)).as_strided(self.shape, self.steps, at)


class Arena:
    """``places`` of the arrays of each program, by the identity of the array."""

    def __init__(self, torch: Any, programs: Sequence[Arguments], device: str) -> None:
        self._torch = torch
        self.places: list[dict[int, Place]] = []
        self.ranges: list[tuple[int, int]] = []
        end = 0
        filled: list[tuple[Place, Array]] = []
        for arguments in programs:
            first, own = end, dict[int, Place]()
            for array in (*arguments.inputs.values(), *(arguments.outs or ())):
                if isinstance(array, np.ndarray) and id(array) not in own:
                    own[id(array)], end = _place(array, end)
                    filled.append((own[id(array)], array))
            self.places.append(own)
            self.ranges.append((first, end))
        self.before = np.full(-(-end // 16) * 16 + 16, _FILL, np.uint8)
        for place, array in filled:
            place.view(self.before)[...] = native(array)
        self.block = torch.from_numpy(self.before.copy()).to(device)

    def copy(self) -> Any:
        """The whole block again."""
        return self.block.clone()

    def tensors(self, number: int, arguments: Arguments, block: Any) -> Arguments:
        """Arguments whose arrays are tensors in ``block``; an array that is given twice is one tensor."""
        made = {key: place.tensor(self._torch, block) for key, place in self.places[number].items()}
        return _mapped(arguments, made)

    def arrays(self, number: int, arguments: Arguments, block: Array) -> Arguments:
        """Arguments whose arrays are views of ``block``, which came back."""
        return _mapped(arguments, {key: place.view(block) for key, place in self.places[number].items()})

    def check_unwritten(self, number: int, arguments: Arguments, written: set[str], block: Array) -> None:
        """Raises AssertionError where anything but what a program may write to is not what it was."""
        first, end = self.ranges[number]
        may = {id(arguments.inputs[n]) for n in written} | {id(o) for o in arguments.outs or ()}
        for key, place in self.places[number].items():
            if key in may:
                place.view(self.before)[...] = place.view(block)
        bad = np.flatnonzero(self.before[first:end] != block[first:end])
        assert not len(bad), f"{len(bad)} bytes that are no part of a result were written"


def _mapped(arguments: Arguments, made: dict[int, Any]) -> Arguments:
    inputs = {name: made.get(id(value), value) for name, value in arguments.inputs.items()}
    outs = None if arguments.outs is None else tuple(None if o is None else made[id(o)] for o in arguments.outs)
    return Arguments(inputs, arguments.params, outs, arguments.shape)


def _place(array: Array, end: int) -> tuple[Place, int]:
    """Behind ``end``, as far from a multiple of 16 as the array itself is, and where the next one may be."""
    size = array.itemsize
    steps = tuple(abs(s) // size for s in array.strides)
    start = -(-(end + _GUARD) // 256) * 256 + array.ctypes.data % 16 // size * size
    span = 1 + sum((n - 1) * step for n, step in zip(array.shape, steps, strict=True)) if array.size else 0
    return Place(start, array.shape, steps, array.dtype.newbyteorder("=")), start + span * size + _GUARD


class Results:
    """Tensors that calls returned, brought back in one copy."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._kept: list[Any] = []
        self._bytes = np.empty(0, np.uint8)
        self._starts: dict[int, int] = {}

    def keep(self, tensors: Sequence[Any]) -> None:
        self._kept += tensors

    def fetch(self) -> None:
        """Waits for every call."""
        torch = self._torch
        flat, at = [], 0
        for tensor in self._kept:
            size = tensor.untyped_storage().nbytes()
            self._starts[id(tensor)] = at
            padded = -(-size // 16) * 16
            whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
            flat += [whole, torch.empty(padded - size, dtype=torch.uint8, device=tensor.device)]
            at += padded
        if flat:
            self._bytes = torch.cat(flat).cpu().numpy()

    def array(self, tensor: Any) -> Array:
        """What a kept tensor holds, in the same strides."""
        dtype = np.dtype(str(tensor.dtype).removeprefix("torch."))
        start = self._starts[id(tensor)] + tensor.storage_offset() * dtype.itemsize
        strides = tuple(s * dtype.itemsize for s in tensor.stride())
        return np.ndarray(tuple(tensor.shape), dtype, self._bytes.data, start, strides)
