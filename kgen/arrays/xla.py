"""Memory that XLA passes to a handler for the time of a call."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from kgen.arrays.base import CPU, AttributeGuard, Defaults, Device, Guards
from kgen.arrays.generic import item_at
from kgen.dtypes import DType
from kgen.records import dataclass
from kgen.spec import Spec


@dataclass(frozen=True, slots=True)
class XlaArray:
    """An array in C order.  Its memory is XLA's."""

    spec: Spec
    pointer: int
    device: Device


class CurrentStream(threading.local):
    """The stream of the call that a thread handles."""

    handle = 0


current = CurrentStream()


class XlaAdapter(Defaults):
    """XLA keeps arrays alive until the work that a handler queued on its stream is done."""

    name = "xla"

    def spec(self, x: XlaArray) -> Spec:
        return x.spec

    def pointer(self, x: XlaArray) -> int:
        return x.pointer

    def device(self, x: XlaArray) -> Device | None:
        return x.device

    def stream(self, device: Device) -> int:
        return current.handle

    def empty(self, shape: Sequence[int], strides: Sequence[int], dtype: DType, like: Any) -> Any:
        raise NotImplementedError  # XLA allocates all results

    def item(self, x: XlaArray) -> bool | int | float | complex:
        return item_at(x.pointer, x.spec, x.device, current.handle)

    def guards(self, arrays: Sequence[tuple[str, Any, bool]]) -> Guards | None:
        attributes = [
            AttributeGuard(name, (path,), getattr(x, path)) for name, x, _ in arrays for path in ("spec", "device")
        ]
        on_host = arrays[0][1].device == CPU
        stream = None if on_host else _handle
        return Guards(tuple(attributes), ("pointer",), False, stream)


def _handle() -> int:
    return current.handle
