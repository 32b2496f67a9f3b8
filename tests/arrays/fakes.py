"""Array libraries that exist only here, so that the protocols are tested where no GPU and no other library is."""

from __future__ import annotations

from typing import Any

import numpy as np


class DlpackArray:
    """A DLPack producer over a NumPy array; ``old`` is one from before DLPack 1.0, which knows no ``max_version``."""

    def __init__(self, data: np.ndarray[Any, Any], old: bool = False) -> None:
        self.data = data
        self.old = old
        self.asked: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **arguments: Any) -> Any:
        self.asked.append(arguments)
        if self.old and "max_version" in arguments:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        return self.data.__dlpack__(**arguments)


class ElsewhereArray(DlpackArray):
    """A DLPack producer on an accelerator that is not CUDA (8 is Metal)."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (8, 0)


class InterfaceArray:
    """An object with ``__cuda_array_interface__``, without elements: so no driver is asked for its device."""

    def __init__(self, **fields: Any) -> None:
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (0, 4),
            "typestr": "<f4",
            "data": (0, False),
            "strides": None,
            **fields,
        }


class Masked:
    """What pandas, SciPy and others give: an object that NumPy could convert, but that has no memory to read."""

    def __array__(self) -> np.ndarray[Any, Any]:
        return np.zeros(3)
